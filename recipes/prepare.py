"""The training text of a recipe: fetched, read, cleaned, tokenised, and split into training and held-out text.

    python -m recipes.prepare english-small --measured evaluation-sets

writes to ``recipes/english-small/work/``, when all is made:

- ``train.txt`` and ``heldout.txt``, one tokenised sentence per line;
- ``old-heldout.txt``, the text that the first generation of the model was measured on and that is not trained on;
- ``sources.json``, what each source gave and why sentences were left out;

and ``recipes/english-small/TEXT.md``, a table of the sources.
"""

import argparse
import json
import sys
import tempfile
from itertools import islice
from pathlib import Path

from polyseme.errors import InputError, PolysemeError
from recipes import blocks
from recipes.blocks import Block
from recipes.card import data_section
from recipes.collect import Filters, collect, read
from recipes.fetch import fetch
from recipes.overlap import Measured, load_measured
from recipes.sources import Recipe, Source, load_recipe

SEED = 1
_FILES = ("train.txt", "heldout.txt", "old-heldout.txt", "sources.json")


def prepare(recipe: Recipe, *, measured: Path | None = None, limit: int | None = None) -> dict[str, object]:
    """Make the training text of a recipe and return what ``sources.json`` holds.

    Args:
        recipe: Its sources; archives are kept in ``work/downloads``.
        measured: The folder of the sets that models are measured on, whose sentences are left out.
        limit: Read only so many documents of each source, to try things out; the result is written to
            ``work/trial``.
    """
    work = recipe.work if limit is None else recipe.work / "trial"
    work.mkdir(parents=True, exist_ok=True)
    archives, unavailable = _fetch_all(recipe)
    sets, missing = load_measured(recipe.tokenizer, measured)
    for name in missing:
        _say(f"{name}: not there, so the training text is not compared with it")
    _add_evaluation(sets, recipe, archives)
    filters = Filters(recipe.tokenizer, sets, _old_heldout(recipe))
    facts: dict[str, object] = {}
    training: list[Block] = []
    held_out: list[Block] = []
    with tempfile.TemporaryDirectory(dir=work) as temporary:
        folder = Path(temporary)
        with (folder / "blocks").open("w+b") as scratch:
            for source in recipe.sources:
                if source.name in unavailable:
                    continue
                documents = islice(read(source, recipe, archives), limit)
                counts = collect(documents, source, filters, scratch)
                used, unused = blocks.split(counts.kept)
                training += used * source.times
                held_out += unused
                facts[source.name] = {
                    **_facts(source, used, unused),
                    "removed sentences": dict(sorted(counts.removed.items())),
                    "measured sets": dict(sorted(counts.measured.items())),
                }
                _say(f"{source.name}: {sum(block.tokens for block in counts.kept):,} tokens")
            blocks.write(training, scratch, folder / "train.txt", seed=SEED)
            blocks.write(held_out, scratch, folder / "heldout.txt", seed=SEED)
        old = filters.found_before.values()
        (folder / "old-heldout.txt").write_text("".join(f"{line}\n" for line in old), "utf-8")
        summary: dict[str, object] = {
            "recipe": recipe.name,
            "train": _size(list(dict.fromkeys(training))),
            "read": _size(training),
            "heldout": _size(held_out),
            "old heldout": {
                "sentences": len(old),
                "of": len(filters.before),
                "tokens": sum(line.count(" ") + 1 for line in old),
            },
            "compared with": sets.sizes,
            "not compared with": missing,
            "unavailable": unavailable,
            "downloaded bytes": sum(path.stat().st_size for path in archives.values()),
            "sources": facts,
        }
        (folder / "sources.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", "utf-8")
        for name in _FILES:
            (folder / name).replace(work / name)
    if limit is None:
        (work.parent / "TEXT.md").write_text(f"# The text of {recipe.name}\n\n{data_section(recipe, summary)}", "utf-8")
    return summary


def _fetch_all(recipe: Recipe) -> tuple[dict[str, Path], list[str]]:
    """The archives by file name, and the names of optional sources that cannot be had."""
    archives: dict[str, Path] = {}
    unavailable = []
    for source in (*recipe.sources, *recipe.evaluation, *recipe.tables):
        try:
            archives[source.file] = fetch(source, recipe.work / "downloads")
        except InputError as error:
            if not source.optional:
                raise
            _say(f"{source.name}: left out: {error}")
            unavailable.append(source.name)
    return archives, unavailable


def _add_evaluation(sets: Measured, recipe: Recipe, archives: dict[str, Path]) -> None:
    for source in recipe.evaluation:
        sets.add(source.name, read(source, recipe, archives), recipe.tokenizer)


def _old_heldout(recipe: Recipe) -> frozenset[int]:
    """Keys of the sentences held out for the first generation of the model; their text is not part of the project."""
    path = recipe.work.parent / "old-heldout.keys"
    return frozenset(int(line, 16) for line in path.read_text("ascii").split()) if path.exists() else frozenset()


def _facts(source: Source, used: list[Block], held_out: list[Block]) -> dict[str, object]:
    return {
        "package": f"{source.registry}: {source.package} {source.version}",
        "licence": source.licence,
        "kind": source.kind,
        "times": source.times,
        "train": _size(used),
        "heldout": _size(held_out),
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
    parser.add_argument("--measured", type=Path, help="the folder of the sets that models are measured on")
    parser.add_argument("--limit", type=int, help="read only so many documents of each source, into work/trial")
    given = parser.parse_args()
    try:
        summary = prepare(load_recipe(given.recipe), measured=given.measured, limit=given.limit)
    except PolysemeError as error:
        _say(f"error: {error}")
        return 2
    _say(f"train {summary['train']}, heldout {summary['heldout']}, old heldout {summary['old heldout']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
