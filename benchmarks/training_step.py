"""Runs the straightforward trainer and polyseme's in turn, on batches of one shape from the same text."""

import sys
from contextlib import ExitStack
from typing import Any

from benchmarks.models import SIZES
from benchmarks.process import Results, Worker, say, share_of_others
from benchmarks.text import sentences

TEXT_TOKENS = 1_000_000
VOCABULARY = 30_000
ROWS, STEPS = 128, 20
PLAIN, POLYSEME = "benchmarks.plain_trainer", "benchmarks.polyseme_trainer"
UPDATES = {PLAIN: 2, POLYSEME: 8}
"""Updates of one run: enough to be timed well, and few enough that rounds stay close together."""


def measure(results: Results, *, rounds: int, quick: bool) -> None:
    """Measure each trainer in each precision and keep the figures."""
    text, _ = sentences(TEXT_TOKENS)
    rows, updates = (16, dict.fromkeys(UPDATES, 1)) if quick else (ROWS, UPDATES)
    say(f"\ntraining: {SIZES['small'].parameters:,} parameters and a softmax of {VOCABULARY:,} words")
    runs: dict[str, Any] = {}
    with ExitStack() as stack:
        workers = {}
        for name, module, beside, settings in _trainers():
            workers[name] = worker = stack.enter_context(Worker(sys.executable, module))
            worker("load", path=str(text), rows=rows, steps=STEPS, vocabulary_size=VOCABULARY, **settings)
            worker("run", updates=1)  # the first update allocates what the others reuse
            runs[name] = {"precision": settings["precision"], "beside": beside, "module": module, "speed": []}
        for number in range(rounds):
            for name, worker in workers.items():
                done = worker("run", updates=updates[runs[name]["module"]])
                runs[name]["speed"].append(done["tokens"] / done["seconds"])
            shown = ", ".join(f"{name} {run['speed'][-1]:,.0f}" for name, run in runs.items())
            say(f"  round {number + 1}: {shown} tokens/s")
        others = share_of_others(workers.values())
        for name, worker in workers.items():
            runs[name]["peak_mib"] = worker("peak_mib")
    what = f"small size, softmax of {VOCABULARY:,} words, batches of {rows * STEPS:,} tokens"
    results.keep("training", {"what": what, "runs": runs, "others": others})


def _trainers() -> list[tuple[str, str, str, dict[str, str]]]:
    """Name, module, what to compare it with, settings; each of ours follows its counterpart."""
    trainers = []
    for precision in ("float32", "bfloat16"):
        plain = f"straightforward, {precision}"
        trainers.append((plain, PLAIN, "", {"precision": precision}))
        for softmax in ("sampled", "full"):
            name = f"polyseme, {precision}, {softmax} softmax"
            trainers.append((name, POLYSEME, plain, {"precision": precision, "softmax": softmax}))
    return trainers
