"""What is measured: figures with their units, samples of them, and the series of samples of one contestant."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """Something that is measured, as the report names it; `digits` are those after the point."""

    title: str
    digits: int = 2

    def show(self, value: float) -> str:
        return f"{value:,.{self.digits}f}"


CPU = Figure("CPU µs/request")
USER = Figure("user")
SYSTEM = Figure("system")
REQUESTS = Figure("requests/s", 0)
P50 = Figure("p50 ms")
P99 = Figure("p99 ms")
RESIDENT = Figure("resident MiB", 0)
BUSY = Figure("server busy %", 0)
LOAD_BUSY = Figure("load busy %", 0)
SYSTEM_CALLS = Figure("system calls/request")
PER_CONNECTION = Figure("requests/connection", 1)
STOLEN = Figure("stolen %", 1)
COMPILING = Figure("compiling %", 1)
SLOWED = Figure("slowed %", 1)


@dataclass(frozen=True)
class Sample:
    """One measured interval. `latencies` are milliseconds by percentile; `limited` tells that the load generator was the limit."""

    values: Mapping[Figure, float]
    latencies: Mapping[float, float] = field(default_factory=dict)
    limited: bool = False


@dataclass
class Series:
    """The samples of one contestant, in the order of the rounds, and what it said of itself at its start."""

    name: str
    about: str = ""
    samples: list[Sample] = field(default_factory=list)

    def values(self, figure: Figure) -> list[float]:
        return [sample.values[figure] for sample in self.samples if figure in sample.values]

    def has(self, figure: Figure) -> bool:
        return bool(self.values(figure))

    def median(self, figure: Figure) -> float:
        return statistics.median(self.values(figure))

    def show(self, figure: Figure) -> str:
        """The median, with minimum and maximum in brackets if there is more than one sample."""
        values = self.values(figure)
        if not values:
            return "-"
        median = figure.show(statistics.median(values))
        return median if len(values) == 1 else f"{median} ({figure.show(min(values))}-{figure.show(max(values))})"

    @property
    def limited_rounds(self) -> int:
        return sum(sample.limited for sample in self.samples)

    @property
    def is_limited(self) -> bool:
        """Whether in most rounds the load generator was the limit."""
        return 2 * self.limited_rounds > len(self.samples)

    def latency_curve(self) -> list[tuple[float, float]]:
        """Percentiles and their medians over the rounds, in milliseconds; without those of which there is none."""
        percentiles = sorted({percentile for sample in self.samples for percentile in sample.latencies})
        medians = {
            percentile: statistics.median(sample.latencies[percentile] for sample in self.samples if percentile in sample.latencies)
            for percentile in percentiles
        }
        return [(percentile, median) for percentile, median in medians.items() if math.isfinite(median)]
