"""Files of a directory: the caching service as their origin, against nginx, both from the page cache."""

from bench.contestants import dotnet, nginx
from bench.contestants.files import SIZES
from bench.figures import CPU
from bench.loads.wrk import Wrk
from bench.targets import Target
from bench.works.cached import IO_URING
from bench.works.saturated import SaturatedWork


def _files(name: str, size: int, connections: int) -> SaturatedWork:
    return SaturatedWork(
        name,
        f"File of {size:,} bytes, {connections} connections",
        Wrk(f"/object/{size}", connections),
        [*(dotnet.file_service(setup) for setup in dotnet.ALL), nginx.file_server()],
        [Target(io_uring, CPU, 1.2, against=("nginx",)) for io_uring in IO_URING],
    )


WORKS = [_files("files-1kb", SIZES[0], 64), _files("files-1mb", SIZES[1], 16)]
