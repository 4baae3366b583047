"""Works in which the load keeps the server's core busy: warmed up, measured in turns, compared by CPU per request."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from bench.answers import check_equal
from bench.compiling import warm_up
from bench.contestants.server import Contestant, Origin, Server
from bench.disturbance import now, undisturbed
from bench.errors import BenchmarkError
from bench.figures import (
    BUSY,
    COMPILING,
    CPU,
    LOAD_BUSY,
    P50,
    P99,
    PER_CONNECTION,
    REQUESTS,
    RESIDENT,
    SLOWED,
    STOLEN,
    SYSTEM,
    USER,
    Figure,
    Sample,
    Series,
)
from bench.loads.load import Load, Seen
from bench.plan import Plan
from bench.processes import CpuTime
from bench.targets import Target
from bench.works.work import Context, Result

FIGURES = (CPU, USER, SYSTEM, REQUESTS, P50, P99, PER_CONNECTION, RESIDENT, BUSY, LOAD_BUSY, STOLEN, SLOWED, COMPILING)
START_SECONDS = 1.5
BUSY_ENOUGH = 0.9
LOAD_TOO_BUSY = 90

AnyLoad = TypeVar("AnyLoad", bound=Load)

# Measures one interval of a load on a server, of some seconds.
Measure = Callable[[Server, AnyLoad, int], Sample]


@dataclass(frozen=True)
class SaturatedWork:
    """All contestants run at once; each is measured in turn while the others idle, so that drift of the machine hits all alike."""

    name: str
    title: str
    load: Load
    contestants: Sequence[Contestant]
    targets: Sequence[Target] = ()
    notes: Sequence[str] = ()
    origin: Origin | None = None
    only_hits: bool = False
    measure: Measure[Load] | None = None

    @property
    def tools(self) -> set[str]:
        return {*self.load.tools, *(tool for contestant in self.contestants for tool in contestant.tools)}

    def estimate(self, plan: Plan) -> float:
        return estimate(plan, len(self.contestants))

    def run(self, context: Context) -> Result:
        with context.running(self.contestants, behind=self.origin) as running:
            answer = check_equal(running.servers, self.load.path, *self.load.curl_options)
            series = measure_in_turns(context, self.contestants, running.rows, self.load, self.measure or take_sample)
            if self.only_hits:
                check_hits(running.origin, len(running.servers))
        notes = [f"Load: `{self.load.describe()}`; each answer has {answer.length:,} bytes of body.", *self.notes]
        return Result(FIGURES, series, self.targets, notes)


def check_hits(origin: str, caches: int) -> None:
    """Each cache must have asked the origin once and answered everything else itself."""
    with urllib.request.urlopen(f"{origin}/requests", timeout=10) as response:
        requests = int(response.read())
    if requests != caches:
        raise BenchmarkError(f"the origin was asked {requests} times by {caches} caches: not only hits were measured")


def estimate(plan: Plan, contestants: int) -> float:
    starts = plan.processes_started * (START_SECONDS + plan.warm_up_expected)
    return contestants * (starts + plan.rounds * (plan.refresh + plan.seconds))


def measure_in_turns(
    context: Context, contestants: Sequence[Contestant], rows: Sequence[Sequence[Server]], load: AnyLoad, measure: Measure[AnyLoad]
) -> list[Series]:
    """Warms each server up, then measures a row of them in each round: A1 B1 C1 A2 B2 C2 ..."""
    plan, progress = context.plan, context.progress
    series = [Series(server.name, server.about) for server in rows[0]]
    watched = [server.process for row in rows for server in row]
    endings = []
    try:
        for turn, row in enumerate(rows):
            for contestant, server in zip(contestants, row, strict=True):
                progress.say(f"warming up {server.name}, process {turn + 1} of {len(rows)}")
                warm_up(server.process, partial(run_load, server, load), plan)
                if contestant.prepare:
                    endings.append(contestant.prepare(server))
                progress.add(START_SECONDS + plan.warm_up_expected)
        for number in range(plan.rounds):
            for each, server in zip(series, rows[number % len(rows)], strict=True):
                if plan.refresh:
                    # The others ran in between: this brings this one's code and data back into the caches.
                    run_load(server, load, plan.refresh)
                each.samples.append(undisturbed(partial(measure, server, load, plan.seconds), plan.attempts, partial(now, watched)))
                progress.add(plan.refresh + plan.seconds)
                progress.say(f"round {number + 1}/{plan.rounds} {server.name}: {show(each.samples[-1])}")
    finally:
        for end in endings:
            end()
    return series


def run_load(server: Server, load: Load, seconds: int) -> Seen:
    try:
        return load.run(server.base_url, seconds)
    except BenchmarkError as error:
        raise BenchmarkError(f"'{server.name}': {error}") from error


def take_sample(server: Server, load: Load, seconds: int) -> Sample:
    before = server.process.cpu()
    seen = run_load(server, load, seconds)
    if seen.requests == 0:
        raise BenchmarkError(f"'{server.name}' answered no request in {seconds} s")
    return sample_of(seen, server.process.cpu().since(before), server.process.resident_mebibytes())


def sample_of(seen: Seen, cpu: CpuTime, resident_mebibytes: float) -> Sample:
    busy = cpu.total / seen.seconds
    values: dict[Figure, float] = {
        CPU: cpu.total / seen.requests * 1_000_000,
        USER: cpu.user / seen.requests * 1_000_000,
        SYSTEM: cpu.system / seen.requests * 1_000_000,
        REQUESTS: seen.rate,
        **{figure: seen.latencies[percentile] for figure, percentile in ((P50, 50), (P99, 99)) if seen.latencies},
        RESIDENT: resident_mebibytes,
        BUSY: busy * 100,
        LOAD_BUSY: seen.busy * 100,
    }
    return Sample(values, seen.latencies, limited=busy < BUSY_ENOUGH)


def show(sample: Sample) -> str:
    """The first few figures, for the progress."""
    return ", ".join(f"{figure.show(value)} {figure.title}" for figure, value in list(sample.values.items())[:1])
