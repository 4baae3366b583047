#!/usr/bin/env python3
"""Measures seeks in one large file: what a cache asks its origin for, and how long clients wait, by the caching service, by nginx's slice module
and by Varnish, which fetches all of the file.

    benchmarks/slices.py [--bytes N] [--slice N] [--range N] [--clients N]

An nginx with a sparse file is the origin and counts the bytes that it sends. Each client asks for one range at a random place, all at the same time;
then they ask for the same again, and at last all for one and the same range. Checks each answer, and prints a Markdown table.

Needs the .NET SDK, nginx, varnishd, and 4 GiB of disk where temporary files are. Load, caches and origin share the machine's cores: the times compare them, and say nothing of a network.
"""

from __future__ import annotations

import argparse
import http.client
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench import tools
from bench.contestants import dotnet, nginx, varnish
from bench.contestants.server import Contestant, Server
from bench.errors import BenchmarkError

MARK_EVERY = 1 << 16
SETTLE_SECONDS = 0.5


@dataclass(frozen=True)
class Place:
    """Bytes of the file, the second end not included."""

    start: int
    end: int


def main() -> int:
    options = parse_arguments()
    tools.find_everywhere()
    try:
        tools.require({"dotnet", "nginx", "varnishd"}, install=options.install)
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="slices-") as name:
        directory = Path(name)
        log = directory / "sent"
        make_file(directory / "served", options.bytes)
        origin = nginx.counting_origin(directory / "served", log).start(directory / "origin")
        try:
            print("| cache | seeks | distinct MB | of the origin MB | ratio | first byte p50 ms | worst ms | resident MB |")
            print("|---|---|---:|---:|---:|---:|---:|---:|")
            for contestant in (dotnet.slicing_service(options.slice), nginx.slicing_cache(options.slice), varnish.large_objects()):
                measure(contestant, origin, directory, log, options)
        finally:
            origin.stop()
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=3 << 30, help="of the file (default 3 GiB)")
    parser.add_argument("--slice", type=int, default=1 << 18, help="bytes of a slice (default 256 KiB)")
    parser.add_argument("--range", type=int, default=1 << 21, help="bytes that a client asks for (default 2 MiB)")
    parser.add_argument("--clients", type=int, default=50, help="at the same time (default 50)")
    parser.add_argument("--install", action="store_true", help="install what is missing from Debian's packages, as root")
    return parser.parse_args()


def make_file(directory: Path, size: int) -> None:
    """Each 64 KiB begin with their place."""
    directory.mkdir()
    with (directory / "film").open("wb") as file:
        file.truncate(size)
        for place in range(0, size - 8, MARK_EVERY):
            file.seek(place)
            file.write(place.to_bytes(8, "big"))


def measure(contestant: Contestant, origin: Server, directory: Path, log: Path, options: argparse.Namespace) -> None:
    source = random.Random(1)
    starts = [source.randrange(options.bytes - options.range) for _ in range(options.clients)]
    places = [Place(start, start + options.range) for start in starts]
    one = Place(options.bytes // 3, options.bytes // 3 + options.range)
    cache = contestant.start(directory / contestant.name.replace(" ", "-"), origin.base_url)
    try:
        for title, wanted in (("first", places), ("again", places), ("all the same", [one] * options.clients)):
            before = sent(log)
            with ThreadPoolExecutor(options.clients) as clients:
                waits = list(clients.map(lambda place: ask(cache, place), wanted))
            time.sleep(SETTLE_SECONDS)  # The origin writes its log after it has answered.
            asked, distinct = sent(log) - before, count_distinct(wanted)
            cells = (distinct / 1e6, asked / 1e6, asked / distinct, statistics.median(waits) * 1e3, max(waits) * 1e3, resident(cache) / 1e6)
            print(f"| {contestant.name} | {title} | {cells[0]:.0f} | {cells[1]:.0f} | {cells[2]:.2f} | {cells[3]:.0f} | {cells[4]:.0f} | {cells[5]:.0f} |")
    finally:
        cache.stop()


def ask(cache: Server, place: Place) -> float:
    """Asks for a range, checks it, and tells the seconds until its first byte."""
    connection = http.client.HTTPConnection(*cache.address, timeout=60)
    begun = time.monotonic()
    connection.request("GET", "/object/film", headers={"Range": f"bytes={place.start}-{place.end - 1}"})
    response = connection.getresponse()
    body = response.read(1)
    waited = time.monotonic() - begun
    body += response.read()
    connection.close()
    if response.status != 206 or len(body) != place.end - place.start:
        raise SystemExit(f"{cache.name}: status {response.status}, {len(body)} bytes")
    for mark in range(-(-place.start // MARK_EVERY) * MARK_EVERY, place.end - 8, MARK_EVERY):
        if int.from_bytes(body[mark - place.start : mark - place.start + 8], "big") != mark:
            raise SystemExit(f"{cache.name}: other bytes at {mark}")
    return waited


def sent(log: Path) -> int:
    return sum(map(int, log.read_text().split())) if log.exists() else 0


def count_distinct(places: Sequence[Place]) -> int:
    total = end = 0
    for place in sorted(places, key=lambda place: place.start):
        total += max(0, place.end - max(place.start, end))
        end = max(end, place.end)
    return total


def resident(cache: Server) -> int:
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in cache.process.pids())
    return pages * 4096


if __name__ == "__main__":
    sys.exit(main())
