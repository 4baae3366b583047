"""Processor time that a round lost to others, guests of the same hypervisor or compilers of .NET: if it is much, it is measured again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.compiling import Compilers, compiled_since, read_compilers
from bench.figures import COMPILING, SLOWED, STOLEN, Sample
from bench.pace import PaceWatch
from bench.processes import TICKS_PER_SECOND, MeasuredProcess

# Two clock ticks of a second on two cores.
TOLERATED_PERCENT = 1.0


@dataclass(frozen=True)
class Moment:
    """Clock ticks of all processors since the machine started, those of them that were stolen, and what compilers have used."""

    total: int
    stolen: int
    compilers: Compilers = field(default_factory=dict)

    def lost_since(self, earlier: Moment) -> Lost:
        total = max(1, self.total - earlier.total)
        compiled = compiled_since(self.compilers, earlier.compilers) * TICKS_PER_SECOND
        return Lost(100 * (self.stolen - earlier.stolen) / total, 100 * compiled / total)


@dataclass(frozen=True)
class Lost:
    """Percent of the time of all processors."""

    stolen: float
    compiling: float


def read_moment(stat: str, compilers: Compilers) -> Moment:
    """The line 'cpu' of proc_stat(5): user, nice, system, idle, iowait, irq, softirq and steal; what follows is part of user and nice."""
    ticks = [int(field) for field in stat.split("\n", 1)[0].split()[1:9]]
    return Moment(sum(ticks), ticks[7], compilers)


def now(watched: Iterable[MeasuredProcess]) -> Moment:
    """`watched` are the processes whose compilers count: all that share the processor with the one that is measured, and that one."""
    return read_moment(Path("/proc/stat").read_text(), read_compilers(watched))


def undisturbed(
    measure: Callable[[], Sample], attempts: int, clock: Callable[[], Moment], watch: Callable[[], PaceWatch] = PaceWatch
) -> Sample:
    """
    The first sample that lost hardly anything; if there is none in so many attempts, the one that lost the least. What was measured has no say
    in the choice.
    """
    samples: list[Sample] = []
    while len(samples) < attempts and not (samples and lost(samples[-1]) <= TOLERATED_PERCENT):
        before = clock()
        with watch() as pace:
            sample = measure()
        since = clock().lost_since(before)
        lost_to = {STOLEN: since.stolen, SLOWED: pace.lost_percent, COMPILING: since.compiling}
        samples.append(replace(sample, values={**sample.values, **lost_to}))
    return min(samples, key=lost)


def lost(sample: Sample) -> float:
    return sum(sample.values[figure] for figure in (STOLEN, SLOWED, COMPILING))
