"""Squid: a cache in memory that collapses requests, in front of an origin."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from bench.contestants.server import Contestant, Server
from bench.machine import SERVER_CORE
from bench.processes import MeasuredProcess, free_port, is_listening

# As an accelerator it takes every request for one to the site, whatever its Host. Not through a cache_peer: it would open a connection
# to that only to see whether it is there, and the origin of the fan-out takes one.
CONFIGURATION = """\
http_port 127.0.0.1:{port} accel defaultsite={host}:{origin_port} no-vhost
http_access allow all
always_direct allow all
collapsed_forwarding on
cache_mem 256 MB
maximum_object_size_in_memory 64 MB
cache_log /dev/null
access_log none
cache_store_log none
pid_filename none
pinger_enable off
client_lifetime 1 day
shutdown_lifetime 0 seconds
max_filedescriptors 16384
"""


def live() -> Contestant:
    """Streams to all who ask while it receives."""
    return Contestant("Squid", _start, ("squid",))


def _start(name: str, directory: Path, origin: str) -> Server:
    address = urlsplit(origin)
    port = free_port()
    configuration = directory / "squid.conf"
    configuration.write_text(CONFIGURATION.format(port=port, host=address.hostname, origin_port=address.port))
    # Started by root it becomes another user, who cannot read this directory: the configuration is read before, and it writes nothing. Its
    # shared memory is named after the service.
    command = ["squid", "-N", "-d", "1", "-n", f"bench{port}", "-f", str(configuration)]
    process = MeasuredProcess(name, command, directory / "output.log", SERVER_CORE)
    try:
        process.wait_until(lambda: is_listening(port))
    except BaseException:
        process.stop()
        raise
    return Server(name, process, f"http://127.0.0.1:{port}", "one process, cache_mem 256 MB, collapsed_forwarding on, no access log")
