"""How fast a tagger trains with frozen ELMo: polyseme beside the same model in plain torch with AllenNLP's `Elmo`.

Run: python -m benchmarks.tagger_speed --train train.conllu.gz [--peer PYTHON] [--sentences 7000] [--epochs 10]

polyseme trains all epochs through `polyseme.Task.train`, from reading the data to the finished model, its evaluations
included. The plain tagger makes some updates before and after it, on such batches of sentences of similar length: its
speed does not change from one epoch to the next. `make .venv-allennlp/.ready` makes its environment.
"""

import argparse
import json
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

import polyseme
from benchmarks.process import ROOT, Worker, say, share_of_others
from polyseme.errors import PolysemeError
from polyseme.formats.bilm_hdf5 import write
from polyseme.formats.detect import open_model
from polyseme.tasks.batches import shuffled_batches
from polyseme.tasks.data_files import ReadingChoices
from polyseme.tasks.examples import Tagged
from polyseme.tasks.lexicon import case_of
from polyseme.tasks.settings import TaskSettings, settings_of

_SIZES = (
    *("casing_dim", "character_dim", "character_filters", "character_width"),
    *("hidden_dim", "dropout", "learning_rate", "batch_size"),
)


def measure(train: Path, *, elmo: str, peer: str, sentences: int, epochs: int, updates: int) -> dict[str, float]:
    """Tokens per second of both, and what else there is to say."""
    examples = [one for one in islice(ReadingChoices().open(train, "tag"), sentences) if isinstance(one, Tagged)]
    dev = examples[: max(1, len(examples) // 20)]
    settings = settings_of("tag", {"epochs": epochs})
    tokens = epochs * sum(len(one.tokens) for one in examples)
    with TemporaryDirectory() as folder, Worker(peer, "benchmarks.plain_tagger") as plain:
        write(open_model(elmo), Path(folder, "elmo"))
        data = Path(folder, "sentences.jsonl")
        rows = (
            [one.tokens, [case_of(token) for token in one.tokens], one.tags] for one in _in_batches(examples, settings)
        )
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        sizes = {name: getattr(settings, name) for name in _SIZES}
        plain("load", model=str(Path(folder, "elmo")), data=str(data), sizes=sizes)
        found: list[dict[str, Any]] = [plain("run", updates=updates)]
        begun = time.perf_counter()
        task = polyseme.Task.train("tag", examples, Path(folder, "tagger"), dev=dev, vectors=[elmo], epochs=epochs)
        seconds = time.perf_counter() - begun
        found.append(plain("run", updates=updates))
        theirs = sum(one["tokens"] for one in found) / sum(one["seconds"] for one in found)
        return {
            "sentences": len(examples),
            "tokens": tokens,
            "seconds": seconds,
            "tokens/s": tokens / seconds,
            "plain tokens/s": theirs,
            "times": tokens / seconds / theirs,
            "accuracy on learnt sentences": task.evaluate(dev).score,
            "threads": torch.get_num_threads(),
            "share of other work": share_of_others([plain]),
        }


def _in_batches(examples: Sequence[Tagged], settings: TaskSettings) -> list[Tagged]:
    """The examples in the order of the batches of an epoch."""
    lengths = np.array([len(one.tokens) for one in examples])
    batches = shuffled_batches(lengths, settings.batch_size, settings.batch_tokens, np.random.default_rng(1))
    return [examples[number] for batch in batches for number in batch.tolist()]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tagger_speed")
    parser.add_argument("--train", type=Path, required=True, help="tagged sentences, such as UD English EWT")
    parser.add_argument("--elmo", default="english-small", help="a byte model")
    parser.add_argument("--peer", default=str(ROOT / ".venv-allennlp/bin/python"), help="AllenNLP's interpreter")
    parser.add_argument("--sentences", type=int, default=7000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--updates", type=int, default=20, help="of the plain tagger, before and after")
    given = vars(parser.parse_args())
    try:
        say(json.dumps(measure(given.pop("train"), **given), indent=1))
    except PolysemeError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
