"""The servers of this repository, on every transport and scheduling that is compared."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.contestants import certificate, files
from bench.contestants.server import Contestant, Server
from bench.errors import BenchmarkError
from bench.machine import REPOSITORY, SERVER_CORE, run
from bench.processes import MeasuredProcess

PLAINTEXT_SERVER, CACHING_SERVICE = "samples/PlaintextServer", "samples/CachingService"
TECHEMPOWER, FLOOR = "benchmarks/IoUringCache.TechEmpower", "benchmarks/IoUringCache.Floor"
YARP, HTTP_CLIENT = "benchmarks/IoUringCache.YarpProxy", "benchmarks/IoUringCache.HttpClientLoad"


@dataclass(frozen=True)
class Setup:
    """A transport with its options."""

    name: str
    options: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


INLINE = Setup("io_uring Inline", ("--Transport", "IoUring", "--Scheduling", "Inline"))
ADAPTIVE = Setup("io_uring Adaptive", ("--Transport", "IoUring", "--Scheduling", "Adaptive"))
THREAD_POOL = Setup("io_uring ThreadPool", ("--Transport", "IoUring", "--Scheduling", "ThreadPool"))
SOCKETS = Setup("Sockets", ("--Transport", "Sockets"))

# Inline scheduling and no wait for data before a buffer is allocated; the samples do both with --Scheduling Inline.
SOCKETS_TUNED = Setup(
    "Sockets, tuned",
    ("--Transport", "Sockets", "--Scheduling", "Inline"),
    {"DOTNET_SYSTEM_NET_SOCKETS_INLINE_COMPLETIONS": "1"},
)
ALL = (INLINE, ADAPTIVE, THREAD_POOL, SOCKETS, SOCKETS_TUNED)

# Of a server with one processor, on every transport: what it leaves idle is not spent on looking for work, and counts as idle
# (benchmarks/README.md).
ONE_PROCESSOR = {"DOTNET_ThreadPool_UnfairSemaphoreSpinLimit": "0"}


@dataclass(frozen=True)
class Program:
    """A program of this repository, by its project's directory, started in one way on some cores."""

    program: str
    setup: Setup
    options: tuple[str, ...] = ()
    scheme: str = "http"
    cores: str = SERVER_CORE

    def __call__(self, name: str, directory: Path, origin: str) -> Server:
        options = [*self.setup.options, *self.options]
        processors = len(self.cores.split(","))
        if origin:
            options.append(f"--Cache:Origin={origin}")
        process = MeasuredProcess(
            name,
            ["dotnet", str(build(self.program)), "--urls", f"{self.scheme}://127.0.0.1:0", *options],
            directory / "output.log",
            self.cores,
            {"DOTNET_PROCESSOR_COUNT": str(processors), **(ONE_PROCESSOR if processors == 1 else {}), **self.setup.environment},
        )
        try:
            process.wait_until(lambda: "Application started" in process.output())
            about = self._check_back_end(name, process.output())
            return Server(name, process, find_urls(process.output())[-1], about)
        except BaseException:
            process.stop()
            raise

    def _check_back_end(self, name: str, output: str) -> str:
        match = re.search(r"IO backend: (.*)", output)
        about = match[1].strip() if match else ""
        if "IoUring" in self.setup.options and not about.startswith("io_uring"):
            raise BenchmarkError(f"'{name}' does not run on io_uring: {about or 'it names no back end'}")
        return about


def find_urls(output: str) -> list[str]:
    """Where a server listens, in the order of its log: an origin inside the process comes first."""
    return re.findall(r"Now listening on: (https?://127\.0\.0\.1:\d+)", output)


def plaintext(setup: Setup, *options: str, scheme: str = "http", cores: str = SERVER_CORE) -> Contestant:
    return Contestant(setup.name, Program(PLAINTEXT_SERVER, setup, options, scheme, cores))


def floor() -> Contestant:
    """What the kernel alone needs for a request over io_uring: the answer of /health by one thread and one ring."""
    return Contestant("io_uring alone", Program(FLOOR, Setup("io_uring alone", ())))


def relay() -> Contestant:
    """What the kernel alone needs for a live body over io_uring."""

    def start(name: str, directory: Path, origin: str) -> Server:
        return Program(FLOOR, Setup("io_uring alone", ("--relay", origin)))(name, directory, "")

    return Contestant("io_uring alone", start)


def techempower(setup: Setup, form: str) -> Contestant:
    return Contestant(setup.name, Program(TECHEMPOWER, setup, ("--Application", form)))


def caching_service(setup: Setup) -> Contestant:
    return Contestant(setup.name, Program(CACHING_SERVICE, setup, ("--Admin:Url=",)))


def secure_service(setup: Setup) -> Contestant:
    """Over TLS."""

    def start(name: str, directory: Path, origin: str) -> Server:
        made = certificate.make(directory)
        section = "--Kestrel:Certificates:Default"
        options = ("--Admin:Url=", f"{section}:Path={made.path}", f"{section}:KeyPath={made.key}")
        return Program(CACHING_SERVICE, setup, options, scheme="https")(name, directory, origin)

    return Contestant(setup.name, start, ("openssl",))


def compressing_service(setup: Setup) -> Contestant:
    return Contestant(setup.name, Program(CACHING_SERVICE, setup, ("--Admin:Url=", "--Cache:Compress=gzip")))


def slicing_service(slice_bytes: int) -> Contestant:
    return Contestant("CachingService", Program(CACHING_SERVICE, ADAPTIVE, ("--Admin:Url=", f"--Cache:SliceBytes={slice_bytes}", "--Cache:MaxBytes=4GiB")))


def yarp() -> Contestant:
    """Forwards everything, on Kestrel's own transport."""
    return Contestant("YARP", Program(YARP, Setup("YARP", ())))


def http_client(setup: Setup) -> Contestant:
    """Asks its origin when it is asked for that."""
    return Contestant(setup.name, Program(HTTP_CLIENT, setup))


def file_service(setup: Setup) -> Contestant:
    """Serves files of a directory."""

    def start(name: str, directory: Path, _: str) -> Server:
        return Program(CACHING_SERVICE, setup, ("--Admin:Url=", f"--Cache:Origin=file://{files.make(directory)}"))(name, directory, "")

    return Contestant(setup.name, start)


def live_service(setup: Setup) -> Contestant:
    """For an object that many read while it is made: without the limits of a service that has others to serve too."""
    limits = ("MaxBytes=64GiB", "MaxObjectBytes=64GiB", "MaxInFlightBytes=64GiB", "MaxReadersPerObject=20000")
    return Contestant(setup.name, Program(CACHING_SERVICE, setup, ("--Admin:Url=http://127.0.0.1:0", *(f"--Cache:{limit}" for limit in limits))))


def metrics_url(server: Server) -> str:
    """Where a caching service with an admin address tells its metrics."""
    match = re.search(r"admin: (http://[^;\s]+)", server.process.output())
    if not match:
        raise BenchmarkError(f"'{server.name}' has no admin address")
    return f"{match[1]}/metrics"


def demo_origin(directory: Path) -> tuple[Server, str]:
    """A caching service that is not measured, for its demo origin, and the URL of that."""
    server = Contestant("origin", Program(CACHING_SERVICE, SOCKETS, ("--Admin:Url=",))).start(directory)
    return server, find_urls(server.process.output())[0]


def restore() -> None:
    """Gets the packages of all programs, so that `build` needs no network."""
    run(["dotnet", "restore", str(REPOSITORY), "--verbosity", "quiet"], "the restore")


@functools.cache
def build(program: str) -> Path:
    """A program's assembly, built in Release."""
    project = REPOSITORY / program
    print(f"building {project.name} (Release)", file=sys.stderr)
    run(["dotnet", "build", str(project), "--configuration", "Release", "--nologo", "--verbosity", "quiet"], f"the build of {project.name}")
    return project / "bin" / "Release" / "net10.0" / f"{project.name}.dll"


def publish(program: str, directory: Path, *options: str) -> Path:
    """The assembly of a program that is published as its documentation says, into a new directory."""
    project = REPOSITORY / program
    print(f"publishing {project.name}", file=sys.stderr)
    command = ["dotnet", "publish", str(project), "--configuration", "Release", "--output", str(directory), "--nologo", "--verbosity", "quiet"]
    run([*command, *options], f"the publishing of {project.name}")
    return directory / f"{project.name}.dll"


def publish_native(program: str, directory: Path) -> Path:
    """The same with Native AOT: one program, which needs no .NET."""
    return publish(program, directory, "--use-current-runtime", "-p:PublishAot=true").with_suffix("")
