"""System calls per request, counted by perf from the kernel's own trace point."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from bench.answers import check_equal
from bench.contestants.server import Server
from bench.errors import BenchmarkError, NotMeasurableError
from bench.figures import BUSY, COMPILING, REQUESTS, SLOWED, STOLEN, SYSTEM_CALLS, Sample
from bench.loads.wrk import Wrk
from bench.plan import Plan
from bench.targets import Target
from bench.works.health import ADAPTIVE, CONTESTANTS, FLOOR, HEALTH, INLINE, THREAD_POOL
from bench.works.saturated import estimate, measure_in_turns, take_sample
from bench.works.work import Context, Result

EVENT = "raw_syscalls:sys_enter"
NOTE = f"Counted by `perf stat --event {EVENT}`, which slows each call."


@dataclass(frozen=True)
class SystemCallsWork:
    """As the saturated works, under perf: the trace point costs each call something, so nothing but the count is of use here."""

    name: str = "system-calls"
    title: str = "System calls per request, `/health`, 64 connections"
    load: Wrk = Wrk(HEALTH, 64)

    @property
    def tools(self) -> set[str]:
        return {"perf", *self.load.tools, *(tool for contestant in CONTESTANTS for tool in contestant.tools)}

    def estimate(self, plan: Plan) -> float:
        return estimate(plan, len(CONTESTANTS))

    def run(self, context: Context) -> Result:
        require_permission()
        with context.running(CONTESTANTS) as running:
            check_equal(running.servers, self.load.path, *self.load.curl_options)
            series = measure_in_turns(context, CONTESTANTS, running.rows, self.load, count)
        targets = [Target(name, SYSTEM_CALLS, 1.0, against=(FLOOR,)) for name in (INLINE, ADAPTIVE, THREAD_POOL)]
        return Result((SYSTEM_CALLS, REQUESTS, BUSY, STOLEN, SLOWED, COMPILING), series, targets, [NOTE])


def require_permission() -> None:
    tried = subprocess.run(["perf", "stat", "--event", EVENT, "true"], capture_output=True, text=True)
    if tried.returncode != 0 or "not supported" in tried.stderr:
        raise NotMeasurableError(f"not measurable here, perf cannot count {EVENT}: {tried.stderr.strip()}")


def count(server: Server, load: Wrk, seconds: int) -> Sample:
    """Counts the calls of all threads of the server, those that start meanwhile included, for as long as wrk runs."""
    with tempfile.TemporaryDirectory(prefix="bench-perf-") as directory:
        result = Path(directory) / "count"
        perf = ("perf", "stat", "--event", EVENT, "--field-separator", ",", "--output", str(result))
        pids = ",".join(str(pid) for pid in server.process.pids())
        sample = take_sample(server, replace(load, wrapper=(*perf, "--pid", pids)), seconds)
        calls = parse(result.read_text())
    requests = sample.values[REQUESTS] * seconds
    values = {SYSTEM_CALLS: calls / requests, REQUESTS: sample.values[REQUESTS], BUSY: sample.values[BUSY]}
    return Sample(values, limited=sample.limited)


def parse(result: str) -> int:
    """The count in the comma-separated output of perf stat."""
    for line in result.splitlines():
        fields = line.split(",")
        if EVENT in fields and fields[0].isdigit():
            return int(fields[0])
    raise BenchmarkError(f"perf counted nothing: {result.strip()}")


WORKS = [SystemCallsWork()]
