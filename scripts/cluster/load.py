"""Clients of a cluster, which compare every byte that they get."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import itertools
import random
import time

ZIPF_EXPONENT = 0.9
LIMIT_SECONDS = 30.0


class BadAnswer(Exception):
    """An answer that is not the object."""


class Connection:
    """One connection, to the first of the addresses that accepts it. A client's header of the PROXY protocol may come first."""

    def __init__(self, *addresses: tuple[str, int], first_bytes: bytes = b"", local: str | None = None) -> None:
        self.addresses, self.first_bytes, self.local = addresses, first_bytes, local
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def ask(self, target: str, method: str = "GET", fields: str = "") -> tuple[int, dict[str, str], bytes]:
        """Status, fields and body. A kept connection that has ended meanwhile is replaced, as clients of HTTP do."""
        is_kept = self.writer is not None
        try:
            return await asyncio.wait_for(self._ask(target, method, fields), LIMIT_SECONDS)
        except EOFError:
            self.close()
            if not is_kept:
                raise
        return await asyncio.wait_for(self._ask(target, method, fields), LIMIT_SECONDS)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.transport.abort()
        self.reader = self.writer = None

    async def _ask(self, target: str, method: str, fields: str) -> tuple[int, dict[str, str], bytes]:
        if self.writer is None:
            self.reader, self.writer = await self._connect()
            self.writer.write(self.first_bytes)
        assert self.reader is not None
        length = "" if method == "GET" else "Content-Length: 0\r\n"
        try:
            self.writer.write(f"{method} {target} HTTP/1.1\r\nHost: cluster.test\r\n{length}{fields}\r\n".encode())
            head = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as end:
            raise EOFError if not end.partial else BadAnswer("the head was cut") from end
        except ConnectionError as end:
            raise EOFError from end
        start, *lines = head.decode("latin1").split("\r\n")[:-2]
        status = int(start.split(" ", 2)[1])
        answered: dict[str, str] = {}
        for name, _, value in (line.partition(":") for line in lines):
            answered[name.lower()] = f"{answered[name.lower()]}, {value.strip()}" if name.lower() in answered else value.strip()
        try:
            body = await self._read_body(answered)
        except (asyncio.IncompleteReadError, ConnectionError) as end:
            raise BadAnswer("the body was cut") from end
        if answered.get("connection", "").lower() == "close":
            self.close()
        return status, answered, body

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        local = None if self.local is None else (self.local, 0)
        for host, port in self.addresses[:-1]:
            with contextlib.suppress(ConnectionError):
                return await asyncio.open_connection(host, port, local_addr=local)
        host, port = self.addresses[-1]
        return await asyncio.open_connection(host, port, local_addr=local)

    async def _read_body(self, answered: dict[str, str]) -> bytes:
        assert self.reader is not None
        if "transfer-encoding" not in answered:
            return await self.reader.readexactly(int(answered.get("content-length", 0)))
        body = b""
        while length := int(await self.reader.readuntil(b"\r\n"), 16):
            body += await self.reader.readexactly(length)
            await self.reader.readexactly(2)
        await self.reader.readexactly(2)
        return body


class Objects:
    """Objects whose bytes are known, in the order of how often they are asked for (Zipf)."""

    def __init__(self, count: int, seed: int) -> None:
        self.seed = seed
        self.bodies = [random.Random(f"{seed}:{number}").randbytes(500 + number * 7919 % 9500) for number in range(count)]
        self.weights = list(itertools.accumulate((number + 1) ** -ZIPF_EXPONENT for number in range(count)))

    def choose(self, generator: random.Random) -> int:
        return bisect.bisect(self.weights, generator.random() * self.weights[-1])


class Load:
    """Clients that ask without a pause until they are stopped, one half by each of two addresses. A failure is anything but the right bytes."""

    def __init__(self, fronts: list[tuple[str, int]], objects: Objects, clients: int) -> None:
        self.objects = objects
        self.answers = 0
        self.longest = 0.0
        self.failures: list[str] = []
        # Share of the requests that are for the first object, besides its own.
        self.hot = 0.0
        self._stopping = False
        self._tasks = [
            asyncio.create_task(self._run(random.Random(f"{objects.seed}:client:{client}"), fronts[:: 1 if client % 2 else -1]))
            for client in range(clients)
        ]

    def take(self) -> tuple[int, float, list[str]]:
        """Answers, the longest of them in seconds, and failures since the last call."""
        taken = self.answers, self.longest, self.failures
        self.answers, self.longest, self.failures = 0, 0.0, []
        return taken

    async def stop(self) -> None:
        self._stopping = True
        await asyncio.gather(*self._tasks)

    async def _run(self, generator: random.Random, fronts: list[tuple[str, int]]) -> None:
        connection = Connection(*fronts)
        while not self._stopping:
            number = 0 if generator.random() < self.hot else self.objects.choose(generator)
            begun = time.monotonic()
            try:
                status, _, body = await connection.ask(f"/object/o{number}")
                if status != 200 or body != self.objects.bodies[number]:
                    raise BadAnswer(f"o{number}: {status}, {len(body)} bytes: {body[:60]!r}" if status != 200 else f"o{number}: wrong bytes")
                self.answers += 1
                self.longest = max(self.longest, time.monotonic() - begun)
            except (BadAnswer, OSError, EOFError) as failure:
                self.failures.append(f"{type(failure).__name__} {failure}")
                connection.close()
                await asyncio.sleep(0.01)
        connection.close()
