"""Processor time that the hypervisor gave to others: a round that lost much of it is measured again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bench.figures import STOLEN, Sample

# Two clock ticks of a second on two cores.
TOLERATED_PERCENT = 1.0


@dataclass(frozen=True)
class ProcessorTime:
    """Clock ticks of all processors since the machine started, and those of them that were stolen."""

    total: int
    stolen: int

    def stolen_percent_since(self, earlier: ProcessorTime) -> float:
        return 100 * (self.stolen - earlier.stolen) / max(1, self.total - earlier.total)


def read_times(stat: str) -> ProcessorTime:
    """The line 'cpu' of proc_stat(5): user, nice, system, idle, iowait, irq, softirq and steal; what follows is part of user and nice."""
    ticks = [int(field) for field in stat.split("\n", 1)[0].split()[1:9]]
    return ProcessorTime(sum(ticks), ticks[7])


def now() -> ProcessorTime:
    return read_times(Path("/proc/stat").read_text())


def undisturbed(measure: Callable[[], Sample], attempts: int, clock: Callable[[], ProcessorTime] = now) -> Sample:
    """
    The first sample for which hardly anything was stolen; if there is none in so many attempts, that for which the least was. What was
    measured has no say in the choice.
    """
    samples: list[Sample] = []
    while len(samples) < attempts and not (samples and is_calm(samples[-1])):
        before = clock()
        sample = measure()
        samples.append(replace(sample, values={**sample.values, STOLEN: clock().stolen_percent_since(before)}))
    return min(samples, key=lambda sample: sample.values[STOLEN])


def is_calm(sample: Sample) -> bool:
    return sample.values[STOLEN] <= TOLERATED_PERCENT
