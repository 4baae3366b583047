"""Programs that the benchmark needs beside .NET, and the Debian packages that have them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable

from bench.errors import BenchmarkError

PACKAGES = {
    "curl": "curl",
    "dotnet": "dotnet-sdk-10.0",
    "h2load": "nghttp2-client",
    "nginx": "nginx-light",
    "openssl": "openssl",
    "perf": "linux-perf",
    "setpriv": "util-linux",
    "squid": "squid",
    "taskset": "util-linux",
    "varnishd": "varnish",
    "wrk": "wrk",
}


# What every work needs.
COMMON = ("curl", "dotnet", "setpriv", "taskset")


def find_everywhere() -> None:
    """nginx, squid and varnishd are in a directory that is not on everyone's path."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"


def require(tools: Iterable[str], *, install: bool) -> None:
    """Makes sure of the tools: by apt-get if `install`, else by naming the command."""
    missing = sorted({PACKAGES[tool] for tool in tools if not shutil.which(tool)})
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if not install:
        raise BenchmarkError(f"missing: {', '.join(missing)}. Run this with --install, or: {' '.join(command)}")
    print(f"installing {', '.join(missing)}", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "update", "-qq"], command):
        if not shutil.which(step[0]) or subprocess.run(step, stdout=sys.stderr, env=environment).returncode != 0:
            raise BenchmarkError(f"cannot install {', '.join(missing)}: {' '.join(step)} failed")
