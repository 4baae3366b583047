"""Run by scripts/kill-loop.sh: an origin whose objects have versions, clients that know what they may get, and a service that is killed."""

from __future__ import annotations

import http.client
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

KEYS = 150
TAGS = 10
CLIENTS = 6
SEED = 1
START_SECONDS = 30.0
# Of the load before a kill: long enough for the start, the disk and the writing of some segments; never the same moment.
LOAD_SECONDS = (0.4, 2.0)
TOKEN = "of-a-service-that-is-killed-soon"


@lru_cache(maxsize=256)
def body_of(key: int, version: int) -> bytes:
    """No two pieces of any two bodies are alike."""
    generator = random.Random(f"{key}:{version}")
    return generator.randbytes(1 + generator.randrange(5_000 if key % 3 == 0 else 600_000))


class Versions:
    """What the origin has, and what has been said to be there. A client may get anything from the one when it asked to the other when it had it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.current = [0] * KEYS
        self.answered = [0] * KEYS

    def change(self, keys: Iterable[int]) -> dict[int, int]:
        with self.lock:
            for key in keys:
                self.current[key] += 1
            return {key: self.current[key] for key in keys}

    def answer(self, versions: dict[int, int]) -> None:
        with self.lock:
            for key, version in versions.items():
                self.answered[key] = max(self.answered[key], version)


class OriginHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    versions: Versions

    def do_GET(self) -> None:
        key = int(self.path[1:])
        version = self.versions.current[key]
        body = body_of(key, version)
        self.answer(key, version, body)

    def do_POST(self) -> None:
        key = int(self.path[1:])
        self.answer(key, self.versions.change([key])[key], b"")

    def answer(self, key: int, version: int, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=3600")
        self.send_header("X-Version", str(version))
        self.send_header("Surrogate-Key", f"tag-{key % TAGS}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Origin(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A service that is killed resets its connections."""


class Drill:
    def __init__(self, program: str, work: Path) -> None:
        self.program, self.work, self.versions = program, work, Versions()
        OriginHandler.versions = self.versions
        self.origin = Origin(("127.0.0.1", 0), OriginHandler)
        threading.Thread(target=self.origin.serve_forever, daemon=True).start()
        self.port = self.admin_port = 0
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.faults: list[str] = []
        self.answers = self.from_disk = self.changes = self.purges = self.cut = 0

    def start(self) -> subprocess.Popen[bytes]:
        with socket.socket() as public, socket.socket() as admin:
            for probe in (public, admin):
                probe.bind(("127.0.0.1", 0))
            self.port, self.admin_port = public.getsockname()[1], admin.getsockname()[1]
        log = open(self.work / "service.log", "ab")
        service = subprocess.Popen(
            [
                self.program, f"--urls=http://127.0.0.1:{self.port}", f"--Admin:Url=http://127.0.0.1:{self.admin_port}",
                f"--Cache:Origin=http://127.0.0.1:{self.origin.server_port}",
                "--Cache:MaxBytes=6MiB", f"--Cache:DiskPath={self.work / 'disk'}", "--Cache:DiskBytes=48MiB", "--Cache:DiskSegmentBytes=4MiB",
                "--Cache:DiskMinObjectBytes=1",
            ],
            stdout=log, stderr=log, env={**os.environ, "Admin__Token": TOKEN},
        )
        deadline = time.monotonic() + START_SECONDS
        while not self.is_up():
            if service.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"FAILED  the service did not start\n{(self.work / 'service.log').read_text()}")
            time.sleep(0.02)
        return service

    def is_up(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                probe.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                return b"200" in probe.recv(100)
        except OSError:
            return False

    def load(self, seed: str) -> None:
        generator = random.Random(seed)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        admin = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=20)
        while not self.stopping.is_set():
            key = min(generator.randrange(KEYS), generator.randrange(KEYS))
            chance = generator.random()
            try:
                soft = "&soft" if generator.random() < 0.5 else ""
                if chance < 0.0005:
                    self.purge(admin, "all" + soft, range(KEYS))
                elif chance < 0.005:
                    self.purge(admin, f"tag=tag-{key % TAGS}{soft}", range(key % TAGS, KEYS, TAGS))
                elif chance < 0.03:
                    self.change(connection, key)
                else:
                    self.get(connection, key)
            except (OSError, http.client.HTTPException):
                # Killed, most likely; what matters is what it said before.
                connection.close()
                admin.close()
        connection.close()
        admin.close()

    def purge(self, connection: http.client.HTTPConnection, what: str, keys: range) -> None:
        versions = self.versions.change(keys)
        connection.request("POST", f"/purge?{what}", headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        answer.read()
        with self.lock:
            if answer.status == 200:
                self.versions.answer(versions)
                self.purges += 1
            else:
                self.faults.append(f"purge of {what}: status {answer.status}")

    def change(self, connection: http.client.HTTPConnection, key: int) -> None:
        connection.request("POST", f"/object/{key}", b"")
        answer = connection.getresponse()
        answer.read()
        if answer.status == 200:
            self.versions.answer({key: int(answer.headers["X-Version"])})
            with self.lock:
                self.changes += 1

    def get(self, connection: http.client.HTTPConnection, key: int) -> None:
        oldest = self.versions.answered[key]
        connection.request("GET", f"/object/{key}")
        answer = connection.getresponse()
        if answer.status != 200:
            answer.read()
            return
        version = int(answer.headers["X-Version"])
        try:
            body, is_whole = answer.read(), True
        except http.client.IncompleteRead as cut:
            body, is_whole = cut.partial, False
        except OSError:
            return
        expected = body_of(key, version)
        where = f"key {key}, version {version}, {answer.headers['Cache-Status']}"
        with self.lock:
            self.answers += 1
            self.from_disk += "detail=disk" in answer.headers["Cache-Status"]
            self.cut += not is_whole
            if not oldest <= version <= self.versions.current[key]:
                self.faults.append(f"{where}: {oldest} was said to be there")
            if not (body == expected if is_whole else expected.startswith(body)):
                self.faults.append(f"{where}: {len(body)} bytes are not what the origin has")
        if not is_whole:
            raise http.client.HTTPException("cut")

    def run(self, kills: int) -> None:
        generator = random.Random(SEED)
        for kill in range(kills):
            service = self.start()
            self.stopping.clear()
            clients = [threading.Thread(target=self.load, args=(f"{kill}:{client}",)) for client in range(CLIENTS)]
            for client in clients:
                client.start()
            time.sleep(generator.uniform(*LOAD_SECONDS))
            service.kill()
            self.stopping.set()
            service.wait()
            for client in clients:
                client.join()
        service = self.start()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        for key in range(KEYS):
            self.get(connection, key)
        connection.close()
        service.terminate()
        service.wait()


def main() -> int:
    program, work, kills = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    drill = Drill(program, work)
    drill.run(kills)
    log = (work / "service.log").read_text()
    checks = [
        (f"after each of {kills} kills every byte is the origin's", f"{drill.answers} answers, {drill.cut} cut by a kill", not drill.faults),
        ("objects came from the disk", f"{drill.from_disk} answers", drill.from_disk > 0),
        ("changes were answered", f"{drill.changes} answers", drill.changes > 0),
        ("purges of tags and of everything were answered", f"{drill.purges} answers", drill.purges > 0),
        ("nothing above a warning was logged", "the service's log", not re.search("^[^ ]+Z (fail|crit):", log, re.MULTILINE)),
    ]
    for name, detail, is_good in checks:
        print(f"{'ok     ' if is_good else 'FAILED '} {name} ({detail})")
    for fault in drill.faults[:20]:
        print(f"        {fault}")
    failed = sum(not is_good for *_, is_good in checks)
    if failed:
        print(log[-3000:])
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
