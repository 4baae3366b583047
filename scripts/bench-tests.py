#!/usr/bin/env python3
"""Runs the tests of the benchmark's own code, which need no server and no network. Ends with "N passed, N failed, N skipped"."""

import sys
import unittest
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


def main() -> int:
    tests = unittest.defaultTestLoader.discover(str(BENCHMARKS / "tests"), top_level_dir=str(BENCHMARKS))
    result = unittest.TextTestRunner(verbosity=1).run(tests)
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped", flush=True)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
