"""More loops: how evenly connections are dealt, and what a second one brings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench import machine
from bench.answers import check_equal
from bench.contestants import dotnet
from bench.contestants.dotnet import Setup
from bench.contestants.server import Contestant, Server
from bench.errors import BenchmarkError
from bench.figures import COMPILING, CPU, P50, P99, REQUESTS, SLOWED, STOLEN, Figure, Sample
from bench.loads.load import Load
from bench.loads.wrk import Wrk
from bench.plan import Plan
from bench.processes import read_cpu
from bench.targets import Target
from bench.works.health import HEALTH
from bench.works.saturated import estimate, measure_in_turns, take_sample
from bench.works.work import Context, Result

CONNECTIONS = 64
LOOP_THREAD = "io_uring loop "
BUSIEST = Figure("busiest loop / mean")


def with_loops(setup: Setup, count: int) -> Contestant:
    named = replace(setup, name=f"{setup.name}, {count} loop{'s' * (count > 1)}")
    return dotnet.plaintext(named, "--Loops", str(count), cores=machine.TWO_SERVER_CORES)


ONE, TWO = (with_loops(dotnet.ADAPTIVE, count) for count in (1, 2))


@dataclass(frozen=True)
class LoopsWork:
    """One server of one loop and one of two, with two processors each."""

    name: str = "loops"
    title: str = f"`/health`, {CONNECTIONS} connections, one loop and two on 2 processors"
    load: Wrk = Wrk(HEALTH, CONNECTIONS, cores=machine.cores_beside_two())
    contestants: tuple[Contestant, ...] = (ONE, TWO)
    targets: tuple[Target, ...] = (
        Target(TWO.name, BUSIEST, 1.3),
        Target(TWO.name, REQUESTS, None, 1.8, against=(ONE.name,), at_least=True),
    )

    @property
    def tools(self) -> set[str]:
        return {*self.load.tools}

    def estimate(self, plan: Plan) -> float:
        return estimate(plan, len(self.contestants))

    def run(self, context: Context) -> Result:
        with context.running(self.contestants) as running:
            check_equal(running.servers, HEALTH, *self.load.curl_options)
            series = measure_in_turns(context, self.contestants, running.rows, self.load, take_loops_sample)
        where = "the same cores, which it shares with the servers" if self.load.cores == machine.TWO_SERVER_CORES else "others"
        notes = [
            f"Servers on cores {machine.TWO_SERVER_CORES}, load on {where}.",
            "The busiest loop is that whose thread used the most CPU time; connections are dealt in turn.",
        ]
        return Result((REQUESTS, CPU, P50, P99, BUSIEST, STOLEN, SLOWED, COMPILING), series, self.targets, notes)


def take_loops_sample(server: Server, load: Load, seconds: int) -> Sample:
    before = loop_times(server.process.pid)
    sample = take_sample(server, load, seconds)
    after = loop_times(server.process.pid)
    used = [after[name] - before.get(name, 0) for name in after]
    if f"{len(used)} loop" not in server.about:
        raise BenchmarkError(f"'{server.name}' has {len(used)} threads of loops, and says '{server.about}'")
    return replace(sample, values={**sample.values, BUSIEST: unevenness(used)}, limited=False)


def loop_times(pid: int) -> dict[str, float]:
    """CPU seconds of each thread that is a loop's home."""
    times = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        name = (thread / "comm").read_text().strip()
        if name.startswith(LOOP_THREAD):
            times[name] = read_cpu((thread / "stat").read_text()).total
    return times


def unevenness(used: list[float]) -> float:
    return max(used) * len(used) / sum(used) if sum(used) else 1.0


WORKS = [LoopsWork()]
