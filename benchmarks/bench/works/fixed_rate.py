"""A constant rate below what a reference can do: latency as a user has it, and the cost of a server that is not saturated."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from bench.answers import check_equal
from bench.compiling import warm_up
from bench.contestants import dotnet, nginx
from bench.contestants.server import Contestant, Origin, Server
from bench.disturbance import now, undisturbed
from bench.figures import BUSY, COMPILING, CPU, LOAD_BUSY, P50, P99, REQUESTS, SLOWED, STOLEN, Sample, Series
from bench.loads.h2load import H2load
from bench.loads.load import Load
from bench.loads.wrk import Wrk
from bench.plan import Plan
from bench.targets import SOCKETS, Target
from bench.works.health import HEALTH
from bench.works.passes import ADAPTIVE, ORIGIN_NOTE, SERVICES, SMALL
from bench.works.saturated import LOAD_TOO_BUSY, estimate, measure_in_turns, take_sample
from bench.works.work import Context, Result, Running

CONNECTIONS = 64
SHARE = 0.7
SHARE_REACHED = 0.98

FIGURES = (P50, P99, CPU, REQUESTS, BUSY, LOAD_BUSY, STOLEN, SLOWED, COMPILING)


@dataclass(frozen=True)
class FixedRateWork:
    """First finds the most that the best of the references can do, then loads all with a part of that, at constant rate."""

    name: str
    title: str
    path: str
    contestants: Sequence[Contestant]
    references: Sequence[str]
    targets: Sequence[Target]
    notes: Sequence[str] = ()
    origin: Origin | None = None

    @property
    def tools(self) -> set[str]:
        loads = {*Wrk(self.path, CONNECTIONS).tools, *H2load(self.path, CONNECTIONS).tools}
        return {*loads, *(tool for contestant in self.contestants for tool in contestant.tools)}

    def estimate(self, plan: Plan) -> float:
        finding = plan.processes_started * plan.warm_up_expected + plan.rounds * plan.seconds
        return estimate(plan, len(self.contestants)) + len(self.references) * finding

    def run(self, context: Context) -> Result:
        with context.running(self.contestants, behind=self.origin) as running:
            check_equal(running.servers, self.path, "--http1.1")
            maximum = find_maximum(context, running, self.path, self.references)
            load = H2load(self.path, CONNECTIONS, rate=int(maximum * SHARE))
            series = measure_in_turns(context, self.contestants, running.rows, load, take_rate_sample)
        reference = f"{' or '.join(self.references)}, whichever is faster, did {maximum:,.0f} requests/s under wrk."
        notes = [f"Load: `{load.describe()}`; {reference}", *self.notes]
        return Result(FIGURES, series, self.targets, notes + describe_missed_rates(series, load.rate))


def find_maximum(context: Context, running: Running, path: str, references: Sequence[str]) -> float:
    """Requests per second of the best of the references, saturated by wrk."""
    plan, load = context.plan, Wrk(path, CONNECTIONS)
    rows = [[server for server in row if server.name in references] for row in running.rows]
    rates: dict[str, list[float]] = {server.name: [] for server in rows[0]}
    for server in chain.from_iterable(rows):
        context.progress.say(f"warming up {server.name} to find its maximum")
        warm_up(server.process, partial(load.run, server.base_url), plan)
        context.progress.add(plan.warm_up_expected)
    watched = [server.process for server in running.servers]
    for number in range(plan.rounds):
        for server in rows[number % len(rows)]:
            sample = undisturbed(partial(take_sample, server, load, plan.seconds), plan.attempts, partial(now, watched))
            rates[server.name].append(sample.values[REQUESTS])
            context.progress.add(plan.seconds)
    return max(statistics.median(each) for each in rates.values())


def take_rate_sample(server: Server, load: Load, seconds: int) -> Sample:
    """Limited, here, is a round in which the load generator itself was too busy to be in time."""
    sample = take_sample(server, load, seconds)
    return replace(sample, limited=sample.values[LOAD_BUSY] > LOAD_TOO_BUSY)


def describe_missed_rates(series: list[Series], rate: int) -> list[str]:
    """Who did not answer at the rate that was asked for: its latencies are those of a queue that grows."""
    return [
        f"**{each.name} answered {each.median(REQUESTS):,.0f} requests/s of {rate:,}.**"
        for each in series
        if each.median(REQUESTS) < rate * SHARE_REACHED
    ]


WORKS = [
    FixedRateWork(
        "fixed-rate",
        f"`/health` at {SHARE:.0%} of Sockets' maximum, constant rate, {CONNECTIONS} connections",
        HEALTH,
        [dotnet.plaintext(setup) for setup in dotnet.ALL],
        SOCKETS,
        [Target(ADAPTIVE, P50, 1.0, 0.5, against=SOCKETS), Target(ADAPTIVE, P99, 0.8, 0.5, against=SOCKETS)],
    ),
    FixedRateWork(
        "pass-fixed-rate",
        f"Passed to the origin, {SMALL:,} bytes, at {SHARE:.0%} of nginx's maximum, constant rate, {CONNECTIONS} connections",
        f"/object/{SMALL}",
        [*SERVICES, nginx.proxy(), dotnet.yarp()],
        ("nginx",),
        [Target(ADAPTIVE, P99, 1.0, 0.7, against=("nginx",))],
        [ORIGIN_NOTE],
        origin=nginx.origin("no-store"),
    ),
]
