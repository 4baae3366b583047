"""Bodies that the application writes and reads: chunks, and an upload."""

from bench.contestants import dotnet
from bench.figures import CPU
from bench.loads.wrk import Wrk
from bench.targets import SOCKETS, Target
from bench.works.cached import IO_URING, OBJECT_BYTES
from bench.works.saturated import SaturatedWork

CONNECTIONS = 16
UPLOAD_BYTES = 1024 * 1024


def _work(name: str, title: str, load: Wrk) -> SaturatedWork:
    targets = [Target(io_uring, CPU, 1.0, 0.8, against=SOCKETS) for io_uring in IO_URING]
    return SaturatedWork(name, title, load, [dotnet.plaintext(setup) for setup in dotnet.ALL], targets)


def _chunks(size: int) -> SaturatedWork:
    return _work(
        f"chunks-{size}",
        f"Handler that writes {OBJECT_BYTES:,} bytes in chunks of {size:,}, {CONNECTIONS} connections",
        Wrk(f"/chunks/{OBJECT_BYTES}/{size}", CONNECTIONS),
    )


WORKS = [
    _chunks(16_384),
    _chunks(4_096),
    _work("sink", f"`POST /sink` of {UPLOAD_BYTES:,} bytes, {CONNECTIONS} connections", Wrk("/sink", CONNECTIONS, script=(f"post={UPLOAD_BYTES}",))),
]
