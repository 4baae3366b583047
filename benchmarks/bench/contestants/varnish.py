"""Varnish: a cache in memory, in front of an origin."""

from __future__ import annotations

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


def cache() -> Contestant:
    """Stores what is below /object/ in memory from malloc."""
    return Contestant("Varnish", _start, ("varnishd",))


def _start(name: str, directory: Path, origin: str) -> Server:
    address = urlsplit(origin)
    (directory / "default.vcl").write_text(CONFIGURATION.format(host=address.hostname, port=address.port))
    port = free_port()
    command = ["varnishd", "-F", "-j", "none", "-a", f"127.0.0.1:{port}", "-f", str(directory / "default.vcl")]
    command += ["-s", "malloc,256m", "-n", str(directory / "work"), "-p", "timeout_idle=3600"]
    process = MeasuredProcess(name, command, directory / "output.log", SERVER_CORE)
    try:
        process.wait_until(lambda: is_listening(port))
    except BaseException:
        process.stop()
        raise
    return Server(name, process, f"http://127.0.0.1:{port}", "malloc storage, default threads, its log in shared memory as by default")
