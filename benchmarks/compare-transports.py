#!/usr/bin/env python3
"""Compares Kestrel on io_uring with Kestrel on sockets, on one machine, in one run.

Five set-ups of one server of samples run at once, each pinned to core 0 as a one-processor machine; wrk runs alone on core 1.
Each is warmed up first (tiered compilation needs several seconds), then they are measured in turns, A B C D E A B C D E ..., so that
drift of the machine hits all alike. Figures are medians over the rounds.

CPU time per request (user + system, from /proc/PID/stat) is the figure to compare: requests per second also depends on the load
generator. A round in which the server was less than 90 % busy was limited by wrk; it is counted in the column "wrk-limited".
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from plaintext_server import (
    CLIENT_CORE,
    PLAINTEXT_SERVER,
    SERVER_CORE,
    BenchmarkError,
    Server,
    Setup,
    build_server,
    describe_machine,
    find,
    percentile,
    positive,
    publish,
    require_two_cores_and_wrk,
)

BUSY_ENOUGH = 0.9
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MICROSECONDS_PER_TICK = 1_000_000 / TICKS_PER_SECOND

# Further options of each server, and what is asked of it unless something else is.
SERVERS = {
    PLAINTEXT_SERVER: ((), "/health"),
    "CachingService": (("--Admin:Url=",), "/object/cached?ttl=1h"),
}

SETUPS = (
    Setup("io_uring, Inline", "IoUring", ("--Scheduling", "Inline")),
    Setup("io_uring, Adaptive", "IoUring", ("--Scheduling", "Adaptive")),
    Setup("io_uring, ThreadPool", "IoUring", ("--Scheduling", "ThreadPool")),
    Setup("Sockets, default", "Sockets", ("--Scheduling", "ThreadPool")),
    Setup("Sockets, inline", "Sockets", ("--Scheduling", "Inline")),
)


@dataclass(frozen=True)
class Sample:
    """One measured interval. CPU in microseconds per request, latencies in milliseconds, busy as a fraction of one core."""

    requests_per_second: float
    user: float
    system: float
    p50: float
    p99: float
    busy: float

    @property
    def cpu(self) -> float:
        return self.user + self.system


@dataclass
class Contestant:
    """A running server and what was measured on it."""

    server: Server
    resident_mebibytes: float = 0
    samples: list[Sample] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.server.setup.name

    def median(self, figure: str) -> float:
        return statistics.median(getattr(sample, figure) for sample in self.samples)

    def spread(self, figure: str) -> tuple[float, float]:
        values = [getattr(sample, figure) for sample in self.samples]
        return min(values), max(values)


@dataclass(frozen=True)
class Load:
    """What the load generator does, and to what."""

    server: str
    path: str
    connections: int
    rounds: int
    seconds: int
    warm_up_seconds: int


def main() -> int:
    arguments = parse_arguments()
    load = Load(arguments.server, arguments.path, arguments.connections, arguments.rounds, arguments.duration, arguments.warm_up)
    contestants: list[Contestant] = []
    with tempfile.TemporaryDirectory(prefix="compare-transports-") as logs:
        try:
            require_two_cores_and_wrk()
            assembly = build_server(load.server)
            for setup in SETUPS:
                setup = replace(setup, options=setup.options + SERVERS[load.server][0])
                contestants.append(Contestant(Server(setup, assembly, Path(logs), pinned=True)))
            check_responses(contestants, load.path)
            measure(contestants, load)
        except BenchmarkError as error:
            print(f"compare-transports: {error}", file=sys.stderr)
            return 1
        finally:
            for contestant in contestants:
                contestant.server.stop()
        report = render_report(contestants, load)
    publish(report, arguments.output)
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=SERVERS, default=PLAINTEXT_SERVER, help="which of samples (default %(default)s)")
    parser.add_argument("--path", help="path to request (default: /health; for CachingService a stored object of 1,345,292 bytes)")
    parser.add_argument("--connections", type=positive, default=64, help="connections that wrk holds open (default %(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="measured intervals of each set-up (default %(default)s)")
    parser.add_argument("--duration", type=positive, default=4, help="seconds of one measured interval (default %(default)s)")
    parser.add_argument("--warm-up", type=positive, default=10, help="seconds of load before anything is measured (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one short round, hardly warmed up: shows that it runs, not how fast")
    parser.add_argument("--output", type=Path, help="also write the report to this file, e.g. docs/benchmarks/YYYY-MM-DD-machine.md")
    arguments = parser.parse_args()
    arguments.path = arguments.path or SERVERS[arguments.server][1]
    if not arguments.path.startswith("/"):
        parser.error(f"--path: '{arguments.path}' does not start with '/'")
    if arguments.quick:
        arguments.rounds, arguments.duration, arguments.warm_up = 1, 1, 1
    return arguments


def check_responses(contestants: list[Contestant], path: str) -> None:
    """Every contestant must give the same whole, successful answer, or the comparison is not one."""
    answers = {contestant.name: contestant.server.request("GET", path) for contestant in contestants}
    for name, (status, body) in answers.items():
        if status != 200:
            raise BenchmarkError(f"'{name}' answers {status} to {path}: {body[:200]!r}")
    if len({body for _, body in answers.values()}) != 1:
        lengths = {name: len(body) for name, (_, body) in answers.items()}
        raise BenchmarkError(f"the bodies of {path} differ; lengths: {lengths}")


def measure(contestants: list[Contestant], load: Load) -> None:
    for contestant in contestants:
        print(f"warming up {contestant.name}", file=sys.stderr)
        contestant.server.load(load.path, load.connections, load.warm_up_seconds)
    for round_number in range(1, load.rounds + 1):
        for contestant in contestants:
            # The others ran in between: one second brings this one's code and data back into the caches.
            contestant.server.load(load.path, load.connections, 1)
            contestant.samples.append(take_sample(contestant, load))
            sample = contestant.samples[-1]
            print(
                f"round {round_number}/{load.rounds}  {contestant.name:22s} {sample.cpu:8.2f} us/request"
                f" {sample.requests_per_second:10.0f} requests/s  busy {sample.busy:4.0%}",
                file=sys.stderr,
            )
    for contestant in contestants:
        contestant.resident_mebibytes = read_resident_mebibytes(contestant.server.process.pid)


def take_sample(contestant: Contestant, load: Load) -> Sample:
    started = time.monotonic()
    user_before, system_before = read_cpu_ticks(contestant.server.process.pid)
    output = contestant.server.load(load.path, load.connections, load.seconds)
    user_after, system_after = read_cpu_ticks(contestant.server.process.pid)
    elapsed = time.monotonic() - started
    user, system = user_after - user_before, system_after - system_before
    requests = int(find(r"(\d+) requests in", output))
    if requests == 0:
        raise BenchmarkError(f"'{contestant.name}' answered no request in {load.seconds} s")
    return Sample(
        requests_per_second=float(find(r"Requests/sec:\s+([\d.]+)", output)),
        user=user * MICROSECONDS_PER_TICK / requests,
        system=system * MICROSECONDS_PER_TICK / requests,
        p50=percentile(50, output),
        p99=percentile(99, output),
        busy=(user + system) / TICKS_PER_SECOND / elapsed,
    )


def read_cpu_ticks(pid: int) -> tuple[int, int]:
    """User and system time of the whole process, in clock ticks: fields 14 and 15 of proc_pid_stat(5)."""
    fields_after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields_after_name[11]), int(fields_after_name[12])


def read_resident_mebibytes(pid: int) -> float:
    return int(find(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())) / 1024


def render_report(contestants: list[Contestant], load: Load) -> str:
    sockets_cpu = min(contestant.median("cpu") for contestant in contestants if contestant.server.setup.is_sockets)
    lines = [
        f"# {load.server}, `{load.path}`, {load.connections} connections",
        "",
        f"{describe_machine()}, {date.today()}. Server on core {SERVER_CORE} (`DOTNET_PROCESSOR_COUNT=1`), wrk on core {CLIENT_CORE};"
        f" client and server share the machine. {load.warm_up_seconds} s of warm-up each, then {load.rounds} interleaved rounds of"
        f" {load.seconds} s; medians, with minimum and maximum where two figures are in brackets.",
        "",
        "```",
        command_line(load),
        "```",
        "",
        "| set-up | CPU µs/request | user | system | ratio to Sockets | requests/s | p50 ms | p99 ms | resident MiB | busy | wrk-limited |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [render_row(contestant, sockets_cpu, load) for contestant in contestants]
    lines += [
        "",
        "*Ratio to Sockets*: CPU per request, relative to the better of the two Sockets set-ups. *Wrk-limited*: rounds in which the"
        " server was less than 90 % busy, so that requests/s and latency show the load generator.",
        "",
    ]
    lines += [f"- {contestant.name}: {contestant.server.backend_line() or 'no start-up line'}" for contestant in contestants]
    return "\n".join(lines)


def render_row(contestant: Contestant, sockets_cpu: float, load: Load) -> str:
    cpu, (lowest, highest) = contestant.median("cpu"), contestant.spread("cpu")
    slowest, fastest = contestant.spread("requests_per_second")
    limited = sum(sample.busy < BUSY_ENOUGH for sample in contestant.samples)
    cells = [
        contestant.name,
        f"**{cpu:.2f}** ({lowest:.2f}-{highest:.2f})",
        f"{contestant.median('user'):.2f}",
        f"{contestant.median('system'):.2f}",
        f"**{cpu / sockets_cpu:.2f}**",
        f"{contestant.median('requests_per_second'):,.0f} ({slowest:,.0f}-{fastest:,.0f})",
        f"{contestant.median('p50'):.2f}",
        f"{contestant.median('p99'):.2f}",
        f"{contestant.resident_mebibytes:.0f}",
        f"{contestant.median('busy'):.0%}",
        f"{limited} of {load.rounds}",
    ]
    return "| " + " | ".join(cells) + " |"


def command_line(load: Load) -> str:
    return (
        f"benchmarks/compare-transports.py --server {load.server} --path '{load.path}' --connections {load.connections}"
        f" --rounds {load.rounds} --duration {load.seconds} --warm-up {load.warm_up_seconds}"
    )


if __name__ == "__main__":
    sys.exit(main())
