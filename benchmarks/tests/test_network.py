"""The namespace that a run can have for itself, and the option that asks for it."""

import contextlib
import io
import os
import subprocess
import sys
import unittest
from pathlib import Path

from bench import command, network

BENCHMARKS = Path(__file__).resolve().parent.parent
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
TALK_TO_ITSELF = """
import socket
import sys
from bench import network
network.enter_own(sys.argv[1])
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=10) as client:
    name = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode()
    print(network.congestion_control(), name, len(socket.if_nameindex()))
"""


class OwnNamespace(unittest.TestCase):
    @unittest.skipIf(os.geteuid() != 0, "a namespace needs root")
    def test_has_a_loopback_with_what_was_asked_for_and_leaves_the_machine_alone(self) -> None:
        # Those that the machine allows to nobody but root's first namespace among them, as cubic is where BBR is the default.
        for name in network.available():
            with self.subTest(name):
                before = (network.congestion_control(), ALLOWED.read_text())
                finished = subprocess.run(
                    [sys.executable, "-c", TALK_TO_ITSELF, name], cwd=BENCHMARKS, capture_output=True, text=True, timeout=60
                )
                self.assertEqual("", finished.stderr)
                self.assertEqual(f"{name} {name} 1\n", finished.stdout)
                self.assertEqual(before, (network.congestion_control(), ALLOWED.read_text()))


class CongestionControlOption(unittest.TestCase):
    def test_is_the_kernels_default(self) -> None:
        self.assertEqual("cubic", command.parse([]).congestion_control)

    def test_must_be_one_that_the_kernel_has(self) -> None:
        error = io.StringIO()
        with contextlib.redirect_stderr(error), self.assertRaises(SystemExit):
            command.parse(["--congestion-control", "carrier-pigeon"])
        self.assertIn("--congestion-control: the kernel has no 'carrier-pigeon', but ", error.getvalue())


if __name__ == "__main__":
    unittest.main()
