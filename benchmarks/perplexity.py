"""Held-out perplexity after the same time: `polyseme train` and the straightforward trainer, on WikiText-2.

Run: python -m benchmarks.perplexity [--minutes 30] [--only polyseme|straightforward] [-- SETTINGS OF polyseme train]

Both train on the same sentences with the same vocabulary. The last twentieth of the training text selects the best
model; the reported perplexity is that of the validation text, which neither has seen, with a full softmax, each
sentence on its own.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.process import CACHE, RESULTS, Results, Worker, say
from benchmarks.text import WIKITEXT, wikitext

PRECISION = "bfloat16"
"""The quicker one for both."""
ROWS, STEPS = 128, 20
MIN_COUNT = 2


def main() -> None:
    """Run the selected trainers, one after the other, and store the figures."""
    parser = argparse.ArgumentParser(description="Compare held-out perplexity after the same time.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--only", choices=("polyseme", "straightforward"))
    parser.add_argument("settings", nargs="*", help="settings of polyseme train")
    options = parser.parse_args()
    if not WIKITEXT.exists():
        parser.error(f"{WIKITEXT.name} of WikiText-2 is not at hand")
    results = Results(RESULTS)
    kept = results.read().get("perplexity", {})
    for name, run in (("polyseme", _polyseme), ("straightforward", _straightforward)):
        if options.only in (None, name):
            kept[name] = {"minutes": options.minutes, **run(*_texts(), options.minutes, options.settings)}
            say(f"{name}: {json.dumps(kept[name])}")
            results.keep("perplexity", kept)


def _texts() -> tuple[Path, Path, Path]:
    """The training text, the text that selects the best model, and the text that is measured."""
    paths = CACHE / "wikitext-train.txt", CACHE / "wikitext-pick.txt", CACHE / "wikitext-valid.txt"
    if not all(path.exists() for path in paths):
        CACHE.mkdir(exist_ok=True)
        lines = [" ".join(sentence) + "\n" for sentence in wikitext(WIKITEXT)]
        cut = len(lines) * 19 // 20
        valid = wikitext(WIKITEXT.with_name(WIKITEXT.name.replace("train", "valid")))
        parts = lines[:cut], islice(lines, cut, None), (" ".join(sentence) + "\n" for sentence in valid)
        for path, part in zip(paths, parts, strict=True):
            path.write_text("".join(part), encoding="utf-8")
    return paths


def _polyseme(training: Path, pick: Path, valid: Path, minutes: float, settings: list[str]) -> dict[str, Any]:
    model = CACHE / "wikitext-model"
    for folder in (model, model.with_name(f"{model.name}.training")):
        shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "polyseme"]
    given = ["--preset", "small", "--precision", PRECISION, "--min-count", str(MIN_COUNT), "--heldout", str(pick)]
    budget = ["--time-budget", f"{60 * minutes:.0f}s", *settings]
    subprocess.run([*command, "train", str(training), "-o", str(model), *given, *budget], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    measured = subprocess.run(
        [*command, "evaluate", str(model), str(valid), "--json"], check=True, capture_output=True, text=True
    )
    found = json.loads(measured.stdout)
    last = json.loads((model / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    return {
        "forward": found["results"][0]["forward"],
        "backward": found["results"][0]["backward"],
        "unknown_share": found["unknown_share"],
        "vocabulary": found["softmax_words"],
        "tokens": last["tokens"],
        "seconds": last["elapsed"],
        "peak_mib": peak,
    }


def _straightforward(training: Path, pick: Path, valid: Path, minutes: float, settings: list[str]) -> dict[str, Any]:
    del pick, settings  # it keeps its last model, and has no settings
    with Worker(sys.executable, "benchmarks.plain_trainer") as worker:
        shape = {"rows": ROWS, "steps": STEPS, "precision": PRECISION, "min_count": MIN_COUNT}
        facts = worker("load", path=str(training), **shape)
        run = worker("run", seconds=60 * minutes)
        peak = worker("peak_mib")
        return {**facts, **run, **worker("evaluate", path=str(valid)), "peak_mib": peak}


if __name__ == "__main__":
    main()
