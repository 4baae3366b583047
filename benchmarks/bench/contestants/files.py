"""A directory of files, the same for every contestant that serves one."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

SIZES = (1024, 1_345_292)
PAGE, PAGE_BYTES = "page.txt", 65_536


def make(directory: Path) -> Path:
    """A file of each size, named by it, of bytes that nobody can make smaller; and a page of text, which gzip makes a fifth of, also as that."""
    served = directory / "served"
    served.mkdir()
    source = random.Random(1)
    for size in SIZES:
        (served / str(size)).write_bytes(source.randbytes(size))
    words = [source.randbytes(3).hex() for _ in range(300)]
    page = " ".join(source.choice(words) for _ in range(PAGE_BYTES)).encode()[:PAGE_BYTES]
    (served / PAGE).write_bytes(page)
    (served / f"{PAGE}.gz").write_bytes(gzip.compress(page))
    return served
