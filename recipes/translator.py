"""A translator of a recipe and its CoVe encoder: pairs and vectors fetched and prepared, then trained.

    python -m recipes.translator cove-en-es

continues where it was interrupted; ``recipes/cove-en-es/settings.toml`` has the settings of the training. The result is
``recipes/cove-en-es/work/model``, and its folder ``cove`` the encoder.
"""

import argparse
import sys
import tomllib
from pathlib import Path

from polyseme.errors import InputError, PolysemeError
from polyseme.files.whole import whole_file, write_text
from polyseme.formats import translator_folder
from polyseme.progress import open_watcher
from polyseme.train.translate.run import train_translator
from recipes.archive import read_members
from recipes.fetch import fetch
from recipes.sources import ROOT, Recipe, Source, load_recipe
from recipes.vectors import make_vectors

_LICENCE = "Data and licence: say here what the text was."


def make(recipe: Recipe) -> Path:
    """Train unless that is done; return the folder of the translator."""
    settings = tomllib.loads((ROOT / recipe.name / "settings.toml").read_text("utf-8"))
    work = recipe.work
    work.mkdir(parents=True, exist_ok=True)
    vectors = make_vectors(recipe)
    if vectors is None or recipe.vectors is None:
        raise InputError("sources.toml: no [vectors], which the translator reads its source side by; add them")
    trained, unfinished = work / "model", work / "model.training"
    if unfinished.exists() or not trained.exists():
        outcome = train_translator(
            prepare_pairs(recipe.sources, work),
            trained,
            vectors=vectors,
            fields=("1", "2"),
            resume=unfinished.exists(),
            watcher=open_watcher("auto", sys.stderr),
            **settings["train"],
        )
        if not outcome.run.finished:
            raise SystemExit(f"{trained}: interrupted; run the same command to continue")
    card = trained / translator_folder.CARD
    sources = [f"- {one.what} {one.package} {one.version}; {one.licence}" for one in (*recipe.sources, recipe.vectors)]
    text = card.read_text("utf-8").replace(_LICENCE, "\n".join(["Data and licence:", "", *sources]))
    write_text(card, text)
    return trained


def prepare_pairs(sources: tuple[Source, ...], work: Path) -> Path:
    """The pairs of all sources in one table; columns after the first two (who wrote a line) are kept."""
    target = work / "pairs.tsv"
    if not target.exists():
        with whole_file(target) as temporary, temporary.open("wb") as file:
            for source in sources:
                for _, content in read_members(fetch(source, work / "downloads"), source.members):
                    file.write(content.rstrip(b"\n") + b"\n")
    return target


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.translator", description=__doc__.splitlines()[0])
    parser.add_argument("recipe", help="the folder's name, such as cove-en-es")
    given = parser.parse_args()
    try:
        made = make(load_recipe(given.recipe))
    except PolysemeError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stderr.write(f"{made}: ready\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
