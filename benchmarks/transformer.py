"""Runs MiniLM-L6 and the small size of polyseme in turn on the same sentences."""

import sys
from contextlib import ExitStack
from typing import Any

from benchmarks.models import random_model
from benchmarks.process import PRECISIONS, Results, Worker, say, share_of_others
from benchmarks.text import first_sentences

MINILM, POLYSEME = "benchmarks.minilm_worker", "benchmarks.polyseme_worker"
MINILM_PRECISIONS = ("float32", "bfloat16")


def measure(results: Results, *, peer: str, rounds: int, quick: bool) -> None:
    """Measure each and keep the figures."""
    text = first_sentences(128 if quick else 1024)
    model = str(random_model("small"))
    say("\nMiniLM-L6 and the small size")
    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        for precision in MINILM_PRECISIONS:
            workers[f"MiniLM-L6, {precision}"] = worker = stack.enter_context(Worker(peer, MINILM))
            worker("load", precision=precision)
            worker("run", path=str(text))  # its first run is slower
        for precision in PRECISIONS:
            workers[f"polyseme small, {precision}"] = worker = stack.enter_context(Worker(sys.executable, POLYSEME))
            worker("load", model=model, precision=precision)
        runs: dict[str, Any] = {name: {"speed": []} for name in workers}
        for _ in range(rounds):
            for name, worker in workers.items():
                done = worker("run", path=str(text))
                runs[name]["speed"].append(done["tokens"] / done["seconds"])
        others = share_of_others(workers.values())
        for name, worker in workers.items():
            runs[name]["peak_mib"] = worker("peak_mib")
            say(f"  {name}: {', '.join(f'{value:,.0f}' for value in runs[name]['speed'])} words/s")
    results.keep("transformer", {"runs": runs, "others": others})
