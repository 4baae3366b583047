"""Objects that a cache has: the caching service against nginx and Varnish, in front of the same origin."""

from bench.contestants import dotnet, nginx, varnish
from bench.figures import CPU
from bench.loads.wrk import Wrk
from bench.targets import SOCKETS, Target
from bench.works.saturated import SaturatedWork

OBJECT_BYTES = 1_345_292
SERVICES = [dotnet.caching_service(setup) for setup in dotnet.ALL]
IO_URING = (dotnet.INLINE.name, dotnet.ADAPTIVE.name, dotnet.THREAD_POOL.name)


def _whole(name: str, size: int, connections: int, targets: list[Target]) -> SaturatedWork:
    return SaturatedWork(
        name,
        f"Cached object of {size:,} bytes, {connections} connections",
        Wrk(f"/object/{name}?ttl=1h&size={size}", connections),
        [*SERVICES, nginx.cache(), varnish.cache()],
        targets,
        origin=dotnet.demo_origin,
        only_hits=True,
    )


def _chunked(chunk: int) -> SaturatedWork:
    """A body whose origin gave no length: the service sends chunks. On Sockets it writes the same bytes with WriteAsync."""
    return SaturatedWork(
        f"cached-chunks-{chunk}",
        f"Cached object of {OBJECT_BYTES:,} bytes, received and sent in chunks of {chunk:,}, 16 connections",
        Wrk(f"/object/chunks?ttl=1h&size={OBJECT_BYTES}&chunk={chunk}&length=none", 16),
        SERVICES,
        [Target(name, CPU, 0.5, 0.4, against=SOCKETS) for name in IO_URING],
        origin=dotnet.demo_origin,
        only_hits=True,
    )


WORKS = [
    _whole(
        "cached-1mb",
        OBJECT_BYTES,
        16,
        [
            target
            for name in IO_URING
            for target in (
                Target(name, CPU, 0.40, against=SOCKETS),
                Target(name, CPU, 1.0, 0.7, against=("nginx",)),
                Target(name, CPU, 0.8, against=("Varnish",)),
            )
        ],
    ),
    _whole(
        "cached-1kb",
        1024,
        64,
        [
            target
            for name, must in zip(IO_URING, (0.58, 0.60, 0.65), strict=True)
            for target in (
                Target(name, CPU, must, 0.45, against=("nginx",)),
                Target(name, CPU, 0.45, 0.35, against=("Varnish",)),
            )
        ],
    ),
    _chunked(16_384),
    _chunked(4_096),
    SaturatedWork(
        "tls-hit-1mb",
        f"Cached object of {OBJECT_BYTES:,} bytes over TLS 1.3, 16 connections",
        Wrk(f"/object/secure?ttl=1h&size={OBJECT_BYTES}", 16),
        [*(dotnet.secure_service(setup) for setup in dotnet.ALL), nginx.cache(secure=True)],
        [Target(name, CPU, 1.5, 1.0, against=("nginx",)) for name in IO_URING],
        origin=dotnet.demo_origin,
        only_hits=True,
    ),
]
