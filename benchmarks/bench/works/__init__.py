"""Everything that is measured, in the order of the report. A new work is a module with `WORKS`, and its name in two lines here."""

from collections.abc import Sequence

from bench.works import bodies, cached, fixed_rate, health, requests, system_calls
from bench.works.work import Work

WORKS: Sequence[Work] = tuple(work for module in (health, requests, fixed_rate, system_calls, cached, bodies) for work in module.WORKS)
