"""A constant rate below what Sockets can do: latency as a user has it, and the cost of a server that is not saturated."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from bench.answers import check_equal
from bench.compiling import warm_up
from bench.contestants import dotnet
from bench.contestants.server import Server
from bench.disturbance import now, undisturbed
from bench.figures import BUSY, COMPILING, CPU, LOAD_BUSY, P50, P99, REQUESTS, SLOWED, STOLEN, Sample, Series
from bench.loads.h2load import H2load
from bench.loads.load import Load
from bench.loads.wrk import Wrk
from bench.plan import Plan
from bench.targets import SOCKETS, Target
from bench.works.health import HEALTH
from bench.works.saturated import LOAD_TOO_BUSY, estimate, measure_in_turns, take_sample
from bench.works.work import Context, Result, Running

CONNECTIONS = 64
SHARE = 0.7
SHARE_REACHED = 0.98

CONTESTANTS = [dotnet.plaintext(setup) for setup in dotnet.ALL]
FIGURES = (P50, P99, CPU, REQUESTS, BUSY, LOAD_BUSY, STOLEN, SLOWED, COMPILING)


@dataclass(frozen=True)
class FixedRateWork:
    """First finds the most that Sockets can do, then loads all with a part of that, at constant rate."""

    name: str = "fixed-rate"
    title: str = f"`/health` at {SHARE:.0%} of Sockets' maximum, constant rate, {CONNECTIONS} connections"

    @property
    def tools(self) -> set[str]:
        return {*Wrk(HEALTH, CONNECTIONS).tools, *H2load(HEALTH, CONNECTIONS).tools}

    def estimate(self, plan: Plan) -> float:
        finding = plan.processes_started * plan.warm_up_expected + plan.rounds * plan.seconds
        return estimate(plan, len(CONTESTANTS)) + len(SOCKETS) * finding

    def run(self, context: Context) -> Result:
        with context.running(CONTESTANTS) as running:
            check_equal(running.servers, HEALTH, "--http1.1")
            maximum = find_maximum(context, running)
            load = H2load(HEALTH, CONNECTIONS, rate=int(maximum * SHARE))
            series = measure_in_turns(context, CONTESTANTS, running.rows, load, take_rate_sample)
        notes = [f"Load: `{load.describe()}`; the better of Sockets' set-ups did {maximum:,.0f} requests/s under wrk."]
        return Result(FIGURES, series, targets(), notes + describe_missed_rates(series, load.rate))


def targets() -> list[Target]:
    adaptive = dotnet.ADAPTIVE.name
    return [Target(adaptive, P50, 1.0, 0.5, against=SOCKETS), Target(adaptive, P99, 0.8, 0.5, against=SOCKETS)]


def find_maximum(context: Context, running: Running) -> float:
    """Requests per second of the better of the set-ups of Sockets, saturated by wrk."""
    plan, load = context.plan, Wrk(HEALTH, CONNECTIONS)
    rows = [[server for server in row if server.name in SOCKETS] for row in running.rows]
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


WORKS = [FixedRateWork()]
