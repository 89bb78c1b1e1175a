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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import senses
from polyseme.embed.load import load_embedder
from polyseme.errors import InputError, PolysemeError
from polyseme.formats import native
from polyseme.formats.choices import Storage
from polyseme.formats.detect import open_model
from polyseme.progress import open_watcher
from polyseme.text.corpus import Corpus
from polyseme.text.tokenizers import tokenized
from polyseme.train.lm.evaluate import evaluate
from polyseme.train.lm.run import train
from polyseme.train.lm.settings import ARCHITECTURE
from recipes import curve
from recipes.card import card
from recipes.collect import read
from recipes.fetch import fetch
from recipes.sources import ROOT, Recipe, load_recipe
from recipes.vectors import make_vectors

BUNDLED = ROOT.parent / "src/polyseme/bundled"


def make(recipe: Recipe, *, place: Path = BUNDLED, stages: int | None = None) -> Path:
    """Train what is not trained yet, then measure and store; return the folder of the finished model.

    Args:
        recipe: Its text, already made.
        place: The folder of the models in the package.
        stages: How many of the training's stages to run; all by default.
    """
    settings = tomllib.loads((ROOT / recipe.name / "settings.toml").read_text("utf-8"))
    plan = stages_of(settings)
    count = stages or len(plan)
    _check_origin(recipe, plan, last=count)
    for number in range(_begun_at(recipe, count), count + 1):
        _train_stage(recipe, plan, number)
    trained = _stage(recipe, count)
    rows = curve.update_curve(ROOT / recipe.name / curve.FILE, [_stage(recipe, one) for one in range(1, count + 1)])
    target = recipe.work / recipe.name
    measured = recipe.work / "measured.json"
    # A model that is to be trained further keeps more of its weights.
    storage: Storage = settings["storage"] if count == len(plan) else "bfloat16"
    of = {"weights": _sha256(trained / native.WEIGHTS), "storage": storage}
    model = open_model(trained)
    named = {
        "tokenize": recipe.tokenizer,  # its text was already tokenised
        "release": _release(settings, count, len(plan)),
    }
    shutil.rmtree(target, ignore_errors=True)
    config = model.bilm_config.model_copy(update=named)
    native.write(dataclasses.replace(model, config=config), target, storage=storage)
    if not measured.exists() or json.loads(measured.read_text("utf-8")).get("of") != of:
        _write(measured, json.dumps({"of": of, **_measure(recipe, trained, target)}, indent=1))
    stored = open_model(target)
    facts = {
        "sources": json.loads((recipe.work / "sources.json").read_text("utf-8")),
        "storage": storage,
        "stages": plan[:count],
        "last": [curve.last_row(rows, number) for number in range(1, count + 1)],
        "curve": curve.PICTURE if curve.draw(target / curve.PICTURE, rows) else None,
        **json.loads(measured.read_text("utf-8")),
        "config": stored.bilm_config,
        "bytes": sum(path.stat().st_size for path in target.iterdir()),
    }
    _write(target / native.CARD, card(recipe, facts, _further_figures(recipe, stored.fingerprint())))
    return _install(recipe, target, place)


def stages_of(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings of each stage of a training: those of all stages, and what the stage changes.

    A stage begins with the weights of the one before, so that a long training can be divided over several days and
    machines.
    """
    return [{**settings["train"], **stage} for stage in settings.get("stage", [{}])]


def _stage(recipe: Recipe, number: int) -> Path:
    """The model folder that a stage makes."""
    return recipe.work / f"stage-{number}"


def _begun_at(recipe: Recipe, last: int) -> int:
    """The first stage that is needed: none before the latest one whose model is there."""
    return next((one for one in range(last, 0, -1) if _stage(recipe, one).exists()), 1)


def _train_stage(recipe: Recipe, plan: Sequence[dict[str, Any]], number: int) -> None:
    """Train a stage unless that is done, or continue it where it was interrupted."""
    output = _stage(recipe, number)
    unfinished = output.with_name(output.name + ".training")
    if output.exists() and not unfinished.exists():
        return
    outcome = train(
        [recipe.work / "train.txt"],
        output,
        heldout=[recipe.work / "heldout.txt"],
        tokenize="none",
        start=_stage(recipe, number - 1) if number > 1 else None,
        vectors=make_vectors(recipe) if number == 1 else None,
        resume=unfinished.exists(),
        watcher=open_watcher("auto", sys.stderr),
        **{name: value for name, value in plan[number - 1].items() if number == 1 or name not in ARCHITECTURE},
    )
    if not outcome.finished:
        raise SystemExit(f"{output}: interrupted; run the same command to continue")


def _release(settings: Mapping[str, Any], stage: int, stages: int) -> str:
    """What a model's configuration calls its release: an unfinished one says so."""
    return str(settings["release"]) + ("" if stage == stages else f", stage {stage} of {stages}")


def take_bundled(recipe: Recipe, *, place: Path = BUNDLED) -> int:
    """Take the unfinished model in the package as the stage that it says it is, so that the next stage continues it.

    Returns:
        The number of that stage.

    Raises:
        InputError: The model in the package is finished or of another release, or the stage exists already.
    """
    settings = tomllib.loads((ROOT / recipe.name / "settings.toml").read_text("utf-8"))
    plan, bundled = stages_of(settings), place / recipe.name
    release = open_model(bundled).bilm_config.release
    number = next((one for one in range(1, len(plan)) if _release(settings, one, len(plan)) == release), None)
    if number is None:
        raise InputError(
            f"{bundled}: release {release!r} is no unfinished one of this recipe; train from the first stage"
        )
    if _stage(recipe, number).exists():
        raise InputError(
            f"{_stage(recipe, number)}: exists already; remove it to take the model in the package instead"
        )
    shutil.copytree(bundled, _stage(recipe, number))
    origin = {"sources": _sha256(recipe.work / "sources.json")}
    known = {_stage(recipe, one).name: {"train": plan[one - 1], **origin} for one in range(1, number + 1)}
    _write(recipe.work / "origin.json", json.dumps(known, indent=1))
    return number


def _install(recipe: Recipe, made: Path, place: Path) -> Path:
    """Put a finished folder among the models in the package, and renew their checksums."""
    final, new = place / recipe.name, recipe.work / "new"
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(made, new)
    place.mkdir(exist_ok=True)
    shutil.rmtree(final, ignore_errors=True)
    new.rename(final)
    files = sorted(path for path in place.glob("*/*") if path.is_file())
    sums = [f"{_sha256(path)}  {path.relative_to(place).as_posix()}\n" for path in files]
    _write(place / "SHA256SUMS", "".join(sums))  # as sha256sum --check reads it
    return final


def _check_origin(recipe: Recipe, plan: Sequence[dict[str, Any]], *, last: int) -> None:
    """Store the settings and the text of each stage, so that a card never describes something else."""
    record = recipe.work / "origin.json"
    text = _sha256(recipe.work / "sources.json")
    known = json.loads(record.read_text("utf-8")) if record.exists() else {}
    for number in range(1, last + 1):
        output = _stage(recipe, number)
        begun = output.exists() or output.with_name(output.name + ".training").exists()
        origin = {"train": plan[number - 1], "sources": text}
        if begun and known.get(output.name) != origin:
            raise InputError(
                f"{output}: was trained with other settings, or on another text, than settings.toml and "
                f"work/sources.json now describe; restore those, or remove work/{output.name} and "
                f"work/{output.name}.training to train again"
            )
        known[output.name] = origin
    _write(record, json.dumps(known, indent=1))


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
    parser.add_argument("--stages", type=int, help="run only so many stages of the training; what they made is stored")
    parser.add_argument(
        "--from-bundled", action="store_true", help="continue the unfinished model that is in the package"
    )
    given = parser.parse_args()
    try:
        if given.from_bundled:
            take_bundled(load_recipe(given.recipe))
        made = make(load_recipe(given.recipe), stages=given.stages)
    except PolysemeError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stderr.write(f"{made}: ready\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
