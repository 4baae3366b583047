"""A directory of files, the same for every contestant that serves one."""

from __future__ import annotations

import random
from pathlib import Path

SIZES = (1024, 1_345_292)


def make(directory: Path) -> Path:
    """A file of each size, named by it, of bytes that nobody can make smaller."""
    served = directory / "served"
    served.mkdir()
    source = random.Random(1)
    for size in SIZES:
        (served / str(size)).write_bytes(source.randbytes(size))
    return served
