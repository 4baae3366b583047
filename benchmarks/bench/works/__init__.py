"""Everything that is measured, in the order of the report. A new work is a module with `WORKS`, and a line here."""

from collections.abc import Sequence

from bench.works import health
from bench.works.work import Work

WORKS: Sequence[Work] = (*health.WORKS,)
