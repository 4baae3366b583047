#!/usr/bin/env python3
"""A whole site behind the caching service, compared with nginx as the proxy of the same site.

  scripts/site.py [--no-build]

nginx serves two hosts (files, redirects, a closed area, an application that echoes, streams events and speaks WebSocket). Each request goes
through nginx as a proxy and then, twice, through the service with Cache:PublicPath=/ and Cache:PassHost=true: status, fields and body must be the
same each time, whether they come from the origin or from the cache. What only the service adds or leaves out is listed in OWN_FIELDS. A file of
3 GiB must come whole, events one by one, and each request must be a line of the access log. Chromium opens a page of the site over HTTP/2 and TLS
that follows a redirect, sends a form, has events, a WebSocket and cookies, and asks the other site. Prints one line per check and ends with
"N passed, N failed".

Needs the .NET SDK, nginx, curl, openssl and Chromium; as root on Debian it installs all but the first. Everything listens on loopback, on free ports; files are
in a temporary directory that is removed.
"""
import argparse
import base64
import contextlib
import http.client
import json
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "site"))
import application  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
SERVICE = REPOSITORY / "samples/CachingService/bin/Release/net10.0/CachingService.dll"
PATIENCE_SECONDS = 30
LARGE_BYTES = 3 << 30
BOUNDARY = re.compile(rb"[0-9a-f]{32}|[0-9]{20}")

# Of one connection, of the way the answer has come, or of the moment.
OWN_FIELDS = {"connection", "keep-alive", "transfer-encoding", "date", "expires", "via", "age", "cache-status", "accept-ranges"}

# What browser.html has to see. Cookies of the page are those of /app/login.
SEEN = {
    "protocol": "h2", "style": "rgb(0, 0, 0)", "redirect": "/folder/", "range": "ABC", "form": 8, "cookies": "id=1; lang=de", "events": "0,1,2",
    "socket": "hello", "sharedWithOthers": "shared", "keptFromOthers": "TypeError: Failed to fetch",
}

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
REQUESTS = (
    ("a page", "GET", "/", {}),
    ("a page of the other host", "GET", "/", {"Host": "blog.test"}),
    ("a file", "GET", "/logo.png", {}),
    ("the head of a file", "HEAD", "/logo.png", {}),
    ("a file as it is compressed", "GET", "/style.css", {"Accept-Encoding": "gzip"}),
    ("a file that may be compressed and is not", "GET", "/style.css", {"Accept-Encoding": "identity"}),
    ("a range", "GET", "/logo.png", {"Range": "bytes=10-19"}),
    ("the end of a file", "GET", "/logo.png", {"Range": "bytes=-5"}),
    ("two ranges", "GET", "/logo.png", {"Range": "bytes=0-4,100-109"}),
    ("a range that is not there", "GET", "/logo.png", {"Range": "bytes=99999999-"}),
    ("a file that the client has", "GET", "/logo.png", {"If-Modified-Since": "@LAST-MODIFIED@"}),
    ("a file of which the client has the tag", "GET", "/logo.png", {"If-None-Match": "@ETAG@"}),
    ("an escaped name", "GET", "/a%20b%26c.html", {}),
    ("no file", "GET", "/none", {}),
    ("a directory without its slash", "GET", "/folder", {}),
    ("a redirect", "GET", "/old/page?x=1", {}),
    ("a redirect to another site", "GET", "/elsewhere", {}),
    ("a closed area", "GET", "/closed/", {}),
    ("a closed area, with its password", "GET", "/closed/", {"Authorization": "Basic " + base64.b64encode(b"user:secret").decode()}),
    ("an error", "GET", "/broken", {}),
    ("a method that a file has not", "DELETE", "/logo.png", {}),
    ("a question", "GET", "/app/echo?q=%C3%BC&r=a+b", {"X-Own": "1", "Cookie": "id=1; lang=de"}),
    ("a form", "POST", "/app/echo", FORM, b"name=%C3%BC&x=1"),
    ("a form without a length", "POST", "/app/echo", FORM, (b"name=", b"%C3%BC")),
    ("an upload", "PUT", "/app/echo", {}, bytes(2_000_000)),
    ("an empty form", "POST", "/app/echo", FORM, b""),
    ("a login", "GET", "/app/login", {}),
    ("a login by a form", "POST", "/app/login", FORM, b"name=x"),
    ("options", "OPTIONS", "/app/echo", {"Origin": "https://a.test", "Access-Control-Request-Method": "PUT"}),
    ("a deletion", "DELETE", "/app/echo", {}),
)


class Checks:
    passed = failed = 0

    def check(self, name, holds, detail):
        if holds:
            self.passed += 1
            print(f"ok      {name} ({detail})", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {name} ({detail})", flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > deadline:
            sys.exit(f"nothing listens on port {port}")
        time.sleep(0.02)


def ask(port, method, target, fields, body=None):
    """Status, fields by their names in lower case with all their values, and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in ({"Host": "shop.test"} | fields).items():
            connection.putheader(name, value)
        is_chunked = isinstance(body, tuple)
        if is_chunked:
            connection.putheader("Transfer-Encoding", "chunked")
        elif body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(iter(body) if is_chunked else body, encode_chunked=is_chunked)
        answer = connection.getresponse()
        got = {}
        for name, value in answer.getheaders():
            got.setdefault(name.lower(), []).append(value)
        return answer.status, got, answer.read()
    finally:
        connection.close()


def difference(expected, got):
    """What an answer has otherwise than nginx's; empty if nothing."""
    found = []
    if expected[0] != got[0]:
        return f"status {got[0]} for {expected[0]}"
    for name in sorted((expected[1].keys() | got[1].keys()) - OWN_FIELDS):
        values = [[BOUNDARY.sub(b"-", value.encode("latin-1")) for value in answer[1].get(name, [])] for answer in (expected, got)]
        # A cache may answer in other pieces, and a 304 and a 416 of its own have less to say (RFC 9110 15.4.5, 15.5.17).
        if name == "content-length" and (not all(values) or expected[0] in (206, 416)):
            continue
        if expected[0] == 304 and not values[1] or expected[0] == 416 and name != "content-range":
            continue
        if values[0] != values[1]:
            found.append(f"{name}: {values[1]} for {values[0]}")
    if expected[0] != 416 and BOUNDARY.sub(b"-", expected[2]).strip() != BOUNDARY.sub(b"-", got[2]).strip():
        found.append(f"a body of {len(got[2])} bytes for {len(expected[2])}")
    return "; ".join(found)


def make_site(work):
    for host in ("shop", "blog"):
        (work / host).mkdir()
        (work / host / "index.html").write_text(f"<!doctype html><title>{host}</title><link rel=stylesheet href=/style.css>")
    shop = work / "shop"
    (shop / "style.css").write_text("body { color: black }\n" * 200)
    (shop / "logo.png").write_bytes(bytes(range(256)) * 40)
    (shop / "a b&c.html").write_text("escaped")
    (shop / "browser.html").write_text((REPOSITORY / "scripts/site/browser.html").read_text())
    (work / "blog" / "shared").mkdir()
    (work / "blog" / "shared" / "data.txt").write_text("shared")
    for folder in ("folder", "closed"):
        (shop / folder).mkdir()
        (shop / folder / "index.html").write_text(folder)
    with open(shop / "large.bin", "wb") as large:
        large.truncate(LARGE_BYTES - 4)
        large.seek(LARGE_BYTES - 4)
        large.write(b"end\n")
    (work / "users").write_text("user:{PLAIN}secret\n")


def start_nginx(work, ports):
    text = (REPOSITORY / "scripts/site/nginx.conf").read_text()
    for name, port in ports.items():
        text = text.replace(f"@{name}@", str(port))
    (work / "nginx.conf").write_text(text)
    return subprocess.Popen(
        ["nginx", "-p", f"{work}/", "-e", "stderr", "-c", "nginx.conf"], stderr=open(work / "nginx.log", "w"),
        env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin"})


def start_service(work, ports):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=shop.test",
         "-keyout", work / "key.pem", "-out", work / "certificate.pem"], check=True, capture_output=True)
    options = {
        "Urls": f"http://127.0.0.1:{ports['SERVICE']};https://127.0.0.1:{ports['TLS']}",
        "Admin:Url": "",
        "Cache:Origin": f"http://127.0.0.1:{ports['ORIGIN']}",
        "Cache:PublicPath": "/",
        "Cache:PassHost": "true",
        "Cache:IgnoredCookies": "_ga*",
        "Cache:IgnoredQueryParameters": "utm_*",
        "Cache:Routes:0:Hosts": "blog.test",
        "Cache:Routes:0:Prefix": "/shared/",
        "Cache:Routes:0:CorsOrigins": f"https://shop.test:{ports['TLS']}",
        "Cache:Routes:0:CorsFields": "X-Own",
        "AccessLog:Path": work / "access.log",
        "Kestrel:Certificates:Default:Path": work / "certificate.pem",
        "Kestrel:Certificates:Default:KeyPath": work / "key.pem",
    }
    return subprocess.Popen(["dotnet", SERVICE, *(f"--{name}={value}" for name, value in options.items())], stdout=open(work / "service.log", "w"))


def compare(checks, ports):
    _, fields, _ = ask(ports["ORIGIN"], "GET", "/logo.png", {})
    known = {"@LAST-MODIFIED@": fields["last-modified"][0], "@ETAG@": fields["etag"][0]}
    for name, method, target, fields, *body in REQUESTS:
        fields = {field: known.get(value, value) for field, value in fields.items()}
        expected = ask(ports["PROXY"], method, target, fields, *body)
        for time_of in ("first", "second"):
            got = ask(ports["SERVICE"], method, target, fields, *body)
            fault = difference(expected, got)
            status = got[1].get("cache-status", ["-"])[-1]
            if time_of == "second" and method in ("GET", "HEAD") and "expires" in expected[1] and expected[0] < 400 and "Authorization" not in fields:
                fault = fault or ("" if "; hit" in status else f"no hit: {status}")
            checks.check(f"{name}, the {time_of} time", not fault, fault or f"{got[0]}, {status}")


def check_policies(checks, port):
    for name, target, fields in (
        ("a cookie of a statistician keeps no page from the cache", "/", {"Cookie": "_ga=1; _ga_X=2"}),
        ("a parameter of a campaign makes no other page", "/?utm_source=mail", {}),
    ):
        _, got, _ = ask(port, "GET", target, fields)
        checks.check(name, "; hit" in got["cache-status"][-1], got["cache-status"][-1])


def check_http2(checks, ports):
    for target in ("/", "/logo.png"):
        expected = ask(ports["PROXY"], "GET", target, {})
        curl = subprocess.run(
            ["curl", "--silent", "--insecure", "--http2", "--resolve", f"shop.test:{ports['TLS']}:127.0.0.1", "--write-out", "%{stderr}%{http_version} %{http_code}",
             f"https://shop.test:{ports['TLS']}{target}"], capture_output=True, timeout=PATIENCE_SECONDS)
        checks.check(f"{target} over HTTP/2 and TLS", curl.stdout == expected[2] and curl.stderr == b"2 200", curl.stderr.decode())


def check_events(checks, ports):
    for name in ("PROXY", "SERVICE"):
        connection = http.client.HTTPConnection("127.0.0.1", ports[name], timeout=PATIENCE_SECONDS)
        connection.request("GET", "/app/events", headers={"Host": "shop.test"})
        answer = connection.getresponse()
        times = []
        while line := answer.readline():
            if line.startswith(b"data"):
                times.append(time.monotonic())
        pauses = [later - earlier for earlier, later in zip(times, times[1:])]
        checks.check(
            f"events come one by one through {name.lower()}", len(times) == application.EVENTS and min(pauses) > application.PAUSE_SECONDS / 2,
            ", ".join(f"{pause:.2f} s" for pause in pauses))


def check_large(checks, port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    connection.request("GET", "/large.bin", headers={"Host": "shop.test"})
    answer = connection.getresponse()
    buffer, count, began = bytearray(1 << 20), 0, time.monotonic()
    while size := answer.readinto(buffer):
        count += size
        end = bytes(buffer[max(0, size - 4):size])
    checks.check("3 GiB come whole", count == LARGE_BYTES and end.endswith(b"end\n"), f"{count} bytes in {time.monotonic() - began:.1f} s")


def check_socket(checks, port, name):
    """Echoes through an upgraded connection, whose handshake must be answered by the application."""
    message = bytes(range(256)) * 4
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as client:
        client.sendall(
            b"GET /app/socket HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        stream = client.makefile("rb")
        lines = []
        while (line := stream.readline().strip()):
            lines.append(line.lower())
        accepted = lines[0].startswith(b"http/1.1 101") and b"sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=" in lines
        echoed = 0
        if accepted:
            for _ in range(20):
                client.sendall(b"\x82\xfe" + len(message).to_bytes(2, "big") + bytes(4) + message)
                echoed += stream.read(4 + len(message))[4:] == message
            client.sendall(b"\x88\x80" + bytes(4))
        is_closed = accepted and stream.read(2) == b"\x88\x00" and stream.read() == b""
        checks.check(f"a WebSocket through {name}", accepted and echoed == 20 and is_closed, f"{lines[0].decode()}, {echoed} echoes, closed {is_closed}")


def check_browser(checks, work, port):
    """Requests besides those that the page makes, such as for an icon, are the browser's own business."""
    browser = subprocess.Popen(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--ignore-certificate-errors", "--host-resolver-rules=MAP * 127.0.0.1", f"--user-data-dir={work}/browser", "--remote-debugging-port=0",
         f"https://shop.test:{port}/browser.html"], stdout=subprocess.DEVNULL, stderr=open(work / "browser.log", "w"))
    try:
        seen = application.results.get(timeout=PATIENCE_SECONDS)
    except queue.Empty:
        seen = {}
    finally:
        browser.terminate()
        browser.wait(timeout=PATIENCE_SECONDS)
    for name, expected in SEEN.items():
        checks.check(f"{name} in a browser", seen.get(name) == expected, f"{seen.get(name)}")


def check_log(checks, work, requests):
    lines = [json.loads(line) for line in (work / "access.log").read_text().splitlines()]
    own = [line for line in lines if not re.search("warm-up|Chrome", line.get("user_agent", ""))]
    checks.check("each request is a line of the access log", len(own) == requests, f"{len(own)} lines, {requests} requests")
    sockets = {line["protocol"]: line["status"] for line in lines if line["path"] == "/app/socket"}
    checks.check("the WebSocket of the browser is a stream of HTTP/2", sockets == {"HTTP/1.1": 101, "HTTP/2": 200}, f"{sockets}")
    large = [line["bytes"] for line in own if line["path"] == "/large.bin"]
    checks.check("its bytes are those that were sent", large == [LARGE_BYTES], f"{large}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-build", action="store_true", help="take the service as it was built")
    arguments = parser.parse_args()
    subprocess.run([REPOSITORY / "scripts/require-tools.sh", "nginx", "curl", "openssl", "chromium"], check=True)
    if not arguments.no_build:
        subprocess.run(["dotnet", "build", SERVICE.parents[3], "--configuration", "Release", "--nologo", "--verbosity", "quiet"], check=True)

    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        # nginx drops root's rights, and has to read what is here.
        work.chmod(0o755)
        make_site(work)
        ports = {name: free_port() for name in ("ORIGIN", "PROXY", "SERVICE", "TLS")} | {"APPLICATION": application.start()}
        programs = [start_nginx(work, ports), start_service(work, ports)]
        try:
            for name in ("ORIGIN", "PROXY", "SERVICE", "TLS"):
                wait_for(ports[name])
            compare(checks, ports)
            check_policies(checks, ports["SERVICE"])
            check_http2(checks, ports)
            check_events(checks, ports)
            check_socket(checks, ports["PROXY"], "nginx")
            check_socket(checks, ports["SERVICE"], "the service")
            check_browser(checks, work, ports["TLS"])
            check_large(checks, ports["SERVICE"])
        finally:
            for program in programs:
                program.send_signal(signal.SIGTERM)
            codes = [program.wait(timeout=PATIENCE_SECONDS) for program in programs]
        log = (work / "service.log").read_text()
        checks.check("the service ends in order", codes[1] == 0 and not re.search(r"^\S+ (fail|crit):", log, re.M), f"status {codes[1]}")
        check_log(checks, work, requests=2 * len(REQUESTS) + 2 + 2 + 1 + 1 + 1)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
