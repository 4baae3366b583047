"""Run by scripts/mixed-load.sh: the service under everything at once, with far more to ask for than it has memory; then the books."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import re
import secrets
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from books import compare, settle
from clients import Client, Operator, Tally
from origin import Origin
from world import LARGEST_STORED_BYTES, MIB, SEED, TAGS, World

MEMORY_BYTES = 64 * MIB
OVER = 10
PROCESSES = 2
CLIENTS = 8
KEEP_STALE_SECONDS = 5
START_SECONDS = 30.0
STOP_SECONDS = 30.0
SAMPLE_SECONDS = 10.0
# Of the whole time: how often a tag, and how often everything is purged.
TAG_SHARE = 1 / 300
ALL_SHARE = 1 / 20
# The second minute and the tenth.
EARLY_MINUTE, LATE_MINUTE = 2, 10
TOLERATED_SHARE, TOLERATED_BYTES = 0.05, 16 * MIB


class Service:
    def __init__(self, program: str, work: Path, origin_port: int) -> None:
        self.log = work / "service.log"
        self.port, self.admin_port, self.token = free_port(), free_port(), secrets.token_hex(16)
        self._process = subprocess.Popen(
            [
                program, f"--urls=http://127.0.0.1:{self.port}", f"--Admin:Url=http://127.0.0.1:{self.admin_port}",
                f"--Cache:Origin=http://127.0.0.1:{origin_port}", f"--Cache:MaxBytes={MEMORY_BYTES}",
                f"--Cache:MaxObjectBytes={LARGEST_STORED_BYTES}", f"--Cache:KeepStale={KEEP_STALE_SECONDS}s",
                # What fails here is one key, and not the address.
                "--Cache:OriginEjectAfter=0", "--Cache:FillRetryDelay=10ms",
            ],
            stdout=self.log.open("wb"), stderr=subprocess.STDOUT, env={**os.environ, "Admin__Token": self.token},
        )

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not takes_connections(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"FAILED  the service did not start\n{self.log.read_text()}")
            time.sleep(0.05)

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def operator(self) -> Operator:
        return Operator(self.admin_port, self.token)

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(STOP_SECONDS)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def takes_connections(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def run_clients(world: World, service: Service, process: int, parent: Connection) -> None:
    """Until the parent says something; then tells it the tally."""
    stopping = threading.Event()
    clients = [Client(world, service.port, service.operator(), f"{SEED}:{process}:{number}", stopping) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()
    parent.recv()
    stopping.set()
    total = Tally()
    for client, thread in zip(clients, threads, strict=True):
        thread.join()
        total.add(client.tally)
    parent.send(total)


class Purges:
    """Tags and everything, hard and soft in turn, at intervals."""

    def __init__(self, world: World, operator: Operator, duration: float) -> None:
        self.count = 0
        self._world, self._operator, self._stopping = world, operator, threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=(duration * TAG_SHARE, self._purge_tag)),
            threading.Thread(target=self._repeat, args=(duration * ALL_SHARE, self._purge_all)),
        ]
        self._lock = threading.Lock()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, interval: float, purge: Callable[[bool], None]) -> None:
        is_soft = False
        while not self._stopping.wait(interval):
            with self._lock:
                purge(is_soft)
            is_soft = not is_soft

    def _purge_tag(self, is_soft: bool) -> None:
        tag = f"tag-{random.randrange(TAGS)}"
        self._purge(f"tag={tag}", self._world.keys_of(tag), is_soft)

    def _purge_all(self, is_soft: bool) -> None:
        self._purge("all", list(range(len(self._world.sizes))), is_soft)

    def _purge(self, what: str, keys: list[int], is_soft: bool) -> None:
        versions = self._world.change(keys)
        self._operator.ask("POST", f"/purge?{what}" + ("&soft" if is_soft else ""))
        self.count += 1
        # What may be served stale is what the origin allows, and that only the clients know.
        meant = [(key, version) for key, version in zip(keys, versions, strict=True) if not is_soft or self._world.kind(key).lifetime is None]
        self._world.insist([key for key, _ in meant], [version for _, version in meant])


def watch(service: Service, duration: float) -> list[tuple[float, int]]:
    """Resident size at each time, to the end of the load."""
    start = time.monotonic()
    samples: list[tuple[float, int]] = []
    while (passed := time.monotonic() - start) < duration:
        time.sleep(min(SAMPLE_SECONDS, duration - passed))
        samples.append((time.monotonic() - start, service.resident_bytes()))
        print(f"        after {samples[-1][0]:5.0f} s: {samples[-1][1] / MIB:6.1f} MiB resident", flush=True)
    return samples


def judge_size(samples: list[tuple[float, int]]) -> list[tuple[str, str, bool]]:
    """No check where the load ended before the later minute."""

    def size_in(minute: int) -> float | None:
        sizes = [size for passed, size in samples if (minute - 1) * 60 < passed <= minute * 60 + 1]
        return statistics.median(sizes) if sizes else None

    early, late = size_in(EARLY_MINUTE), size_in(LATE_MINUTE)
    name = f"resident size of minute {LATE_MINUTE} is that of minute {EARLY_MINUTE}, or within 5 % or 16 MiB of it"
    if early is None or late is None:
        return []
    is_near = abs(late - early) <= max(TOLERATED_SHARE * early, TOLERATED_BYTES)
    return [(name, f"{early / MIB:.1f} MiB, {late / MIB:.1f} MiB", is_near)]


def main() -> int:
    program, work, duration = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    multiprocessing.set_start_method("fork")
    world = World(OVER * MEMORY_BYTES)
    origin = Origin(world)
    serving = multiprocessing.Process(target=origin.run, daemon=True)
    serving.start()
    service = Service(program, work, origin.port)
    service.wait_until_up()
    print(f"        {len(world.sizes)} keys, {world.total_bytes / MIB:.0f} MiB, over {MEMORY_BYTES / MIB:.0f} MiB of memory, {duration:.0f} s")

    pipes, processes = [], []
    for number in range(PROCESSES):
        parent, child = multiprocessing.Pipe()
        processes.append(multiprocessing.Process(target=run_clients, args=(world, service, number, child), daemon=True))
        processes[-1].start()
        pipes.append(parent)
    purges = Purges(world, service.operator(), duration)
    samples = watch(service, duration)
    purges.stop()
    tally = Tally()
    for pipe in pipes:
        pipe.send("stop")
        tally.add(pipe.recv())
    operator = service.operator()
    stats = settle(operator)

    checks = [(
        f"every answer is right, of {sum(tally.whole.values())} whole and {sum(tally.parted.values())} parted ones",
        f"{tally.received_bytes / MIB:.0f} MiB; " + ", ".join(f"{count} {outcome}" for outcome, count in tally.whole.most_common()),
        not tally.faults,
    )]
    checks += compare(stats, tally, origin, operator, world, purges.count + tally.key_purges)
    checks.append(("memory was not enough", f"{stats['cache_evictions_total']} evictions", stats["cache_evictions_total"] > 0))
    checks += judge_size(samples)
    status = service.stop()
    log = service.log.read_text()
    checks.append(("the service ends in order", f"exit status {status}", status == 0))
    is_quiet = not re.search("^[^ ]+Z (fail|crit):", log, re.MULTILINE)
    checks.append(("nothing above a warning was logged", "the service's log", is_quiet))
    return report(checks, tally.faults, log)


def report(checks: list[tuple[str, str, bool]], faults: list[str], log: str) -> int:
    for name, detail, is_good in checks:
        print(f"{'ok     ' if is_good else 'FAILED '} {name} ({detail})")
    for fault in faults[:20]:
        print(f"        {fault}")
    failed = sum(not is_good for *_, is_good in checks)
    if failed:
        print(log[-3000:])
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
