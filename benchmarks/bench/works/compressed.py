"""Text that goes out compressed: by the caching service, which compresses it once, and by nginx, each time or beforehand."""

from bench.contestants import dotnet, files, nginx
from bench.figures import CPU
from bench.loads.wrk import Wrk
from bench.targets import Target
from bench.works.saturated import SaturatedWork

SETUPS = (dotnet.INLINE, dotnet.ADAPTIVE, dotnet.THREAD_POOL)

WORKS = [
    SaturatedWork(
        "compressed-hit",
        f"Cached text of {files.PAGE_BYTES:,} bytes for clients that read gzip, 64 connections",
        Wrk(f"/object/{files.PAGE}", 64, headers=("Accept-Encoding: gzip",)),
        [*(dotnet.compressing_service(setup) for setup in SETUPS), nginx.compressing_cache(), nginx.compressed_files()],
        [
            target
            for setup in SETUPS
            for target in (Target(setup.name, CPU, 0.2, against=("nginx, gzip on",)), Target(setup.name, CPU, None, 1.0, against=("nginx, gzip_static",)))
        ],
        ["The answers are compared as they are without a coding."],
        origin=nginx.origin("max-age=3600"),
    )
]
