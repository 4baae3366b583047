"""Connections that stay open and ask for nothing: what each costs in memory."""

from __future__ import annotations

import resource
import socket
import struct
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from bench.contestants import dotnet
from bench.contestants.server import Contestant, Server
from bench.errors import BenchmarkError
from bench.figures import Figure, Sample, Series
from bench.plan import Plan
from bench.processes import read_kibibytes
from bench.targets import Target
from bench.works.work import Context, Result

REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
TIMEOUT_SECONDS = 30
WARM_UP_CONNECTIONS = 200
WARM_UP_REQUESTS = 50
SETTLE_SECONDS = 1
SPARE_DESCRIPTORS = 1000
ESTIMATED_SECONDS = 12

# close(2) sends a reset: thousands of connections in TIME_WAIT would take the ports of the next round.
LINGER_NONE = struct.pack("ii", 1, 0)

MANAGED = Figure("managed heap, bytes/connection", 0)
RESIDENT = Figure("resident bytes/connection", 0)
PROCESS = Figure("resident MiB with them", 0)

SOCKETS_WITHOUT_WAIT = dotnet.Setup("Sockets, no wait for data", (*dotnet.SOCKETS.options, "--WaitForData", "false"))
IO_URING = (dotnet.INLINE, dotnet.ADAPTIVE, dotnet.THREAD_POOL)
CONTESTANTS = [dotnet.plaintext(setup) for setup in (*IO_URING, dotnet.SOCKETS, SOCKETS_WITHOUT_WAIT)]


@dataclass(frozen=True)
class Memory:
    """Bytes of one process."""

    managed: int
    resident: int


@dataclass(frozen=True)
class IdleWork:
    """A fresh process for each sample. Before each reading it collects its garbage, compacting, and gives free memory back."""

    name: str = "idle"
    title: str = "Idle keep-alive connections"
    tools: set[str] = field(default_factory=set)

    def estimate(self, plan: Plan) -> float:
        return len(CONTESTANTS) * plan.rounds * ESTIMATED_SECONDS

    def run(self, context: Context) -> Result:
        plan = context.plan
        raise_descriptor_limit(plan.idle_connections + SPARE_DESCRIPTORS)
        series = [Series(contestant.name) for contestant in CONTESTANTS]
        for number in range(plan.rounds):
            for each, contestant in zip(series, CONTESTANTS, strict=True):
                each.samples.append(measure(contestant, plan.idle_connections))
                context.progress.add(ESTIMATED_SECONDS)
                context.progress.say(f"round {number + 1}/{plan.rounds} {each.name}: {each.samples[-1].values[RESIDENT]:,.0f} bytes/connection")
        targets = [Target(setup.name, figure, 1.0, 0.7, against=("Sockets",)) for setup in IO_URING for figure in (RESIDENT, PROCESS)]
        note = (
            f"{plan.idle_connections:,} connections, each of which has made one request. *Managed heap* is what the garbage collector counts,"
            " Kestrel's own objects included; the resident size is that of smaps_rollup. The kernel's memory for sockets and rings is in neither."
        )
        return Result((MANAGED, RESIDENT, PROCESS), series, targets, [note])


def raise_descriptor_limit(needed: int) -> None:
    """For this process and the servers that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= needed:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, max(hard, needed)))
    except (ValueError, PermissionError) as error:
        raise BenchmarkError(f"{needed} descriptors are needed and {hard} are allowed (ulimit -Hn): {error}") from error


def measure(contestant: Contestant, connections: int) -> Sample:
    clients: list[socket.socket] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        server = contestant.start(Path(directory) / "server")
        try:
            warm_up(server)
            before = read_memory(server)
            open_connections(server, connections, clients)
            after = read_memory(server)
            check_alive(clients)
        except OSError as error:
            raise BenchmarkError(f"'{contestant.name}': {error!r}") from error
        finally:
            close(clients)
            server.stop()
    return Sample(
        {
            MANAGED: (after.managed - before.managed) / connections,
            RESIDENT: (after.resident - before.resident) / connections,
            PROCESS: after.resident / 1024 / 1024,
        }
    )


def warm_up(server: Server) -> None:
    """Compiles what a request needs, and makes what is made once."""
    clients: list[socket.socket] = []
    try:
        open_connections(server, WARM_UP_CONNECTIONS, clients)
        for _ in range(WARM_UP_REQUESTS - 1):
            for client in clients:
                exchange(client)
    finally:
        close(clients)
    collect(server)


def open_connections(server: Server, count: int, clients: list[socket.socket]) -> None:
    for _ in range(count):
        client = socket.create_connection(server.address, timeout=TIMEOUT_SECONDS)
        clients.append(client)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NONE)
        exchange(client)


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
    # Its sum of the pages themselves; VmRSS of the status file lags behind.
    text = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
    return Memory(managed, read_kibibytes(text, "Rss") * 1024)


def collect(server: Server) -> int:
    """The bytes of the managed heap after a collection."""
    request = urllib.request.Request(server.url("/collect"), method="POST")
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        return int(response.read())


WORKS = [IdleWork()]
