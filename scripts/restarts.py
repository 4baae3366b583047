#!/usr/bin/env python3
"""Restarts of samples/CachingService under load, of which no request may fail.

  scripts/restarts.py [--no-build] [--restarts N] [--only activation|hand-over|disk]        (20 of each way by default)

activation: this program opens the listening sockets, as systemd does, one of them for TLS; the old process gets SIGTERM and ends, and then the
next one starts on the same sockets.
hand-over: the next process starts beside the old one, takes its sockets over (--HandOver), a Unix socket among them, and the old one drains and
ends by itself. Some of the processes that start are killed before they are ready, which must change nothing.
disk: the same with a disk tier, which the next process opens when the old one has ended; clients wait meanwhile, and what was in memory is there.

Meanwhile wrk (HTTP/1.1), h2load (HTTP/2 over TLS) and the clients of scripts/restarts/clients.py ask for an object: with connections that are kept,
with a connection for each request, with pauses as a pool of connections has them, over TLS, and over HTTP/2. Each request must get its whole
answer. wrk always has a request on its way, so each of its socket errors is a failed request. h2load does not know GOAWAY: it counts what it would
have asked on that connection as failed, and makes no other connection. So it is load here, run again and again, and the client of this project
judges HTTP/2. Prints one line per check, with figures, and ends with "N passed, N failed".

Needs the .NET SDK, wrk, h2load and openssl; as root on Debian it installs the last three. Everything listens on loopback, on free ports; files are
in a temporary directory that is removed.
"""
import argparse
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "restarts"))
import clients  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
SERVICE = REPOSITORY / "samples/CachingService/bin/Release/net10.0/CachingService.dll"
PATIENCE_SECONDS = 30
BODY_BYTES = 3000
PATH = f"/object/restart?size={BODY_BYTES}"

# exec keeps the process, so the shell's own number is the service's, as sd_listen_fds(3) asks for.
LAUNCH = 'export LISTEN_PID=$$ LISTEN_FDS=2 && exec "$@" 3<&"$FIRST" 4<&"$SECOND"'


class Checks:
    passed = failed = 0

    def check(self, name, holds, detail):
        self.passed += bool(holds)
        self.failed += not holds
        print(f"{'ok     ' if holds else 'FAILED '} {name} ({detail})", flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 else 1


class Process:
    """One run of the service, with what it has said."""

    def __init__(self, command, log, **options):
        self.log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)

    def wait_until_ready(self):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while " Serving " not in self.said():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"the service has not started:\n{self.said()}")
            time.sleep(0.02)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait_until_ended(self):
        return self.process.wait(PATIENCE_SECONDS)

    def said(self):
        return self.log.read_text()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Way:
    """How one process follows another."""

    def judge(self, checks):
        """What no client sees."""


class Activation(Way):
    """The sockets are this program's, and each process serves them."""

    name = "activation"
    path = None

    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.sockets = [listen(), listen()]
        self.ports = [opened.getsockname()[1] for opened in self.sockets]
        self.number = 0
        self.statuses = []
        self.running = self.start()

    def start(self):
        self.number += 1
        files = [opened.fileno() for opened in self.sockets]
        started = Process(
            ["bash", "-c", LAUNCH, "bash", "dotnet", SERVICE, f"--Urls=https://127.0.0.1:{self.ports[1]}", *self.options],
            self.folder / f"activation-{self.number}.log",
            env={**os.environ, "FIRST": str(files[0]), "SECOND": str(files[1])}, pass_fds=files)
        started.wait_until_ready()
        return started

    def restart(self):
        self.running.terminate()
        self.statuses.append(self.running.wait_until_ended())
        self.running = self.start()

    def stop(self):
        self.running.kill()
        for opened in self.sockets:
            opened.close()


class HandOver(Way):
    """Each process takes the sockets over from the one before."""

    name = "hand-over"

    def __init__(self, folder, options):
        self.folder = folder
        with listen() as plain, listen() as tls:
            self.ports = [opened.getsockname()[1] for opened in (plain, tls)]
        self.path = str(folder / "public.socket")
        urls = f"--Urls=http://127.0.0.1:{self.ports[0]};https://127.0.0.1:{self.ports[1]};http://unix:{self.path}"
        self.options = (urls, f"--HandOver={folder / 'hand-over.socket'}", *options)
        self.number = 0
        self.statuses = []
        self.running = self.start()
        self.running.wait_until_ready()

    def start(self):
        self.number += 1
        return Process(["dotnet", SERVICE, *self.options], self.folder / f"hand-over-{self.number}.log")

    def restart(self):
        if self.number % 5 == 2:
            self.start_in_vain()
        old, self.running = self.running, self.start()
        self.running.wait_until_ready()
        self.statuses.append(old.wait_until_ended())

    def start_in_vain(self):
        """It has the sockets when it is killed, and is not ready."""
        killed = self.start()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while f"Now listening on: http://127.0.0.1:{self.ports[0]}" not in killed.said() and time.monotonic() < deadline:
            time.sleep(0.005)
        killed.kill()

    def stop(self):
        self.running.kill()


class DiskHandOver(HandOver):
    """As the above, one after the other where it concerns the directory of the disk tier."""

    name = "disk"

    def __init__(self, folder, options):
        super().__init__(folder, (*options, f"--Cache:DiskPath={folder / 'disk'}", "--Cache:DiskBytes=16MiB", "--Cache:DiskSegmentBytes=1MiB",
                                  "--Cache:DiskMinObjectBytes=1"))

    def judge(self, checks):
        found = [log.name for log in self.folder.glob("hand-over-*.log") if ": 1 objects found" in log.read_text()]
        checks.check(f"{self.name}: each next process finds the object", len(found) == len(self.statuses), f"{len(found)} of {len(self.statuses)}")


class Wrk:
    """HTTP/1.1 on connections that are kept; always with a request on its way on each."""

    def __init__(self, port, log):
        self.log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                ["wrk", "-t1", "-c16", "-d1h", "--timeout", "60s", f"http://127.0.0.1:{port}{PATH}"], stdout=output, stderr=subprocess.STDOUT)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE_SECONDS)

    def judge(self, checks, name):
        said = self.log.read_text()
        made = re.search(r"(\d+) requests in", said)
        wrong = re.findall(r"Socket errors: .*|Non-2xx.*", said)
        detail = f"{made.group(1) if made else 'no'} requests; {'; '.join(wrong) or 'no errors'}"
        checks.check(f"{name}: wrk sees no failed request", made and not wrong, detail)


class H2Load:
    """Runs of h2load, one after another."""

    def __init__(self, port, log):
        self.port, self.log = port, log
        self.stopping = threading.Event()
        self.runs = self.succeeded = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping.is_set():
            said = subprocess.run(
                ["h2load", "-n500", "-c4", "-m8", "-t1", f"https://127.0.0.1:{self.port}{PATH}"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
            found = re.search(r"(\d+) succeeded", said)
            self.runs += 1
            self.succeeded += int(found.group(1)) if found else 0

    def stop(self):
        self.stopping.set()
        self.thread.join(PATIENCE_SECONDS)

    def judge(self, checks, name):
        checks.check(f"{name}: h2load loads it", self.succeeded > 0, f"{self.succeeded} requests in {self.runs} runs")


def listen():
    opened = socket.socket()
    opened.bind(("127.0.0.1", 0))
    opened.listen(4096)
    return opened


def start_clients(plain, tls, local):
    kinds = (
        (4, "HTTP/1.1, kept connections", lambda tally: clients.Http1Client(plain, tally)),
        (2, "HTTP/1.1, a connection per request", lambda tally: clients.Http1Client(plain, tally, keeps=False)),
        (8, "HTTP/1.1, kept connections with pauses", lambda tally: clients.Http1Client(plain, tally, pause=0.1)),
        (2, "HTTP/1.1 over TLS, kept connections", lambda tally: clients.Http1Client(tls, tally)),
        (2, "HTTP/1.1 over TLS, a connection per request", lambda tally: clients.Http1Client(tls, tally, keeps=False)),
        (2, "HTTP/2 over TLS", lambda tally: clients.Http2Client(tls, tally, streams=8)),
    )
    if local.port is not None:
        kinds += (
            (2, "HTTP/1.1 over a Unix socket, kept connections", lambda tally: clients.Http1Client(local, tally)),
            (2, "HTTP/1.1 over a Unix socket, a connection per request", lambda tally: clients.Http1Client(local, tally, keeps=False)),
        )
    tallies, started = [], []
    for count, name, make in kinds:
        tally = clients.Tally(name)
        tallies.append(tally)
        started += [make(tally) for _ in range(count)]
    for client in started:
        client.start()
    return tallies, started


def run(checks, way, restarts):
    name = way.name
    plain, tls, local = (
        clients.Target(port, PATH, BODY_BYTES, is_tls) for port, is_tls in zip((*way.ports, way.path), (False, True, False)))
    tallies, started = start_clients(plain, tls, local)
    loads = [Wrk(way.ports[0], way.folder / f"{name}-wrk.log"), H2Load(way.ports[1], way.folder / f"{name}-h2load.log")]
    begun = time.monotonic()
    time.sleep(1)
    for _ in range(restarts):
        way.restart()
        time.sleep(0.3)
    seconds = time.monotonic() - begun
    for load in loads:
        load.stop()
    for client in started:
        client.stopping.set()
    for client in started:
        client.join(PATIENCE_SECONDS)
    checks.check(
        f"{name}: each old process ends in order", way.statuses == [0] * restarts, f"{restarts} restarts in {seconds:.0f} s; exit statuses {sorted(set(way.statuses))}")
    way.judge(checks)
    for load in loads:
        load.judge(checks, name)
    for tally in tallies:
        failed = tally.counts["failed"]
        checks.check(f"{name}: no request fails: {tally.name}", tally.counts["whole"] > 0 and not failed, str(tally))
        for reason in sorted(set(tally.failures))[:10]:
            print(f"        {tally.failures.count(reason)} times: {reason}")


def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (f"--Kestrel:Certificates:Default:Path={folder / 'certificate.pem'}", f"--Kestrel:Certificates:Default:KeyPath={folder / 'key.pem'}")


WAYS = (Activation, HandOver, DiskHandOver)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-build", action="store_true")
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--only", choices=[way.name for way in WAYS])
    arguments = parser.parse_args()
    subprocess.run([REPOSITORY / "scripts/require-tools.sh", "wrk", "h2load", "openssl"], check=True)
    if not arguments.no_build:
        subprocess.run(
            ["dotnet", "build", REPOSITORY / "samples/CachingService", "--configuration", "Release", "--nologo", "--verbosity", "quiet"], check=True)
    checks = Checks()
    for way in WAYS:
        if arguments.only in (None, way.name):
            with tempfile.TemporaryDirectory() as folder:
                options = (*make_certificate(pathlib.Path(folder)), "--Admin:Url=", "--Transport=IoUring", "--Cache:DefaultTtl=60s")
                started = way(pathlib.Path(folder), options)
                with contextlib.closing(contextlib.ExitStack()) as ends:
                    ends.callback(started.stop)
                    run(checks, started, arguments.restarts)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
