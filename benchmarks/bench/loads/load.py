"""What a load generator is asked for, and what it saw."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.errors import BenchmarkError
from bench.machine import LOAD_CORE

PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0)


@dataclass(frozen=True)
class Seen:
    """What a load generator saw in an interval. Latencies are milliseconds by percentile; `busy` is its own share of its core."""

    requests: int
    seconds: float
    latencies: Mapping[float, float] = field(default_factory=dict)
    busy: float = 0

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


class Load(Protocol):
    """Something that keeps a server busy."""

    @property
    def path(self) -> str:
        """What it asks for."""

    @property
    def curl_options(self) -> tuple[str, ...]:
        """How curl makes the same request."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The programs that it needs."""

    def run(self, base_url: str, seconds: int) -> Seen:
        """Loads a server; fails if any request does."""

    def describe(self) -> str:
        """A command line, without addresses."""


def run_pinned(command: Sequence[str], cores: str = LOAD_CORE) -> tuple[str, float]:
    """Runs a load generator on its cores; its output, and its share of one core."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    finished = subprocess.run(["taskset", "-c", cores, *command], capture_output=True, text=True)
    after, elapsed = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - started
    if finished.returncode != 0:
        raise BenchmarkError(f"{command[0]} failed: {finished.stderr or finished.stdout}")
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return finished.stdout, used / elapsed
