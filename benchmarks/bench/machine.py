"""The machine: its cores, what it is, what runs on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench import network
from bench.errors import BenchmarkError

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SERVER_CORE, LOAD_CORE = "0", "1"
TWO_SERVER_CORES = "0,1"


def require_two_cores() -> None:
    if not {0, 1} <= os.sched_getaffinity(0):
        raise BenchmarkError("cores 0 and 1 are needed: the server is pinned to one, the load generator to the other")


def cores_beside_two() -> str:
    """Cores for the load when the server has two: others where there are any, else the same."""
    others = sorted(os.sched_getaffinity(0) - {0, 1})
    return ",".join(str(core) for core in others) or TWO_SERVER_CORES


def describe() -> list[str]:
    """Lines about processor, kernel, commit and the versions of everything that takes part."""
    lines = [
        f"{processor()}, {os.cpu_count()} cores, Linux {os.uname().release}, TCP congestion control {network.congestion_control()}",
        f".NET SDK {output_of('dotnet', '--version')}, commit {commit()}",
    ]
    versions = [
        first_match(r"nginx/[\d.]+", output_of("nginx", "-v")),
        first_match(r"varnish-[\d.]+", output_of("varnishd", "-V")),
        first_match(r"Squid Cache: Version [\d.]+", output_of("squid", "--version")),
        first_match(r"wrk \S+", output_of("wrk", "-v")),
        first_match(r"h2load \S+", output_of("h2load", "--version")),
    ]
    return lines + [", ".join(version for version in versions if version)]


def processor() -> str:
    return first_match(r"(?<=model name\t: ).+", Path("/proc/cpuinfo").read_text()) or os.uname().machine


def commit() -> str:
    name = output_of("git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD") or "unknown"
    return f"{name} with local changes" if output_of("git", "-C", str(REPOSITORY), "status", "--porcelain") else name


def first_match(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[0].strip() if match else ""


def output_of(*command: str) -> str:
    """What a command prints, on either output; nothing if it is not there."""
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout.strip()


def run(command: Sequence[str], what: str) -> str:
    """Runs a command to its end; its standard output."""
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode != 0:
        raise BenchmarkError(f"{what} failed ({' '.join(command)}):\n{finished.stdout}{finished.stderr}")
    return finished.stdout
