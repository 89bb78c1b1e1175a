"""Training with one thread, with two and with ``auto``, alone and beside a process that keeps one core busy.

``python -m benchmarks.threads`` prints a table. Every run is held while another one computes, and they take turns, so
that other work on the machine meets all of them alike.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any

from benchmarks.process import Worker, say, share_of_others
from benchmarks.text import sentences

TEXT_TOKENS = 1_000_000
NUMBERS: tuple[int | str, ...] = (1, 2, "auto")
SETTLE = 40
"""Updates that ``auto`` has to find its number after the machine has changed; they are not counted."""


@contextmanager
def busy(beside: bool) -> Iterator[None]:
    """Another process that never waits, if asked for."""
    if not beside:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measure(*, rounds: int, updates: int, precision: str) -> None:
    """Print tokens per second of each number of threads, alone and beside a busy process."""
    text, _ = sentences(TEXT_TOKENS)
    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        for number in NUMBERS:
            worker = stack.enter_context(Worker(sys.executable, "benchmarks.polyseme_trainer"))
            worker("load", path=str(text), rows=64, steps=16, precision=precision, threads=number)
            worker("run", updates=2)  # the first updates allocate what the others reuse
            workers[str(number)] = worker
        for beside in (False, True):
            with busy(beside):
                _compare(workers, "beside a busy process" if beside else "alone", rounds=rounds, updates=updates)


def _compare(workers: dict[str, Worker], where: str, *, rounds: int, updates: int) -> None:
    workers["auto"]("run", updates=SETTLE)
    speeds: dict[str, list[float]] = {name: [] for name in workers}
    for _ in range(rounds):
        for name, worker in workers.items():
            done: dict[str, Any] = worker("run", updates=updates)
            speeds[name].append(done["tokens"] / done["seconds"])
    others = share_of_others(workers.values())
    shown = ", ".join(f"{name} {median(each):,.0f}" for name, each in speeds.items())
    fixed = max(median(speeds[name]) for name in ("1", "2"))
    ratio = median(speeds["auto"]) / fixed
    say(f"{where}: tokens/s with threads {shown}; auto is {ratio:.2f} of the best fixed number")
    say(f"  other work took {others:.0%} of the processors' time so far")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=10, help="of one turn")
    parser.add_argument("--precision", default="bfloat16", choices=("float32", "bfloat16"))
    given = parser.parse_args()
    measure(rounds=given.rounds, updates=given.updates, precision=given.precision)
