"""Many readers of one object while it is made: a program of this repository, which is origin and readers at once."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.contestants import dotnet
from bench.contestants.server import Server
from bench.loads.load import run_pinned

PROJECT = "IoUringCache.FanOut"
CHUNK_BYTES = 4096
INTERVAL_MS = 16


@dataclass(frozen=True)
class FanOut:
    """
    So many readers, and others who join in the first second that is measured; fails if one of them gets a wrong byte, or no end, or if the
    origin is asked more than once.
    """

    readers: int
    joiners: int = 0

    def run(self, server: Server, origin_port: int, warm_up: int, seconds: int, metrics: str = "") -> dict[str, Any]:
        output, _ = run_pinned([str(build()), *self.options(server, origin_port, warm_up, seconds, metrics)])
        return json.loads(output)

    def options(self, server: Server, origin_port: int, warm_up: int, seconds: int, metrics: str) -> list[str]:
        options = ["--url", server.base_url, "--origin-port", str(origin_port), "--readers", str(self.readers)]
        options += ["--pids", ",".join(str(pid) for pid in server.process.pids()), "--warm-up", str(warm_up), "--seconds", str(seconds)]
        options += ["--joiners", str(self.joiners)] if self.joiners else []
        options += ["--chunk-bytes", str(CHUNK_BYTES), "--interval-ms", str(INTERVAL_MS)]
        return [*options, "--metrics", metrics] if metrics else options

    def describe(self) -> str:
        joiners = f" --joiners {self.joiners}" if self.joiners else ""
        return f"{PROJECT} --readers {self.readers}{joiners} --chunk-bytes {CHUNK_BYTES} --interval-ms {INTERVAL_MS}"


@functools.cache
def build() -> Path:
    """The program, built in Release."""
    return dotnet.build(f"benchmarks/{PROJECT}").with_suffix("")
