"""A fresh process of the caching service: how long until it is ready, and its first requests after that."""

from __future__ import annotations

import http.client
import socket
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.contestants import dotnet
from bench.errors import BenchmarkError
from bench.figures import RESIDENT, Figure, Sample, Series
from bench.machine import TWO_SERVER_CORES
from bench.plan import Plan
from bench.processes import MeasuredProcess, free_port
from bench.targets import Target
from bench.works.work import Context, Result

READY = Figure("start to ready ms", 0)
MISS = Figure("first request, a miss, ms", 1)
JOIN = Figure("first join ms", 1)
HIT = Figure("first hit ms", 1)

PIECE_BYTES = 8192
TIMEOUT_SECONDS = 10
POLL_SECONDS = 0.001
ESTIMATED_SECONDS = 2

PUBLISHED = "published"
NATIVE = "published with Native AOT"
BUILT = "built, not published"


class HeldOrigin:
    """Sends half of a body at once, and the rest when it is told to. One connection at a time, on a thread of its own."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._may_end = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def end_body(self) -> None:
        self._may_end.set()

    def stop(self) -> None:
        self.end_body()
        self._listener.close()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            head = f"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: {2 * PIECE_BYTES}\r\n\r\n"
            connection.sendall(head.encode() + bytes(PIECE_BYTES))
            self._may_end.wait(TIMEOUT_SECONDS)
            connection.sendall(bytes(PIECE_BYTES))


@dataclass(frozen=True)
class ColdStartWork:
    """A fresh process for each sample, on both cores. The first request begins a fetch, the second joins it, the third finds it stored."""

    name: str = "cold-start"
    title: str = "The caching service from its start to its first requests"
    tools: set[str] = field(default_factory=set)

    def estimate(self, plan: Plan) -> float:
        return 3 * plan.rounds * ESTIMATED_SECONDS

    def run(self, context: Context) -> Result:
        series = [Series(PUBLISHED), Series(NATIVE), Series(BUILT)]
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            published = dotnet.publish(dotnet.CACHING_SERVICE, Path(directory) / "published")
            native = dotnet.publish_native(dotnet.CACHING_SERVICE, Path(directory) / "native")
            commands = [["dotnet", str(published)], [str(native)], ["dotnet", str(dotnet.build(dotnet.CACHING_SERVICE))]]
            sizes = [total / 1024 / 1024 for total in (sum(file.stat().st_size for file in published.parent.iterdir()), native.stat().st_size)]
            for number in range(context.plan.rounds):
                for each, command in zip(series, commands, strict=True):
                    each.samples.append(measure(command, Path(directory) / "output.log"))
                    context.progress.add(ESTIMATED_SECONDS)
                    context.progress.say(f"round {number + 1}/{context.plan.rounds} {each.name}: {each.samples[-1].values[READY]:.0f} ms")
        targets = [Target(NATIVE, READY, 200, 100), *(Target(name, figure, 20, 5) for name in (PUBLISHED, NATIVE) for figure in (MISS, JOIN, HIT))]
        note = (
            f"Each request on a connection of its own, which counts; a miss and a join until half of {2 * PIECE_BYTES:,} bytes are there, a hit"
            f" until all are. Ready is what `/ready` on the admin address says. The published files have {sizes[0]:.1f} MiB beside .NET's own,"
            f" the native program has {sizes[1]:.1f} MiB in all."
        )
        return Result((READY, MISS, JOIN, HIT, RESIDENT), series, targets, [note])


def measure(command: Sequence[str], log: Path) -> Sample:
    public, admin = free_port(), free_port()
    with ExitStack() as opened:
        origin = HeldOrigin()
        opened.callback(origin.stop)
        options = ["--urls", f"http://127.0.0.1:{public}", f"--Admin:Url=http://127.0.0.1:{admin}", f"--Cache:Origin={origin.url}"]
        begun = time.monotonic()
        process = MeasuredProcess("the service", [*command, *dotnet.ADAPTIVE.options, *options], log, TWO_SERVER_CORES)
        opened.callback(process.stop)
        process.wait_until(lambda: ask(admin, "/ready")[0] == http.client.OK, POLL_SECONDS)
        ready = time.monotonic() - begun
        miss = time_request(opened, public, PIECE_BYTES, b"fwd=uri-miss")
        join = time_request(opened, public, PIECE_BYTES, b"detail=in-flight")
        origin.end_body()
        process.wait_until(lambda: b"\ncache_objects 1\n" in ask(admin, "/metrics")[1], POLL_SECONDS)
        hit = time_request(opened, public, 2 * PIECE_BYTES, b"hit; ttl=")
        return Sample({READY: ready * 1000, MISS: miss, JOIN: join, HIT: hit, RESIDENT: process.resident_mebibytes()})


def ask(port: int, path: str) -> tuple[int, bytes]:
    """Status and body; 0 while nothing listens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    with closing(connection), suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    return 0, b""


def time_request(opened: ExitStack, port: int, body_bytes: int, cache_status: bytes) -> float:
    """Milliseconds from the connect until so much of the body is there. The connection stays open, for a fetch that is to go on."""
    begun = time.monotonic()
    client = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS))
    client.sendall(b"GET /object/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    while len(answer.partition(b"\r\n\r\n")[2]) < body_bytes:
        received = client.recv(65536)
        if not received:
            raise BenchmarkError(f"the service ended a connection after {answer!r}")
        answer += received
    milliseconds = (time.monotonic() - begun) * 1000
    head = answer.partition(b"\r\n\r\n")[0]
    if not head.startswith(b"HTTP/1.1 200 ") or cache_status not in head:
        raise BenchmarkError(f"the service answered otherwise than by '{cache_status.decode()}': {head.decode()}")
    return milliseconds


WORKS = [ColdStartWork()]
