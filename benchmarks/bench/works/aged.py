"""Adaptive after handlers have taken its thread and collections have stopped it many times: what was ill must not stay slow."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench.contestants import dotnet
from bench.contestants.server import Server
from bench.errors import BenchmarkError
from bench.figures import CPU
from bench.loads.wrk import Wrk
from bench.targets import Target
from bench.works.health import HEALTH
from bench.works.saturated import SaturatedWork

CONNECTIONS = 64
REASSIGNMENTS = 100
COLLECTIONS = 100
COLLECTIONS_PER_REQUEST = 2
BLOCK_MILLISECONDS = 20
REST_SECONDS = 60
SPARE_THREAD = "io_uring spare"

FRESH = dotnet.plaintext(dotnet.ADAPTIVE)
AGED = f"{FRESH.name}, aged"


def age(server: Server) -> Callable[[], None]:
    """Each blocked call comes on a connection of its own: one that has blocked before is not let near the loop."""
    for _ in range(REASSIGNMENTS):
        fetch(server.url(f"/block/{BLOCK_MILLISECONDS}"))
    if not any(name.startswith(SPARE_THREAD) for name in thread_names(server.process.pid)):
        raise BenchmarkError(f"'{server.name}' has no spare thread: no call lost its loop")
    for _ in range(COLLECTIONS // COLLECTIONS_PER_REQUEST):
        fetch(server.url("/collect"), "POST")
    time.sleep(REST_SECONDS)
    return lambda: None


def thread_names(pid: int) -> list[str]:
    return [(thread / "comm").read_text() for thread in Path(f"/proc/{pid}/task").iterdir()]


def fetch(url: str, method: str = "GET") -> None:
    with urllib.request.urlopen(urllib.request.Request(url, method=method, headers={"Connection": "close"}), timeout=30) as response:
        response.read()


WORKS = [
    SaturatedWork(
        "aged",
        f"`/health`, {CONNECTIONS} connections, a minute after {REASSIGNMENTS} reassignments and {COLLECTIONS} collections of generation 2",
        Wrk(HEALTH, CONNECTIONS),
        [FRESH, replace(FRESH, name=AGED, prepare=age)],
        [Target(AGED, CPU, 1.05, 1.0, against=(FRESH.name,))],
        [f"A reassignment: a handler that blocks for {BLOCK_MILLISECONDS} ms, on a connection of its own."],
    )
]
