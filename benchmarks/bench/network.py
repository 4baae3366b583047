"""
The loopback that contestants and load share. Its congestion control decides what large bodies cost: BBR paces them by a timer for each
segment, which a virtual machine pays dearly, and whoever sends more at once meets it more often (benchmarks/README.md).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from bench.errors import BenchmarkError

# unshare(2), netdevice(7)
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1

SETTINGS = Path("/proc/sys/net/ipv4")


def congestion_control() -> str:
    """What new connections of this process have."""
    return (SETTINGS / "tcp_congestion_control").read_text().strip()


def available() -> list[str]:
    """What the kernel has."""
    return (SETTINGS / "tcp_available_congestion_control").read_text().split()


def enter_own(congestion_control: str) -> None:
    """
    Moves this process, and all that it starts from now on, into a network namespace of its own, which has nothing but a loopback with that
    congestion control. The machine's stays as it is. Before any thread is started.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        with _allowed_everywhere(congestion_control):
            if libc.unshare(CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            (SETTINGS / "tcp_congestion_control").write_text(congestion_control)
    except OSError as error:
        raise BenchmarkError(
            f"a network namespace with congestion control {congestion_control} cannot be made ({error.strerror}): "
            "run this as root, or give the machine's own by --congestion-control"
        ) from error
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as anything:
        fcntl.ioctl(anything, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


@contextlib.contextmanager
def _allowed_everywhere(congestion_control: str) -> Iterator[None]:
    """
    A namespace other than the machine's first takes as its default only what is allowed to everybody, in a list that the kernel has once
    (tcp_allowed_congestion_control in ip-sysctl). It is put back through the same open file, which stays the first namespace's.
    """
    allowed = SETTINGS / "tcp_allowed_congestion_control"
    before = allowed.read_text().split()
    if congestion_control in before:
        yield
        return
    with allowed.open("r+") as setting:
        _write(setting, [*before, congestion_control])
        try:
            yield
        finally:
            _write(setting, before)


def _write(setting: TextIO, words: list[str]) -> None:
    setting.seek(0)
    setting.write(" ".join(words))
    setting.flush()
