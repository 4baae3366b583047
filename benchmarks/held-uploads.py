#!/usr/bin/env python3
"""Measures what clients do to the others that send a megabyte each to handlers that never read it.

Per set-up a fresh server, alone on core 0, and wrk on core 1: rounds without such clients, then rounds beside them, all set-ups in turns.
The latency that wrk sees must be the same in both. Figures are medians over the rounds.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from plaintext_server import (
    CLIENT_CORE,
    SERVER_CORE,
    BenchmarkError,
    Server,
    Setup,
    build_server,
    describe_machine,
    percentile,
    positive,
    publish,
    require_two_cores_and_wrk,
)

PATH = "/health"
HELD_BYTES = 1024 * 1024
SEND_TIMEOUT_SECONDS = 1

SETUPS = (
    Setup("io_uring, Inline", "IoUring", ("--Scheduling", "Inline")),
    Setup("io_uring, ThreadPool", "IoUring", ("--Scheduling", "ThreadPool")),
    Setup("Sockets, default", "Sockets"),
)


@dataclass
class Contestant:
    """A running server, and wrk's latencies in milliseconds: p50 and p99 of each round."""

    server: Server
    alone: list[tuple[float, float]] = field(default_factory=list)
    beside: list[tuple[float, float]] = field(default_factory=list)


def main() -> int:
    arguments = parse_arguments()
    contestants: list[Contestant] = []
    holding: list[socket.socket] = []
    with tempfile.TemporaryDirectory(prefix="held-uploads-") as logs:
        try:
            require_two_cores_and_wrk()
            assembly = build_server()
            for setup in SETUPS:
                contestants.append(Contestant(Server(setup, assembly, Path(logs), pinned=True)))
                contestants[-1].server.load(PATH, arguments.connections, arguments.warm_up)
            measure(contestants, arguments, beside=False)
            for contestant in contestants:
                holding += [hold(contestant.server) for _ in range(arguments.clients)]
            measure(contestants, arguments, beside=True)
        except BenchmarkError as error:
            print(f"held-uploads: {error}", file=sys.stderr)
            return 1
        finally:
            for client in holding:
                client.close()
            for contestant in contestants:
                contestant.server.stop()
    publish(render_report(contestants, arguments), arguments.output)
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=positive, default=64, help="clients whose uploads nobody reads (default %(default)s)")
    parser.add_argument("--connections", type=positive, default=16, help="connections that wrk holds open (default %(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="measured intervals of each kind (default %(default)s)")
    parser.add_argument("--duration", type=positive, default=3, help="seconds of one measured interval (default %(default)s)")
    parser.add_argument("--warm-up", type=positive, default=10, help="seconds of load before anything is measured (default %(default)s)")
    parser.add_argument("--output", type=Path, help="also write the report to this file")
    return parser.parse_args()


def hold(server: Server) -> socket.socket:
    """A client whose request body is sent as far as the server takes it."""
    client = socket.create_connection(("127.0.0.1", server.port), timeout=SEND_TIMEOUT_SECONDS)
    request = f"POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: {2 * HELD_BYTES}\r\n\r\n".encode()
    try:
        client.sendall(request + bytes(HELD_BYTES))
    except TimeoutError:
        pass  # The server's limits are full: that is what it is for.
    return client


def measure(contestants: list[Contestant], arguments: argparse.Namespace, *, beside: bool) -> None:
    for round_number in range(1, arguments.rounds + 1):
        for contestant in contestants:
            output = contestant.server.load(PATH, arguments.connections, arguments.duration)
            latencies = percentile(50, output), percentile(99, output)
            (contestant.beside if beside else contestant.alone).append(latencies)
            print(
                f"round {round_number}/{arguments.rounds}  {contestant.server.setup.name:22s} {'beside' if beside else 'alone':6s}"
                f" p50 {latencies[0]:6.2f} ms  p99 {latencies[1]:6.2f} ms",
                file=sys.stderr,
            )


def render_report(contestants: list[Contestant], arguments: argparse.Namespace) -> str:
    lines = [
        f"# `{PATH}` beside {arguments.clients} uploads that nobody reads",
        "",
        f"{describe_machine()}, {date.today()}. Server on core {SERVER_CORE} (`DOTNET_PROCESSOR_COUNT=1`), wrk with {arguments.connections}"
        f" connections on core {CLIENT_CORE}; client and server share the machine. {arguments.rounds} interleaved rounds of"
        f" {arguments.duration} s each; medians, with minimum and maximum in brackets.",
        "",
        "```",
        f"benchmarks/held-uploads.py --clients {arguments.clients} --connections {arguments.connections} --rounds {arguments.rounds}"
        f" --duration {arguments.duration} --warm-up {arguments.warm_up}",
        "```",
        "",
        "| set-up | p50 ms alone | beside the uploads | p99 ms alone | beside the uploads | ratio of p99 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    return "\n".join(lines + [render_row(contestant) for contestant in contestants])


def render_row(contestant: Contestant) -> str:
    cells = [contestant.server.setup.name]
    for figure in (0, 1):
        for rounds in (contestant.alone, contestant.beside):
            values = [latencies[figure] for latencies in rounds]
            cells.append(f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})")
    alone, beside = (statistics.median(latencies[1] for latencies in rounds) for rounds in (contestant.alone, contestant.beside))
    cells.append(f"**{beside / alone:.2f}**")
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
