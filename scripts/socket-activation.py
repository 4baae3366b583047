#!/usr/bin/env python3
"""Socket activation as systemd does it: this program opens the listening sockets, and a server serves them over io_uring.

  scripts/socket-activation.py

A TCP and a Unix socket are handed to samples/PlaintextServer as descriptors 3 and 4, with LISTEN_PID and LISTEN_FDS. The server must
answer on both, and when it ends, the sockets must be as before: still listening, the path still there. A client that connects while
no server runs must be answered by the next one. Prints one line per check and ends with "N passed, N failed".

Needs the .NET SDK. Everything listens on loopback or in a temporary directory that is removed.
"""
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
SERVER = REPOSITORY / "samples" / "PlaintextServer"
PATIENCE_SECONDS = 20
REQUEST = b"GET /plaintext HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

# exec keeps the process, so the shell's own number is the server's, as sd_listen_fds(3) asks for.
LAUNCH = 'export LISTEN_PID=$$ LISTEN_FDS=2 && exec "$@" 3<&"$FIRST" 4<&"$SECOND"'


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
def server(sockets, log):
    """Runs the server on the sockets; ends it in any case."""
    first, second = (opened.fileno() for opened in sockets)
    command = ["dotnet", SERVER / "bin/Release/net10.0/PlaintextServer.dll", "--Transport", "IoUring"]
    with open(log, "wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", LAUNCH, "bash", *command],
            env={**os.environ, "FIRST": str(first), "SECOND": str(second)},
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


def connect(listening):
    """A client of the socket with its request sent; the kernel takes both while no server runs."""
    client = socket.socket(listening.family)
    client.settimeout(PATIENCE_SECONDS)
    client.connect(listening.getsockname())
    client.sendall(REQUEST)
    return client


def takes_clients(listening):
    """Tried, and not asked: a Unix socket that another process has shut down still calls itself listening."""
    try:
        connect(listening).close()
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


def run(checks, folder):
    path = folder / "activated.socket"
    with listen(socket.AF_INET, ("127.0.0.1", 0)) as tcp, listen(socket.AF_UNIX, str(path)) as unix:
        sockets = {"TCP": tcp, "Unix": unix}
        for start in ("first", "second"):
            log = folder / f"{start}.log"
            # Connected before the server is started: the sockets are this program's, and the clients wait in their queues.
            clients = {kind: connect(listening) for kind, listening in sockets.items()}
            with server(sockets.values(), log) as process:
                for kind, client in clients.items():
                    with client:
                        said = answer(client)
                    checks.check(
                        f"{start} server answers who had connected to the {kind} socket before its start",
                        said == "HTTP/1.1 200 OK, Hello, World!", said)
                for kind, listening in sockets.items():
                    with connect(listening) as client:
                        said = answer(client)
                    checks.check(f"{start} server answers on the {kind} socket", said == "HTTP/1.1 200 OK, Hello, World!", said)
                status = end(process)
            checks.check(f"{start} server runs on io_uring", "io_uring" in back_end(log), back_end(log))
            checks.check(f"{start} server ends in order with SIGTERM", status == 0, f"exit status {status}")
            for kind, listening in sockets.items():
                checks.check(f"{kind} socket still listens after it", takes_clients(listening), "connected once more")
            checks.check("the path of the Unix socket is still there", path.is_socket(), path.name)
            if checks.failed:
                print(f"--- log of the {start} server\n{log.read_text()}")
                return


def main():
    if sys.argv[1:] == ["--help"]:
        print(__doc__)
        return 0
    if sys.argv[1:]:
        sys.exit(f"{sys.argv[1]}: unknown option; see --help")
    build = subprocess.run(
        ["dotnet", "build", SERVER, "--configuration", "Release", "--nologo", "--verbosity", "quiet"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    checks = Checks()
    if build.returncode != 0:
        checks.check("the server builds", False, build.stdout)
        return checks.finish()
    with tempfile.TemporaryDirectory() as folder:
        run(checks, pathlib.Path(folder))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
