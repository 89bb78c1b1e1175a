"""Workers that compute in processes and environments of their own, one command at a time.

The parent writes a JSON line and waits for the JSON line that answers it, so that only one worker computes at a time.
Nothing here is imported from outside the standard library: it runs in every peer's environment.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parent.parent
CACHE = ROOT / "benchmarks/cache"
RESULTS = ROOT / "benchmarks/results.json"
QUICK_RESULTS = CACHE / "quick.json"
PRECISIONS = ("float32", "bfloat16", "int8")


def say(text: str = "") -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Results:
    """The figures of runs in a JSON file; each part is stored as soon as it is measured."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        """All stored parts."""
        return json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}

    def keep(self, part: str, figures: Any) -> None:
        """Add or replace one part."""
        self._path.parent.mkdir(exist_ok=True)
        self._path.write_text(json.dumps({**self.read(), part: figures}, indent=1) + "\n", encoding="utf-8")


class Worker:
    """A module run as a process that answers commands.

    Args:
        python: The interpreter of its environment.
        module: The module to run; it must call `serve`.

    Attributes:
        seconds: How long its commands took.
        others: Processor seconds that other processes on the machine took in that time.
    """

    def __init__(self, python: str | Path, module: str) -> None:
        self._name = module
        self.seconds, self.others = 0.0, 0.0
        self._process = subprocess.Popen(
            [str(python), "-m", module],
            cwd=ROOT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, order: str, /, **options: Any) -> Any:
        """Send a command and return the answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        clock, busy, own = time.perf_counter(), _busy_ticks(), self._own_ticks()
        stdin.write(json.dumps([order, options]) + "\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            raise SystemExit(f"{self._name} ended with code {self._process.wait()} at {order!r}; see its message above")
        self.seconds += time.perf_counter() - clock
        self.others += (_busy_ticks() - busy - self._own_ticks() + own) / os.sysconf("SC_CLK_TCK")
        return json.loads(answer)

    def _own_ticks(self) -> int:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])  # in user and in system mode

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def share_of_others(workers: Iterable[Worker]) -> float:
    """The share of processor time that other work took while these workers ran; close to 0 in a fair run."""
    workers = list(workers)
    time_there_was = sum(worker.seconds for worker in workers) * (os.cpu_count() or 1)
    return max(0.0, sum(worker.others for worker in workers) / time_there_was)


def serve(orders: Mapping[str, Callable[..., Any]]) -> None:
    """Execute commands from standard input until it ends; every worker knows the command ``peak_mib``."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not be among the answers
    known = {**orders, "peak_mib": peak_mib}
    for line in sys.stdin:
        order, options = json.loads(line)
        answers.write(json.dumps(known[order](**options)) + "\n")
        answers.flush()


def _busy_ticks() -> int:
    """Seconds that the processors were busy since the machine started, in total."""
    user, nice, system, _, _, irq, soft_irq, stolen = (
        int(field) for field in Path("/proc/stat").read_text(encoding="utf-8").split(maxsplit=9)[1:9]
    )
    return user + nice + system + irq + soft_irq + stolen


def peak_mib() -> float:
    """The peak memory of this process."""
    # Not getrusage: on Linux that begins with what the parent held when it started the process.
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
