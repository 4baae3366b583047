"""TLS 1.3, and HTTP/2 with and without it."""

from bench.contestants import dotnet
from bench.figures import CPU, P99
from bench.loads.h2load import H2load
from bench.loads.load import Load
from bench.loads.wrk import Wrk
from bench.targets import SOCKETS, Target
from bench.works.cached import IO_URING
from bench.works.health import HEALTH
from bench.works.saturated import SaturatedWork

CONNECTIONS = 64
HTTP2_CONNECTIONS, STREAMS = 16, 8


def _work(name: str, title: str, load: Load, scheme: str, protocols: str) -> SaturatedWork:
    contestants = [dotnet.plaintext(setup, "--Protocols", protocols, scheme=scheme) for setup in dotnet.ALL]
    targets = [
        target
        for io_uring in IO_URING
        for target in (Target(io_uring, CPU, 1.0, 0.85, against=SOCKETS), Target(io_uring, P99, 1.0, 0.8, against=SOCKETS))
    ]
    return SaturatedWork(name, title, load, contestants, targets)


WORKS = [
    _work("tls-health", f"TLS 1.3, `/health`, {CONNECTIONS} connections", Wrk(HEALTH, CONNECTIONS), "https", "Http1"),
    _work("tls-64kb", f"TLS 1.3, 65,536 bytes, {CONNECTIONS} connections", Wrk("/bytes/65536", CONNECTIONS), "https", "Http1"),
    _work(
        "h2c-health",
        f"HTTP/2 without TLS, `/health`, {HTTP2_CONNECTIONS} connections of {STREAMS} streams",
        H2load(HEALTH, HTTP2_CONNECTIONS, STREAMS),
        "http",
        "Http2",
    ),
    _work(
        "h2-health",
        f"HTTP/2 over TLS, `/health`, {HTTP2_CONNECTIONS} connections of {STREAMS} streams",
        H2load(HEALTH, HTTP2_CONNECTIONS, STREAMS),
        "https",
        "Http2",
    ),
]
