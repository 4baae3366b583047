"""
What the runtime of .NET compiles while a server works. It starts with code that is made in no time, counts, and compiles what is called often
anew, on a thread of its own. Where the server has one processor, and that is saturated, this goes on for ten to thirty seconds of load, and
behind a load that has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bench.plan import Plan
from bench.processes import MeasuredProcess

# ".NET Tiered Compilation Worker", as the kernel cuts names.
COMPILER_THREAD = ".NET Tiered Com"
STRETCH_SECONDS = 2
# Counting starts 0.1 s after the last new method was called, so there are gaps.
QUIET_STRETCHES = 4
QUIET_SHARE = 0.01
REST_SECONDS = 0.3

# Seconds of processor time, by the id of the thread.
Compilers = Mapping[int, float]


def read_compilers(processes: Iterable[MeasuredProcess]) -> Compilers:
    """The compilers of so many processes; none where a process is not one of .NET, or has not compiled for some seconds."""
    found = {}
    for thread in (thread for process in processes for pid in process.pids() for thread in Path(f"/proc/{pid}/task").glob("*")):
        try:
            if (thread / "comm").read_text().strip() == COMPILER_THREAD:
                found[int(thread.name)] = int((thread / "schedstat").read_text().split()[0]) / 1e9
        except OSError:
            continue  # The thread has just ended.
    return found


def compiled_since(now: Compilers, earlier: Compilers) -> float:
    """Seconds of compilation between two readings; a thread that is gone had nothing to do before it went."""
    return sum(max(0.0, seconds - earlier.get(thread, 0.0)) for thread, seconds in now.items())


def warm_up(process: MeasuredProcess, load: Callable[[int], object], plan: Plan) -> None:
    """
    Loads a server for `plan.warm_up` seconds, and on until its compiler has rested for some stretches, for `plan.warm_up_most` at most. In between
    the server rests for a moment, in which the compiler has the processor.
    """
    stretch = min(STRETCH_SECONDS, plan.warm_up)
    loaded = quiet = 0
    while loaded < plan.warm_up or (quiet < QUIET_STRETCHES and loaded < plan.warm_up_most):
        before = read_compilers([process])
        load(stretch)
        time.sleep(REST_SECONDS)
        compiled = compiled_since(read_compilers([process]), before)
        quiet = quiet + 1 if compiled <= QUIET_SHARE * stretch else 0
        loaded += stretch
