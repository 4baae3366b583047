"""The smallest request of a minimal API, as fast as the server answers it."""

from bench.contestants import dotnet, nginx
from bench.figures import CPU, P99, RESIDENT
from bench.loads.wrk import Wrk
from bench.targets import SOCKETS, SOCKETS_DEFAULT, SOCKETS_TUNED, Target
from bench.works.saturated import SaturatedWork

HEALTH = "/health"
CONTESTANTS = [*(dotnet.plaintext(setup) for setup in dotnet.ALL), nginx.constant(), dotnet.floor()]
FLOOR = dotnet.floor().name
INLINE, ADAPTIVE, THREAD_POOL = (setup.name for setup in (dotnet.INLINE, dotnet.ADAPTIVE, dotnet.THREAD_POOL))

# What is wanted at most, and better: (must, goal).
Wanted = tuple[float | None, float | None]
COMPARED: Wanted = (None, None)


def cpu_targets(name: str, default: Wanted, floor: Wanted) -> list[Target]:
    """CPU per request by that of Sockets as people run it and by the kernel's part alone; tuned Sockets is there for comparison."""
    return [
        Target(name, CPU, *default, against=(SOCKETS_DEFAULT,)),
        Target(name, CPU, *floor, against=(FLOOR,)),
        Target(name, CPU, *COMPARED, against=(SOCKETS_TUNED,)),
    ]


def _health(connections: int, targets: list[Target]) -> SaturatedWork:
    others = [
        Target(INLINE, CPU, None, 1.0, against=("nginx",)),
        *(Target(name, P99, 1.0, against=SOCKETS) for name in (ADAPTIVE, THREAD_POOL)),
        *(Target(name, RESIDENT, 1.0, 0.8, against=(SOCKETS_DEFAULT,)) for name in (INLINE, ADAPTIVE, THREAD_POOL)),
    ]
    return SaturatedWork(
        f"health-{connections}",
        f"Minimal API `/health`, {connections} connections",
        Wrk(HEALTH, connections),
        CONTESTANTS,
        [*targets, *others],
        ["nginx answers by `return 200`."],
    )


WORKS = [
    _health(
        64,
        [
            *cpu_targets(INLINE, (0.58, 0.45), (1.12, 1.05)),
            *cpu_targets(ADAPTIVE, (0.60, 0.47), (1.15, 1.08)),
            *cpu_targets(THREAD_POOL, (0.65, 0.55), (1.25, 1.15)),
        ],
    ),
    _health(512, [target for name in (INLINE, ADAPTIVE, THREAD_POOL) for target in cpu_targets(name, COMPARED, (1.25, 1.12))]),
]
