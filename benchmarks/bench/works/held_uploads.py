"""Clients that send a megabyte each to handlers that never read it, and what the others notice."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace

from bench.contestants import dotnet
from bench.contestants.server import Server
from bench.figures import P99
from bench.loads.wrk import Wrk
from bench.targets import Target
from bench.works.health import HEALTH
from bench.works.saturated import SaturatedWork

CLIENTS = 64
CONNECTIONS = 16
HELD_BYTES = 1024 * 1024
SEND_TIMEOUT_SECONDS = 1

SETUPS = (dotnet.INLINE, dotnet.ADAPTIVE, dotnet.THREAD_POOL, dotnet.SOCKETS)


def hold_all(server: Server) -> Callable[[], None]:
    clients = [hold(server) for _ in range(CLIENTS)]

    def end() -> None:
        for client in clients:
            client.close()

    return end


def hold(server: Server) -> socket.socket:
    """A client whose request body is sent as far as the server takes it."""
    client = socket.create_connection(server.address, timeout=SEND_TIMEOUT_SECONDS)
    request = f"POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: {2 * HELD_BYTES}\r\n\r\n".encode()
    try:
        client.sendall(request + bytes(HELD_BYTES))
    except TimeoutError:
        pass  # The server's limits are full: that is what it is for.
    return client


def beside(setup: str) -> str:
    return f"{setup}, beside uploads"


WORKS = [
    SaturatedWork(
        "held-uploads",
        f"`/health`, {CONNECTIONS} connections, beside {CLIENTS} uploads that nobody reads",
        Wrk(HEALTH, CONNECTIONS),
        [
            contestant
            for setup in SETUPS
            for contestant in (
                dotnet.plaintext(setup),
                replace(dotnet.plaintext(setup), name=beside(setup.name), prepare=hold_all),
            )
        ],
        [Target(beside(setup.name), P99, None, 1.1, against=(setup.name,)) for setup in SETUPS],
        ["The others should notice nothing: their p99 is compared with that of a server of the same set-up without the uploads."],
    )
]
