"""Everything that is measured, in the order of the report. A new work is a module with `WORKS`, and its name in two lines here."""

from collections.abc import Sequence

from bench.works import (
    aged,
    blocked,
    bodies,
    cached,
    cold_start,
    compressed,
    fan_out,
    files,
    fixed_rate,
    health,
    held_uploads,
    http_client,
    idle,
    loops,
    passes,
    requests,
    secure,
    system_calls,
    techempower,
)
from bench.works.work import Work

MODULES = (
    health,
    blocked,
    requests,
    techempower,
    fixed_rate,
    system_calls,
    cached,
    compressed,
    files,
    passes,
    http_client,
    bodies,
    secure,
    fan_out,
    loops,
    aged,
    idle,
    held_uploads,
    cold_start,
)
WORKS: Sequence[Work] = tuple(work for module in MODULES for work in module.WORKS)
