#!/usr/bin/env python3
"""Runs IoUringCache.RandomRead and makes a report of its figures: a Markdown table for each data set and size of a read, and plots.

    benchmarks/random-read.py OUTPUT [OPTION...]     e.g. benchmarks/random-read.py artifacts/random-read --sizes 1GiB,64GiB --seconds 5

OUTPUT is a directory; the options are those of benchmarks/IoUringCache.RandomRead, whose own --help lists them.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from itertools import groupby
from pathlib import Path

from bench.report import svg

ROOT = Path(__file__).resolve().parent
PROGRAM = ROOT / "IoUringCache.RandomRead"
PERCENTILES = {50: "p50 us", 99: "p99 us", 99.9: "p999 us", 99.99: "p9999 us"}
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def main() -> int:
    if len(sys.argv) < 2 or "--help" in sys.argv:
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dotnet", "build", PROGRAM, "--configuration", "Release", "--nologo", "--verbosity", "quiet"], check=True)
    program = PROGRAM / "bin/Release/net10.0/IoUringCache.RandomRead"
    figures = subprocess.run([program, *sys.argv[2:]], check=True, stdout=subprocess.PIPE, text=True).stdout
    (output / "figures.csv").write_text(figures)
    (output / "report.md").write_text("\n".join(report(list(csv.reader(figures.splitlines())), output)) + "\n")
    print(output / "report.md")
    return 0


def report(rows: list[list[str]], output: Path) -> list[str]:
    columns, *lines = rows
    text = ["# Random reads", "", "Latency of a batch in microseconds; CPU, page faults and context switches of one read, its check included.", ""]
    for (size, block), group in groupby(lines, key=lambda line: (int(line[0]), int(line[1]))):
        cells = list(group)
        name = f"{with_unit(size)} in blocks of {with_unit(block)}"
        text += [f"## {name}", "", f"| {' | '.join(columns[2:])} |", f"|---|{'---:|' * (len(columns) - 3)}"]
        text += [f"| {' | '.join(line[2:])} |" for line in cells] + [""]
        for batch in sorted({int(line[3]) for line in cells}):
            curves = [curve(columns, line) for line in cells if int(line[3]) == batch and len(line) == len(columns)]
            file = f"{with_unit(size)}-{with_unit(block)}-{batch}.svg".replace(" ", "")
            (output / file).write_text(svg.lines(f"{name}, batches of {batch}", curves))
            text += [f"![{name}, batches of {batch}]({file})", ""]
    return text


def curve(columns: list[str], line: list[str]) -> tuple[str, list[tuple[float, float]]]:
    return line[2], [(percentile, float(line[columns.index(column)]) / 1000) for percentile, column in PERCENTILES.items()]


def with_unit(size: int) -> str:
    return next((f"{size // factor} {unit}" for factor, unit in UNITS if size % factor == 0), f"{size} B")


if __name__ == "__main__":
    sys.exit(main())
