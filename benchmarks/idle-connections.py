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
import resource
import socket
import statistics
import struct
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from plaintext_server import BenchmarkError, Server, Setup, build_server, describe_machine, find, positive, publish

REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
SOCKET_TIMEOUT_SECONDS = 30
WARM_UP_CONNECTIONS = 200
WARM_UP_REQUESTS = 50
SETTLE_SECONDS = 1
SPARE_DESCRIPTORS = 1000

# close(2) sends a reset: thousands of connections in TIME_WAIT would take the ports of the next round.
LINGER_NONE = struct.pack("ii", 1, 0)

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
    publish(render_report(contestants, arguments), arguments.output)
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


def raise_descriptor_limit(needed: int) -> None:
    """For this process and the servers that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= needed:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, max(hard, needed)))
    except (ValueError, PermissionError) as error:
        raise BenchmarkError(f"{needed} descriptors are needed and {hard} are allowed (ulimit -Hn): {error}") from error


def measure(contestant: Contestant, assembly: Path, connections: int) -> None:
    """Starts a server, measures it once, ends it."""
    clients: list[socket.socket] = []
    with tempfile.TemporaryDirectory(prefix="idle-connections-") as logs:
        server = Server(contestant.setup, assembly, Path(logs), pinned=False)
        try:
            warm_up(server)
            before = read_memory(server)
            clients = open_connections(server, connections)
            after = read_memory(server)
            check_alive(clients)
        except OSError as error:
            raise BenchmarkError(f"'{contestant.setup.name}': {error!r}") from error
        finally:
            close(clients)
            server.stop()
    contestant.empty.append(before)
    contestant.samples.append(Sample.of(before, after, connections))


def warm_up(server: Server) -> None:
    """Compiles what a request needs, and makes what is made once."""
    clients = open_connections(server, WARM_UP_CONNECTIONS)
    for _ in range(WARM_UP_REQUESTS - 1):
        for client in clients:
            exchange(client)
    close(clients)
    collect(server)


def open_connections(server: Server, count: int) -> list[socket.socket]:
    clients = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", server.port), timeout=SOCKET_TIMEOUT_SECONDS)
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


def read_memory(server: Server) -> Memory:
    time.sleep(SETTLE_SECONDS)
    managed = collect(server)
    text = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
    pss, rss = (int(find(rf"(?m)^{name}:\s+(\d+) kB", text)) * 1024 for name in ("Pss", "Rss"))
    return Memory(managed, pss, rss)


def collect(server: Server) -> int:
    """The bytes of the managed heap after a collection."""
    return int(server.request("POST", "/collect")[1])


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


if __name__ == "__main__":
    sys.exit(main())
