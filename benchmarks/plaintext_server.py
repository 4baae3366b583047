"""What the benchmarks of this directory have in common: servers to measure (of samples), the load, the machine."""

from __future__ import annotations

import argparse
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PLAINTEXT_SERVER = "PlaintextServer"
SERVER_CORE, CLIENT_CORE = "0", "1"
START_TIMEOUT_SECONDS = 20
STOP_TIMEOUT_SECONDS = 30


class BenchmarkError(Exception):
    """Something that makes the figures worthless; the message is for the person who ran the script."""


@dataclass(frozen=True)
class Setup:
    """One way to run the server."""

    name: str
    transport: str
    options: tuple[str, ...] = ()

    @property
    def is_sockets(self) -> bool:
        return self.transport == "Sockets"


class Server:
    """A running server, on a port of its own choice."""

    def __init__(self, setup: Setup, assembly: Path, logs: Path, *, pinned: bool) -> None:
        """Starts it, alone on its core as a one-processor machine if `pinned`, and waits until it listens."""
        self.setup = setup
        self.log = logs / (re.sub(r"\W+", "-", setup.name) + ".log")
        command = ["dotnet", str(assembly), "--urls", "http://127.0.0.1:0", "--Transport", setup.transport, *setup.options]
        environment = dict(os.environ)
        if pinned:
            command = ["taskset", "-c", SERVER_CORE, *command]
            environment["DOTNET_PROCESSOR_COUNT"] = "1"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            self.port = self._wait_for_port()
            if not setup.is_sockets and not self.backend_line().startswith("IO backend: io_uring"):
                raise BenchmarkError(f"'{setup.name}' does not run on io_uring: {self.backend_line() or 'it names no back end'}")
        except BenchmarkError:
            self.stop()
            raise

    def backend_line(self) -> str:
        """What the transport said at start-up, without the log prefix; empty if it said nothing."""
        match = re.search(r"IO backend: .*", self.log.read_text(errors="replace"))
        return match[0].strip() if match else ""

    def request(self, method: str, path: str) -> tuple[int, bytes]:
        """Status and body of one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise BenchmarkError(f"'{self.setup.name}': {method} {path} failed: {error!r}") from error
        finally:
            connection.close()

    def load(self, path: str, connections: int, seconds: int) -> str:
        """Runs wrk alone on the client's core; its output."""
        command = ["taskset", "-c", CLIENT_CORE, "wrk", "--threads", "1", "--connections", str(connections)]
        command += ["--duration", f"{seconds}s", "--timeout", "10s", "--latency", f"http://127.0.0.1:{self.port}{path}"]
        finished = subprocess.run(command, capture_output=True, text=True)
        if finished.returncode != 0:
            raise BenchmarkError(f"wrk failed: {finished.stderr or finished.stdout}")
        errors = re.search(r"(Non-2xx.*|Socket errors.*)", finished.stdout)
        if errors:
            raise BenchmarkError(f"'{self.setup.name}': {errors[1].strip()}")
        return finished.stdout

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _wait_for_port(self) -> int:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            log = self.log.read_text(errors="replace")
            ports = re.findall(r"Now listening on: http://127\.0\.0\.1:(\d+)", log)
            if ports and "Application started" in log:
                return int(ports[-1])  # An origin inside the process listens first.
            time.sleep(0.05)
        raise BenchmarkError(f"'{self.setup.name}' did not start:\n{self.log.read_text(errors='replace')}")


def build_server(sample: str = PLAINTEXT_SERVER) -> Path:
    """The server's assembly, built in Release."""
    print(f"building {sample} (Release)", file=sys.stderr)
    project = REPOSITORY / "samples" / sample
    built = subprocess.run(
        ["dotnet", "build", str(project), "--configuration", "Release", "--nologo", "--verbosity", "quiet"],
        capture_output=True,
        text=True,
    )
    if built.returncode != 0:
        raise BenchmarkError(f"{sample} does not build:\n{built.stdout}{built.stderr}")
    return project / "bin" / "Release" / "net10.0" / f"{sample}.dll"


def require_two_cores_and_wrk() -> None:
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


def find(pattern: str, text: str) -> str:
    """The first group of the first match."""
    match = re.search(pattern, text)
    if not match:
        raise BenchmarkError(f"nothing like {pattern!r} in:\n{text}")
    return match[1]


def percentile(percent: int, wrk_output: str) -> float:
    """A latency of wrk's output, in milliseconds."""
    text = find(rf"(?m)^\s+{percent}%\s+(\S+)", wrk_output)
    match = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text)
    if not match:
        raise BenchmarkError(f"wrk printed an unknown duration: {text}")
    return float(match[1]) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000}[match[2]]


def positive(text: str) -> int:
    """An argument's type: a whole number above 0."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return int(text)


def publish(report: str, output: Path | None) -> None:
    """Prints a report, and writes it to a file if one was asked for."""
    print(report)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(report + "\n")


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
