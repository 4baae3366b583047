#!/usr/bin/env python3
"""Runs the whole benchmark of this repository, or the works that --only names: see --help."""

import sys

from bench.command import main

if __name__ == "__main__":
    sys.exit(main())
