"""Plots, written as SVG: bars of CPU per request, lines of latency percentiles. Readable on light and dark pages alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH = 720
COLORS = ("#0b6bcb", "#e8590c", "#2f9e44", "#9c36b5", "#868e96", "#c92a2a", "#1098ad", "#f08c00", "#5c3317", "#66a80f")
STYLE = (
    "text{font:12px sans-serif;fill:#222}.grid{stroke:#ddd}.title{font-weight:bold;font-size:14px}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}}"
)
BAR_HEIGHT, LABEL_WIDTH, VALUE_WIDTH, TOP = 22, 235, 70, 34
PLOT_HEIGHT, LEFT, BOTTOM, LEGEND_WIDTH = 260, 70, 30, 250


def bars(title: str, rows: Sequence[tuple[str, Sequence[float]]], parts: Sequence[str]) -> str:
    """A horizontal bar per row, stacked of its parts, with their sum behind it."""
    longest = max((sum(values) for _, values in rows), default=0) or 1
    scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / longest
    body = [text(10, 20, title, "title")]
    for index, (name, values) in enumerate(rows):
        y, x = TOP + index * BAR_HEIGHT, float(LABEL_WIDTH)
        body.append(text(LABEL_WIDTH - 8, y + 14, name, anchor="end"))
        for part, value in enumerate(values):
            body.append(f'<rect x="{x:.1f}" y="{y + 2}" width="{value * scale:.1f}" height="{BAR_HEIGHT - 5}" fill="{COLORS[part]}"/>')
            x += value * scale
        body.append(text(x + 6, y + 14, f"{sum(values):,.2f}"))
    y = TOP + len(rows) * BAR_HEIGHT + 16
    for part, name in enumerate(parts):
        body.append(f'<rect x="{LABEL_WIDTH + part * 90}" y="{y - 10}" width="10" height="10" fill="{COLORS[part]}"/>')
        body.append(text(LABEL_WIDTH + part * 90 + 15, y, name))
    return document(y + 10, body)


def lines(title: str, curves: Sequence[tuple[str, Sequence[tuple[float, float]]]]) -> str:
    """A line per curve of (percentile, milliseconds): percentiles side by side, milliseconds on a logarithmic scale."""
    percentiles = sorted({percentile for _, points in curves for percentile, _ in points})
    values = [value for _, points in curves for _, value in points if value > 0]
    low, high = decades(values)
    width = WIDTH - LEFT - LEGEND_WIDTH

    def x(percentile: float) -> float:
        return LEFT + width * percentiles.index(percentile) / max(1, len(percentiles) - 1)

    def y(value: float) -> float:
        return TOP + PLOT_HEIGHT * (high - math.log10(max(value, 10.0**low))) / (high - low)

    body = [text(10, 20, title, "title")]
    for exponent in range(low, high + 1):
        body.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + width}" y1="{y(10.0**exponent):.1f}" y2="{y(10.0**exponent):.1f}"/>')
        body.append(text(LEFT - 8, y(10.0**exponent) + 4, f"{10.0**exponent:g} ms", anchor="end"))
    for percentile in percentiles:
        body.append(text(x(percentile), TOP + PLOT_HEIGHT + 20, "max" if percentile == 100 else f"p{percentile:g}", anchor="middle"))
    for index, (name, points) in enumerate(curves):
        color = COLORS[index % len(COLORS)]
        path = " ".join(f"{x(percentile):.1f},{y(value):.1f}" for percentile, value in points)
        body.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        body.append(f'<rect x="{LEFT + width + 20}" y="{TOP + index * 18}" width="10" height="10" fill="{color}"/>')
        body.append(text(LEFT + width + 36, TOP + index * 18 + 9, name))
    return document(max(TOP + PLOT_HEIGHT + BOTTOM, TOP + len(curves) * 18 + 10), body)


def decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around the values, at least one decade apart."""
    if not values:
        return 0, 1
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))


def text(x: float, y: float, content: str, css: str = "", anchor: str = "start") -> str:
    name = f' class="{css}"' if css else ""
    return f'<text{name} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(content)}</text>'


def document(height: float, body: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *body, "</svg>"]) + "\n"
