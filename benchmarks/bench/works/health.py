"""The smallest request of a minimal API, as fast as the server answers it."""

from bench.contestants import dotnet, nginx
from bench.figures import CPU, P99, RESIDENT
from bench.loads.wrk import Wrk
from bench.targets import SOCKETS, Target
from bench.works.saturated import SaturatedWork

HEALTH = "/health"
CONTESTANTS = [*(dotnet.plaintext(setup) for setup in dotnet.ALL), nginx.constant(), dotnet.floor()]
FLOOR = dotnet.floor().name

# What is wanted of a transport on io_uring, and how far away from Sockets the kernel's part alone is.
FLOOR_TARGETS = [Target(dotnet.INLINE.name, CPU, None, 1.2, against=(FLOOR,)), Target(FLOOR, CPU, None, against=SOCKETS)]


def _health(connections: int, inline: tuple[float, float], adaptive: tuple[float, float], thread_pool: tuple[float, float]) -> SaturatedWork:
    targets = [
        Target("io_uring Inline", CPU, *inline, against=SOCKETS),
        Target("io_uring Inline", CPU, None, 1.0, against=("nginx",)),
        Target("io_uring Adaptive", CPU, *adaptive, against=SOCKETS),
        Target("io_uring Adaptive", P99, 1.0, against=SOCKETS),
        Target("io_uring ThreadPool", CPU, *thread_pool, against=SOCKETS),
        Target("io_uring ThreadPool", P99, 1.0, against=SOCKETS),
        *FLOOR_TARGETS,
        *(Target(setup.name, RESIDENT, 1.0, 0.7, against=SOCKETS) for setup in (dotnet.INLINE, dotnet.ADAPTIVE, dotnet.THREAD_POOL)),
    ]
    return SaturatedWork(
        f"health-{connections}",
        f"Minimal API `/health`, {connections} connections",
        Wrk(HEALTH, connections),
        CONTESTANTS,
        targets,
        ["nginx answers by `return 200`."],
    )


WORKS = [
    _health(64, inline=(0.62, 0.55), adaptive=(0.70, 0.60), thread_pool=(0.90, 0.75)),
    _health(512, inline=(0.65, 0.60), adaptive=(0.70, 0.60), thread_pool=(0.80, 0.65)),
]
