"""h2load: HTTP/2 as fast as the connections allow, and HTTP/1.1 at a constant rate."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchmarkError
from bench.loads.load import PERCENTILES, Seen, run_pinned


@dataclass(frozen=True)
class H2load:
    """
    h2load with one thread: HTTP/2 with some streams on each connection, or HTTP/1.1 with `rate` requests per second in all.

    With a rate each connection sends at its times whether or not it has been answered (it pipelines), and latency counts from there:
    a server that stops for a while pays for every request that came due meanwhile. That is the corrected latency.
    """

    path: str
    connections: int
    streams: int = 1
    rate: int = 0
    tools: tuple[str, ...] = ("h2load",)

    @property
    def curl_options(self) -> tuple[str, ...]:
        return ("--http1.1",) if self.rate else ("--http2-prior-knowledge",)

    def run(self, base_url: str, seconds: int) -> Seen:
        with tempfile.TemporaryDirectory(prefix="bench-h2load-") as directory:
            log = Path(directory) / "requests.log"
            output, busy = run_pinned(self.command(base_url, seconds, log))
            check(output)
            return summarize(log.read_text(), seconds, busy)

    def command(self, base_url: str, seconds: int, log: Path) -> list[str]:
        command = ["h2load", "--clients", str(self.connections), "--duration", str(seconds), "--log-file", str(log)]
        if self.rate:
            # Without room in the pipeline it would wait for answers, and leave out just those requests that came due meanwhile.
            command += ["--h1", f"--rps={self.rate / self.connections:.3f}", "--max-concurrent-streams", str(self.rate)]
        else:
            command += ["--max-concurrent-streams", str(self.streams)]
        return [*command, base_url + self.path]

    def describe(self) -> str:
        how = f"--h1 --rps, {self.rate} in all" if self.rate else f"--max-concurrent-streams {self.streams}"
        return f"h2load --clients {self.connections} {how} {self.path}"


def check(output: str) -> None:
    """Every request that ended must have succeeded."""
    match = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", output)
    if not match:
        raise BenchmarkError(f"h2load printed no figures:\n{output}")
    _, *wrong = (int(count) for count in match.groups())
    codes = re.search(r"status codes: \d+ 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", output)
    if any(wrong) or (codes and any(int(count) for count in codes.groups())):
        raise BenchmarkError(f"requests failed:\n{output[match.start():]}")


def summarize(log: str, seconds: float, busy: float = 0) -> Seen:
    """The figures of a log with a line per request: start in microseconds, status, microseconds until the end."""
    latencies = sorted(int(line.rsplit("\t", 1)[1]) for line in log.splitlines())
    if not latencies:
        raise BenchmarkError("h2load logged no request")
    return Seen(len(latencies), seconds, {percent: percentile(latencies, percent) / 1000 for percent in PERCENTILES}, busy)


def percentile(ordered: Sequence[int], percent: float) -> int:
    """The smallest value that at least `percent` of an ordered sample do not exceed."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
