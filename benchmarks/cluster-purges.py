#!/usr/bin/env python3
"""Measures purges in a cluster of three nodes on this machine: how many a second, and how long until the last node has applied one.

    benchmarks/cluster-purges.py [--seconds S] [--clients N] [--no-build]

Starts a NATS server with JetStream on a disk and three caching services with a disk tier each, all on loopback. Clients send POST /purge to the
nodes in turn: first without waiting for the nodes, as many as possible; then with wait=5s, from one client at a time. Prints a Markdown table.

Needs the .NET SDK and nats-server. All share the machine's cores, so the figures say what a small machine does, not what a cluster can.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SERVICE = REPOSITORY / "samples/CachingService/bin/Release/net10.0/CachingService.dll"
TOKEN = "token-of-a-benchmark"
NODES = 3
START_SECONDS = 60


async def main() -> int:
    options = parse_arguments()
    if options.build:
        subprocess.run(["dotnet", "build", "samples/CachingService", "-c", "Release", "-v", "quiet", "-nologo"], cwd=REPOSITORY, check=True)
    with tempfile.TemporaryDirectory(prefix="cluster-purges-") as directory:
        async with contextlib.AsyncExitStack() as stack:
            nats = await stack.enter_async_context(start_nats(Path(directory)))
            admins = [await stack.enter_async_context(start_node(Path(directory), number, nats)) for number in range(NODES)]
            for admin in admins:
                await until_ready(admin)
            rate = await measure_rate(admins, options.clients, options.seconds)
            waits = await measure_waits(admins, options.seconds)
    print("| purges | figure |")
    print("|---|---:|")
    print(f"| in the log, {options.clients} clients | {rate:,.0f} a second |")
    print(f"| on every node, one at a time: p50 | {statistics.median(waits) * 1000:.1f} ms |")
    print(f"| p99 | {statistics.quantiles(waits, n=100)[98] * 1000:.1f} ms |")
    print(f"| worst of {len(waits):,} | {max(waits) * 1000:.1f} ms |")
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement (default 10)")
    parser.add_argument("--clients", type=int, default=32, help="that purge at the same time (default 32)")
    parser.add_argument("--no-build", dest="build", action="store_false", help="use the service as it was built before")
    return parser.parse_args()


@contextlib.asynccontextmanager
async def start_nats(directory: Path) -> AsyncIterator[str]:
    ports = directory / "ports"
    ports.mkdir()
    process = await asyncio.create_subprocess_exec(
        "nats-server", "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", str(directory / "nats"), "--ports_file_dir", str(ports),
        stderr=asyncio.subprocess.DEVNULL, env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"},
    )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not (found := list(ports.glob("*.ports"))):
            if time.monotonic() > deadline:
                raise TimeoutError("nats-server has not started")
            await asyncio.sleep(0.05)
        yield json.loads(found[0].read_text())["nats"][0]
    finally:
        await stop(process)


@contextlib.asynccontextmanager
async def start_node(directory: Path, number: int, nats: str) -> AsyncIterator[tuple[str, int]]:
    process = await asyncio.create_subprocess_exec(
        "dotnet", str(SERVICE), "--Urls=http://127.0.0.1:0", "--Admin:Url=http://127.0.0.1:0", f"--Cache:Cluster:Nats={nats}",
        f"--Cache:Cluster:Node=n{number}", f"--Cache:DiskPath={directory / f'node-{number}'}", "--Cache:DiskBytes=128MiB",
        stdout=asyncio.subprocess.PIPE, env={**os.environ, "Admin__Token": TOKEN},
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            while not (match := re.search(rb"admin: http://([\d.]+):(\d+)", await process.stdout.readline())):
                if process.returncode is not None:
                    raise RuntimeError("the service has ended")
        drain = asyncio.create_task(process.stdout.read())
        yield match[1].decode(), int(match[2])
        drain.cancel()
    finally:
        await stop(process)


async def stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    await process.wait()


async def until_ready(admin: tuple[str, int]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while await Client(*admin).ask("GET", "/ready") != 200:
        if time.monotonic() > deadline:
            raise TimeoutError("a node is not ready")
        await asyncio.sleep(0.1)


async def measure_rate(admins: list[tuple[str, int]], clients: int, seconds: float) -> float:
    async def purge(number: int) -> int:
        client, count = Client(*admins[number % NODES]), 0
        while time.monotonic() < end:
            expect(await client.ask("POST", f"/purge?key=rate-{number}-{count}"))
            count += 1
        return count

    end = time.monotonic() + seconds
    return sum(await asyncio.gather(*(purge(number) for number in range(clients)))) / seconds


async def measure_waits(admins: list[tuple[str, int]], seconds: float) -> list[float]:
    clients = [Client(*admin) for admin in admins]
    waits: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(waits) < 200:
        begun = time.monotonic()
        expect(await clients[len(waits) % NODES].ask("POST", f"/purge?key=wait-{len(waits)}&wait=5s"))
        waits.append(time.monotonic() - begun)
    return waits


def expect(status: int) -> None:
    if status != 200:
        raise RuntimeError(f"a purge was answered with {status}")


class Client:
    """One connection to an admin address."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, target: str) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        writer.write(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"(?i)^content-length: (\d+)", head, re.MULTILINE)
        await reader.readexactly(int(length[1]) if length else 0)
        return int(head.split()[1])


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
