import contextlib
import io
import itertools
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast
from unittest import mock

from bench.answers import Answer, check_equal
from bench.command import parse
from bench.compiling import COMPILER_THREAD, QUIET_STRETCHES, compiled_since, read_compilers, warm_up
from bench.contestants.dotnet import find_urls
from bench.contestants.server import Contestant, Server
from bench.disturbance import Moment, read_moment, undisturbed
from bench.errors import BenchmarkError
from bench.figures import BUSY, COMPILING, CPU, P99, REQUESTS, SLOWED, STOLEN, Sample
from bench.loads.load import Load, Seen
from bench.pace import PaceWatch, time_steps
from bench.plan import FULL, QUICK
from bench.processes import CpuTime, MeasuredProcess, read_cpu, read_kibibytes
from bench.progress import Progress, show_duration
from bench.works import WORKS, cold_start, fan_out, loops
from bench.works.requests import accepted_connections
from bench.works.saturated import measure_in_turns, sample_of
from bench.works.system_calls import parse as parse_perf
from bench.works.work import Context

BENCHMARKS = Path(__file__).resolve().parent.parent


class ReadingTests(unittest.TestCase):
    def test_processor_time_is_found_behind_any_name(self) -> None:
        tick = os.sysconf("SC_CLK_TCK")
        cpu = read_cpu(f"12 (a) b) S 1 1 1 0 -1 4 1 0 0 0 {3 * tick} {5 * tick} 7 7 20 0")
        self.assertEqual((cpu.user, cpu.system, cpu.total), (3, 5, 8))

    def test_memory_is_found_by_its_whole_name(self) -> None:
        text = "VmRSSX:\t1 kB\nVmRSS:\t  204 kB\nRssAnon:\t5 kB\n"
        self.assertEqual(read_kibibytes(text, "VmRSS"), 204)
        self.assertEqual(read_kibibytes(text, "Pss"), 0)

    def test_accepted_connections_are_those_of_tcp(self) -> None:
        snmp = "Ip: Forwarding PassiveOpens\nIp: 1 5\nTcp: RtoMin PassiveOpens MaxConn\nTcp: 200 42 -1\n"
        self.assertEqual(accepted_connections(snmp), 42)

    def test_perf_output_is_read(self) -> None:
        self.assertEqual(parse_perf("# started\n\n123,,raw_syscalls:sys_enter,1000,100.00,,\n"), 123)
        with self.assertRaisesRegex(BenchmarkError, "counted nothing"):
            parse_perf("<not counted>,,raw_syscalls:sys_enter,0,100.00,,\n")

    def test_urls_are_read_in_order(self) -> None:
        log = "Now listening on: http://127.0.0.1:1\nother\n      Now listening on: https://127.0.0.1:23\n"
        self.assertEqual(find_urls(log), ["http://127.0.0.1:1", "https://127.0.0.1:23"])


class ColdStartTests(unittest.TestCase):
    def test_half_of_a_body_is_timed_and_the_rest_comes_when_it_is_told_to(self) -> None:
        with contextlib.ExitStack() as opened:
            origin = cold_start.HeldOrigin()
            opened.callback(origin.stop)
            threading.Timer(0.05, origin.end_body).start()
            port, piece = int(origin.url.rpartition(":")[2]), cold_start.PIECE_BYTES
            self.assertGreater(cold_start.time_request(opened, port, 2 * piece, b"max-age"), 49)

    def test_an_answer_of_another_kind_is_not_timed(self) -> None:
        with contextlib.ExitStack() as opened:
            origin = cold_start.HeldOrigin()
            opened.callback(origin.stop)
            port = int(origin.url.rpartition(":")[2])
            with self.assertRaisesRegex(BenchmarkError, "otherwise than by 'hit'"):
                cold_start.time_request(opened, port, cold_start.PIECE_BYTES, b"hit")


class SampleTests(unittest.TestCase):
    def test_unevenness_is_the_busiest_by_the_mean(self) -> None:
        self.assertEqual(loops.unevenness([3, 1]), 1.5)
        self.assertEqual(loops.unevenness([2, 2]), 1)
        self.assertEqual(loops.unevenness([0, 0]), 1)

    def test_fan_out_report_is_read(self) -> None:
        report = {
            "cpuMicrosecondsPerChunk": 9.5,
            "delayMs": {"50": 1, "99": 3, "99.9": 4},
            "chunksDelivered": 600,
            "seconds": 3,
            "serviceBusy": 0.5,
            "generatorBusy": 0.91,
            "allocatedBytesPerChunk": None,
        }
        sample = fan_out.sample_of(report)
        self.assertEqual((sample.values[fan_out.CPU], sample.values[fan_out.DELIVERED], sample.values[P99]), (9.5, 200, 3))
        self.assertEqual(dict(sample.latencies), {50: 1, 99: 3, 99.9: 4})
        self.assertNotIn(fan_out.ALLOCATED, sample.values)
        self.assertTrue(sample.limited)

    def test_cost_is_per_request(self) -> None:
        sample = sample_of(Seen(1000, 2, {50: 1, 99: 2}), CpuTime(0.5, 1.5), 80)
        self.assertEqual((sample.values[CPU], sample.values[REQUESTS], sample.values[BUSY]), (2000, 500, 100))

    def test_server_that_idles_was_limited_by_the_load(self) -> None:
        for used, limited in ((1.79, True), (1.81, False)):
            self.assertEqual(sample_of(Seen(1, 2, {50: 1, 99: 1}), CpuTime(0, used), 1).limited, limited)


class DisturbanceTests(unittest.TestCase):
    """Each attempt lasts 200 ticks, and its sample is its number."""

    def chosen(self, lost: list[tuple[int, float]], attempts: int, slowed: Iterable[float] = itertools.repeat(0.0)) -> Sample:
        """Of attempts that lose so many ticks to the hypervisor, so many seconds to a compiler, and so much of the cores to who shares them."""
        times = [Moment(0, 0, {7: 0})]
        for ticks, seconds in lost:
            last = times[-1]
            times += [Moment(last.total + 200, last.stolen + ticks, {7: last.compilers[7] + seconds})] * 2
        numbers, clock = itertools.count(1), iter(times)
        paces = iter(slowed)

        @contextlib.contextmanager
        def watch() -> Iterator[PaceWatch]:
            yield cast(PaceWatch, mock.Mock(lost_percent=next(paces)))

        return undisturbed(lambda: Sample({CPU: next(numbers)}), attempts, lambda: next(clock), watch)

    def test_stolen_time_is_the_eighth_of_the_processors_line(self) -> None:
        self.assertEqual(read_moment("cpu  1 2 3 4 5 6 7 8 1 1\ncpu0 1 1 1 1 1 1 1 1 0 0\n", {}), Moment(36, 8))

    def test_attempts_end_with_the_first_that_is_calm(self) -> None:
        sample = self.chosen([(3, 0), (2, 0), (0, 0)], attempts=3)
        self.assertEqual((sample.values[CPU], sample.values[STOLEN]), (2, 1))

    def test_compilers_disturb_like_the_hypervisor(self) -> None:
        tick = 1 / os.sysconf("SC_CLK_TCK")
        sample = self.chosen([(0, 3 * tick), (1, 1 * tick), (0, 0)], attempts=3)
        self.assertEqual((sample.values[CPU], sample.values[STOLEN]), (2, 0.5))
        self.assertAlmostEqual(sample.values[COMPILING], 0.5)

    def test_cores_that_are_shared_disturb_like_the_hypervisor(self) -> None:
        sample = self.chosen([(0, 0), (1, 0), (1, 0)], attempts=3, slowed=[2.5, 0.75, 0.25])
        self.assertEqual((sample.values[CPU], sample.values[STOLEN], sample.values[SLOWED]), (3, 0.5, 0.25))

    def test_least_disturbed_counts_where_none_is_calm(self) -> None:
        sample = self.chosen([(9, 0), (3, 0), (6, 0)], attempts=3)
        self.assertEqual((sample.values[CPU], sample.values[STOLEN]), (2, 1.5))

    def test_first_one_counts_where_it_is_the_only_one(self) -> None:
        self.assertEqual(self.chosen([(9, 0)], attempts=1).values[CPU], 1)


class PaceTests(unittest.TestCase):
    def lost_percent(self, *glimpses: float) -> float:
        """Of so many glimpses of one core whose fastest so far was 1."""
        seen, done = iter(glimpses), threading.Event()

        def glimpse() -> float:
            seconds = next(seen, None)
            if seconds is None:
                done.set()
                raise SystemExit  # Ends the watch's thread, and nothing else.
            return seconds

        with mock.patch("bench.pace.INTERVAL_SECONDS", 0.001), mock.patch.object(PaceWatch, "_fastest", {0: 1.0}):
            with PaceWatch([0], glimpse) as pace:
                self.assertTrue(done.wait(10))
            return pace.lost_percent

    def test_half_the_pace_in_half_of_the_glimpses_is_a_quarter(self) -> None:
        self.assertEqual(self.lost_percent(1, 2, 1, 2), 25)

    def test_little_more_is_nothing(self) -> None:
        self.assertEqual(self.lost_percent(1.3, 1.1), 0)

    def test_faster_than_ever_is_the_measure_from_then_on(self) -> None:
        self.assertEqual(self.lost_percent(0.5, 1), 25)

    def test_nothing_seen_is_nothing_lost(self) -> None:
        self.assertEqual(PaceWatch().lost_percent, 0)

    def test_steps_take_time(self) -> None:
        self.assertGreater(time_steps(), 0)


class CompilingTests(unittest.TestCase):
    def test_threads_that_come_and_go_count_for_what_they_did(self) -> None:
        self.assertAlmostEqual(compiled_since({1: 2.5, 3: 0.25}, {1: 2.0, 2: 9.0}), 0.75)

    def test_compiler_is_found_by_the_name_of_its_thread(self) -> None:
        script = f"import pathlib; pathlib.Path('/proc/self/comm').write_text('{COMPILER_THREAD}'); print('ready', flush=True); input()"
        with tempfile.TemporaryDirectory() as directory:
            process = MeasuredProcess("compiler", ["sleep", "60"], Path(directory) / "log", "0")
            other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            try:
                assert other.stdout is not None
                self.assertEqual(other.stdout.readline(), b"ready\n")
                self.assertEqual(read_compilers([process]), {})
                self.assertGreater(read_compilers([cast(MeasuredProcess, mock.Mock(pids=lambda: [other.pid]))])[other.pid], 0)
            finally:
                other.communicate(b"\n", timeout=10)
                process.stop()

    def stretches(self, compiled: list[float], **plan: int) -> int:
        """How often a server is loaded whose compiler takes so many seconds of each stretch, and none of later ones."""
        loads: list[int] = []
        readings = [{}, *({1: sum(compiled[: number + 1])} for number in range(len(compiled)))]

        def read(_: object) -> dict[int, float]:
            return readings[min(len(loads), len(compiled))]

        with mock.patch("bench.compiling.read_compilers", read), mock.patch("bench.compiling.REST_SECONDS", 0):
            warm_up(cast(MeasuredProcess, None), loads.append, replace(FULL, **plan))
        return len(loads)

    def test_warm_up_goes_on_until_the_compiler_has_rested(self) -> None:
        self.assertEqual(self.stretches([0.5, 0, 0, 0.5], warm_up=4), 4 + QUIET_STRETCHES)

    def test_warm_up_lasts_for_its_least(self) -> None:
        self.assertEqual(self.stretches([], warm_up=20), 10)

    def test_warm_up_ends_where_the_compiler_never_rests(self) -> None:
        self.assertEqual(self.stretches([0.5] * 50, warm_up=4, warm_up_most=30), 15)


class TurnTests(unittest.TestCase):
    def test_processes_of_each_contestant_take_the_rounds_in_turns(self) -> None:
        measured: list[str] = []

        def measure(server: Server, load: Load, seconds: int) -> Sample:
            measured.append(server.base_url)
            return Sample({CPU: 1})

        contestants = [Contestant(name, no_start) for name in "ab"]
        process = cast(MeasuredProcess, mock.Mock(pids=lambda: []))
        rows = [[Server(contestant.name, process, f"{contestant.name}{turn}") for contestant in contestants] for turn in "12"]
        plan = replace(QUICK, rounds=3, processes=2, warm_up=0, warm_up_most=0)
        with contextlib.redirect_stderr(io.StringIO()):
            series = measure_in_turns(Context(plan, Progress(1)), contestants, rows, cast(Load, NoLoad()), measure)
        self.assertEqual(measured, ["a1", "b1", "a2", "b2", "a1", "b1"])
        self.assertEqual([(each.name, len(each.samples)) for each in series], [("a", 3), ("b", 3)])

    def test_no_process_is_started_that_would_have_no_round(self) -> None:
        self.assertEqual([replace(FULL, rounds=rounds, processes=3).processes_started for rounds in (1, 3, 6)], [1, 3, 3])


    def test_every_process_must_give_the_same_answer(self) -> None:
        servers = [Server("a", cast(MeasuredProcess, None), url) for url in ("one", "two", "three")]
        for other, is_equal in ((Answer(200, "1.1", 2, "x"), True), (Answer(200, "1.1", 2, "y"), False), (Answer(500, "1.1", 2, "x"), False)):
            given = {"one/": Answer(200, "1.1", 2, "x"), "two/": other, "three/": Answer(200, "1.1", 2, "x")}
            with mock.patch("bench.answers.fetch", given.__getitem__):
                if is_equal:
                    self.assertEqual(check_equal(servers, "/"), other)
                else:
                    self.assertRaises(BenchmarkError, check_equal, servers, "/")


class NoLoad:
    def run(self, base_url: str, seconds: int) -> Seen:
        return Seen(0, 1, {})


def no_start(name: str, directory: Path, origin: str) -> Server:
    raise AssertionError(f"{name} is not to be started")


class ProcessTests(unittest.TestCase):
    def test_children_count_and_end_with_their_parent(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            script = "import subprocess, sys, time; subprocess.Popen(['sleep', '60']); print('ready', flush=True); time.sleep(60)"
            log = Path(directory) / "log"
            process = MeasuredProcess("parent", [sys.executable, "-c", "import signal; signal.signal(15, signal.SIG_IGN); " + script], log, "0")
            try:
                process.wait_until(lambda: "ready" in process.output())
                parent, child = process.pids()
                self.assertGreater(process.resident_mebibytes(), 1)
                self.assertGreaterEqual(process.cpu().total, 0)
            finally:
                process.stop(patience=0.1)
            for pid in (parent, child):
                self.assertIn(state_of(pid), ("", "Z"))

    def test_program_ends_with_the_benchmark_that_was_killed(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            script = (
                "import os, pathlib; from bench.processes import MeasuredProcess;"
                f" process = MeasuredProcess('orphan', ['sleep', '60'], pathlib.Path('{directory}/log'), '0');"
                " process.wait_until(lambda: pathlib.Path(f'/proc/{process.pid}/comm').read_text() == 'sleep\\n');"
                " print(process.pid, flush=True); os._exit(1)"
            )
            finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=BENCHMARKS)
            pid = int(finished.stdout)
            deadline = time.monotonic() + 10
            while state_of(pid) not in ("", "Z") and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertIn(state_of(pid), ("", "Z"))

    def test_program_that_ends_is_named_with_its_output(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            process = MeasuredProcess("broken", [sys.executable, "-c", "print('no port')"], Path(directory) / "log", "0")
            with self.assertRaisesRegex(BenchmarkError, "'broken' ended:\nno port"):
                process.wait_until(lambda: False)


def state_of(pid: int) -> str:
    return subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()


class ProgressTests(unittest.TestCase):
    def test_time_left_follows_what_the_work_really_takes(self) -> None:
        now = 0.0
        progress = Progress(200, clock=lambda: now)
        self.assertEqual(progress.left(), 200)
        progress.add(100)
        now = 150.0
        self.assertEqual(progress.left(), 150)
        progress.catch_up(300)
        self.assertEqual(progress.left(), 0)

    def test_durations_are_readable(self) -> None:
        self.assertEqual([show_duration(seconds) for seconds in (5, 89, 90, 5399, 5400)], ["5 s", "89 s", "2 min", "90 min", "1.5 h"])


class CommandTests(unittest.TestCase):
    def test_names_of_works_are_unique_and_fit_file_names(self) -> None:
        names = [work.name for work in WORKS]
        self.assertEqual(len(set(names)), len(names))
        for name in names:
            self.assertRegex(name, "^[a-z0-9-]+$")

    def test_targets_name_contestants_that_take_part(self) -> None:
        for work in WORKS:
            taking_part = {contestant.name for contestant in getattr(work, "contestants", ())}
            for target in getattr(work, "targets", ()):
                self.assertLessEqual({target.contestant}, taking_part, work.name)
                self.assertTrue(set(target.against) <= taking_part, work.name)

    def test_every_work_estimates_its_time(self) -> None:
        for work in WORKS:
            self.assertLess(0, work.estimate(QUICK))
            self.assertLess(work.estimate(QUICK), work.estimate(FULL))

    def test_only_chooses_in_the_order_of_the_report(self) -> None:
        arguments = parse(["--only", WORKS[2].name, WORKS[0].name, "--quick", "--rounds", "3", "--processes", "2"])
        self.assertEqual(arguments.works, [WORKS[0], WORKS[2]])
        plan = arguments.plan
        self.assertEqual((plan.rounds, plan.processes, plan.seconds, plan.is_quick), (3, 2, QUICK.seconds, True))

    def test_wrong_arguments_are_refused(self) -> None:
        for words in (["--only", "nothing"], ["--rounds", "0"], ["--rounds", "x"], ["--processes", "0"], ["--unknown"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                parse(words)
