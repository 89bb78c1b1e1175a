"""What has the server done so far? Counters in the text format of Prometheus."""

import os
import resource
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from polyseme import __version__

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TOKENS = (16, 64, 256, 1024, 4096, 16384)


class Histogram:
    """How often a value was at most each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: str) -> Iterator[str]:
        """As Prometheus reads it."""
        total, comma = 0, "," if labels else ""
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{labels}{comma}le="{bound}"}} {total}'
        yield f"{name}_sum{{{labels}}} {self._sum:.6f}"
        yield f"{name}_count{{{labels}}} {total}"


class Metrics:
    """The counters of one process.

    Attributes:
        tokens: Tokens that were computed.
        batches: Tokens in each batch.
        in_flight: Requests that were taken and are not answered yet.
    """

    def __init__(self) -> None:
        self.begun = time.time()
        self.tokens = 0
        self.in_flight = 0
        self.batches = Histogram(TOKENS)
        self._answers: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(SECONDS))

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._answers[path, status] += 1
        self._seconds[path].add(seconds)

    def text(self, gauges: dict[str, tuple[str, float]], info: dict[str, str]) -> str:
        """All of it.

        Args:
            gauges: Values of this moment by name, each with what it is.
            info: Labels of the server.
        """
        return "\n".join([*self._lines(gauges, info), ""])

    def _lines(self, gauges: dict[str, tuple[str, float]], info: dict[str, str]) -> Iterator[str]:
        labels = {**info, "version": __version__, "process": str(os.getpid())}
        shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
        yield from _head("polyseme_info", "gauge", "The model, and the process that answers this.")
        yield f"polyseme_info{{{shown}}} 1"
        yield from _head("polyseme_requests_total", "counter", "Answers by path and status.")
        for (path, status), count in sorted(self._answers.items()):
            yield f'polyseme_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _head("polyseme_request_seconds", "histogram", "Time from the request to its answer.")
        for path, histogram in sorted(self._seconds.items()):
            yield from histogram.lines("polyseme_request_seconds", f'path="{path}"')
        yield from _head("polyseme_batch_tokens", "histogram", "Tokens that were computed together.")
        yield from self.batches.lines("polyseme_batch_tokens", "")
        yield from _value("polyseme_tokens_total", "counter", "Tokens that were embedded.", self.tokens)
        yield from _value("polyseme_requests_in_flight", "gauge", "Requests that are not answered yet.", self.in_flight)
        for name, (what, value) in gauges.items():
            yield from _value(f"polyseme_{name}", "gauge", what, value)
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = used.ru_utime + used.ru_stime
        yield from _value("process_cpu_seconds_total", "counter", "Processor time of this process.", seconds)
        yield from _value("process_resident_memory_bytes", "gauge", "Memory of this process.", resident_bytes())
        yield from _value("process_start_time_seconds", "gauge", "When it began.", self.begun)


def resident_bytes() -> int:
    """The memory that this process has now; 0 where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def _head(name: str, kind: str, what: str) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"


def _value(name: str, kind: str, what: str, value: float) -> Iterator[str]:
    yield from _head(name, kind, what)
    yield f"{name} {value}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
