"""What there is to ask for: objects whose bytes follow from key, variant and version, and which versions of them a client may get."""

from __future__ import annotations

import bisect
import itertools
import multiprocessing
import random
import time
import zlib
from dataclasses import dataclass

MIB = 1 << 20
SMALLEST_BYTES = 100
LARGEST_BYTES = 4 * MIB
LARGEST_STORED_BYTES = 3 * MIB
LARGEST_DRIPPING_BYTES = 128 << 10
VARIANTS = 3
TAGS = 20
POPULARITY = 0.9
SEED = 1

# Between the moment from which the cache must know of a change and the moment from which a client insists: for a machine with other work.
GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Kind:
    """How the origin answers for some of the keys."""

    cache_control: str
    # Seconds for which an answer may be served without asking, staleness that the origin allows included; none: until it is purged.
    lifetime: float | None = None
    has_validator: bool = True
    is_chunked: bool = False
    varies: bool = False
    is_shared: bool = True
    fails: bool = False
    drips: bool = False


PLAIN = Kind("max-age=3600")
KINDS = [
    *[PLAIN] * 8,
    *[Kind("max-age=3600", is_chunked=True)] * 2,
    *[Kind("max-age=2", lifetime=2, has_validator=False)] * 2,
    *[Kind("max-age=2", lifetime=2)] * 2,
    Kind("max-age=1, stale-while-revalidate=5", lifetime=6),
    *[Kind("max-age=3600", varies=True)] * 2,
    Kind("private", is_shared=False),
    Kind("max-age=2, stale-if-error=5", lifetime=7, fails=True),
    Kind("max-age=3600", drips=True),
]


class World:
    """Made before the processes are forked: the random bytes are shared by them, and so are the versions."""

    def __init__(self, least_bytes: int) -> None:
        generator = random.Random(SEED)
        self.pool = generator.randbytes(4 * LARGEST_BYTES)
        self.sizes: list[int] = []
        total = 0
        while total < least_bytes:
            kind = self.kind(len(self.sizes))
            size = int(SMALLEST_BYTES * (LARGEST_BYTES / SMALLEST_BYTES) ** generator.random())
            self.sizes.append(min(size, LARGEST_DRIPPING_BYTES) if kind.drips else size)
            if kind.is_shared and self.sizes[-1] <= LARGEST_STORED_BYTES:
                total += self.sizes[-1]
        self.total_bytes = total
        # Who is asked for most has nothing to do with size or kind.
        self.by_rank = generator.sample(range(len(self.sizes)), len(self.sizes))
        self.shares = list(itertools.accumulate((rank + 1) ** -POPULARITY for rank in range(len(self.sizes))))
        self.lock = multiprocessing.Lock()
        self.current = multiprocessing.RawArray("q", len(self.sizes))
        self.oldest = multiprocessing.RawArray("q", len(self.sizes))
        self.changed = multiprocessing.RawArray("d", len(self.sizes))

    @staticmethod
    def kind(key: int) -> Kind:
        return KINDS[key % len(KINDS)]

    @staticmethod
    def tag(key: int) -> str:
        return f"tag-{key // len(KINDS) % TAGS}"

    def keys_of(self, tag: str) -> list[int]:
        return [key for key in range(len(self.sizes)) if self.tag(key) == tag]

    def choose(self, generator: random.Random) -> int:
        return self.by_rank[bisect.bisect(self.shares, generator.random() * self.shares[-1])]

    def is_kept(self, key: int) -> bool:
        """Whether a request without anything special for it never goes to the origin alone."""
        return self.kind(key).is_shared and self.sizes[key] <= LARGEST_STORED_BYTES

    def place(self, key: int, variant: int, version: int) -> int:
        """Where in the pool a body begins: no two pieces of different bodies are alike, but for where they come to lie on each other."""
        return zlib.crc32(b"%d.%d.%d" % (key, variant, version)) % (len(self.pool) - LARGEST_BYTES)

    def body(self, key: int, variant: int, version: int) -> memoryview:
        start = self.place(key, variant, version)
        return memoryview(self.pool)[start:start + self.sizes[key]]

    def is_part(self, part: bytes, offset: int, key: int, variant: int, version: int) -> bool:
        return offset + len(part) <= self.sizes[key] and self.pool.startswith(part, self.place(key, variant, version) + offset)

    def change(self, keys: list[int]) -> list[int]:
        """The origin has something new; returns the versions."""
        with self.lock:
            for key in keys:
                self.current[key] += 1
                self.changed[key] = time.monotonic()
            return [self.current[key] for key in keys]

    def insist(self, keys: list[int], versions: list[int]) -> None:
        """The cache has been told: nobody who asks from now on may get what is older."""
        with self.lock:
            for key, version in zip(keys, versions, strict=True):
                self.oldest[key] = max(self.oldest[key], version)

    def oldest_for_now(self, key: int) -> int:
        """The oldest version that a request which begins now may be answered with."""
        lifetime = self.kind(key).lifetime
        if lifetime is not None and self.oldest[key] != self.current[key]:
            with self.lock:
                if time.monotonic() - self.changed[key] > lifetime + GRACE_SECONDS:
                    self.oldest[key] = self.current[key]
        return self.oldest[key]


def tag_of(key: int, variant: int, version: int) -> str:
    return f'"{key}.{variant}.{version}"'
