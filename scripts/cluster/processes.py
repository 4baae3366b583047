"""The processes of a cluster: NATS, nginx, caching services and HAProxy. Each is ended with its scope."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
import os
import re
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

from network import Network, Place

PATIENCE_SECONDS = 60.0
TOKEN = "token-of-a-cluster-in-a-script"
MAX_SILENCE_SECONDS = 3


class Failure(Exception):
    """What makes every later check pointless."""


async def until(is_true: Callable[[], object], what: str) -> float:
    """Waits; returns the seconds that it took."""
    begun = time.monotonic()
    while not await value if asyncio.iscoroutine(value := is_true()) else not value:
        if time.monotonic() - begun > PATIENCE_SECONDS:
            raise Failure(f"{what}: not within {PATIENCE_SECONDS:.0f} s")
        await asyncio.sleep(0.05)
    return time.monotonic() - begun


class Program:
    """One program, which may be ended and started again. Its output goes to a file."""

    def __init__(self, name: str, work: Path, place: Place, command: list[str], **options: object) -> None:
        self.name, self.place, self.command, self.options = name, place, [*place.enter, *command], options
        self.log = work / f"{name}.log"
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        with open(self.log, "ab") as output:
            self.process = await asyncio.create_subprocess_exec(*self.command, stdout=output, stderr=output, **self.options)

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """The exit status."""
        if self.process is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(how)
        try:
            status = await asyncio.wait_for(self.process.wait(), PATIENCE_SECONDS)
        except TimeoutError:
            self.process.kill()
            status = await self.process.wait()
        self.process = None
        return status


class Nats(Program):
    def __init__(self, work: Path, place: Place) -> None:
        super().__init__("nats", work, place, ["nats-server", "-a", place.host, "-p", str(place.ports[0]), "-js", "-sd", str(work / "nats")])


class Nginx(Program):
    def __init__(self, repository: Path, work: Path, place: Place, rate: int) -> None:
        self.root = work / "origin"
        (self.root / "temp").mkdir(parents=True)
        (self.root / "content").mkdir()
        text = (repository / "scripts/cluster/nginx.conf").read_text()
        (self.root / "nginx.conf").write_text(text.replace("@ADDRESS@", place.url()).replace("@RATE@", str(rate)))
        super().__init__("nginx", work, place, ["nginx", "-p", f"{self.root}/", "-e", "stderr", "-c", "nginx.conf"])

    def asked(self) -> list[tuple[str, str, str]]:
        """Method, target and X-Forwarded-For of each request so far."""
        lines = (line.split(" ", 3) for line in (self.root / "origin.log").read_text().splitlines())
        return [(method, target, client.strip('"')) for method, target, _, client in lines]


class Node(Program):
    """A caching service. With a socket it listens on that, as one that systemd starts."""

    def __init__(self, repository: Path, work: Path, name: str, network: Network, place: Place, nats: str, options: list[str],
                 listening: socket.socket | None = None) -> None:
        self.listening = listening
        command = [
            "dotnet", str(repository / "samples/CachingService/bin/Release/net10.0/CachingService.dll"), f"--Urls=http://{place.url()}",
            f"--Admin:Url=http://{place.url(1)}", "--PublicReady=true", f"--ProxyProtocol:From={network.hosts}",
            f"--Cache:Cluster:Nats=nats://{nats}", f"--Cache:Cluster:Node={name}", f"--Cache:Cluster:MaxSilence={MAX_SILENCE_SECONDS}s",
            f"--Cache:DiskPath={work / f'disk-{name}'}", "--Cache:DiskBytes=128MiB", *options,
        ]
        more: dict[str, object] = {"env": {**os.environ, "Admin__Token": TOKEN}}
        if listening is not None:
            # exec keeps the process, so the shell's number is the service's, as sd_listen_fds(3) asks for.
            command = ["bash", "-c", f'export LISTEN_PID=$$ LISTEN_FDS=1 && exec "$@" 3<&{listening.fileno()}', "bash", *command]
            more["pass_fds"] = (listening.fileno(),)
        super().__init__(name, work, place, command, **more)

    async def ask(self, method: str, target: str) -> tuple[int, str]:
        """Asks the admin address."""
        reader, writer = await asyncio.open_connection(self.place.host, self.place.ports[1])
        try:
            writer.write(f"{method} {target} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n".encode())
            head, _, body = (await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)).decode().partition("\r\n\r\n")
            return int(head.split(" ", 2)[1]), body
        finally:
            writer.close()

    async def is_ready(self) -> bool:
        try:
            return (await self.ask("GET", "/ready")) == (200, "OK")
        except (OSError, IndexError):
            return False

    async def gauge(self, name: str) -> float:
        found = re.search(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", (await self.ask("GET", "/metrics"))[1], re.MULTILINE)
        return float(found[1]) if found else float("nan")


class HAProxy(Program):
    """HAProxy on the file of the deployment, of which only the addresses are changed. Its ports are for clients and for nodes."""

    def __init__(self, repository: Path, work: Path, name: str, place: Place, addresses: dict[str, str]) -> None:
        self.socket = work / f"{name}.socket"
        text = (repository / "samples/CachingService/Deploy/haproxy.cfg").read_text().replace("/run/haproxy/admin.sock", str(self.socket))
        for address, url in {"192.0.2.10:80": place.url(), "192.0.2.10:8090": place.url(1), **addresses}.items():
            text = re.sub(rf"{re.escape(address)}(?=\s)", url, text)
        configuration = work / f"{name}.cfg"
        configuration.write_text(text)
        super().__init__(name, work, place, ["haproxy", "-db", "-f", str(configuration)])

    async def replace(self) -> None:
        """Starts another process, which has this one end when it listens."""
        old, command = self.process, self.command
        assert old is not None
        self.command = [*command, "-sf", str(old.pid)]
        await self.start()
        self.command = command
        await asyncio.wait_for(old.wait(), PATIENCE_SECONDS)

    async def tell(self, command: str) -> str:
        reader, writer = await asyncio.open_unix_connection(str(self.socket))
        try:
            writer.write(f"{command}\n".encode())
            return (await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)).decode()
        finally:
            writer.close()

    async def servers(self) -> dict[str, tuple[str, int]]:
        """State and number of requests of each server."""
        try:
            rows = csv.DictReader(io.StringIO((await self.tell("show stat")).removeprefix("# ")))
        except OSError:
            return {}
        return {row["svname"]: (row["status"], int(row["stot"])) for row in rows if row["svname"] not in ("FRONTEND", "BACKEND")}

    async def are_up(self, *names: str) -> bool:
        servers = await self.servers()
        return bool(servers) and all(servers[name][0].startswith("UP") for name in names)

    async def is_down(self, name: str) -> bool:
        return not (await self.servers()).get(name, ("", 0))[0].startswith("UP")
