"""The tests of the TechEmpower benchmarks, with the headers of their `wrk`, on a minimal API and on a connection handler without Kestrel's HTTP."""

from bench.contestants import dotnet
from bench.figures import CPU, P99
from bench.loads.wrk import Wrk
from bench.targets import SOCKETS, Target
from bench.works.cached import IO_URING
from bench.works.saturated import SaturatedWork

CONNECTIONS = 256
PIPELINED = 16
COMMON = ("Host: localhost", "Connection: keep-alive")
JSON = Wrk("/json", CONNECTIONS, headers=(*COMMON, "Accept: application/json,text/html;q=0.9,*/*;q=0.8"))
PLAINTEXT = Wrk(
    "/plaintext",
    CONNECTIONS,
    headers=(*COMMON, "Accept: text/plain,text/html;q=0.9,*/*;q=0.8"),
    script=(f"pipeline={PIPELINED}",),
)


def _work(load: Wrk, shape: str, form: str, application: str) -> SaturatedWork:
    """Nobody set a target for these: not dearer and not slower than Sockets is what a comparison of transports wants to see."""
    figures = (CPU,) if load.is_pipelined else (CPU, P99)
    return SaturatedWork(
        f"techempower{load.path.replace('/', '-')}-{form.lower()}",
        f"TechEmpower's {load.path.removeprefix('/')} on {application}, {CONNECTIONS} connections{shape}",
        load,
        [dotnet.techempower(setup, form) for setup in dotnet.ALL],
        [Target(io_uring, figure, None, 1.0, against=SOCKETS) for io_uring in IO_URING for figure in figures],
    )


WORKS = [
    _work(load, shape, form, application)
    for load, shape in ((PLAINTEXT, f", pipelined by {PIPELINED}"), (JSON, ""))
    for form, application in (("Minimal", "a minimal API"), ("Platform", "a connection handler"))
]
