"""Lines on standard error: what is done now, and about how long the rest takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field


ENOUGH_SECONDS = 20  # Before that much is behind us, builds and starts say nothing about the rest.


@dataclass
class Progress:
    """
    Compares the seconds that were estimated with those that passed. `add` tells of estimated seconds that are behind us; the time left is
    the rest of the estimate, stretched by how wrong it was so far.
    """

    estimate: float
    clock: Callable[[], float] = time.monotonic
    done: float = 0
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def add(self, seconds: float) -> None:
        self.done += seconds

    def catch_up(self, done: float) -> None:
        """Sets what is behind us, after a work that ended otherwise than estimated."""
        self.done = done

    def left(self) -> float:
        stretch = (self.clock() - self.started) / self.done if self.done > ENOUGH_SECONDS else 1
        return max(0.0, self.estimate - self.done) * stretch

    def say(self, text: str) -> None:
        print(f"[{show_duration(self.left()):>6s} left] {text}", file=sys.stderr, flush=True)


def show_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
