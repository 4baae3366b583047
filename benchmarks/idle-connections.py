#!/usr/bin/env python3
"""Measures what an idle keep-alive connection costs in memory: Kestrel on io_uring against Kestrel on sockets, in one run.

Each measurement is a fresh process of samples/PlaintextServer. It serves a warm-up first, so that what is made once is there. Then its
memory is read, many connections are opened, each makes one request and stays open, and the memory is read again; the difference is
divided by the connections. Before each reading the server collects its garbage, compacting, and gives free memory back (POST /collect).
Set-ups are measured in turns, A B C D A B C D ..., and figures are medians over the rounds.

PSS and RSS are the process's, from /proc/PID/smaps_rollup. The kernel's own memory for sockets and for io_uring is in neither.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import resource
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PROJECT = REPOSITORY / "samples" / "PlaintextServer"
REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
START_TIMEOUT_SECONDS = 20
SOCKET_TIMEOUT_SECONDS = 30
WARM_UP_CONNECTIONS = 200
WARM_UP_REQUESTS = 50
SETTLE_SECONDS = 1
SPARE_DESCRIPTORS = 1000

# close(2) sends a reset: thousands of connections in TIME_WAIT would take the ports of the next round.
LINGER_NONE = struct.pack("ii", 1, 0)


class BenchmarkError(Exception):
    """Something that makes the figures worthless; the message is for the person who ran the script."""


@dataclass(frozen=True)
class Setup:
    """One way to run the server."""

    name: str
    transport: str
    options: tuple[str, ...]


SETUPS = (
    Setup("io_uring, ThreadPool", "IoUring", ("--Scheduling", "ThreadPool")),
    Setup("io_uring, Inline", "IoUring", ("--Scheduling", "Inline")),
    Setup("Sockets, WaitForDataBeforeAllocatingBuffer (default)", "Sockets", ("--WaitForData", "true")),
    Setup("Sockets, without it", "Sockets", ("--WaitForData", "false")),
)


@dataclass(frozen=True)
class Memory:
    """Bytes of one process."""

    managed: int
    pss: int
    rss: int


@dataclass(frozen=True)
class Sample:
    """Bytes per connection."""

    managed: float
    pss: float
    rss: float

    @staticmethod
    def of(before: Memory, after: Memory, connections: int) -> Sample:
        return Sample(
            (after.managed - before.managed) / connections,
            (after.pss - before.pss) / connections,
            (after.rss - before.rss) / connections,
        )


@dataclass
class Contestant:
    """A set-up and what was measured of it."""

    setup: Setup
    empty: list[Memory] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def values(self, figure: str) -> list[float]:
        return [getattr(sample, figure) for sample in self.samples]


def main() -> int:
    arguments = parse_arguments()
    contestants = [Contestant(setup) for setup in SETUPS]
    try:
        raise_descriptor_limit(arguments.connections + SPARE_DESCRIPTORS)
        assembly = build_server()
        for round_number in range(1, arguments.rounds + 1):
            for contestant in contestants:
                measure(contestant, assembly, arguments.connections)
                sample = contestant.samples[-1]
                print(
                    f"round {round_number}/{arguments.rounds}  {contestant.setup.name:55s} {sample.managed:8.0f} managed"
                    f" {sample.pss:8.0f} PSS {sample.rss:8.0f} RSS",
                    file=sys.stderr,
                )
    except BenchmarkError as error:
        print(f"idle-connections: {error}", file=sys.stderr)
        return 1
    report = render_report(contestants, arguments)
    print(report)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(report + "\n")
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=positive, default=10_000, help="connections held open (default %(default)s; up to 25000)")
    parser.add_argument("--rounds", type=positive, default=5, help="measurements of each set-up (default %(default)s)")
    parser.add_argument("--output", type=Path, help="also write the report to this file, e.g. docs/benchmarks/YYYY-MM-DD-idle.md")
    arguments = parser.parse_args()
    if arguments.connections > 25_000:
        parser.error("--connections: more than 25000 do not find a port each")
    return arguments


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return int(text)


def raise_descriptor_limit(needed: int) -> None:
    """For this process and the servers that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= needed:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, max(hard, needed)))
    except (ValueError, PermissionError) as error:
        raise BenchmarkError(f"{needed} descriptors are needed and {hard} are allowed (ulimit -Hn): {error}") from error


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


def measure(contestant: Contestant, assembly: Path, connections: int) -> None:
    """Starts a server, measures it once, ends it."""
    with tempfile.TemporaryFile() as log:
        command = ["dotnet", str(assembly), "--urls", "http://127.0.0.1:0", "--Transport", contestant.setup.transport]
        process = subprocess.Popen([*command, *contestant.setup.options], stdout=log, stderr=subprocess.STDOUT)
        clients: list[socket.socket] = []
        try:
            port = wait_for_port(process, log)
            warm_up(port)
            before = read_memory(process.pid, port)
            clients = open_connections(port, connections)
            after = read_memory(process.pid, port)
            check_alive(clients)
        except (OSError, http.client.HTTPException) as error:
            raise BenchmarkError(f"'{contestant.setup.name}': {error!r}") from error
        finally:
            close(clients)
            stop(process)
    contestant.empty.append(before)
    contestant.samples.append(Sample.of(before, after, connections))


def wait_for_port(process: subprocess.Popen[bytes], log: object) -> int:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    text = ""
    while time.monotonic() < deadline and process.poll() is None:
        text = os.pread(log.fileno(), 65536, 0).decode(errors="replace")
        match = re.search(r"Now listening on: http://127\.0\.0\.1:(\d+)", text)
        if match:
            return int(match[1])
        time.sleep(0.05)
    raise BenchmarkError(f"the server did not start:\n{text}")


def warm_up(port: int) -> None:
    """Compiles what a request needs, and makes what is made once."""
    clients = open_connections(port, WARM_UP_CONNECTIONS)
    for _ in range(WARM_UP_REQUESTS - 1):
        for client in clients:
            exchange(client)
    close(clients)
    collect(port)


def open_connections(port: int, count: int) -> list[socket.socket]:
    clients = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port), timeout=SOCKET_TIMEOUT_SECONDS)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NONE)
        clients.append(client)
        exchange(client)
    return clients


def exchange(client: socket.socket) -> None:
    client.sendall(REQUEST)
    answer = b""
    while not answer.endswith(b"\r\n\r\nOK"):
        received = client.recv(4096)
        if not received:
            raise BenchmarkError(f"the server ended a connection after {answer!r}")
        answer += received


def check_alive(clients: list[socket.socket]) -> None:
    """The connections that were counted must still have been there."""
    for client in clients[:: max(1, len(clients) // 100)]:
        exchange(client)


def close(clients: list[socket.socket]) -> None:
    for client in clients:
        client.close()


def read_memory(pid: int, port: int) -> Memory:
    time.sleep(SETTLE_SECONDS)
    managed = collect(port)
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    pss, rss = (int(re.search(rf"(?m)^{name}:\s+(\d+) kB", text)[1]) * 1024 for name in ("Pss", "Rss"))
    return Memory(managed, pss, rss)


def collect(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SOCKET_TIMEOUT_SECONDS)
    try:
        connection.request("POST", "/collect")
        return int(connection.getresponse().read())
    finally:
        connection.close()


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def render_report(contestants: list[Contestant], arguments: argparse.Namespace) -> str:
    lines = [
        f"# Memory of {arguments.connections:,} idle connections",
        "",
        f"{describe_machine()}, {date.today()}. Client and server share the machine. A fresh process for each of {arguments.rounds} interleaved rounds;"
        " bytes per connection, medians, with minimum and maximum in brackets.",
        "",
        "```",
        f"benchmarks/idle-connections.py --connections {arguments.connections} --rounds {arguments.rounds}",
        "```",
        "",
        "| set-up | managed heap | PSS | RSS | process before, PSS in MiB |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [render_row(contestant) for contestant in contestants]
    lines += [
        "",
        "Each connection had made one request (`/health`) and stayed open; the server had collected its garbage. *Managed heap* is what the"
        " garbage collector counts, Kestrel's own objects included. The kernel's memory for sockets and rings is in none of the columns.",
    ]
    return "\n".join(lines)


def render_row(contestant: Contestant) -> str:
    cells = [contestant.setup.name]
    for figure in ("managed", "pss", "rss"):
        values = contestant.values(figure)
        cells.append(f"**{statistics.median(values):,.0f}** ({min(values):,.0f}-{max(values):,.0f})")
    cells.append(f"{statistics.median(memory.pss for memory in contestant.empty) / 1048576:.0f}")
    return "| " + " | ".join(cells) + " |"


def describe_machine() -> str:
    version = subprocess.run(["dotnet", "--version"], capture_output=True, text=True).stdout.strip()
    commit = subprocess.run(["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    processor = model[1].strip() if model else os.uname().machine
    kernel = ".".join(os.uname().release.split(".")[:2])
    return f"{processor}, {os.cpu_count()} cores, Linux {kernel}, .NET SDK {version}, commit {commit}"


if __name__ == "__main__":
    sys.exit(main())
