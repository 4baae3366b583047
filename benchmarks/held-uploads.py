#!/usr/bin/env python3
"""Measures what clients do to the others that send a megabyte each to handlers that never read it.

Two fresh servers per set-up and block: one holds such uploads, the other does not. Pairs of rounds then load the two in turn, all set-ups
interleaved, and the order within a pair changes from one to the next. Servers run alone on core 0 and wrk on core 1; the p99 that wrk sees
must be the same with and without the uploads.
"""

from __future__ import annotations

import argparse
import contextlib
import math
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
class Figures:
    """wrk's latencies of one set-up in milliseconds, p50 and p99 of each round; rounds of the same index are a pair."""

    setup: Setup
    alone: list[tuple[float, float]] = field(default_factory=list)
    beside: list[tuple[float, float]] = field(default_factory=list)


def main() -> int:
    arguments = parse_arguments()
    figures = [Figures(setup) for setup in SETUPS]
    try:
        require_two_cores_and_wrk()
        assembly = build_server()
        for block in range(arguments.blocks):
            print(f"block {block + 1}/{arguments.blocks}: new servers", file=sys.stderr)
            measure_block(figures, assembly, arguments)
    except BenchmarkError as error:
        print(f"held-uploads: {error}", file=sys.stderr)
        return 1
    publish(render_report(figures, arguments), arguments.output)
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=positive, default=64, help="clients whose uploads nobody reads (default %(default)s)")
    parser.add_argument("--connections", type=positive, default=16, help="connections that wrk holds open (default %(default)s)")
    parser.add_argument("--blocks", type=positive, default=3, help="times that all servers are started anew (default %(default)s)")
    parser.add_argument("--pairs", type=positive, default=7, help="pairs of measured intervals in a block (default %(default)s)")
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


def measure_block(figures: list[Figures], assembly: Path, arguments: argparse.Namespace) -> None:
    servers: list[tuple[Server, Server]] = []
    holding: list[socket.socket] = []
    with tempfile.TemporaryDirectory(prefix="held-uploads-") as logs, contextlib.ExitStack() as started:
        for each in figures:
            pair = []
            for kind in ("alone", "beside"):
                (directory := Path(logs) / kind).mkdir(exist_ok=True)
                server = Server(each.setup, assembly, directory, pinned=True)
                started.callback(server.stop)
                server.load(PATH, arguments.connections, arguments.warm_up)
                pair.append(server)
            servers.append((pair[0], pair[1]))
        for _, server in servers:
            holding += [hold(server) for _ in range(arguments.clients)]
        for number in range(arguments.pairs):
            for each, (alone, beside) in zip(figures, servers, strict=True):
                order = [(alone, each.alone), (beside, each.beside)]
                for server, rounds in order if number % 2 == 0 else reversed(order):
                    output = server.load(PATH, arguments.connections, arguments.duration)
                    rounds.append((percentile(50, output), percentile(99, output)))
                print(
                    f"pair {number + 1}/{arguments.pairs}  {each.setup.name:22s} p99 alone {each.alone[-1][1]:6.2f} ms,"
                    f" beside the uploads {each.beside[-1][1]:6.2f} ms",
                    file=sys.stderr,
                )
        for client in holding:
            client.close()


def render_report(figures: list[Figures], arguments: argparse.Namespace) -> str:
    lines = [
        f"# `{PATH}` beside {arguments.clients} uploads that nobody reads",
        "",
        f"{describe_machine()}, {date.today()}. Servers on core {SERVER_CORE} (`DOTNET_PROCESSOR_COUNT=1`), wrk with {arguments.connections}"
        f" connections on core {CLIENT_CORE}; client and server share the machine. {arguments.blocks} blocks of {arguments.pairs} pairs of"
        f" rounds of {arguments.duration} s each, new servers for each block; medians, with minimum and maximum in brackets. The last column"
        " is the median of the ratio within a pair, with its confidence interval of 95 % (of order statistics).",
        "",
        "```",
        f"benchmarks/held-uploads.py --clients {arguments.clients} --connections {arguments.connections} --blocks {arguments.blocks}"
        f" --pairs {arguments.pairs} --duration {arguments.duration} --warm-up {arguments.warm_up}",
        "```",
        "",
        "| set-up | p50 ms alone | beside the uploads | p99 ms alone | beside the uploads | ratio of p99 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    return "\n".join(lines + [render_row(each) for each in figures])


def render_row(figures: Figures) -> str:
    cells = [figures.setup.name]
    for figure in (0, 1):
        for rounds in (figures.alone, figures.beside):
            values = [latencies[figure] for latencies in rounds]
            cells.append(f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})")
    ratios = sorted(beside[1] / alone[1] for alone, beside in zip(figures.alone, figures.beside, strict=True))
    low, high = median_interval(len(ratios))
    cells.append(f"**{statistics.median(ratios):.2f}** ({ratios[low]:.2f}-{ratios[high]:.2f})")
    return "| " + " | ".join(cells) + " |"


def median_interval(count: int) -> tuple[int, int]:
    """The indices, in a sorted sample, of the narrowest pair that has the median between it with a probability of 95 %, or the ends."""
    low, outside = 0, 2 * 0.5**count
    while low + 1 < count // 2 and outside + 2 * math.comb(count, low + 1) * 0.5**count <= 0.05:
        low += 1
        outside += 2 * math.comb(count, low) * 0.5**count
    return low, count - 1 - low


if __name__ == "__main__":
    sys.exit(main())
