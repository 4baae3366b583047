"""IoUringCache.HttpClientLoad, which is the contestant itself: it is told how long to ask its origin."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from urllib.parse import urlencode

from bench.errors import BenchmarkError
from bench.loads.load import Seen

PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class HttpClientLoad:
    """So many requests at once by one client."""

    path: str
    connections: int
    curl_options: tuple[str, ...] = ("--http1.1",)
    tools: tuple[str, ...] = ("nginx",)

    def run(self, base_url: str, seconds: int) -> Seen:
        query = urlencode({"path": self.path, "connections": self.connections, "seconds": seconds})
        try:
            with urllib.request.urlopen(f"{base_url}/run?{query}", timeout=seconds + PATIENCE_SECONDS) as response:
                figures = json.load(response)
        except OSError as error:
            raise BenchmarkError(f"the client failed: {error}") from error
        return Seen(figures["requests"], figures["microseconds"] / 1_000_000)

    def describe(self) -> str:
        return f"{self.connections} tasks that each await one `HttpClient.GetByteArrayAsync` of {self.path} after the other"
