"""The model of a recipe: trained on its text, measured, stored compactly with its card, and put into the package.

    python -m recipes.model english-small

continues where it was interrupted; ``recipes/english-small/settings.toml`` has the settings of the training.
"""

import argparse
import dataclasses
import hashlib
import io
import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmarks import senses
from polyseme.embed.load import load_embedder
from polyseme.errors import InputError, PolysemeError
from polyseme.formats import native
from polyseme.formats.detect import open_model
from polyseme.progress import open_watcher
from polyseme.text.corpus import Corpus
from polyseme.text.tokenizers import tokenized
from polyseme.train.lm.evaluate import evaluate
from polyseme.train.lm.run import train
from recipes.card import card
from recipes.collect import read
from recipes.fetch import fetch
from recipes.sources import ROOT, Recipe, load_recipe

BUNDLED = ROOT.parent / "src/polyseme/bundled"


def make(recipe: Recipe, *, place: Path = BUNDLED) -> Path:
    """Train unless that is done, then measure and store; return the folder of the finished model."""
    settings = tomllib.loads((ROOT / recipe.name / "settings.toml").read_text("utf-8"))
    trained = recipe.work / "model"
    unfinished = trained.with_name("model.training")
    _check_origin(recipe, settings, begun=trained.exists() or unfinished.exists())
    if unfinished.exists() or not trained.exists():
        outcome = train(
            [recipe.work / "train.txt"],
            trained,
            heldout=[recipe.work / "heldout.txt"],
            tokenize="none",
            resume=unfinished.exists(),
            watcher=open_watcher("auto", sys.stderr),
            **settings["train"],
        )
        if not outcome.finished:
            raise SystemExit(f"{trained}: interrupted; run the same command to continue")
    target = recipe.work / recipe.name
    measured = recipe.work / "measured.json"
    of = {"weights": _sha256(trained / native.WEIGHTS), "storage": settings["storage"]}
    model = open_model(trained)
    config = model.bilm_config.model_copy(update={"tokenize": recipe.tokenizer})  # its text was already tokenised
    shutil.rmtree(target, ignore_errors=True)
    native.write(dataclasses.replace(model, config=config), target, storage=settings["storage"])
    if not measured.exists() or json.loads(measured.read_text("utf-8")).get("of") != of:
        _write(measured, json.dumps({"of": of, **_measure(recipe, trained, target)}, indent=1))
    stored = open_model(target)
    facts = {
        "sources": json.loads((recipe.work / "sources.json").read_text("utf-8")),
        "settings": settings,
        "metrics": [json.loads(line) for line in (trained / "metrics.jsonl").read_text("utf-8").splitlines()],
        **json.loads(measured.read_text("utf-8")),
        "config": stored.bilm_config,
        "bytes": sum(path.stat().st_size for path in target.iterdir()),
    }
    _write(target / native.CARD, card(recipe, facts, _further_figures(recipe, stored.fingerprint())))
    final, new = place / recipe.name, recipe.work / "new"
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(target, new)
    place.mkdir(exist_ok=True)
    shutil.rmtree(final, ignore_errors=True)
    new.rename(final)
    files = sorted(path for path in place.glob("*/*") if path.is_file())
    sums = [f"{_sha256(path)}  {path.relative_to(place).as_posix()}\n" for path in files]
    _write(place / "SHA256SUMS", "".join(sums))  # as sha256sum --check reads it
    return final


def _check_origin(recipe: Recipe, settings: dict[str, Any], *, begun: bool) -> None:
    """Store the settings and the text of a model, so that its card never describes something else."""
    record = recipe.work / "origin.json"
    origin = {"train": settings["train"], "sources": _sha256(recipe.work / "sources.json")}
    if not begun:
        _write(record, json.dumps(origin, indent=1))
    elif not record.exists() or json.loads(record.read_text("utf-8")) != origin:
        raise InputError(
            f"{recipe.work / 'model'}: was trained with other settings, or on another text, than settings.toml and "
            "work/sources.json now describe; restore those, or remove work/model and work/model.training to train again"
        )


def _further_figures(recipe: Recipe, fingerprint: str) -> str:
    """Figures of this model on data that is not part of the recipe, written by hand in ``figures.md``."""
    path = ROOT / recipe.name / "figures.md"
    if not path.exists():
        return ""
    head, _, figures = path.read_text("utf-8").partition("\n\n")
    if head != f"Of model {fingerprint}.":
        sys.stderr.write(f"{path.name}: is not of model {fingerprint}, left out of the card\n")
        return ""
    return figures


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".partial")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _measure(recipe: Recipe, trained: Path, stored: Path) -> dict[str, Any]:
    """Perplexities of the weights as trained and as stored, and how well the model distinguishes senses."""
    return {
        "perplexity": {
            f"{name}{kind}": evaluate(
                open_model(folder), (one.tokens for one in Corpus([path], tokenize="none"))
            ).to_dict()
            for name, path in {"held-out text": recipe.work / "heldout.txt", **_evaluation_texts(recipe)}.items()
            for kind, folder in (("", stored), (", weights in float32", trained))
        },
        "senses": senses.report(load_embedder(stored), recipe.tokenizer),
    }


def _evaluation_texts(recipe: Recipe) -> dict[str, Path]:
    """Text whose sentences were left out of the training text, tokenised in the same way."""
    texts = {}
    for source in recipe.evaluation:
        path = recipe.work / f"{source.name}.txt"
        documents = read(source, recipe, {source.file: fetch(source, recipe.work / "downloads")})
        lines = (
            " ".join(tokens) + "\n"
            for document in documents
            for tokens in tokenized(io.StringIO(document).readline, recipe.tokenizer)
        )
        path.write_text("".join(lines), encoding="utf-8")
        texts[source.name] = path
    return texts


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.model", description=__doc__.splitlines()[0])
    parser.add_argument("recipe", help="the folder's name, such as english-small")
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
