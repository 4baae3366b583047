"""Checks that all contestants give the same answer: a comparison of different answers would not be one."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.contestants.server import Server
from bench.errors import BenchmarkError

CURL = ("curl", "--silent", "--show-error", "--insecure", "--noproxy", "*", "--max-time", "30")


@dataclass(frozen=True)
class Answer:
    """Status, HTTP version and body of a response."""

    status: int
    version: str
    length: int
    digest: str


def fetch(url: str, *options: str) -> Answer:
    """One request by curl, which speaks every version that is measured."""
    with tempfile.TemporaryDirectory(prefix="bench-answer-") as directory:
        body = Path(directory) / "body"
        command = [*CURL, "--output", str(body), "--write-out", "%{http_code} %{http_version}", *options, url]
        finished = subprocess.run(command, capture_output=True, text=True)
        if finished.returncode != 0:
            raise BenchmarkError(f"{url} cannot be fetched: {finished.stderr.strip()}")
        status, version = finished.stdout.split()
        content = body.read_bytes() if body.exists() else b""
        return Answer(int(status), version, len(content), hashlib.sha256(content).hexdigest())


def check_equal(servers: Sequence[Server], path: str, *options: str) -> Answer:
    """Every server must answer 200 with the same version and bytes; the answer."""
    answers = [(server, fetch(server.url(path), *options)) for server in servers]
    for server, answer in answers:
        if answer.status != 200:
            raise BenchmarkError(f"'{server.name}' answers {answer.status} to {path}")
    if len({answer for _, answer in answers}) != 1:
        details = "\n".join(f"  {server.name}: HTTP/{each.version}, {each.length} bytes, {each.digest}" for server, each in answers)
        raise BenchmarkError(f"the answers to {path} differ:\n{details}")
    return answers[0][1]
