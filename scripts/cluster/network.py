"""Where the programs of a cluster run: each node in a network namespace of its own, with the addresses of the deployed files, or all on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import socket
import subprocess
import threading
from dataclasses import dataclass

CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Place:
    """Where one program runs: its address, its ports, and what its command begins with."""

    host: str
    ports: tuple[int, ...]
    enter: tuple[str, ...] = ()

    def url(self, number: int = 0) -> str:
        return f"{self.host}:{self.ports[number]}"


class Loopback:
    """Every program at 127.0.0.1, on free ports. A way is cut by ending its connections, which both ends notice."""

    name = "loopback"
    hosts = "127.0.0.0/8"
    # What no connection comes from unless it asks for that.
    client = "127.0.0.9"

    def place(self, _host: str, *ports: int, is_alone: bool = False) -> Place:
        with contextlib.ExitStack() as stack:
            probes = [stack.enter_context(socket.socket()) for _ in ports]
            for probe in probes:
                probe.bind(("127.0.0.1", 0))
            return Place("127.0.0.1", tuple(probe.getsockname()[1] for probe in probes))

    async def way(self, _place: Place, to: Place) -> Wire:
        wire = Wire(to.ports[0])
        await wire.start()
        return wire

    def listen(self, place: Place) -> socket.socket:
        return socket.create_server((place.host, place.ports[0]), backlog=512)


class Namespaces:
    """
    This process has a network namespace of its own, whose bridge connects those of the nodes. A way is cut by losing packets, which neither end is
    told of. All of it ends with this process: a node's namespace is held by a process that the kernel then kills.
    """

    name = "network namespaces"
    hosts = "192.0.2.0/24"
    client = "192.0.2.99"

    def __init__(self) -> None:
        # Connections come from the first address of a network unless they ask for another.
        run("ip link set lo up", "ip link add hub type bridge", "ip link set hub up", "ip address add 192.0.2.1/24 dev hub",
            f"ip address add {self.client}/24 dev hub")

    def place(self, host: str, *ports: int, is_alone: bool = False) -> Place:
        if not is_alone:
            run(f"ip address add {host}/24 dev hub")
            return Place(host, ports)
        # It says a line when it is in its namespace.
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sh", "-c", "echo; exec sleep infinity"]
        holder = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert holder.stdout is not None
        holder.stdout.readline()
        enter = ("nsenter", f"--net=/proc/{holder.pid}/ns/net", "--")
        link = f"to-{host.rpartition('.')[2]}"
        run(f"ip link add {link} type veth peer name eth0 netns {holder.pid}", f"ip link set {link} master hub up")
        run("ip link set lo up", "ip link set eth0 up", f"ip address add {host}/24 dev eth0", enter=enter)
        return Place(host, ports, enter)

    async def way(self, place: Place, to: Place) -> Route:
        return Route(place, to)

    def listen(self, place: Place) -> socket.socket:
        """A socket belongs to the namespace of the thread that makes it."""
        made: list[socket.socket] = []

        def make() -> None:
            with open(place.enter[1].removeprefix("--net=")) as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(socket.create_server((place.host, place.ports[0]), backlog=512))

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        return made[0]


def run(*commands: str, enter: tuple[str, ...] = ()) -> None:
    for command in commands:
        subprocess.run([*enter, *command.split(" ")], check=True)


class Route:
    """A way between two namespaces."""

    def __init__(self, place: Place, to: Place) -> None:
        self.place, self.to, self.url = place, to, to.url()

    def cut(self) -> None:
        """Packets go to a hardware address that nothing has: a route that drops them would tell the sender."""
        run(f"ip neighbour replace {self.to.host} lladdr 02:00:00:00:00:01 dev eth0 nud permanent", enter=self.place.enter)

    def mend(self) -> None:
        run(f"ip neighbour delete {self.to.host} dev eth0", enter=self.place.enter)


class Wire:
    """A way to a port: connections over it end when it is cut, and new ones end at once, until it is mended."""

    def __init__(self, to: int) -> None:
        self.to, self.is_cut, self.url = to, False, ""
        self.writers: set[asyncio.StreamWriter] = set()
        self.server: asyncio.Server | None = None

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.url = f"127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        self.is_cut = True
        for writer in self.writers:
            writer.transport.abort()

    def mend(self) -> None:
        self.is_cut = False

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        other: asyncio.StreamWriter | None = None
        try:
            if self.is_cut:
                return
            far, other = await asyncio.open_connection("127.0.0.1", self.to)
            self.writers.add(other)
            ways = [asyncio.create_task(self._copy(reader, other)), asyncio.create_task(self._copy(far, writer))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
        except OSError:
            pass
        finally:
            for end in (writer, other):
                if end is not None:
                    self.writers.discard(end)
                    end.close()

    @staticmethod
    async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()


Network = Loopback | Namespaces
