"""How long everything is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """
    Rounds, and how often each is tried at most where the hypervisor disturbs it; seconds of one measured interval, of the warm-up, of the
    load that brings a contestant's data back into the caches.
    """

    rounds: int = 5
    attempts: int = 6
    seconds: int = 4
    warm_up: int = 10
    refresh: int = 1
    blocked_windows: tuple[int, int] = (5, 30)
    idle_connections: int = 10_000
    is_quick: bool = False


FULL = Plan()
QUICK = Plan(rounds=1, attempts=1, seconds=1, warm_up=1, refresh=0, blocked_windows=(2, 5), idle_connections=2_000, is_quick=True)
