"""How long everything is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """
    Rounds, and how often each is tried at most where something disturbs it; how many processes of each contestant share them, since
    processes of one program differ; seconds of one measured interval, of the warm-up at least and at most, of the load that brings a
    contestant's data back into the caches.
    """

    rounds: int = 6
    attempts: int = 6
    processes: int = 2
    seconds: int = 2
    warm_up: int = 12
    warm_up_most: int = 60
    refresh: int = 1
    blocked_windows: tuple[int, int] = (5, 30)
    idle_connections: int = 10_000
    is_quick: bool = False

    @property
    def warm_up_expected(self) -> float:
        """What most servers of .NET take."""
        return min(2 * self.warm_up, max(self.warm_up, self.warm_up_most))

    @property
    def processes_started(self) -> int:
        """Each has a round at least."""
        return min(self.processes, self.rounds)


FULL = Plan()
QUICK = Plan(
    rounds=1,
    attempts=1,
    processes=1,
    seconds=1,
    warm_up=1,
    warm_up_most=1,
    refresh=0,
    blocked_windows=(2, 5),
    idle_connections=2_000,
    is_quick=True,
)
