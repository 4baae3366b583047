"""Processes that are measured: started on given cores, counted with all their children, ended by their ids."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchmarkError

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
START_SECONDS = 30
STOP_SECONDS = 10


@dataclass(frozen=True)
class CpuTime:
    """Seconds of processor time."""

    user: float
    system: float

    def since(self, earlier: CpuTime) -> CpuTime:
        return CpuTime(self.user - earlier.user, self.system - earlier.system)

    @property
    def total(self) -> float:
        return self.user + self.system


class MeasuredProcess:
    """A program and every process that it has started."""

    def __init__(self, name: str, command: Sequence[str], log: Path, cores: str, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        with log.open("wb") as output:
            # A session of its own: Ctrl-C reaches the benchmark only, which then ends its servers in order. Where it cannot, because it was
            # interrupted while it started one or was killed, the kernel does.
            self._process = subprocess.Popen(
                ["taskset", "-c", cores, "setpriv", "--pdeathsig", "TERM", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_until(self, is_ready: Callable[[], bool], poll_seconds: float = 0.05) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if is_ready():
                return
            time.sleep(poll_seconds)
        why = "ended" if self._process.poll() is not None else f"was not ready after {START_SECONDS} s"
        raise BenchmarkError(f"'{self.name}' {why}:\n{self.output()}")

    def pids(self) -> list[int]:
        """Itself and its descendants."""
        found = [self.pid]
        for pid in found:
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    found += [int(child) for child in children.read_text().split()]
                except OSError:
                    continue  # The thread has just ended.
        return found

    def cpu(self) -> CpuTime:
        times = [read_cpu(Path(f"/proc/{pid}/stat").read_text()) for pid in self.pids()]
        return CpuTime(sum(each.user for each in times), sum(each.system for each in times))

    def resident_mebibytes(self) -> float:
        return sum(read_kibibytes(Path(f"/proc/{pid}/status").read_text(), "VmRSS") for pid in self.pids()) / 1024

    def stop(self, patience: float = STOP_SECONDS) -> None:
        """Ends it, by force where asking does not help, and what it leaves behind."""
        if self._process.poll() is not None:
            return
        pids = self.pids()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for child in pids[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def read_cpu(stat: str) -> CpuTime:
    """Fields 14 and 15 of proc_pid_stat(5): user and system time of a process with all its threads."""
    after_name = stat.rpartition(")")[2].split()
    return CpuTime(int(after_name[11]) / TICKS_PER_SECOND, int(after_name[12]) / TICKS_PER_SECOND)


def read_kibibytes(text: str, name: str) -> int:
    """A line like 'VmRSS:  1234 kB' of /proc/PID/status or smaps_rollup; 0 if there is none, as for a process that has just ended."""
    for line in text.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def free_port() -> int:
    """A port of the loopback interface that nobody has, for servers that cannot choose one themselves."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
