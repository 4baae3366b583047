"""nginx with one worker: a constant answer, a cache in front of an origin, and files."""

from __future__ import annotations

import os
from pathlib import Path

from bench.contestants import certificate, files
from bench.contestants.server import Contestant, Origin, Server
from bench.machine import LOAD_CORE, SERVER_CORE
from bench.processes import MeasuredProcess, free_port, is_listening

CONFIGURATION = """\
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
worker_processes 1;
{user}
events {{ worker_connections 8192; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    open_file_cache max=1000 inactive=1h;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_max_body_size 0;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    default_type text/plain;
    {beside}
    server {{
        listen 127.0.0.1:{port}{secure} backlog=4096;
        {location}
    }}
}}
"""

HEALTH = 'location = /health { return 200 "OK"; }'


def constant() -> Contestant:
    """Answers /health as the samples do."""
    return Contestant("nginx", lambda name, directory, _: _start(name, directory, HEALTH), ("nginx",))


def cache(*, secure: bool = False) -> Contestant:
    """Stores what is below /object/ in files, which it sends without reading them, but not over TLS."""

    def start(name: str, directory: Path, origin: str) -> Server:
        location = (
            f"location /object/ {{ proxy_pass {origin}/; proxy_http_version 1.1; proxy_set_header Connection ''; proxy_cache hits;"
            " proxy_cache_valid 200 1h; proxy_cache_lock on; }"
        )
        zone = f"proxy_cache_path {directory}/cache keys_zone=hits:10m max_size=1g inactive=1h;"
        return _start(name, directory, location, zone, secure=secure)

    return Contestant("nginx", start, ("nginx", "openssl") if secure else ("nginx",))


def proxy(*, buffered: bool = True) -> Contestant:
    """Passes everything below /object/ on, on connections that it keeps."""
    buffering = "" if buffered else " proxy_buffering off;"

    def start(name: str, directory: Path, origin: str) -> Server:
        location = f"location /object/ {{ {_pass_to_origin()}{buffering} }}"
        return _start(name, directory, location, _upstream(origin))

    return Contestant("nginx" if buffered else "nginx, unbuffered", start, ("nginx",))


def storing_proxy() -> Contestant:
    """Stores every answer in a file as it passes it on."""

    def start(name: str, directory: Path, origin: str) -> Server:
        location = f"location /object/ {{ {_pass_to_origin()} proxy_cache hits; proxy_cache_lock on; }}"
        zone = f"proxy_cache_path {directory}/cache levels=1:2 keys_zone=hits:100m max_size=256m inactive=1h;"
        return _start(name, directory, location, f"{zone} {_upstream(origin)}")

    return Contestant("nginx", start, ("nginx",))


def origin(lifetime: str) -> Origin:
    """An origin beside the load: files, of which it says how long they may be kept, and `upload`, which takes a body and answers when it is there."""

    def start(directory: Path) -> tuple[Server, str]:
        directory.mkdir(parents=True)
        taker = f"unix:{directory}/taker.sock"
        location = (
            f"location / {{ alias {files.make(directory)}/; add_header Cache-Control '{lifetime}'; }}"
            f" location = /upload {{ client_body_buffer_size 2m; proxy_pass http://{taker}:/; }}"
        )
        server = _start("origin", directory, location, f"server {{ listen {taker}; return 200 taken; }}", LOAD_CORE)
        return server, server.base_url

    return start


def counting_origin(served: Path, log: Path) -> Contestant:
    """An origin beside the load: files that may be kept for an hour. It logs the bytes of each body that it has sent."""

    def start(name: str, directory: Path, _: str) -> Server:
        location = f"location / {{ root {served}; add_header Cache-Control max-age=3600; access_log {log} sent; }}"
        return _start(name, directory, location, "log_format sent '$body_bytes_sent';", LOAD_CORE)

    return Contestant("origin", start, ("nginx",))


def slicing_cache(slice_bytes: int) -> Contestant:
    """Stores parts of what is below /object/."""

    def start(name: str, directory: Path, origin: str) -> Server:
        location = (
            f"location /object/ {{ slice {slice_bytes}; proxy_pass {origin}/; proxy_http_version 1.1; proxy_set_header Connection '';"
            " proxy_set_header Range $slice_range; proxy_cache hits; proxy_cache_key $uri$slice_range; proxy_cache_valid 206 1h; proxy_cache_lock on; }"
        )
        return _start(name, directory, location, f"proxy_cache_path {directory}/cache keys_zone=hits:10m max_size=8g inactive=1h;")

    return Contestant("nginx", start, ("nginx",))


def compressing_cache() -> Contestant:
    """Stores what is below /object/ as it is, and compresses it for each client."""

    def start(name: str, directory: Path, origin: str) -> Server:
        location = f"location /object/ {{ {_pass_to_origin()} proxy_cache hits; proxy_cache_lock on; gzip on; gzip_types text/plain; }}"
        return _start(name, directory, location, f"proxy_cache_path {directory}/cache keys_zone=hits:10m max_size=1g; {_upstream(origin)}")

    return Contestant("nginx, gzip on", start, ("nginx",))


def compressed_files() -> Contestant:
    """Serves files that were compressed beforehand."""

    def start(name: str, directory: Path, _: str) -> Server:
        return _start(name, directory, f"location /object/ {{ alias {files.make(directory)}/; gzip_static on; }}")

    return Contestant("nginx, gzip_static", start, ("nginx",))


def _upstream(origin: str) -> str:
    return f"upstream origin {{ server {origin.removeprefix('http://')}; keepalive 256; keepalive_requests 1000000000; keepalive_time 1d; }}"


def _pass_to_origin() -> str:
    return "proxy_pass http://origin/; proxy_http_version 1.1; proxy_set_header Connection '';"


def file_server() -> Contestant:
    """Serves files of a directory."""

    def start(name: str, directory: Path, _: str) -> Server:
        return _start(name, directory, f"location /object/ {{ alias {files.make(directory)}/; }}")

    return Contestant("nginx", start, ("nginx",))


def _start(name: str, directory: Path, location: str, beside: str = "", core: str = SERVER_CORE, *, secure: bool = False) -> Server:
    port = free_port()
    if secure:
        made = certificate.make(directory)
        location += f" ssl_certificate {made.path}; ssl_certificate_key {made.key}; ssl_protocols TLSv1.3;"
    configuration = directory / "nginx.conf"
    # Its worker would otherwise be a user who cannot write into the directory.
    user = "user root;" if os.geteuid() == 0 else ""
    configuration.write_text(
        CONFIGURATION.format(
            directory=directory, user=user, port=port, secure=" ssl" if secure else "", location=location, beside=beside
        )
    )
    process = MeasuredProcess(
        name, ["nginx", "-p", str(directory), "-e", f"{directory}/error.log", "-c", str(configuration)], directory / "output.log", core
    )
    try:
        process.wait_until(lambda: is_listening(port))
    except BaseException:
        process.stop()
        raise
    scheme = "https" if secure else "http"
    return Server(name, process, f"{scheme}://127.0.0.1:{port}", "one worker, sendfile, tcp_nopush, open_file_cache, no access log")
