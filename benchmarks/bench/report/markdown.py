"""The report's text: a table of verdicts, then a section with a table and plots for each work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.figures import COMPILING, CPU, LOAD_BUSY, SLOWED, STOLEN, SYSTEM, USER, Series
from bench.report import svg
from bench.targets import Target, Verdict
from bench.works.work import Result

HOW = (
    "Contestants run at the same time and are measured in turns, after a warm-up of each; figures are medians over the rounds, with minimum"
    " and maximum in brackets, and ratios medians of those within each round. CPU is user and system time of all processes of a contestant."
    " Client and server share the machine: ratios count, absolute times do not. *Load-limited*: in most rounds the server was less than 90 % busy (or, where it cannot be, the load"
    " generator more than that), so that requests/s and latency show the load generator."
    " *Stolen* is processor time that the hypervisor gave to others, *slowed* what others took of cores that they share with this machine,"
    " *compiling* what compilers of .NET took, the contestant's own and those of others; a round that lost more than 1 % to them was measured"
    " again, a few times at most, and the least disturbed one counts."
)

VERDICT_HEAD = ("contestant", "figure", "seen (rounds)", "must", "goal", "verdict")
DISTURBANCES = (LOAD_BUSY, STOLEN, SLOWED, COMPILING)


@dataclass(frozen=True)
class Section:
    """A work that was run: its result, or why there is none."""

    name: str
    title: str
    result: Result | None = None
    problem: str = ""


def render(title: str, facts: Sequence[str], sections: Sequence[Section]) -> str:
    lines = [f"# {title}", "", *(f"* {fact}" for fact in facts), "", HOW, "", "## Verdicts", "", *verdicts(sections)]
    for section in sections:
        lines += ["", f"## {section.title}", ""]
        lines += [f"Not measured: {section.problem}"] if section.result is None else details(section.name, section.result)
    return "\n".join(lines) + "\n"


def verdicts(sections: Sequence[Section]) -> list[str]:
    rows = [row(["work", *VERDICT_HEAD]), "|---|---|---|---:|---:|---:|---|"]
    for section in sections:
        if section.result is None:
            rows.append(row([f"`{section.name}`", "", "", "", "", "", "not measured"]))
            continue
        rows += [row([f"`{section.name}`", *verdict_cells(verdict)]) for verdict in section.result.verdicts()]
    return rows


def verdict_cells(verdict: Verdict) -> list[str]:
    target = verdict.target
    figure = f"{target.figure.title} / {verdict.reference}" if verdict.reference else target.figure.title
    outcome = verdict.outcome + (", load-limited" if verdict.limited else "")
    seen = f"**{verdict.seen:.4g}** ({verdict.low:.4g}-{verdict.high:.4g})"
    return [target.contestant, figure, seen, limit(target, target.must), limit(target, target.goal), outcome]


def limit(target: Target, value: float | None) -> str:
    if value is None:
        return "-"
    plus = f" + {target.plus:g}" if target.plus else ""
    return f"{'≥' if target.at_least else '≤'} {value:g}{plus}"


def details(name: str, result: Result, *, is_brief: bool = False) -> list[str]:
    """The table and the pictures of a work; unless brief, also what disturbed it and what each contestant said of its set-up."""
    left_out = DISTURBANCES if is_brief else ()
    figures = [figure for figure in result.figures if figure not in left_out and any(series.has(figure) for series in result.series)]
    limits = any(series.limited_rounds for series in result.series)
    head = ["contestant", *(figure.title for figure in figures), *(["load-limited"] if limits else [])]
    lines = [row(head), "|---|" + "---:|" * (len(head) - 1)]
    for series in result.series:
        cells = [series.name, *(series.show(figure) for figure in figures)]
        lines.append(row(cells + ([f"{series.limited_rounds} of {len(series.samples)}"] if limits else [])))
    for file_name in plots(name, result.series):
        lines += ["", f"![{file_name.removesuffix('.svg')}]({file_name})"]
    lines += ["", *(f"{note}\n" for note in result.notes)]
    if not is_brief:
        lines += [f"- {series.name}: {series.about}" for series in result.series if series.about]
    return lines


def plots(name: str, series: Sequence[Series]) -> dict[str, str]:
    """The plots of a work by file name."""
    files = {}
    with_cpu = [each for each in series if each.has(CPU) and each.has(USER)]
    if with_cpu:
        rows = [(each.name, (each.median(USER), each.median(SYSTEM))) for each in with_cpu]
        files[f"{name}-cpu.svg"] = svg.bars(f"{name}: CPU µs per request", rows, ("user", "system"))
    curves = [(each.name, each.latency_curve()) for each in series if each.latency_curve()]
    if curves:
        files[f"{name}-latency.svg"] = svg.lines(f"{name}: latency", curves)
    return files


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
