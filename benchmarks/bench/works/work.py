"""What a work is, what it gets and what it leaves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.contestants.dotnet import demo_origin
from bench.contestants.server import Contestant, Server
from bench.figures import Figure, Series
from bench.plan import Plan
from bench.progress import Progress
from bench.targets import Target, Verdict, judge_all


@dataclass
class Result:
    """What was measured. `figures` are the columns of its table."""

    figures: Sequence[Figure]
    series: Sequence[Series]
    targets: Sequence[Target] = ()
    notes: list[str] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        return judge_all(self.targets, self.series)


@dataclass(frozen=True)
class Running:
    """Servers that run, and the URL of the origin behind them; empty if there is none."""

    servers: Sequence[Server]
    origin: str


@dataclass
class Context:
    """What a work gets: how long to measure, and whom to tell."""

    plan: Plan
    progress: Progress

    @contextmanager
    def running(self, contestants: Sequence[Contestant], *, behind_cache: bool = False) -> Iterator[Running]:
        """Starts the contestants, with an origin behind them if they are caches, and ends them whatever happens."""
        with tempfile.TemporaryDirectory(prefix="bench-") as name, ExitStack() as started:
            directory, origin = Path(name), ""
            if behind_cache:
                origin_server, origin = demo_origin(directory / "origin")
                started.callback(origin_server.stop)
            servers = []
            for number, contestant in enumerate(contestants):
                servers.append(contestant.start(directory / str(number), origin))
                started.callback(servers[-1].stop)
            yield Running(servers, origin)


class Work(Protocol):
    """One row of the table, or a few that are measured together."""

    name: str
    title: str

    @property
    def tools(self) -> set[str]:
        """The programs that it needs."""

    def estimate(self, plan: Plan) -> float:
        """About how many seconds it takes."""

    def run(self, context: Context) -> Result:
        """Measures, and leaves no process behind."""
