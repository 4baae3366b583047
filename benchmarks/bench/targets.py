"""Targets, and what a measurement says about them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.figures import Figure, Series

# Kestrel's own transport as people run it, and with all that makes it faster.
SOCKETS_DEFAULT, SOCKETS_TUNED = "Sockets", "Sockets, tuned"
SOCKETS = (SOCKETS_DEFAULT, SOCKETS_TUNED)


@dataclass(frozen=True)
class Target:
    """
    What one figure of a contestant must be, and what is wanted of it. With `against` both are ratios to the best of the series of those
    names, else they are values of the figure; without must and goal it is there for comparison. The lower the better, unless `at_least`.
    `plus` is added to what a ratio allows, in the figure's unit: so little more than the reference does not count, whatever the ratio.
    """

    contestant: str
    figure: Figure
    must: float | None
    goal: float | None = None
    against: tuple[str, ...] = ()
    at_least: bool = False
    plus: float = 0


@dataclass(frozen=True)
class Verdict:
    """
    What was seen of a target: the median over the rounds, of the ratio within each where it is one. `low` and `high` are the extremes;
    `allowance` is what `plus` comes to as a ratio.
    """

    target: Target
    reference: str
    seen: float
    low: float
    high: float
    limited: bool
    allowance: float = 0

    @property
    def outcome(self) -> str:
        if self._reaches(self.target.goal):
            return "goal"
        if self.target.must is None:
            return "for comparison" if self.target.goal is None else "below the goal"
        return "must" if self._reaches(self.target.must) else "**missed**"

    def _reaches(self, wanted: float | None) -> bool:
        if wanted is None:
            return False
        return self.seen >= wanted if self.target.at_least else self.seen <= wanted + self.allowance


def judge(target: Target, series: Mapping[str, Series]) -> Verdict | None:
    """The verdict on a target; None if one of its contestants, or the figure, was not measured."""
    contestant = series.get(target.contestant)
    if contestant is None or not contestant.has(target.figure):
        return None
    values = contestant.values(target.figure)
    if not target.against:
        return Verdict(target, "", statistics.median(values), min(values), max(values), contestant.is_limited)
    references = [series[name] for name in target.against if name in series and series[name].has(target.figure)]
    if not references:
        return None
    best = (max if target.at_least else min)(references, key=lambda each: each.median(target.figure))
    ratios = [ratio(value, base) for value, base in zip(values, best.values(target.figure))]
    # Of pairs that were measured one shortly after the other: the machine may be faster or slower for some rounds, and both with it.
    seen = statistics.median(ratios)
    allowance = ratio(target.plus, best.median(target.figure))
    return Verdict(target, best.name, seen, min(ratios), max(ratios), contestant.is_limited or best.is_limited, allowance)


def ratio(value: float, base: float) -> float:
    """A ratio to nothing is infinite, unless both are nothing."""
    if base == 0:
        return 1.0 if value == 0 else float("inf")
    return value / base


def judge_all(targets: Sequence[Target], series: Sequence[Series]) -> list[Verdict]:
    by_name = {each.name: each for each in series}
    return [verdict for target in targets if (verdict := judge(target, by_name)) is not None]
