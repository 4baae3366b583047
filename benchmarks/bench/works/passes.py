"""Requests that go to the origin: passed on, or fetched and stored, by the caching service, nginx and YARP in front of one nginx of files."""

from collections.abc import Sequence

from bench.contestants import dotnet, nginx
from bench.contestants.server import Contestant
from bench.figures import CPU, P99
from bench.loads.wrk import Wrk
from bench.targets import Target
from bench.works.saturated import SaturatedWork

SMALL, LARGE = 1024, 1_345_292
SERVICES = [dotnet.caching_service(setup) for setup in (dotnet.INLINE, dotnet.ADAPTIVE, dotnet.THREAD_POOL, dotnet.SOCKETS)]
ADAPTIVE = dotnet.ADAPTIVE.name
ORIGIN_NOTE = "The origin is an nginx of files on the load's core, with connections that stay."


def _work(
    name: str, title: str, load: Wrk, lifetime: str, contestants: Sequence[Contestant], targets: Sequence[Target]
) -> SaturatedWork:
    return SaturatedWork(name, title, load, contestants, targets, [ORIGIN_NOTE], origin=nginx.origin(lifetime))


WORKS = [
    _work(
        "pass",
        f"Passed to the origin, {SMALL:,} bytes that may not be stored, 64 connections",
        Wrk(f"/object/{SMALL}", 64),
        "no-store",
        [*SERVICES, nginx.proxy(), dotnet.yarp()],
        [
            Target(ADAPTIVE, CPU, 1.5, 1.0, against=("nginx",)),
            Target(ADAPTIVE, CPU, 0.5, against=("YARP",)),
            Target(ADAPTIVE, P99, None, against=("nginx",)),
        ],
    ),
    _work(
        "miss-and-store",
        f"Fetched and stored, {SMALL:,} bytes, each key new, 64 connections",
        Wrk(f"/object/{SMALL}", 64, script=("fresh=1",)),
        "max-age=3600",
        [*SERVICES, nginx.storing_proxy()],
        [Target(ADAPTIVE, CPU, 1.6, 1.0, against=("nginx",))],
    ),
    _work(
        "pass-large",
        f"Passed to the origin, {LARGE:,} bytes that may not be stored, 16 connections",
        Wrk(f"/object/{LARGE}", 16),
        "no-store",
        [*SERVICES, nginx.proxy(), nginx.proxy(buffered=False), dotnet.yarp()],
        [
            Target(ADAPTIVE, CPU, 0.7, 0.5, against=("YARP",)),
            Target(ADAPTIVE, CPU, 1.0, against=("nginx",)),
            Target(ADAPTIVE, CPU, 1.0, against=("nginx, unbuffered",)),
        ],
    ),
    _work(
        "miss-large",
        f"Fetched and stored, {LARGE:,} bytes, each key new, 16 connections",
        Wrk(f"/object/{LARGE}", 16, script=("fresh=1",)),
        "max-age=3600",
        [*SERVICES, nginx.storing_proxy()],
        [Target(ADAPTIVE, CPU, 1.0, against=("nginx",))],
    ),
    _work(
        "upload",
        f"`POST` of {1 << 20:,} bytes through, 16 connections",
        Wrk("/object/upload", 16, script=(f"post={1 << 20}",)),
        "no-store",
        [*SERVICES, nginx.proxy(), dotnet.yarp()],
        [Target(ADAPTIVE, CPU, 0.8, 0.5, against=("YARP",))],
    ),
]
