"""wrk: as many requests as the connections allow."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

from bench.errors import BenchmarkError
from bench.loads.load import Seen, run_pinned
from bench.machine import LOAD_CORE

SCRIPT = Path(__file__).with_name("wrk.lua")


@dataclass(frozen=True)
class Wrk:
    """wrk with one thread. `script` are arguments of wrk.lua; `wrapper` is a command that runs the command after it."""

    path: str
    connections: int
    headers: tuple[str, ...] = ()
    script: tuple[str, ...] = ()
    cores: str = LOAD_CORE
    wrapper: tuple[str, ...] = ()
    tools: tuple[str, ...] = ("wrk",)

    @property
    def curl_options(self) -> tuple[str, ...]:
        posts = any(argument.startswith("post=") for argument in self.script)
        return ("--http1.1", "--data-binary", "x" * 1024) if posts else ("--http1.1",)

    @property
    def is_pipelined(self) -> bool:
        """
        wrk's latencies are of no use then: it adds those of requests that it takes to have been held back, and takes what was pipelined for
        such; many are below its minimum, where it does not look for percentiles.
        """
        return any(argument.startswith("pipeline=") for argument in self.script)

    def run(self, base_url: str, seconds: int) -> Seen:
        output, busy = run_pinned(self.command(base_url, seconds), self.cores)
        seen = parse(output, busy)
        return replace(seen, latencies={}) if self.is_pipelined else seen

    def command(self, base_url: str, seconds: int) -> list[str]:
        headers = [word for header in self.headers for word in ("--header", header)]
        options = ["--threads", "1", "--connections", str(self.connections), "--duration", f"{seconds}s", "--timeout", "60s"]
        return [*self.wrapper, "wrk", *options, *headers, "--script", str(SCRIPT), base_url + self.path, "--", *self.script]

    def describe(self) -> str:
        headers = [f"--header '{header}'" for header in self.headers]
        return " ".join([f"wrk --connections {self.connections}", *headers, *self.script, self.path])


def parse(output: str, busy: float = 0) -> Seen:
    """The line of JSON that wrk.lua writes last; an error of any request is an error."""
    lines = output.strip().splitlines()
    try:
        figures = json.loads(lines[-1])
    except (IndexError, ValueError) as error:
        raise BenchmarkError(f"wrk printed no figures:\n{output}") from error
    errors = {name: count for name, count in figures["errors"].items() if count}
    if errors:
        raise BenchmarkError(f"requests failed: {errors}")
    requests = figures["requests"]
    # What was never answered took longer than anything.
    latencies = {float(percentile): value / 1000 if requests else math.inf for percentile, value in figures["latencies"].items()}
    return Seen(requests, figures["microseconds"] / 1_000_000, latencies, busy)
