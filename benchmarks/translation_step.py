"""Runs the straightforward translator and polyseme's in turn, on the same batches of the same pairs.

    python -m benchmarks.translation_step pairs.tsv --vectors glove.6B.50d.txt

prints target words per second, and per second of processor time, which other work on the machine disturbs less.
"""

import argparse
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.process import Worker, say
from polyseme.progress import Watcher
from polyseme.train.translate.plan import PAIRS, PairSource, TranslatePlan
from polyseme.train.translate.settings import TranslateSettings

PLAIN, POLYSEME = "benchmarks.plain_translator", "benchmarks.polyseme_translator"
Trainers = list[tuple[str, str, dict[str, str]]]


def measure(folder: Path, trainers: Trainers, *, rounds: int, updates: int) -> dict[str, dict[str, float]]:
    """Target words per second and per processor second of each trainer: the median of all rounds."""
    speeds: dict[str, dict[str, list[float]]] = {name: {"seconds": [], "processor": []} for name, _, _ in trainers}
    with ExitStack() as stack:
        workers: dict[str, Any] = {}
        for name, module, options in trainers:
            workers[name] = worker = stack.enter_context(Worker(sys.executable, module))
            worker("load", folder=str(folder), **options)
            worker("run", updates=2)  # the first updates allocate what the others reuse
        for number in range(rounds):
            for name, worker in workers.items():
                done = worker("run", updates=updates)
                for clock, values in speeds[name].items():
                    values.append(done["tokens"] / done[clock])
            shown = ", ".join(f"{name} {some['processor'][-1]:,.0f}" for name, some in speeds.items())
            say(f"round {number + 1}, words per processor second: {shown}")
    return {name: {clock: statistics.median(some) for clock, some in one.items()} for name, one in speeds.items()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.translation_step", description=__doc__.splitlines()[0])
    parser.add_argument("parallel", nargs="+", help="a table or two files of parallel text")
    parser.add_argument("--vectors", required=True, help="static vectors of the source language")
    parser.add_argument("--fields", default="", help="two columns or fields of a table, such as 1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=8, help="updates of one round")
    given = parser.parse_args()
    trainers: Trainers = []
    for precision in ("float32", "bfloat16"):
        trainers.append((f"straightforward, {precision}", PLAIN, {"precision": precision}))
        for softmax in ("full", "sampled"):
            trainers.append(
                (f"polyseme, {precision}, {softmax}", POLYSEME, {"precision": precision, "softmax": softmax})
            )
    with TemporaryDirectory() as temporary:
        fields = given.fields.split(",") if given.fields else []
        source = PairSource(parallel=given.parallel, vectors=given.vectors, fields=fields)
        TranslatePlan(source, TranslateSettings.model_validate({}), Path(temporary, "model")).prepare(
            Path(temporary), Watcher()
        )
        found = measure(Path(temporary, PAIRS), trainers, rounds=given.rounds, updates=given.updates)
    say(f"{'':30}{'words/s':>10}{'per processor second':>24}{'ratio':>8}")
    for name, speed in found.items():
        beside = found[f"straightforward, {name.split(', ')[1]}"]["processor"]
        ratio = speed["processor"] / beside
        say(f"{name:30}{speed['seconds']:>10,.0f}{speed['processor']:>24,.0f}{ratio:>8.2f}")


if __name__ == "__main__":
    main()
