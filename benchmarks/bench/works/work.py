"""What a work is, what it gets and what it leaves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.contestants.server import Contestant, Origin, Server
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
    """
    Servers that run, a row for each turn that a contestant's processes take, with the contestants in their order; and the URL of the origin
    behind them, empty if there is none.
    """

    rows: Sequence[Sequence[Server]]
    origin: str

    @property
    def servers(self) -> list[Server]:
        return [server for row in self.rows for server in row]


@dataclass
class Context:
    """What a work gets: how long to measure, and whom to tell."""

    plan: Plan
    progress: Progress

    @contextmanager
    def running(self, contestants: Sequence[Contestant], *, behind: Origin | None = None) -> Iterator[Running]:
        """Starts each contestant's processes, with an origin behind them if there is one, and ends them whatever happens."""
        with tempfile.TemporaryDirectory(prefix="bench-") as name, ExitStack() as started:
            directory, origin = Path(name), ""
            if behind:
                origin_server, origin = behind(directory / "origin")
                started.callback(origin_server.stop)
            rows: list[list[Server]] = []
            for turn in range(self.plan.processes_started):
                rows.append([])
                for number, contestant in enumerate(contestants):
                    rows[-1].append(contestant.start(directory / f"{number}-{turn}", origin))
                    started.callback(rows[-1][-1].stop)
            yield Running(rows, origin)


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
