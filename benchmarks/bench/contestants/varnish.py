"""Varnish: a cache in memory or in a file, in front of an origin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from bench.contestants.server import Contestant, Server
from bench.machine import SERVER_CORE
from bench.processes import MeasuredProcess, free_port, is_listening

CONFIGURATION = """\
vcl 4.1;
backend origin {{ .host = "{host}"; .port = "{port}"; }}
sub vcl_recv {{ set req.url = regsub(req.url, "^/object", ""); return (hash); }}
sub vcl_backend_response {{ set beresp.ttl = 1h; return (deliver); }}
"""


# Varnish has a thread for each connection, and takes its time to start them.
MANY_THREADS = ("thread_pools=1", "thread_pool_min=1700", "thread_pool_max=5000")


def cache() -> Contestant:
    """Stores what is below /object/ in memory from malloc."""
    return Contestant("Varnish", _start, ("varnishd",))


def live() -> Contestant:
    """The same, with threads for more than a thousand readers at once."""
    return Contestant("Varnish", lambda name, directory, origin: _start(name, directory, origin, MANY_THREADS), ("varnishd",))


def large_objects() -> Contestant:
    """Stores what is below /object/ in a file that it maps. It knows no slices: of a range it fetches all of the object, and sends the range as it comes."""
    return Contestant("Varnish", lambda name, directory, origin: _start(name, directory, origin, storage=f"file,{directory}/storage,4g"), ("varnishd",))


def _start(name: str, directory: Path, origin: str, parameters: Sequence[str] = (), storage: str = "malloc,256m") -> Server:
    address = urlsplit(origin)
    (directory / "default.vcl").write_text(CONFIGURATION.format(host=address.hostname, port=address.port))
    port = free_port()
    command = ["varnishd", "-F", "-j", "none", "-a", f"127.0.0.1:{port}", "-f", str(directory / "default.vcl")]
    command += ["-s", storage, "-n", str(directory / "work"), "-p", "timeout_idle=3600"]
    command += [word for parameter in parameters for word in ("-p", parameter)]
    process = MeasuredProcess(name, command, directory / "output.log", SERVER_CORE)
    try:
        process.wait_until(lambda: is_listening(port))
    except BaseException:
        process.stop()
        raise
    return Server(name, process, f"http://127.0.0.1:{port}", f"{storage.partition(',')[0]} storage, {' '.join(parameters) or 'default threads'}, its log in shared memory as by default")
