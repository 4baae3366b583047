#!/usr/bin/env python3
"""Compares Kestrel on io_uring with Kestrel on sockets, on one machine, in one run.

Four set-ups of samples/PlaintextServer run at once, each pinned to core 0 as a one-processor machine; wrk runs alone on core 1.
Each is warmed up first (tiered compilation needs several seconds), then they are measured in turns, A B C D A B C D ..., so that
drift of the machine hits all alike. Figures are medians over the rounds.

CPU time per request (user + system, from /proc/PID/stat) is the figure to compare: requests per second also depends on the load
generator. A round in which the server was less than 90 % busy was limited by wrk; it is counted in the column "wrk-limited".
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PROJECT = REPOSITORY / "samples" / "PlaintextServer"
SERVER_CORE, CLIENT_CORE = "0", "1"
BUSY_ENOUGH = 0.9
START_TIMEOUT_SECONDS = 20
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MICROSECONDS_PER_TICK = 1_000_000 / TICKS_PER_SECOND


class BenchmarkError(Exception):
    """Something that makes the figures worthless; the message is for the person who ran the script."""


@dataclass(frozen=True)
class Setup:
    """One way to run the server."""

    name: str
    transport: str
    scheduling: str

    @property
    def is_sockets(self) -> bool:
        return self.transport == "Sockets"


SETUPS = (
    Setup("io_uring, Inline", "IoUring", "Inline"),
    Setup("io_uring, ThreadPool", "IoUring", "ThreadPool"),
    Setup("Sockets, default", "Sockets", "ThreadPool"),
    Setup("Sockets, inline", "Sockets", "Inline"),
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

    setup: Setup
    process: subprocess.Popen[bytes]
    log: Path
    port: int = 0
    resident_mebibytes: float = 0
    samples: list[Sample] = field(default_factory=list)

    def median(self, figure: str) -> float:
        return statistics.median(getattr(sample, figure) for sample in self.samples)

    def spread(self, figure: str) -> tuple[float, float]:
        values = [getattr(sample, figure) for sample in self.samples]
        return min(values), max(values)

    def backend_line(self) -> str:
        """What the transport said at start-up, without the log prefix; empty if it said nothing."""
        match = re.search(r"IO backend: .*", self.log.read_text(errors="replace"))
        return match[0].strip() if match else ""


@dataclass(frozen=True)
class Load:
    """What the load generator does."""

    path: str
    connections: int
    rounds: int
    seconds: int
    warm_up_seconds: int


def main() -> int:
    arguments = parse_arguments()
    load = Load(arguments.path, arguments.connections, arguments.rounds, arguments.duration, arguments.warm_up)
    contestants: list[Contestant] = []
    with tempfile.TemporaryDirectory(prefix="compare-transports-") as logs:
        try:
            require_machine()
            assembly = build_server()
            for setup in SETUPS:
                contestants.append(start_server(setup, assembly, Path(logs)))
            check_responses(contestants, load.path)
            measure(contestants, load)
        except BenchmarkError as error:
            print(f"compare-transports: {error}", file=sys.stderr)
            return 1
        finally:
            for contestant in contestants:
                stop_server(contestant)
        report = render_report(contestants, load)
    print(report)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(report + "\n")
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", default="/health", help="path to request (default %(default)s)")
    parser.add_argument("--connections", type=positive, default=64, help="connections that wrk holds open (default %(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="measured intervals of each set-up (default %(default)s)")
    parser.add_argument("--duration", type=positive, default=4, help="seconds of one measured interval (default %(default)s)")
    parser.add_argument("--warm-up", type=positive, default=10, help="seconds of load before anything is measured (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one short round, hardly warmed up: shows that it runs, not how fast")
    parser.add_argument("--output", type=Path, help="also write the report to this file, e.g. docs/benchmarks/YYYY-MM-DD-machine.md")
    arguments = parser.parse_args()
    if not arguments.path.startswith("/"):
        parser.error(f"--path: '{arguments.path}' does not start with '/'")
    if arguments.quick:
        arguments.rounds, arguments.duration, arguments.warm_up = 1, 1, 1
    return arguments


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return int(text)


def require_machine() -> None:
    """Two cores to separate server and client, and wrk, installed from the distribution if need be."""
    if not {0, 1} <= os.sched_getaffinity(0):
        raise BenchmarkError("cores 0 and 1 are needed: the server is pinned to one, the load generator to the other")
    for tool, package in (("wrk", "wrk"), ("taskset", "util-linux")):
        if shutil.which(tool):
            continue
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise BenchmarkError(f"'{tool}' is missing; install it, e.g. apt-get install {package}")
        subprocess.run(["apt-get", "update", "-qq"], check=False, stdout=sys.stderr)
        subprocess.run(["apt-get", "install", "-y", "-qq", package], check=True, stdout=sys.stderr)


def build_server() -> Path:
    print("building PlaintextServer (Release)", file=sys.stderr)
    built = subprocess.run(
        ["dotnet", "build", str(PROJECT), "--configuration", "Release", "--nologo", "--verbosity", "quiet"],
        capture_output=True,
        text=True,
    )
    if built.returncode != 0:
        raise BenchmarkError(f"PlaintextServer does not build:\n{built.stdout}{built.stderr}")
    return PROJECT / "bin" / "Release" / "net10.0" / "PlaintextServer.dll"


def start_server(setup: Setup, assembly: Path, logs: Path) -> Contestant:
    """Starts one server on a free port of its own choice and waits until it has said which."""
    log = logs / (re.sub(r"\W+", "-", setup.name) + ".log")
    command = ["taskset", "-c", SERVER_CORE, "dotnet", str(assembly), "--urls", "http://127.0.0.1:0"]
    command += ["--Transport", setup.transport, "--Scheduling", setup.scheduling]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=dict(os.environ, DOTNET_PROCESSOR_COUNT="1")
        )
    contestant = Contestant(setup, process, log)
    try:
        contestant.port = wait_for_port(contestant)
        backend = contestant.backend_line()
        if not setup.is_sockets and not backend.startswith("IO backend: io_uring"):
            raise BenchmarkError(f"'{setup.name}' does not run on io_uring; its log says: {backend or 'nothing about a back end'}")
    except BenchmarkError:
        stop_server(contestant)
        raise
    return contestant


def wait_for_port(contestant: Contestant) -> int:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline and contestant.process.poll() is None:
        match = re.search(r"Now listening on: http://127\.0\.0\.1:(\d+)", contestant.log.read_text(errors="replace"))
        if match:
            return int(match[1])
        time.sleep(0.05)
    raise BenchmarkError(f"'{contestant.setup.name}' did not start:\n{contestant.log.read_text(errors='replace')}")


def stop_server(contestant: Contestant) -> None:
    contestant.process.send_signal(signal.SIGTERM)
    try:
        contestant.process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        contestant.process.kill()
        contestant.process.wait()


def check_responses(contestants: list[Contestant], path: str) -> None:
    """Every contestant must give the same whole, successful answer, or the comparison is not one."""
    answers = {contestant.setup.name: fetch(contestant.port, path) for contestant in contestants}
    for name, (status, body) in answers.items():
        if status != 200:
            raise BenchmarkError(f"'{name}' answers {status} to {path}: {body[:200]!r}")
    if len({body for _, body in answers.values()}) != 1:
        lengths = {name: len(body) for name, (_, body) in answers.items()}
        raise BenchmarkError(f"the bodies of {path} differ; lengths: {lengths}")


def fetch(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException) as error:
        raise BenchmarkError(f"GET {path} failed: {error!r}") from error
    finally:
        connection.close()


def measure(contestants: list[Contestant], load: Load) -> None:
    for contestant in contestants:
        print(f"warming up {contestant.setup.name}", file=sys.stderr)
        run_wrk(contestant, load, load.warm_up_seconds)
    for round_number in range(1, load.rounds + 1):
        for contestant in contestants:
            # The others ran in between: one second brings this one's code and data back into the caches.
            run_wrk(contestant, load, 1)
            contestant.samples.append(take_sample(contestant, load))
            sample = contestant.samples[-1]
            print(
                f"round {round_number}/{load.rounds}  {contestant.setup.name:22s} {sample.cpu:8.2f} us/request"
                f" {sample.requests_per_second:10.0f} requests/s  busy {sample.busy:4.0%}",
                file=sys.stderr,
            )
    for contestant in contestants:
        contestant.resident_mebibytes = read_resident_mebibytes(contestant.process.pid)


def take_sample(contestant: Contestant, load: Load) -> Sample:
    started = time.monotonic()
    user_before, system_before = read_cpu_ticks(contestant.process.pid)
    output = run_wrk(contestant, load, load.seconds)
    user_after, system_after = read_cpu_ticks(contestant.process.pid)
    elapsed = time.monotonic() - started
    user, system = user_after - user_before, system_after - system_before
    requests = int(find(r"(\d+) requests in", output))
    if requests == 0:
        raise BenchmarkError(f"'{contestant.setup.name}' answered no request in {load.seconds} s")
    return Sample(
        requests_per_second=float(find(r"Requests/sec:\s+([\d.]+)", output)),
        user=user * MICROSECONDS_PER_TICK / requests,
        system=system * MICROSECONDS_PER_TICK / requests,
        p50=to_milliseconds(find(r"(?m)^\s+50%\s+(\S+)", output)),
        p99=to_milliseconds(find(r"(?m)^\s+99%\s+(\S+)", output)),
        busy=(user + system) / TICKS_PER_SECOND / elapsed,
    )


def run_wrk(contestant: Contestant, load: Load, seconds: int) -> str:
    url = f"http://127.0.0.1:{contestant.port}{load.path}"
    command = ["taskset", "-c", CLIENT_CORE, "wrk", "--threads", "1", "--connections", str(load.connections)]
    command += ["--duration", f"{seconds}s", "--timeout", "10s", "--latency", url]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode != 0:
        raise BenchmarkError(f"wrk failed: {finished.stderr or finished.stdout}")
    errors = re.search(r"(Non-2xx.*|Socket errors.*)", finished.stdout)
    if errors:
        raise BenchmarkError(f"'{contestant.setup.name}': {errors[1].strip()}")
    return finished.stdout


def find(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if not match:
        raise BenchmarkError(f"wrk's output has nothing like {pattern!r}:\n{text}")
    return match[1]


def to_milliseconds(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text)
    if not match:
        raise BenchmarkError(f"wrk printed an unknown duration: {text}")
    return float(match[1]) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000}[match[2]]


def read_cpu_ticks(pid: int) -> tuple[int, int]:
    """User and system time of the whole process, in clock ticks: fields 14 and 15 of proc_pid_stat(5)."""
    fields_after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields_after_name[11]), int(fields_after_name[12])


def read_resident_mebibytes(pid: int) -> float:
    return int(find(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())) / 1024


def render_report(contestants: list[Contestant], load: Load) -> str:
    sockets_cpu = min(contestant.median("cpu") for contestant in contestants if contestant.setup.is_sockets)
    lines = [
        f"# `{load.path}`, {load.connections} connections",
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
    lines += [f"- {contestant.setup.name}: {contestant.backend_line() or 'no start-up line'}" for contestant in contestants]
    return "\n".join(lines)


def render_row(contestant: Contestant, sockets_cpu: float, load: Load) -> str:
    cpu, (lowest, highest) = contestant.median("cpu"), contestant.spread("cpu")
    slowest, fastest = contestant.spread("requests_per_second")
    limited = sum(sample.busy < BUSY_ENOUGH for sample in contestant.samples)
    cells = [
        contestant.setup.name,
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


def describe_machine() -> str:
    model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    processor = model[1].strip() if model else os.uname().machine
    commit = output_of("git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD") or "unknown"
    changed = " with local changes" if output_of("git", "-C", str(REPOSITORY), "status", "--porcelain") else ""
    return (
        f"{processor}, {os.cpu_count()} cores, Linux {os.uname().release}, .NET SDK {output_of('dotnet', '--version')},"
        f" commit {commit}{changed}"
    )


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def command_line(load: Load) -> str:
    return (
        f"benchmarks/compare-transports.py --path {load.path} --connections {load.connections}"
        f" --rounds {load.rounds} --duration {load.seconds} --warm-up {load.warm_up_seconds}"
    )


if __name__ == "__main__":
    sys.exit(main())
