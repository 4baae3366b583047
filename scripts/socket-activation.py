#!/usr/bin/env python3
"""Servers as systemd starts them: this program opens the listening sockets, and each sample serves them over io_uring.

  scripts/socket-activation.py

A TCP and a Unix socket are handed to a server as descriptors 3 and 4, with LISTEN_PID and LISTEN_FDS. The server must answer on both,
and when it ends, the sockets must be as before: still listening, the path still there. A client that connects while no server runs must
be answered by the next one. samples/CachingService must also say over NOTIFY_SOCKET when it is ready and when it stops, and its units in
samples/CachingService/Deploy must be what systemd understands. Prints one line per check and ends with "N passed, N failed".

Needs the .NET SDK, and systemd-analyze for the units. Everything listens on loopback or in a temporary directory that is removed.
"""
import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
UNITS = REPOSITORY / "samples" / "CachingService" / "Deploy"
PATIENCE_SECONDS = 20

# exec keeps the process, so the shell's own number is the server's, as sd_listen_fds(3) asks for.
LAUNCH = 'export LISTEN_PID=$$ LISTEN_FDS=2 && exec "$@" 3<&"$FIRST" 4<&"$SECOND"'


@dataclasses.dataclass(frozen=True)
class Sample:
    name: str
    options: tuple
    path: str
    body: str
    notifies: bool = False
    first_bytes: str = ""

    @property
    def project(self):
        return REPOSITORY / "samples" / self.name

    @property
    def request(self):
        return f"{self.first_bytes}GET {self.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()

    @property
    def answer(self):
        return f"HTTP/1.1 200 OK, {self.body}"


SAMPLES = (
    Sample("PlaintextServer", (), "/plaintext", "Hello, World!"),
    Sample("CachingService", ("--Admin:Url=",), "/health", "OK", notifies=True),
    Sample("CachingService", ("--Admin:Url=", "--ProxyProtocol:From=127.0.0.1;unix"), "/health", "OK", notifies=True, first_bytes="PROXY UNKNOWN\r\n"),
)


class Checks:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, name, is_met, detail):
        self.passed += is_met
        self.failed += not is_met
        print(f"{'ok     ' if is_met else 'FAILED '} {name} ({detail})", flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 else 1


@contextlib.contextmanager
def server(sample, sockets, notify, log):
    """Runs the server on the sockets; ends it in any case."""
    first, second = (opened.fileno() for opened in sockets)
    command = ["dotnet", sample.project / f"bin/Release/net10.0/{sample.name}.dll", "--Transport", "IoUring", *sample.options]
    with open(log, "wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", LAUNCH, "bash", *command],
            env={**os.environ, "FIRST": str(first), "SECOND": str(second), "NOTIFY_SOCKET": notify.getsockname()},
            pass_fds=(first, second), stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def listen(family, address):
    opened = socket.socket(family)
    opened.bind(address)
    opened.listen(16)
    return opened


def connect(listening, request):
    """A client of the socket with its request sent; the kernel takes both while no server runs."""
    client = socket.socket(listening.family)
    client.settimeout(PATIENCE_SECONDS)
    client.connect(listening.getsockname())
    client.sendall(request)
    return client


def notice(notify):
    """The next thing that the server says of itself."""
    try:
        return notify.recv(4096).decode().strip()
    except TimeoutError:
        return "nothing"


def takes_clients(listening):
    """Tried, and not asked: a Unix socket that another process has shut down still calls itself listening."""
    try:
        connect(listening, b"").close()
        return True
    except OSError:
        return False


def answer(client):
    """The status line and the body, or what went wrong."""
    received = b""
    try:
        while piece := client.recv(65536):
            received += piece
    except OSError as error:
        return str(error)
    head, _, body = received.partition(b"\r\n\r\n")
    return f"{head.splitlines()[0].decode()}, {body.decode()}" if head else "no answer"


def end(process):
    """The exit status after SIGTERM."""
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"none within {PATIENCE_SECONDS} s"


def back_end(log):
    found = re.search("IO backend: .*", log.read_text())
    return found.group() if found else "no line about the back end"


def run(checks, sample, folder):
    path = folder / "activated.socket"
    with listen(socket.AF_INET, ("127.0.0.1", 0)) as tcp, listen(socket.AF_UNIX, str(path)) as unix, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(folder / "notify.socket"))
        notify.settimeout(PATIENCE_SECONDS)
        sockets = {"TCP": tcp, "Unix": unix}
        for start in ("first", "second"):
            who = f"{start} {sample.name}"
            log = folder / f"{start}.log"
            # Connected before the server is started: the sockets are this program's, and the clients wait in their queues.
            clients = {kind: connect(listening, sample.request) for kind, listening in sockets.items()}
            with server(sample, sockets.values(), notify, log) as process:
                for kind, client in clients.items():
                    with client:
                        said = answer(client)
                    checks.check(f"{who} answers who had connected to the {kind} socket before its start", said == sample.answer, said)
                for kind, listening in sockets.items():
                    with connect(listening, sample.request) as client:
                        said = answer(client)
                    checks.check(f"{who} answers on the {kind} socket", said == sample.answer, said)
                if sample.notifies:
                    said = notice(notify)
                    checks.check(f"{who} says that it is ready", said == "READY=1", said)
                status = end(process)
            if sample.notifies:
                said = notice(notify)
                checks.check(f"{who} says that it stops", said == "STOPPING=1", said)
            checks.check(f"{who} runs on io_uring", "io_uring" in back_end(log), back_end(log))
            checks.check(f"{who} ends in order with SIGTERM", status == 0, f"exit status {status}")
            for kind, listening in sockets.items():
                checks.check(f"{kind} socket still listens after it", takes_clients(listening), "connected once more")
            checks.check("the path of the Unix socket is still there", path.is_socket(), path.name)
            if checks.failed:
                print(f"--- log of the {who}\n{log.read_text()}")
                return


def verify_units(checks, folder):
    """With a program that exists in the place of the installed one, which systemd-analyze looks for."""
    for unit in sorted(UNITS.glob("caching-service.*")):
        (folder / unit.name).write_text(unit.read_text().replace("/opt/caching-service/CachingService", "/bin/true"))
    units = sorted(folder.glob("caching-service.*"))
    said = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    names = ", ".join(unit.name for unit in units)
    checks.check("systemd understands the units", said.returncode == 0 and not said.stdout and len(units) == 2, said.stdout.strip() or names)


def main():
    if sys.argv[1:] == ["--help"]:
        print(__doc__)
        return 0
    if sys.argv[1:]:
        sys.exit(f"{sys.argv[1]}: unknown option; see --help")
    checks = Checks()

    # .NET takes itself for a service of systemd where its parent has this name.
    pathlib.Path("/proc/self/comm").write_text("systemd")
    for sample in SAMPLES:
        build = subprocess.run(
            ["dotnet", "build", sample.project, "--configuration", "Release", "--nologo", "--verbosity", "quiet"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if build.returncode != 0:
            checks.check(f"{sample.name} builds", False, build.stdout)
            continue
        with tempfile.TemporaryDirectory() as folder:
            run(checks, sample, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        verify_units(checks, pathlib.Path(folder))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
