"""Small requests in other shapes: pipelined, and on connections that do not stay."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.contestants.server import Server
from bench.errors import BenchmarkError
from bench.figures import CPU, P99, PER_CONNECTION, REQUESTS, USER, Sample
from bench.loads.load import Load
from bench.loads.wrk import Wrk
from bench.targets import SOCKETS, Target
from bench.works.health import ADAPTIVE, COMPARED, CONTESTANTS, FLOOR, HEALTH, INLINE, THREAD_POOL, Wanted, cpu_targets
from bench.works.saturated import SaturatedWork, take_sample

CONNECTIONS = 64
PIPELINED = 16
REQUESTS_PER_CONNECTION = 10
MOST_DEVIATION = 1.15


@dataclass(frozen=True)
class CountedConnections:
    """Measures as always, and counts the connections that the kernel accepted: the load must be what it claims to be."""

    requests_per_connection: int

    def __call__(self, server: Server, load: Load, seconds: int) -> Sample:
        before = accepted_connections(Path("/proc/net/snmp").read_text())
        sample = take_sample(server, load, seconds)
        accepted = accepted_connections(Path("/proc/net/snmp").read_text()) - before
        seen = sample.values[REQUESTS] * seconds / max(1, accepted)
        if seen > self.requests_per_connection * MOST_DEVIATION:
            raise BenchmarkError(f"'{server.name}': {seen:.1f} requests per connection, not {self.requests_per_connection}")
        return replace(sample, values={**sample.values, PER_CONNECTION: seen})


def accepted_connections(snmp: str) -> int:
    """PassiveOpens of the Tcp lines of /proc/net/snmp: the whole network namespace's."""
    names, values = (line.split() for line in snmp.splitlines() if line.startswith("Tcp:"))
    return int(values[names.index("PassiveOpens")])


def _connections(name: str, title: str, load: Wrk, requests_per_connection: int, floor: Wanted, targets: Sequence[Target] = ()) -> SaturatedWork:
    targets = [*cpu_targets(ADAPTIVE, COMPARED, floor), Target(ADAPTIVE, P99, 1.0, against=SOCKETS), *targets]
    notes = ["Latency counts from the request on, and leaves out the time to connect. Connections are those that the kernel accepted."]
    return SaturatedWork(name, title, load, CONTESTANTS, targets, notes, measure=CountedConnections(requests_per_connection))


WORKS = [
    SaturatedWork(
        "pipelined",
        f"`/health` pipelined by {PIPELINED}, {CONNECTIONS} connections",
        Wrk(HEALTH, CONNECTIONS, script=(f"pipeline={PIPELINED}",)),
        CONTESTANTS,
        [
            Target(INLINE, CPU, 0.75, 0.65, against=SOCKETS),
            Target(ADAPTIVE, CPU, 0.85, 0.70, against=SOCKETS),
            Target(THREAD_POOL, CPU, 1.05, 0.90, against=SOCKETS),
            Target(FLOOR, CPU, None, against=SOCKETS),
        ],
    ),
    _connections(
        "connection-per-request",
        f"A connection per request, {CONNECTIONS} at a time",
        Wrk(HEALTH, CONNECTIONS, headers=("Connection: close",)),
        1,
        (1.25, 1.1),
        [Target(ADAPTIVE, USER, 4, 2)],
    ),
    _connections(
        "ten-per-connection",
        f"{REQUESTS_PER_CONNECTION} requests per connection on the average, {CONNECTIONS} at a time",
        Wrk(HEALTH, CONNECTIONS, script=(f"close={REQUESTS_PER_CONNECTION}",)),
        REQUESTS_PER_CONNECTION,
        (1.1, 1.05),
    ),
]
