"""Clients that ask for everything in every way, and check each byte that they get."""

from __future__ import annotations

import http.client
import random
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from wire import Answer, Cut, Wire
from world import VARIANTS, World, tag_of

# What a client does, in parts of a thousand.
WEIGHTS = {
    "get": 600, "range": 130, "conditional": 120, "head": 40, "cookie": 30, "post": 8, "change": 12,
    "leave": 40, "leave early": 10, "purge key": 5, "purge key softly": 5,
}


@dataclass
class Tally:
    """What the clients of one process have seen. Written by one thread at a time."""

    # Requests that the service has read, whatever became of them.
    requests: int = 0
    # Answers that came whole, by what the service says to have done.
    whole: Counter[str] = field(default_factory=Counter)
    # Answers that the client has left in the middle, or that broke, likewise.
    parted: Counter[str] = field(default_factory=Counter)
    # Requests whose clients have left before they knew.
    unknown: int = 0
    received_bytes: int = 0
    key_purges: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.requests += other.requests
        self.whole += other.whole
        self.parted += other.parted
        self.unknown += other.unknown
        self.received_bytes += other.received_bytes
        self.key_purges += other.key_purges
        self.faults += other.faults


def outcome_of(answer: Answer) -> str:
    """The outcome as the service counts it; a hit whose lifetime ends this second may be either kind of hit."""
    status = answer.fields.get("cache-status", "")
    if "hit; detail=in-flight" in status or "collapsed" in status:
        return "join"
    if "; hit" in status:
        return "hit or stale"
    if "fwd=bypass" in status or "fwd=method" in status:
        return "pass"
    return "miss" if "fwd=" in status else "own"


class Operator:
    """Asks the service's admin address."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._fields = {"Authorization": f"Bearer {token}"}

    def ask(self, method: str, path: str, *expected: int) -> bytes:
        self._connection.request(method, path, headers=self._fields)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status not in (expected or (200,)):
            raise RuntimeError(f"{method} {path}: {answer.status} {body!r}")
        return body


class Client:
    """One connection at a time, on a thread of its own."""

    def __init__(self, world: World, port: int, operator: Operator, seed: str, stopping: threading.Event) -> None:
        self.world, self.operator, self._port, self._stopping = world, operator, port, stopping
        self._generator = random.Random(seed)
        self._wire: Wire | None = None
        self.tally = Tally()

    def run(self) -> None:
        kinds, weights = list(WEIGHTS), list(WEIGHTS.values())
        while not self._stopping.is_set():
            key = self.world.choose(self._generator)
            try:
                self._do(self._generator.choices(kinds, weights)[0], key)
            except Exception as failure:
                # A body that breaks at once may take the head with it.
                if not (isinstance(failure, ConnectionError) and self.world.kind(key).fails):
                    self._fault(key, f"{type(failure).__name__}: {failure}")
                self._drop()
        self._drop()

    def _do(self, what: str, key: int) -> None:
        fails, size = self.world.kind(key).fails, self.world.sizes[key]
        if what.startswith("purge key"):
            self._purge(key, is_soft=what.endswith("softly"))
        elif what == "change" and self.world.kind(key).lifetime is not None:
            # Without a word to the cache, which finds out by itself.
            self.world.change([key])
        elif what == "post":
            self._post(key)
        elif what == "cookie" and not fails:
            self._get(key, "GET", {"Cookie": "a=b"})
        elif what == "head" and not fails and self.world.kind(key).has_validator:
            # Without one the cache must take what has the same length for the same (RFC 9111 4.3.5), and here all versions have.
            self._get(key, "HEAD", {})
        elif what == "range":
            self._range(key, size)
        elif what == "conditional" and self.world.is_kept(key):
            # Of what goes to the origin alone, the origin would confirm what clients have and not what is stored.
            self._get(key, "GET", {"If-None-Match": tag_of(key, 0, self.world.current[key])})
        elif what == "leave":
            self._leave(key, size)
        elif what == "leave early" and self.world.is_kept(key):
            self._leave_early(key)
        else:
            self._get(key, "GET", {})

    def _purge(self, key: int, is_soft: bool) -> None:
        versions = self.world.change([key])

        # 404: the key is not stored.
        self.operator.ask("POST", f"/purge?key={key}" + ("&soft" if is_soft else ""), 200, 404)
        self.tally.key_purges += 1
        if not is_soft or self.world.kind(key).lifetime is None:
            self.world.insist([key], versions)

    def _post(self, key: int) -> None:
        answer = self._ask(key, "POST", {}, {"Content-Length": "0"})
        self._finish(key, "POST", answer)
        if answer.status != 200:
            self._fault(key, f"{answer.status} to a POST")
            return
        self.world.insist([key], [int(answer.fields["x-version"])])

    def _range(self, key: int, size: int) -> None:
        first = self._generator.randrange(size)
        last = self._generator.randrange(first, size)
        self._get(key, "GET", {"Range": self._generator.choice([f"bytes={first}-{last}", f"bytes={first}-", f"bytes=-{size - first}"])})

    def _get(self, key: int, method: str, fields: dict[str, str]) -> None:
        oldest = self.world.oldest_for_now(key)
        answer = self._ask(key, method, fields, {})
        self._finish(key, method, answer)
        self._check(key, method, fields, oldest, answer)

    def _leave(self, key: int, size: int) -> None:
        answer = self._ask(key, "GET", {}, {})
        self.tally.parted[outcome_of(answer)] += 1
        if answer.status == 200:
            self._wire.read_some(self._generator.randrange(size))
        self._drop(resets=True)

    def _leave_early(self, key: int) -> None:
        self._send(key, "GET", {}, {})
        self.tally.unknown += 1
        self._wire.finish_sending()
        time.sleep(self._generator.random() * 0.002)
        self._drop()

    def _ask(self, key: int, method: str, fields: dict[str, str], more: dict[str, str]) -> Answer:
        self._send(key, method, fields, more)
        try:
            return self._wire.read_head()
        except ConnectionError:
            self.tally.unknown += 1
            raise

    def _send(self, key: int, method: str, fields: dict[str, str], more: dict[str, str]) -> None:
        self._wire = self._wire or Wire(self._port)
        variant = {"X-Kind": str(self._generator.randrange(VARIANTS))} if self.world.kind(key).varies else {}
        self.variant = int(variant.get("X-Kind", 0))
        self._wire.send(method, f"/object/{key}", {**fields, **variant, **more})
        self.tally.requests += 1

    def _finish(self, key: int, method: str, answer: Answer) -> None:
        outcome = outcome_of(answer)
        try:
            self._wire.read_body(method, answer)
            self.tally.whole[outcome] += 1
        except Cut as cut:
            self.tally.parted[outcome] += 1
            self._drop()
            answer.body = cut.body
            answer.fields["cut"] = ""
            if not self.world.kind(key).fails:
                self._fault(key, f"{outcome}: {cut}")
        self.tally.received_bytes += len(answer.body)
        if answer.fields.get("connection") == "close":
            self._drop()

    def _check(self, key: int, method: str, fields: dict[str, str], oldest: int, answer: Answer) -> None:
        if answer.status == 304:
            # Has no fields but those of the object that a client needs for it.
            version, variant = (int(part) for part in answer.fields["etag"].strip('"').split(".")[:0:-1])
        elif "x-version" in answer.fields:
            version, variant = int(answer.fields["x-version"]), int(answer.fields["x-variant"])
        else:
            self._check_failure(key, answer)
            return
        is_whole = "cut" not in answer.fields
        where = f"{method} {fields} version {version}, {answer.status}, {answer.fields.get('cache-status')}"
        if not oldest <= version <= self.world.current[key]:
            self._fault(key, f"{where}: {oldest} to {self.world.current[key]} would be right")
        if variant != self.variant:
            self._fault(key, f"{where}: variant {variant} in the place of {self.variant}")
        size, first = self.world.sizes[key], 0
        expected = 0 if method == "HEAD" or answer.status == 304 else size
        if answer.status == 206:
            span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", answer.fields["content-range"])
            first, last = int(span[1]), int(span[2])
            expected = last + 1 - first
            if not is_asked_for(fields["Range"], first, last, size):
                self._fault(key, f"{where}: {answer.fields['content-range']}")
        elif answer.status == 304:
            if fields.get("If-None-Match") != tag_of(key, variant, version):
                self._fault(key, f"{where}: not the tag that was named")
        elif answer.status != 200:
            self._fault(key, where)
        if (is_whole and len(answer.body) != expected) or not self.world.is_part(answer.body, first, key, variant, version):
            self._fault(key, f"{where}: {len(answer.body)} bytes are not what the origin has")

    def _check_failure(self, key: int, answer: Answer) -> None:
        # The origin's own words, or the service's: also for a 503 whose stand-in was purged or became too old meanwhile.
        is_told = answer.body == b"failed" or outcome_of(answer) == "own"
        if not self.world.kind(key).fails or answer.status not in (502, 503) or not is_told:
            self._fault(key, f"{answer.status}, {answer.fields.get('cache-status')}")

    def _fault(self, key: int, what: str) -> None:
        self.tally.faults.append(f"key {key}, {self.world.kind(key).cache_control}, {self.world.sizes[key]} bytes: {what}")

    def _drop(self, resets: bool = False) -> None:
        if self._wire is not None:
            if resets:
                self._wire.reset()
            else:
                self._wire.close()
        self._wire = None


def is_asked_for(asked: str, first: int, last: int, size: int) -> bool:
    begin, end = asked.removeprefix("bytes=").split("-")
    if begin == "":
        return (first, last) == (size - int(end), size - 1)
    return (first, last) == (int(begin), int(end) if end else size - 1)
