"""The origin: answers by the kind of each key, fails where it should, and counts what it was asked."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import socket
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate

from world import VARIANTS, World, tag_of

PIECES = 8
PIECE_SECONDS = 0.005
# Of the requests for keys that fail: by a 503, by what is no HTTP, by a body that breaks.
FAILING_SHARE = 0.3
COUNTS = ["requests", "confirmed", "failed"]


class Origin:
    """A thread for each connection, in a process of its own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.counts = multiprocessing.RawArray("q", len(COUNTS))
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._listener.getsockname()[1]

    def count(self, name: str) -> int:
        return self.counts[COUNTS.index(name)]

    def run(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _add(self, name: str) -> None:
        with self._lock:
            self.counts[COUNTS.index(name)] += 1

    def _serve(self, connection: socket.socket) -> None:
        generator = random.Random()
        # The cache ends a connection of which it does not want the rest.
        with connection, contextlib.suppress(ConnectionError):
            for method, path, fields in requests_of(connection):
                self._add("requests")
                if not self._answer(connection, generator, method, int(path[1:]), fields):
                    return

    def _answer(self, connection: socket.socket, generator: random.Random, method: str, key: int, fields: dict[str, str]) -> bool:
        """False to end the connection."""
        kind = self.world.kind(key)
        if method == "POST":
            version = self.world.change([key])[0]
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Version: %d\r\n\r\n" % version)
            return True
        failure = generator.randrange(3) if kind.fails and generator.random() < FAILING_SHARE else None
        if failure is not None:
            self._add("failed")
        if failure == 0:
            connection.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 6\r\n\r\nfailed")
            return True
        if failure == 1:
            connection.sendall(b"no status line\r\n")
            return False

        version = self.world.current[key]
        variant = int(fields.get("x-kind", 0)) % VARIANTS if kind.varies else 0
        body = self.world.body(key, variant, version)
        is_confirmed = kind.has_validator and fields.get("if-none-match") == tag_of(key, variant, version)
        if is_confirmed:
            self._add("confirmed")
        head = [
            "HTTP/1.1 304 Not Modified" if is_confirmed else "HTTP/1.1 200 OK",
            f"Date: {formatdate(usegmt=True)}", f"Cache-Control: {kind.cache_control}", f"X-Version: {version}", f"X-Variant: {variant}",
            f"Surrogate-Key: {self.world.tag(key)}",
        ]
        if kind.has_validator:
            head.append(f"ETag: {tag_of(key, variant, version)}")
        if kind.varies:
            head.append("Vary: X-Kind")
        if not is_confirmed:
            head.append("Transfer-Encoding: chunked" if kind.is_chunked else f"Content-Length: {len(body)}")
        connection.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
        if method == "HEAD" or is_confirmed:
            return True
        for piece in pieces_of(body[:len(body) // 2] if failure == 2 else body, PIECES if kind.is_chunked or kind.drips else 1):
            if kind.drips:
                time.sleep(PIECE_SECONDS)
            connection.sendall(b"".join([b"%x\r\n" % len(piece), piece, b"\r\n"]) if kind.is_chunked else piece)
        if kind.is_chunked:
            connection.sendall(b"0\r\n\r\n")
        return failure is None


def pieces_of(body: memoryview, count: int) -> Iterator[memoryview]:
    step = max(1, -(-len(body) // count))
    return (body[start:start + step] for start in range(0, len(body), step))


def requests_of(connection: socket.socket) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Requests without bodies."""
    received = b""
    while True:
        while b"\r\n\r\n" not in received:
            more = connection.recv(65536)
            if not more:
                return
            received += more
        head, received = received.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        yield method, path, {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
