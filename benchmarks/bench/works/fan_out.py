"""Readers of an object that is being made: how late they get each chunk of it, and what one costs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.compiling import warm_up
from bench.contestants import dotnet, squid, varnish
from bench.contestants.server import Contestant, Server
from bench.disturbance import now, undisturbed
from bench.figures import BUSY, COMPILING, LOAD_BUSY, P50, P99, SLOWED, STOLEN, Figure, Sample, Series
from bench.loads.fan_out import CHUNK_BYTES, INTERVAL_MS, FanOut
from bench.plan import Plan
from bench.processes import free_port
from bench.targets import SOCKETS, Target
from bench.works.saturated import LOAD_TOO_BUSY, START_SECONDS
from bench.works.work import Context, Result

CPU = Figure("CPU µs/chunk")
ALLOCATED = Figure("allocated bytes/chunk", 1)
DELIVERED = Figure("chunks delivered/s", 0)
FIGURES = (CPU, P50, P99, DELIVERED, ALLOCATED, BUSY, LOAD_BUSY, STOLEN, SLOWED, COMPILING)

LIVE_SECONDS = 2
JOIN_SECONDS = 2

# Less than this for each delivered chunk: what is allocated is allocated once for all readers.
SMALLEST_OBJECT_BYTES = 24

SERVICES = [dotnet.live_service(setup) for setup in dotnet.ALL]
CACHES = [varnish.live(), squid.live()]
OWN_NAMES = {contestant.name for contestant in SERVICES}


@dataclass(frozen=True)
class FanOutWork:
    """
    A service for each contestant, each in front of an origin of its own, and measured in turns. All are live for some seconds before a
    measured interval; an interval is longer than those of other works, since a stall that comes once a second belongs to it.
    """

    readers: int
    targets: Sequence[Target]
    contestants: Sequence[Contestant] = (*SERVICES, *CACHES)
    joiners: int = 0

    @property
    def name(self) -> str:
        return "join-storm" if self.joiners else f"fan-out-{self.readers}"

    @property
    def title(self) -> str:
        joining = f", while {self.joiners:,} more join in a second" if self.joiners else ""
        return f"{self.readers:,} readers of one object that grows by {CHUNK_BYTES:,} bytes each {INTERVAL_MS} ms{joining}"

    @property
    def tools(self) -> set[str]:
        return {tool for contestant in self.contestants for tool in contestant.tools}

    def estimate(self, plan: Plan) -> float:
        interval = JOIN_SECONDS + LIVE_SECONDS + seconds_of(plan)
        return len(self.contestants) * (START_SECONDS + JOIN_SECONDS + plan.warm_up_expected + plan.rounds * interval)

    def run(self, context: Context) -> Result:
        load = FanOut(self.readers, self.joiners)
        with tempfile.TemporaryDirectory(prefix="bench-") as directory, ExitStack() as started:
            ports = [free_port() for _ in self.contestants]
            servers = []
            for number, (contestant, port) in enumerate(zip(self.contestants, ports, strict=True)):
                servers.append(contestant.start(Path(directory) / str(number), f"http://127.0.0.1:{port}"))
                started.callback(servers[-1].stop)
            series = self._measure(context, load, list(zip(servers, ports, strict=True)))
        return Result(FIGURES, series, self.targets, [f"Load: `{load.describe()}`. Every byte is checked, and each origin was asked once."])

    def _measure(self, context: Context, load: FanOut, servers: Sequence[tuple[Server, int]]) -> list[Series]:
        plan, progress = context.plan, context.progress
        series = [Series(server.name, server.about) for server, _ in servers]
        for server, port in servers:
            progress.say(f"warming up {server.name}")
            warm_up(server.process, partial(load.run, server, port, 0), plan)
            progress.add(START_SECONDS + JOIN_SECONDS + plan.warm_up_expected)
        watched = [server.process for server, _ in servers]
        for number in range(plan.rounds):
            for each, (server, port) in zip(series, servers, strict=True):
                each.samples.append(undisturbed(partial(measure, load, server, port, seconds_of(plan)), plan.attempts, partial(now, watched)))
                progress.add(JOIN_SECONDS + LIVE_SECONDS + seconds_of(plan))
                progress.say(f"round {number + 1}/{plan.rounds} {server.name}: p99 {each.samples[-1].values[P99]:.1f} ms")
        return series


def measure(load: FanOut, server: Server, port: int, seconds: int) -> Sample:
    metrics = dotnet.metrics_url(server) if server.name in OWN_NAMES else ""
    return sample_of(load.run(server, port, LIVE_SECONDS, seconds, metrics))


def seconds_of(plan: Plan) -> int:
    return 2 * plan.seconds


def sample_of(report: dict[str, Any]) -> Sample:
    delays = {float(percentile): delay for percentile, delay in report["delayMs"].items()}
    values = {
        CPU: report["cpuMicrosecondsPerChunk"],
        P50: delays[50],
        P99: delays[99],
        DELIVERED: report["chunksDelivered"] / report["seconds"],
        BUSY: report["serviceBusy"] * 100,
        LOAD_BUSY: report["generatorBusy"] * 100,
    }
    if report["allocatedBytesPerChunk"] is not None:
        values[ALLOCATED] = report["allocatedBytesPerChunk"]
    return Sample(values, delays, limited=values[LOAD_BUSY] > LOAD_TOO_BUSY)


def targets_of(figures: Callable[[str], Sequence[Target]]) -> Sequence[Target]:
    return [target for setup in (dotnet.INLINE, dotnet.ADAPTIVE, dotnet.THREAD_POOL) for target in figures(setup.name)]


def few(name: str) -> Sequence[Target]:
    return [Target(name, figure, 1.15, 1.0, against=("Varnish", "Squid"), plus=0.2) for figure in (P50, P99)]


def many(name: str) -> Sequence[Target]:
    return [
        Target(name, P99, 0.3, 0.2, against=("Varnish",)),
        Target(name, P99, 2.0, 1.3, against=(dotnet.relay().name,)),
        Target(name, CPU, 0.6, 0.45, against=("Varnish",)),
        Target(name, CPU, None, against=(dotnet.relay().name,)),
        Target(name, CPU, 1.0, against=SOCKETS),
        Target(name, ALLOCATED, SMALLEST_OBJECT_BYTES),
    ]


def joined(name: str) -> Sequence[Target]:
    return [Target(name, P99, 20, 10), Target(name, P99, None, 1.0, against=("Varnish",))]


WORKS = [
    *(FanOutWork(readers, targets_of(few)) for readers in (50, 200, 500)),
    *(FanOutWork(readers, targets_of(many), (*SERVICES, varnish.live(), dotnet.relay())) for readers in (1500, 2400)),
    FanOutWork(500, targets_of(joined), (*SERVICES, varnish.live(), dotnet.relay()), joiners=1000),
]
