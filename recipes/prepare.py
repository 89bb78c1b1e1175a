"""Makes the training text of a recipe: fetches, reads, cleans and tokenises it, and holds out a part.

    python -m recipes.prepare english-small

writes ``train.txt``, ``heldout.txt`` (one tokenised sentence per line) and ``sources.json`` (what each source gave and
why sentences were left out) to ``recipes/english-small/work/``, each complete, when all three are made.
"""

import argparse
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from polyseme.errors import PolysemeError
from polyseme.text.choices import Tokenizer
from polyseme.text.tokenizers import tokenized
from recipes import blocks
from recipes.archive import read_members
from recipes.blocks import Block
from recipes.clean import FAULTS, Seen
from recipes.fetch import fetch
from recipes.readers import READERS
from recipes.sources import Recipe, Source, load_recipe

BLOCK_SENTENCES = 100
SEED = 1
EVALUATION_SHARE = 0.05  # a document with this many sentences of evaluation text is left out completely


@dataclass(slots=True)
class Counts:
    """How many sentences of a source were kept or left out."""

    kept: list[Block] = field(default_factory=list)
    removed: Counter[str] = field(default_factory=Counter)


def prepare(recipe: Recipe, *, limit: int | None = None) -> dict[str, object]:
    """Make the training text of a recipe and return the content of ``sources.json``.

    Args:
        recipe: Its sources; archives are kept in ``work/downloads``.
        limit: Read only this many documents of each source, as a trial; the result is written to ``work/trial``.
    """
    work = recipe.work if limit is None else recipe.work / "trial"
    work.mkdir(parents=True, exist_ok=True)
    archives = {s.file: fetch(s, recipe.work / "downloads") for s in (*recipe.sources, *recipe.evaluation)}
    evaluation = frozenset(
        line
        for source in recipe.evaluation
        for document in read(source, archives[source.file])
        for line in map(" ".join, tokenized(io.StringIO(document).readline, recipe.tokenizer))
    )
    seen = Seen()
    facts: dict[str, object] = {}
    training: list[Block] = []
    held_out: list[Block] = []
    with tempfile.TemporaryDirectory(dir=work) as temporary:
        folder = Path(temporary)
        with (folder / "blocks").open("w+b") as scratch:
            for source in recipe.sources:
                documents = islice(read(source, archives[source.file]), limit)
                counts = collect(documents, source, recipe.tokenizer, seen, scratch, evaluation=evaluation)
                used, unused = blocks.split(counts.kept)
                training += used
                held_out += unused
                facts[source.name] = _facts(source, used, unused, counts.removed)
                _say(f"{source.name}: {sum(block.tokens for block in counts.kept):,} tokens")
            blocks.write(training, scratch, folder / "train.txt", seed=SEED)
            blocks.write(held_out, scratch, folder / "heldout.txt", seed=SEED)
        summary: dict[str, object] = {
            "recipe": recipe.name,
            "train": _size(training),
            "heldout": _size(held_out),
            "sources": facts,
        }
        (folder / "sources.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", "utf-8")
        for name in ("train.txt", "heldout.txt", "sources.json"):
            (folder / name).replace(work / name)
    return summary


def read(source: Source, archive: Path) -> Iterator[str]:
    """The documents of a source."""
    return READERS[source.reader](read_members(archive, source.members, leave_out=source.leave_out))


def collect(
    documents: Iterable[str],
    source: Source,
    tokenizer: Tokenizer,
    seen: Seen,
    scratch: BinaryIO,
    *,
    evaluation: frozenset[str] = frozenset(),
) -> Counts:
    """Split documents into clean sentences and keep them in blocks, as many as the source's cap allows."""
    counts = Counts()
    pending: list[str] = []
    fault_of = FAULTS[tokenizer]
    stored: list[Block] = []
    for document in documents:
        sentences = list(tokenized(io.StringIO(document).readline, tokenizer))
        known = sum(" ".join(tokens) in evaluation for tokens in sentences)
        # The same article in another edition: its other sentences differ only in how they are written.
        if known > 1 and known >= EVALUATION_SHARE * len(sentences):
            counts.removed["evaluation text"] += len(sentences)
            continue
        for tokens in sentences:
            line = " ".join(tokens)
            fault = fault_of(tokens) or (line in evaluation and "evaluation text") or (seen(line) and "duplicate")
            if fault:
                counts.removed[fault] += 1
                continue
            pending.append(line)
            if len(pending) == BLOCK_SENTENCES:
                stored.append(blocks.store(pending, source.name, len(stored), scratch))
                pending.clear()
    if pending:
        stored.append(blocks.store(pending, source.name, len(stored), scratch))
    counts.kept = blocks.capped(stored, source.cap)
    if over := sum(block.sentences for block in stored) - sum(block.sentences for block in counts.kept):
        counts.removed["over the cap"] = over
    return counts


def _facts(source: Source, used: list[Block], held_out: list[Block], removed: Counter[str]) -> dict[str, object]:
    return {
        "package": f"{source.registry}: {source.package} {source.version}",
        "licence": source.licence,
        "train": _size(used),
        "heldout": _size(held_out),
        "removed sentences": dict(sorted(removed.items())),
    }


def _size(of: list[Block]) -> dict[str, int]:
    return {"sentences": sum(block.sentences for block in of), "tokens": sum(block.tokens for block in of)}


def _say(message: str) -> None:
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.prepare", description=__doc__.splitlines()[0])
    parser.add_argument("recipe", help="the folder's name, such as english-small")
    parser.add_argument("--limit", type=int, help="read only this many documents of each source, into work/trial")
    given = parser.parse_args()
    try:
        summary = prepare(load_recipe(given.recipe), limit=given.limit)
    except PolysemeError as error:
        _say(f"error: {error}")
        return 2
    _say(f"train {summary['train']}, heldout {summary['heldout']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
