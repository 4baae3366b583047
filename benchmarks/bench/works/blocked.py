"""Handlers that block their thread, beside others that do not: what the others notice, from the first second of a process on.

A process answers one request of each kind before, as it would a readiness probe: compiling the first one takes longer than all that is
looked for here, with every transport.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench import machine
from bench.answers import fetch
from bench.contestants import dotnet
from bench.contestants.server import Contestant, Server
from bench.disturbance import now, undisturbed
from bench.errors import BenchmarkError
from bench.figures import SLOWED, STOLEN, Figure, Sample, Series
from bench.loads.load import Seen
from bench.loads.wrk import Wrk
from bench.plan import Plan
from bench.targets import Target
from bench.works.health import HEALTH
from bench.works.saturated import START_SECONDS
from bench.works.work import Context, Result

CONNECTIONS = 16
BLOCK_SECONDS = 0.1
BLOCK = f"/block/{int(BLOCK_SECONDS * 1000)}"
CALLERS = (0, 4, 50)

# Windows are long.
MOST_ATTEMPTS = 3

FIRST_REQUESTS, FIRST_WORST = Figure("requests/s, first seconds", 0), Figure("worst ms, first seconds", 1)
REQUESTS, P99, WORST = Figure("requests/s", 0), Figure("p99 ms", 1), Figure("worst ms", 1)
ANSWERED = Figure("share of possible blocked calls")
FIGURES = (FIRST_REQUESTS, FIRST_WORST, REQUESTS, P99, WORST, ANSWERED, STOLEN, SLOWED)

SETUPS = (dotnet.ADAPTIVE, dotnet.THREAD_POOL, dotnet.SOCKETS)
CONTESTANTS = [dotnet.plaintext(setup, cores=machine.TWO_SERVER_CORES) for setup in SETUPS]


def name_of(setup: str, callers: int) -> str:
    return f"{setup}, {callers} blocking" if callers else f"{setup}, alone"


@dataclass(frozen=True)
class BlockedWork:
    """A fresh process, not warmed up, for each window: a short one for how it begins, a long one for how it goes on."""

    name: str = "blocked"
    title: str = f"2 processors, {CONNECTIONS} connections on `/health` beside callers of a handler that blocks for 100 ms"
    tools: set[str] = field(default_factory=lambda: {"wrk"})

    def estimate(self, plan: Plan) -> float:
        return len(CONTESTANTS) * len(CALLERS) * plan.rounds * round_seconds(plan)

    def run(self, context: Context) -> Result:
        plan = context.plan
        pairs = list(itertools.product(CONTESTANTS, CALLERS))
        series = [Series(name_of(contestant.name, callers)) for contestant, callers in pairs]
        for number in range(plan.rounds):
            for each, (contestant, callers) in zip(series, pairs, strict=True):
                # What a process compiles in its first seconds is a part of them.
                measure, clock = partial(self._measure, context, contestant, callers), partial(now, [])
                each.samples.append(undisturbed(measure, min(plan.attempts, MOST_ATTEMPTS), clock))
                context.progress.add(round_seconds(plan))
                context.progress.say(f"round {number + 1}/{plan.rounds} {each.name}: {each.samples[-1].values[REQUESTS]:,.0f} requests/s")
        return Result(FIGURES, series, targets(), [describe(plan)])

    def _measure(self, context: Context, contestant: Contestant, callers: int) -> Sample:
        first, whole = (self._load(context, contestant, callers, seconds) for seconds in context.plan.blocked_windows)
        return sample_of(first, whole)

    def _load(self, context: Context, contestant: Contestant, callers: int, seconds: int) -> tuple[Seen, float | None]:
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            server = contestant.start(Path(directory) / "server")
            try:
                for path in (HEALTH, BLOCK):
                    fetch(server.url(path))
                return load(server, callers, seconds)
            finally:
                server.stop()


def round_seconds(plan: Plan) -> float:
    return sum(START_SECONDS + seconds for seconds in plan.blocked_windows)


def load(server: Server, callers: int, seconds: int) -> tuple[Seen, float | None]:
    """What the connections on /health saw, and the share of possible blocked calls that were answered; None without any."""
    cores = machine.cores_beside_two()
    health = Wrk(HEALTH, CONNECTIONS, cores=cores)
    if callers == 0:
        return health.run(server.base_url, seconds), None
    blocked: list[Seen | BenchmarkError] = []

    def call() -> None:
        try:
            blocked.append(Wrk(BLOCK, callers, cores=cores).run(server.base_url, seconds))
        except BenchmarkError as error:
            blocked.append(error)

    calling = threading.Thread(target=call)
    calling.start()
    try:
        seen = health.run(server.base_url, seconds)
    finally:
        calling.join()
    if isinstance(blocked[0], BenchmarkError):
        raise blocked[0]
    return seen, blocked[0].requests / (callers * seconds / BLOCK_SECONDS)


def sample_of(first: tuple[Seen, float | None], whole: tuple[Seen, float | None]) -> Sample:
    seen, answered = whole
    values = {
        FIRST_REQUESTS: first[0].rate,
        FIRST_WORST: first[0].latencies[100],
        REQUESTS: seen.rate,
        P99: seen.latencies[99],
        WORST: seen.latencies[100],
    }
    return Sample(values if answered is None else {**values, ANSWERED: answered}, seen.latencies)


def targets() -> Sequence[Target]:
    adaptive = dotnet.ADAPTIVE.name
    alone, few, many = (name_of(adaptive, callers) for callers in CALLERS)
    return [
        Target(few, FIRST_REQUESTS, 0.7, 0.9, against=(alone,), at_least=True),
        Target(few, FIRST_WORST, 20, 10),
        Target(few, REQUESTS, 0.7, 0.9, against=(alone,), at_least=True),
        Target(few, WORST, 20, 10),
        Target(many, P99, 30),
        Target(many, REQUESTS, 100, against=(name_of(dotnet.SOCKETS.name, CALLERS[2]),), at_least=True),
        Target(many, REQUESTS, None, 0.5, against=(alone,), at_least=True),
        Target(many, ANSWERED, 0.85, 0.98, at_least=True),
    ]


def describe(plan: Plan) -> str:
    where = "on the same cores" if machine.cores_beside_two() == machine.TWO_SERVER_CORES else "on others"
    first, whole = plan.blocked_windows
    return (
        f"Servers on cores {machine.TWO_SERVER_CORES}, load {where}. The first {first} s of a process, and {whole} s of another, each"
        f" after one request of each kind. Every blocked call that was made is answered, or the run fails; the share is of what {CALLERS[1]} or {CALLERS[2]} callers"
        " could have made, those that were on their way at the end not counted."
    )


WORKS = [BlockedWork()]
