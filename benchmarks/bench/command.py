"""
Runs the benchmark: every row of the table, or the works that --only names, and writes a report with plots.

Contestants are started fresh for each work, a few processes of each, pinned to core 0 (a server that gets two processors to cores 0 and 1), the
load to core 1. All of a work are warmed up and then measured in turns. The report compares with targets; the exit status is 0 when everything could be
measured, whatever came out.

Needs two idle cores and, by work: wrk, h2load, curl, nginx, varnishd, perf. A whole run takes about three hours, more where
the hypervisor disturbs it, a quick one some minutes.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from bench import machine, network, tools
from bench.contestants import dotnet
from bench.errors import BenchmarkError
from bench.plan import FULL, QUICK, Plan
from bench.progress import Progress
from bench.report import markdown, page
from bench.report.markdown import Section
from bench.works import WORKS
from bench.works.work import Context, Work

REPORT = "README.md"


def main() -> int:
    arguments = parse(sys.argv[1:])
    if arguments.list:
        for work in WORKS:
            print(f"{work.name:20s} {work.title}")
        return 0
    # The end by another program's hand is an end in order, too: servers must not stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tools.find_everywhere()
    try:
        machine.require_two_cores()
        tools.require({*tools.COMMON, *(tool for work in arguments.works for tool in work.tools)}, install=arguments.install)
        if arguments.congestion_control != network.congestion_control():
            dotnet.restore()  # There is no way to a feed from there.
            network.enter_own(arguments.congestion_control)
        return run_all(arguments.works, arguments.plan, arguments.output, arguments.publish)
    except BenchmarkError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted; the report has what was measured until then", file=sys.stderr)
        return 130


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the works, and end")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measure these works only")
    parser.add_argument("--quick", action="store_true", help="one short round, hardly warmed up: shows that it runs, not how fast")
    parser.add_argument("--rounds", type=positive, help=f"measured intervals of each contestant (default {FULL.rounds})")
    parser.add_argument("--processes", type=positive, help=f"of each contestant, which share the rounds (default {FULL.processes})")
    parser.add_argument("--duration", type=positive, help=f"seconds of one measured interval (default {FULL.seconds})")
    parser.add_argument(
        "--warm-up",
        type=positive,
        help=f"seconds of load before anything is measured, at least; it goes on until nothing is compiled any more (default {FULL.warm_up})",
    )
    parser.add_argument(
        "--congestion-control",
        metavar="NAME",
        default="cubic",
        help="of TCP, in a network namespace of its own where it is not the machine's (default cubic, as the kernel's)",
    )
    parser.add_argument("--install", action="store_true", help="install what is missing from Debian's packages, as root")
    parser.add_argument(
        "--output",
        type=Path,
        default=machine.REPOSITORY / "artifacts" / "benchmarks" / f"{datetime.now():%Y-%m-%d-%H%M}",
        help="directory of the report (default: a new one under artifacts/benchmarks)",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="also replace what was measured on the page of this kind of machine, docs/benchmarks/PROCESSOR-N-cores",
    )
    arguments = parser.parse_args(words)
    by_name = {work.name: work for work in WORKS}
    for name in arguments.only or ():
        if name not in by_name:
            parser.error(f"--only: there is no work '{name}'; --list names them")
    if arguments.congestion_control not in network.available():
        parser.error(f"--congestion-control: the kernel has no '{arguments.congestion_control}', but {', '.join(network.available())}")
    if arguments.quick and arguments.publish:
        parser.error("--publish: the figures of a quick run say nothing about speed")
    arguments.works = [work for work in WORKS if not arguments.only or work.name in arguments.only]
    given = {"rounds": arguments.rounds, "processes": arguments.processes, "seconds": arguments.duration, "warm_up": arguments.warm_up}
    arguments.plan = replace(QUICK if arguments.quick else FULL, **{name: value for name, value in given.items() if value})
    return arguments


def positive(word: str) -> int:
    if not word.isdigit() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"'{word}' is not a whole number above 0")
    return int(word)


def run_all(works: Sequence[Work], plan: Plan, output: Path, is_published: bool) -> int:
    """Runs the works one after the other. The report is written after each, so that a run that is interrupted keeps its figures."""
    facts = [*machine.describe(), f"{datetime.now():%Y-%m-%d}; {describe(plan)}", f"`benchmarks/bench.py {' '.join(sys.argv[1:])}`"]
    estimates = [work.estimate(plan) for work in works]
    progress = Progress(sum(estimates))
    sections: list[Section] = []
    for number, work in enumerate(works):
        progress.say(f"work {number + 1} of {len(works)}: {work.name}")
        try:
            sections.append(Section(work.name, work.title, work.run(Context(plan, progress))))
        except BenchmarkError as error:
            progress.say(f"{work.name}: {error}")
            sections.append(Section(work.name, work.title, problem=str(error)))
        progress.catch_up(sum(estimates[: number + 1]))
        write(facts, sections, output)
    if is_published:
        processor, cores = machine.processor(), os.cpu_count() or 0
        directory = machine.REPOSITORY / "docs" / "benchmarks" / page.folder(processor, cores)
        page.publish(directory, f"{processor}, {cores} cores", facts, sections, [work.name for work in WORKS])
        print(f"published in {directory}", file=sys.stderr)
    print((output / REPORT).read_text())
    print(f"written to {output}", file=sys.stderr)
    return 1 if any(section.result is None for section in sections) else 0


def describe(plan: Plan) -> str:
    share = f", shared by {plan.processes_started} processes of each contestant," if plan.processes_started > 1 else ""
    text = f"{plan.rounds} rounds of {plan.seconds} s{share} after {plan.warm_up} s of warm-up of each, at least"
    return f"**quick run: these figures show that it runs, not how fast**; {text}" if plan.is_quick else text


def write(facts: Sequence[str], sections: Sequence[Section], output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    (output / REPORT).write_text(markdown.render("Benchmarks", facts, sections))
    for section in sections:
        if section.result is not None:
            for name, content in markdown.plots(section.name, section.result.series).items():
                (output / name).write_text(content)
