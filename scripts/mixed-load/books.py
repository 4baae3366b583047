"""Compares what the service says of itself with what its clients, its origin and its operator know."""

from __future__ import annotations

import json
import time

from clients import Operator, Tally
from origin import Origin
from world import World

SETTLE_SECONDS = 60
# Nothing that has a short lifetime is kept for longer after the last request, with a second of the sweep; the rest stays for an hour.
EXPIRY_SECONDS = 10
OUTCOMES = {"hit or stale": ["hit", "stale"], "join": ["join"], "miss": ["miss"], "pass": ["pass"], "own": ["own"]}
ALL_GIVEN_BACK = [
    "cache_fills_active", "cache_in_flight_bytes", "cache_pinned_bytes", "cache_waiters", "cache_readers", "cache_passes_active",
]


class Stats:
    """One reading of /stats."""

    def __init__(self, operator: Operator) -> None:
        content = json.loads(operator.ask("GET", "/stats"))
        self.outcomes = {name: durations["count"] for name, durations in content["requests"].items()}
        self._metrics = content["metrics"]

    def __getitem__(self, name: str) -> int:
        return round(self._metrics[name])

    @property
    def is_at_rest(self) -> bool:
        return all(self[name] == 0 for name in ALL_GIVEN_BACK)


def settle(operator: Operator) -> Stats:
    """When all has been given back, or will not be; and all that expires soon has."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while not Stats(operator).is_at_rest and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(EXPIRY_SECONDS)
    return Stats(operator)


def compare(stats: Stats, tally: Tally, origin: Origin, operator: Operator, world: World, purges: int) -> list[tuple[str, str, bool]]:
    """Checks: what, the figures, and whether they agree."""
    checks: list[tuple[str, str, bool]] = []

    def equal(name: str, service: int, truth: int) -> None:
        checks.append((name, f"{service} and {truth}", service == truth))

    equal("requests by outcome are those of the clients", sum(stats.outcomes.values()), tally.requests)
    for outcome, names in OUTCOMES.items():
        counted, whole = sum(stats.outcomes[name] for name in names), tally.whole[outcome]
        most = whole + tally.parted[outcome] + tally.unknown
        name = f"{outcome}: as many as had a whole answer, and not more than began"
        checks.append((name, f"{whole} <= {counted} <= {most}", whole <= counted <= most))
    parted = sum(tally.parted.values()) + tally.unknown
    checks.append(("not more were cut than left, or broke at the origin", f"{stats.outcomes['cut']} <= {parted}", stats.outcomes["cut"] <= parted))
    equal("the origin was asked by as many fills and passes", stats["cache_fills_total"] + stats["cache_passes_total"], origin.count("requests"))
    equal("objects that the origin has confirmed", stats["cache_validations_total"], origin.count("confirmed"))
    equal("nobody was refused", stats["cache_refusals_total"], 0)
    equal("purges", stats["cache_purges_total"], purges)
    checks.append((
        "bytes sent are not fewer than arrived", f"{stats['cache_sent_bytes_total']} >= {tally.received_bytes}",
        stats["cache_sent_bytes_total"] >= tally.received_bytes,
    ))

    gone = sum(stats[name] for name in [
        "cache_evictions_total", "cache_expired_total", "cache_purged_total", "cache_replaced_total", "cache_removed_total",
        "cache_variants_evicted_total",
    ])
    equal("objects that came without those that went are those that are there", stats["cache_inserted_total"] - gone, stats["cache_objects"])
    objects, bytes_stored = walk(operator, world, checks)
    equal("objects as found one by one", stats["cache_objects"], objects)
    # Tags are counted once, however many objects have them, and so in none of these.
    equal("bytes as found one by one", stats["cache_stored_bytes"] - stats["cache_tags_memory_bytes"], bytes_stored)
    for name in ALL_GIVEN_BACK:
        equal(f"{name} is as at the start", stats[name], 0)
    return checks


def walk(operator: Operator, world: World, checks: list[tuple[str, str, bool]]) -> tuple[int, int]:
    objects = bytes_stored = 0
    wrong: list[int] = []
    for key, size in enumerate(world.sizes):
        for variant in json.loads(operator.ask("GET", f"/entry?key={key}"))["variants"]:
            objects += 1
            bytes_stored += variant["memoryBytes"]
            if variant["bodyBytes"] != size or not world.is_kept(key):
                wrong.append(key)
    checks.append(("what is stored is what may be, and as long as it should be", f"{objects} objects, wrong: {wrong[:10]}", not wrong))
    return objects, bytes_stored
