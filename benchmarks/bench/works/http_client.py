"""What a request costs an `HttpClient` with `UseIoUring` and without. The client has the server's core, its origin the load's."""

from bench.contestants import dotnet, nginx
from bench.figures import CPU
from bench.loads.http_client import HttpClientLoad
from bench.targets import Target
from bench.works.saturated import SaturatedWork

SETUPS = [dotnet.Setup(name, ("--Transport", transport)) for name, transport in (("UseIoUring", "IoUring"), ("HttpClient", "Sockets"))]
WITH, WITHOUT = (setup.name for setup in SETUPS)

WORKS = [
    SaturatedWork(
        "http-client",
        "`HttpClient` that gets 1,024 bytes from nginx, 64 at once",
        HttpClientLoad("/1024", 64),
        [dotnet.http_client(setup) for setup in SETUPS],
        [Target(WITH, CPU, 0.85, 0.6, against=(WITHOUT,))],
        ["The origin is an nginx of files on the load's core."],
        origin=nginx.origin("no-store"),
    )
]
