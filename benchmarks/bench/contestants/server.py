"""A running server, and a way to start one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from bench.processes import MeasuredProcess


@dataclass(frozen=True)
class Server:
    """A server that listens. `about` is what it said of itself at its start."""

    name: str
    process: MeasuredProcess
    base_url: str
    about: str = ""

    @property
    def address(self) -> tuple[str, int]:
        """Where a bare socket connects to."""
        parts = urlsplit(self.base_url)
        return str(parts.hostname), int(parts.port or 0)

    def url(self, path: str) -> str:
        return self.base_url + path

    def stop(self) -> None:
        self.process.stop()


class Starter(Protocol):
    """Starts a server with its files in a directory of its own, in front of an origin if it is a cache."""

    def __call__(self, name: str, directory: Path, origin: str) -> Server: ...


# Starts what is behind caches and proxies, with its files in a directory of its own; the server, and the URL that they are to ask.
Origin = Callable[[Path], tuple[Server, str]]


@dataclass(frozen=True)
class Contestant:
    """A name, and a way to start what it names. `prepare` is called once the server is warm; what it returns ends it."""

    name: str
    starter: Starter
    tools: tuple[str, ...] = ()
    prepare: Callable[[Server], Callable[[], None]] | None = None

    def start(self, directory: Path, origin: str = "") -> Server:
        directory.mkdir(parents=True)
        return self.starter(self.name, directory, origin)
