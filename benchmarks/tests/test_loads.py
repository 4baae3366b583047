import math
import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from bench.errors import BenchmarkError
from bench.figures import CPU, P99
from bench.loads import h2load, wrk
from bench.loads.h2load import H2load
from bench.loads.wrk import Wrk
from bench.processes import CpuTime
from bench.works import WORKS
from bench.works.saturated import SaturatedWork, sample_of

WRK_OUTPUT = """\
Running 1s test @ http://127.0.0.1:8080/health
Requests/sec:  11458.51
{"requests":%d,"microseconds":2000000,"latencies":{"50":500,"99.9":2500,"100":9000},"errors":{"connect":0,"read":%d,"write":0,"status":0,"timeout":0}}
"""

H2LOAD_OUTPUT = """\
requests: 10 total, 10 started, 10 done, %d succeeded, %d failed, 0 errored, 0 timeout
status codes: %d 2xx, 0 3xx, 0 4xx, %d 5xx
"""


class WrkTests(unittest.TestCase):
    def test_output_is_read(self) -> None:
        seen = wrk.parse(WRK_OUTPUT % (4000, 0), busy=0.5)
        self.assertEqual(seen.rate, 2000)
        self.assertEqual(dict(seen.latencies), {50.0: 0.5, 99.9: 2.5, 100.0: 9.0})
        self.assertEqual(seen.busy, 0.5)

    def test_pipelined_latencies_are_left_out(self) -> None:
        self.assertFalse(Wrk("/x", 7).is_pipelined)
        script = Path(self.enterContext(tempfile.TemporaryDirectory())) / "wrk"
        script.write_text(f"#!/bin/sh\ncat << 'END'\n{WRK_OUTPUT % (4000, 0)}END\n")
        script.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, PATH=f"{script.parent}:{os.environ['PATH']}"):
            seen = Wrk("/x", 7, script=("pipeline=16",), cores="0").run("http://h:1", 1)
        self.assertEqual((seen.requests, seen.latencies), (4000, {}))
        self.assertNotIn(P99, sample_of(seen, CpuTime(1, 1), 1).values)

    def test_no_target_asks_for_latencies_of_pipelined_requests(self) -> None:
        works = [work for work in WORKS if isinstance(work, SaturatedWork) and getattr(work.load, "is_pipelined", False)]
        self.assertEqual(len(works), 3)
        self.assertEqual({target.figure for work in works for target in work.targets}, {CPU})

    def test_failed_request_is_an_error(self) -> None:
        with self.assertRaisesRegex(BenchmarkError, "'read': 3"):
            wrk.parse(WRK_OUTPUT % (4000, 3))

    def test_no_answer_took_for_ever(self) -> None:
        self.assertEqual(wrk.parse(WRK_OUTPUT % (0, 0)).latencies[50], math.inf)

    def test_output_without_figures_is_an_error(self) -> None:
        for output in ("", "unable to connect"):
            with self.assertRaisesRegex(BenchmarkError, "no figures"):
                wrk.parse(output)

    def test_command_has_everything(self) -> None:
        load = Wrk("/x", 7, headers=("Connection: close",), script=("close=10",), wrapper=("perf", "stat"))
        command = load.command("http://h:1", 3)
        self.assertEqual(command[:3], ["perf", "stat", "wrk"])
        self.assertEqual(command[command.index("--header") + 1], "Connection: close")
        self.assertEqual(command[-3:], ["http://h:1/x", "--", "close=10"])

    def test_post_is_made_by_curl_too(self) -> None:
        self.assertIn("--data-binary", Wrk("/sink", 1, script=("post=5",)).curl_options)
        self.assertNotIn("--data-binary", Wrk("/health", 1).curl_options)


class H2loadTests(unittest.TestCase):
    def test_success_passes(self) -> None:
        h2load.check(H2LOAD_OUTPUT % (10, 0, 10, 0))

    def test_failure_or_bad_status_is_an_error(self) -> None:
        for counts in ((9, 1, 9, 0), (10, 0, 9, 1)):
            with self.assertRaisesRegex(BenchmarkError, "requests failed"):
                h2load.check(H2LOAD_OUTPUT % counts)

    def test_log_is_summarized(self) -> None:
        seen = h2load.summarize("".join(f"17953053772085{n}\t200\t{n}000\n" for n in range(100, 0, -1)), 4)
        self.assertEqual((seen.requests, seen.rate), (100, 25))
        self.assertEqual((seen.latencies[50], seen.latencies[99], seen.latencies[100]), (50, 99, 100))

    def test_empty_log_is_an_error(self) -> None:
        with self.assertRaises(BenchmarkError):
            h2load.summarize("", 1)

    def test_percentile_is_the_nearest_rank(self) -> None:
        self.assertEqual([h2load.percentile([1, 2, 3, 4], percent) for percent in (1, 25, 26, 75, 99, 100)], [1, 1, 2, 3, 4, 4])

    def test_constant_rate_has_room_to_pipeline(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            command = H2load("/x", 10, rate=5000).command("http://h:1", 1, Path(directory))
        self.assertIn("--rps=500.000", command)
        self.assertEqual(command[command.index("--max-concurrent-streams") + 1], "5000")
