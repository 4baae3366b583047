"""Run by scripts/cluster.sh: what a cluster owes to its clients while nodes come and go."""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import re
import signal
import sys
import time
from collections.abc import Awaitable
from pathlib import Path

from load import Connection, Load, Objects
from network import Loopback, Namespaces, Network
from processes import Failure, HAProxy, Nats, Nginx, Node, until

CLIENTS = 16
NODES, SHIELDS = {"a": 11, "b": 12, "c": 13}, {"s": 21, "t": 22}
LIVE_BYTES, LIVE_RATE = 600_000, 150_000
LATE_OBJECTS = 50
MAX_IMBALANCE = 1.25
# Of a key with 90 % of the requests, which one node alone would get: 2.7 of the mean.
HOT_SHARE, MAX_HOT_IMBALANCE = 0.9, 2.0
# Objects that a killed node has on its disk; every second one is purged while it is away.
DISK_OBJECTS, DISK_OBJECT_BYTES, MAX_OBJECTS = 200, 6000, 300


class Checks:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def check(self, name: str, detail: object, is_met: object) -> None:
        self.passed += bool(is_met)
        self.failed += not is_met
        print(f"{'ok     ' if is_met else 'FAILED '} {name} ({detail})", flush=True)

    def finish(self) -> int:
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


class Cluster:
    def __init__(self, repository: Path, work: Path, network: Network, objects: Objects, seconds: float, checks: Checks) -> None:
        self.repository, self.work, self.network, self.objects, self.seconds, self.checks = repository, work, network, objects, seconds, checks
        self.places = {name: network.place(f"192.0.2.{number}", 8080, 8081, is_alone=True) for name, number in (NODES | SHIELDS).items()}
        self.nats = Nats(work, network.place("192.0.2.31", 4222))
        self.origin = Nginx(repository, work, network.place("192.0.2.41", 80), LIVE_RATE)
        addresses = {f"192.0.2.{number}:8080": self.places[name].url() for name, number in (NODES | SHIELDS).items()}
        self.haproxy, self.peer = (HAProxy(repository, work, name, network.place(host, 80, 8090), addresses)
                                   for name, host in (("haproxy", "192.0.2.10"), ("peer", "192.0.2.9")))
        self.fronts = [(one.place.host, one.place.ports[0]) for one in (self.haproxy, self.peer)]
        self.nodes: dict[str, Node] = {}
        self.load: Load | None = None

    async def start(self) -> None:
        for number, body in enumerate(self.objects.bodies):
            (self.origin.root / "content" / f"o{number}").write_bytes(body)
        for name in ("live-join", "live-move"):
            (self.origin.root / "content" / name).write_bytes(self.objects.bodies[0] * (LIVE_BYTES // len(self.objects.bodies[0])))
        for number in range(LATE_OBJECTS):
            (self.origin.root / "content" / f"late-{number}").write_bytes(self.objects.bodies[number])
        for number in range(DISK_OBJECTS):
            (self.origin.root / "content" / f"disk-{number}").write_bytes(b"old" * (DISK_OBJECT_BYTES // 3))
        (self.origin.root / "content" / "changing").write_text("first")
        await self.nats.start()
        await self.origin.start()
        self.nats_way = await self.network.way(self.places["b"], self.nats.place)
        self.origin_way = await self.network.way(self.places["s"], self.origin.place)
        listening = self.network.listen(self.places["c"])
        shields = ";".join(f"http://{one.place.url(1)}/object" for one in (self.haproxy, self.peer))
        for name, place in self.places.items():
            options = [
                f"--Cache:Origin=http://{self.origin_way.url if name == 's' else self.origin.place.url()}", "--Cache:Cluster:WhenCutOff=Validate",
                "--Cache:OriginConnectTimeout=2s", "--Cache:OriginHeaderTimeout=5s", "--DrainDelay=3s",
                f"--Cache:ForwardTagsTo={self.network.hosts}", f"--Cache:TrustedProxies={self.network.hosts}",
            ] if name in SHIELDS else [
                f"--Cache:Origins={shields}", "--Cache:Cluster:HasShields=true", f"--Cache:MaxObjects={MAX_OBJECTS}",
                # The socket of c outlives its processes, so nothing is refused while there is none.
                "--DrainDelay=0s" if name == "c" else "--DrainDelay=3s",
            ]
            nats = self.nats_way.url if name == "b" else self.nats.place.url()
            self.nodes[name] = Node(self.repository, self.work, name, self.network, place, nats, options, listening if name == "c" else None)
        await self.haproxy.start()
        await self.peer.start()
        await asyncio.gather(*(node.start() for name, node in self.nodes.items() if name != "c"))
        await self.are_up("a", "b", *SHIELDS)
        self.load = Load(self.fronts, self.objects, CLIENTS)

    async def end(self) -> None:
        if self.load is not None:
            await self.load.stop()
        for program in (self.haproxy, self.peer, *self.nodes.values(), self.nats, self.origin):
            await program.end(signal.SIGKILL)

    async def are_up(self, *names: str) -> None:
        for haproxy in (self.haproxy, self.peer):
            await until(lambda haproxy=haproxy: haproxy.are_up(*names), f"{haproxy.name} knows that {', '.join(names)} are up")

    async def requests_by_node(self) -> dict[str, int]:
        """Through both HAProxies."""
        found = [await haproxy.servers() for haproxy in (self.haproxy, self.peer)]
        return {name: sum(servers[name][1] for servers in found) for name in NODES}

    async def all_follow(self) -> bool:
        return all([await node.is_ready() for node in self.nodes.values()])

    def requests(self) -> collections.Counter[str]:
        """At the origin, by object."""
        return collections.Counter(target for method, target, _ in self.origin.asked() if method == "GET" and target.startswith("/o"))

    # What is seen from outside, one thing each.

    async def steady(self) -> None:
        before = await self.requests_by_node()
        self.load.take()
        begun = time.monotonic()
        await asyncio.sleep(self.seconds)
        answers, longest, failures = self.load.take()
        rate = answers / (time.monotonic() - begun)
        self.checks.check("every answer under load is right", f"{answers:,} answers, {rate:,.0f}/s, longest {longest * 1000:.0f} ms; {failures[:3]}",
                          answers and not failures)
        await self.check_balance("the nodes share the load", before, MAX_IMBALANCE)
        await self.check_origin("the origin was asked once for each object")

    async def hot(self) -> None:
        assert self.load is not None
        before = await self.requests_by_node()
        self.load.hot = HOT_SHARE
        await asyncio.sleep(self.seconds / 2)
        self.load.hot = 0
        await self.check_balance("and share a hot key", before, MAX_HOT_IMBALANCE)
        await self.check_origin("which the origin is not asked for again")

    async def check_balance(self, name: str, before: dict[str, int], limit: float) -> None:
        counts = [count - before[name] for name, count in (await self.requests_by_node()).items()]
        imbalance = max(counts) * len(counts) / sum(counts)
        self.checks.check(name, f"busiest {imbalance:.2f} of the mean, {counts}", imbalance <= limit)

    async def check_origin(self, name: str, more: int = 0) -> None:
        """Objects that are asked for the first time go on meanwhile, so the log is read first."""
        requests = self.requests()
        twice = sum(requests.values()) - len(requests)
        self.checks.check(name, f"{len(requests):,} objects, {sum(requests.values()):,} requests", twice <= more)

    async def event(self, name: str, happening: Awaitable[object], max_failures: int = 0) -> None:
        """Something happens under load."""
        assert self.load is not None
        self.load.take()
        begun = time.monotonic()
        await happening
        answers, longest, failures = self.load.take()
        kinds = dict(collections.Counter(failures).most_common(3))
        self.checks.check(f"{name}: what clients see", f"{answers:,} answers in {time.monotonic() - begun:.1f} s, longest {longest * 1000:.0f} ms, "
                          f"{len(failures)} failures of at most {max_failures}{f': {kinds}' if kinds else ''}", answers and len(failures) <= max_failures)

    async def restart(self, name: str, how: signal.Signals) -> None:
        node = self.nodes[name]
        status = await node.end(how)
        if how == signal.SIGTERM:
            self.checks.check(f"{name} drains in order", f"exit status {status}", status == 0)
        else:
            for haproxy in (self.haproxy, self.peer):
                await until(lambda haproxy=haproxy: haproxy.is_down(name), f"{name} counts as down")
        await node.start()
        await until(node.is_ready, f"{name} is ready")
        await self.are_up(name)

    async def restart_peer(self) -> None:
        """Its clients connect to the other one."""
        await self.peer.end(signal.SIGKILL)
        await asyncio.sleep(1)
        await self.peer.start()
        await self.are_up(*self.nodes)

    async def restart_nats(self) -> None:
        await self.nats.end(signal.SIGKILL)
        await asyncio.sleep(1)
        await self.nats.start()
        await self.settled()

    async def partition_from_nats(self) -> None:
        self.nats_way.cut()
        await until(self.is_degraded, "b says that it is cut off")
        self.nats_way.mend()
        await self.settled()

    async def partition_from_origin(self) -> None:
        """What the shield has not is fetched by the other one."""
        self.origin_way.cut()
        connection = Connection(self.fronts[0])
        answers = [await connection.ask(f"/object/late-{number}") for number in range(LATE_OBJECTS)]
        connection.close()
        self.origin_way.mend()
        right = sum(status == 200 and body == self.objects.bodies[number] for number, (status, _, body) in enumerate(answers))
        self.checks.check("new objects come by the other shield", f"{right} of {LATE_OBJECTS}", right == LATE_OBJECTS)

    async def fill_disk(self) -> None:
        """Has node b store what the load then has it demote."""
        connection = self.connect("b")
        for number in range(DISK_OBJECTS):
            await connection.ask(f"/object/disk-{number}")
        connection.close()

    async def be_away(self) -> None:
        """Node b is killed, misses purges, and comes back with its disk."""
        node = self.nodes["b"]
        await node.end(signal.SIGKILL)
        for number in range(0, DISK_OBJECTS, 2):
            (self.origin.root / "content" / f"disk-{number}").write_bytes(b"new" * (DISK_OBJECT_BYTES // 3 + 1))
            await self.nodes["a"].ask("POST", f"/purge?key=disk-{number}")
        status, _ = await self.nodes["a"].ask("POST", "/purge?key=nothing&wait=20s")
        self.checks.check("a purge is answered without a node that was killed", status, status == 200)
        await self.add("b")
        connection = self.connect("b")
        answers = [await connection.ask(f"/object/disk-{number}") for number in range(DISK_OBJECTS)]
        connection.close()
        old = sum(body.startswith(b"old") for _, _, body in answers[::2])
        hits = sum(fields.get("cache-status", "").split(", ")[-1].startswith("CachingService; hit") for _, fields, _ in answers[1::2])
        self.checks.check("it serves from its disk what was not purged", f"{hits} of {DISK_OBJECTS // 2}", hits > DISK_OBJECTS // 4)
        self.checks.check("and nothing that was", f"{old} of {DISK_OBJECTS // 2}", old == 0 and all(status == 200 for status, _, _ in answers))

    async def add(self, name: str) -> None:
        await self.nodes[name].start()
        await self.are_up(name)

    async def is_degraded(self) -> bool:
        return await self.nodes["b"].gauge("cache_cluster_state") == 2

    async def settled(self) -> None:
        """All nodes know each other and all purges: the cluster is as before."""
        await until(self.all_follow, "all nodes follow the log of purges")
        async def is_done() -> bool:
            return (await self.nodes["a"].ask("POST", "/purge?key=nothing&wait=5s"))[0] == 200
        await until(is_done, "a purge reaches all nodes")

    # Single requests.

    async def purge(self) -> None:
        """A purge on one node holds on all, though nodes fetch from shields."""
        connections = [self.connect(name) for name in NODES]
        first = [(await one.ask("/object/changing"))[2] for one in connections]
        (self.origin.root / "content" / "changing").write_text("second")
        begun = time.monotonic()
        status, answer = await self.nodes["b"].ask("POST", "/purge?key=changing&wait=10s")
        took = time.monotonic() - begun
        then = [(await one.ask("/object/changing"))[2] for one in connections]
        for one in connections:
            one.close()
        self.checks.check("a purge on one node holds on all when it is answered",
                          f"{status} after {took * 1000:.0f} ms; before {first[0]!r}, after {then}; {answer.strip()!r}",
                          status == 200 and set(first) == {b"first"} and set(then) == {b"second"})

    async def join(self) -> None:
        """Two nodes are asked at once for what the origin sends slowly; a third one for a range of it."""
        body = (self.origin.root / "content" / "live-join").read_bytes()
        asked = [asyncio.create_task(self.ask_node(name, "/object/live-join")) for name in ("a", "b")]
        await asyncio.sleep(LIVE_BYTES / LIVE_RATE / 4)
        status, fields, piece = await self.ask_node("c", "/object/live-join", "Range: bytes=1000-1999\r\n")
        answers = await asyncio.gather(*asked)
        requests = [target for _, target, _ in self.origin.asked()].count("/live-join")
        self.checks.check("nodes that ask at once share the shield's one fetch", f"{[len(answer[2]) for answer in answers]} bytes, {requests} request",
                          all(answer[0] == 200 and answer[2] == body for answer in answers) and requests == 1)
        self.checks.check("a range of a body in flight comes through both", f"{status}, {fields.get('content-range')}",
                          status == 206 and piece == body[1000:2000])
        said = [answer[1].get("cache-status", "") for answer in answers]
        self.checks.check("Cache-Status has both hops", said, all(one.count("CachingService;") == 2 for one in said))

    async def move(self) -> None:
        """The node of a key is taken out of use while it fetches; later clients join by way of another node."""
        body = (self.origin.root / "content" / "live-move").read_bytes()
        first = asyncio.create_task(Connection(self.fronts[0]).ask("/object/live-move"))
        await asyncio.sleep(LIVE_BYTES / LIVE_RATE / 4)
        moved = [name for name in NODES if "live-move" in (await self.nodes[name].ask("GET", "/fills?limit=100"))[1]]
        for name in moved:
            await self.haproxy.tell(f"set server nodes/{name} state drain")
        second = await Connection(self.fronts[0]).ask("/object/live-move")
        answers = [await first, second]
        for name in moved:
            await self.haproxy.tell(f"set server nodes/{name} state ready")
        requests = [target for _, target, _ in self.origin.asked()].count("/live-move")
        self.checks.check("a key that moves while it is fetched is not fetched again", f"{requests} request, {moved} drained",
                          len(moved) == 1 and all(answer[0] == 200 and answer[2] == body for answer in answers) and requests == 1)
        self.checks.check("and the node that it moves to says so", second[1].get("cache-status"), "fwd=uri-miss" in second[1].get("cache-status", ""))

    async def client(self) -> None:
        connection = Connection(self.fronts[0], local=self.network.client)
        await connection.ask("/object/of-a-client", method="POST")
        connection.close()
        said = [client for method, target, client in self.origin.asked() if method == "POST"]
        self.checks.check("the origin is told the client's address", said, said and said[0].split(", ")[0] == self.network.client)

    def connect(self, name: str) -> Connection:
        """To a node itself, as HAProxy does for its checks."""
        place = self.places[name]
        return Connection((place.host, place.ports[0]), first_bytes=b"PROXY UNKNOWN\r\n")

    async def ask_node(self, name: str, target: str, fields: str = "") -> tuple[int, dict[str, str], bytes]:
        connection = self.connect(name)
        try:
            return await connection.ask(target, fields=fields)
        finally:
            connection.close()


async def run(cluster: Cluster) -> None:
    await cluster.start()
    await cluster.fill_disk()
    await cluster.event("a node that is added", cluster.add("c"))
    await cluster.settled()
    await cluster.client()
    await cluster.join()
    await cluster.move()
    await cluster.purge()
    await cluster.steady()
    await cluster.hot()
    await cluster.event("a node that drains and starts again", cluster.restart("a", signal.SIGTERM))
    await cluster.event("a node that is killed", cluster.restart("b", signal.SIGKILL), max_failures=CLIENTS)
    await cluster.check_origin("the origin was asked nothing twice, for the shields have it")
    await cluster.event("a node that is away during purges", cluster.be_away(), max_failures=CLIENTS)
    await cluster.event("one of two HAProxies that is killed", cluster.restart_peer(), max_failures=CLIENTS // 2)
    await cluster.check_origin("both send a key to the same shield")
    await cluster.event("a shield that is killed", cluster.restart("s", signal.SIGKILL), max_failures=CLIENTS)
    await cluster.event("another process of HAProxy", cluster.haproxy.replace())
    await cluster.event("NATS that is killed and comes back", cluster.restart_nats())
    await cluster.event("a node without a way to NATS", cluster.partition_from_nats())
    await cluster.event("a shield without a way to the origin", cluster.partition_from_origin())
    for name in cluster.nodes:
        await cluster.event(f"rolling restart, {name}", cluster.restart(name, signal.SIGTERM))


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--in-namespaces", action="store_true")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--objects", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    checks = Checks()
    network = Namespaces() if arguments.in_namespaces else Loopback()
    print(f"in {network.name}", flush=True)
    cluster = Cluster(arguments.repository, arguments.work, network, Objects(arguments.objects, arguments.seed), arguments.seconds, checks)
    task = asyncio.create_task(run(cluster))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        await task
    except Failure as failure:
        checks.check("the run goes on", failure, False)
    except asyncio.CancelledError:
        return 130
    finally:
        with contextlib.suppress(Exception):
            await cluster.end()
        if checks.failed:
            for program in (cluster.haproxy, cluster.peer, cluster.nats, *cluster.nodes.values()):
                print(f"--- {program.name}", *program.log.read_text().splitlines()[-12:] if program.log.exists() else [], sep="\n")
    for name, node in cluster.nodes.items():
        found = [line for line in node.log.read_text().splitlines() if re.search("^[^ ]+Z (fail|crit):|Unhandled exception", line)]
        checks.check(f"{name} has logged no failure", f"{len(found)} found{f': {found[0]}' if found else ''}", not found)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
