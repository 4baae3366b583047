"""
How fast the processors are. A virtual one may be half of a physical core whose other half (simultaneous multithreading) another guest has:
it then does half as much in the same time, nothing is stolen, and no counter that a guest can read tells. So a little work, always the same,
is timed now and then beside what is measured.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import ClassVar

from bench.machine import LOAD_CORE, SERVER_CORE

# Some 0.1 ms, on a core each 0.1 s: a thousandth of it, and too short for a percentile that is looked at.
STEPS = 8_000
INTERVAL_SECONDS = 0.05
# What caches that somebody else has used cost is less, and a core that is shared is slower by far.
SLOW = 1.35

CORES = (int(SERVER_CORE), int(LOAD_CORE))


class PaceWatch:
    """
    Watches the cores for as long as it is entered, one after the other, on a thread of its own. The measure of a core is the fastest that any
    watch has seen it.
    """

    _fastest: ClassVar[dict[int, float]] = {}

    def __init__(self, cores: Sequence[int] = CORES, glimpse: Callable[[], float] | None = None) -> None:
        self._cores = cores
        self._glimpse = glimpse or time_steps
        self._seen: list[tuple[int, float]] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="pace", daemon=True)

    def __enter__(self) -> PaceWatch:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()

    @property
    def lost_percent(self) -> float:
        """The share of the cores' time that others had, by what was seen so far; 0 if that is nothing."""
        shares = [lost_share(self._fastest[core], seconds) for core, seconds in self._seen]
        return 100 * sum(shares) / len(shares) if shares else 0.0

    def _watch(self) -> None:
        for core in itertools.cycle(self._cores):
            if self._end.wait(INTERVAL_SECONDS):
                return
            # Of this thread alone. A core that the process may not use is measured where it runs.
            with suppress(OSError):
                os.sched_setaffinity(0, {core})
            seconds = self._glimpse()
            self._fastest[core] = min(seconds, self._fastest.get(core, seconds))
            self._seen.append((core, seconds))


def lost_share(fastest: float, seconds: float) -> float:
    """Of the time of one piece of work, what it took longer than it must; nothing where that is hardly more."""
    return 0.0 if seconds <= SLOW * fastest else 1 - fastest / seconds


def time_steps() -> float:
    """Seconds of this thread's processor time, without what it waited for the processor."""
    before = time.thread_time()
    total = 0
    for step in range(STEPS):
        total += step
    return time.thread_time() - before
