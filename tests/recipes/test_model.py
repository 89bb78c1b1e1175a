"""A recipe's model from its text to the folder that ships, with everything small."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from chains import Chain, write

import polyseme
from polyseme.errors import InputError
from recipes import curve, model, sources
from recipes.sources import Recipe, Source

SETTINGS = """
storage = "int8"
release = 7

[train]
preset = "tiny"
filters = "1:8,2:16"
character_dim = 4
hidden_dim = 16
projection_dim = 8
batch_tokens = 256
min_count = 1
epochs = 1
precision = "float32"
"""


def small_recipe(root: Path, settings: str) -> Recipe:
    """A recipe whose text is made already; `ROOT` must be the folder it lies in."""
    work = root / "martian-small" / "work"
    work.mkdir(parents=True)
    (work.parent / "settings.toml").write_text(settings, encoding="utf-8")
    write(work / "train.txt", Chain().sentences(200, seed=1))
    write(work / "heldout.txt", Chain().sentences(20, seed=2))
    size = {"sentences": 200, "tokens": 2000}
    one = {"package": "pypi: chain 1.0", "licence": "none", "train": size}
    facts = {"train": size, "heldout": size, "sources": {"chain": one}}
    (work / "sources.json").write_text(json.dumps(facts), encoding="utf-8")
    source = Source(
        name="chain",
        registry="pypi",
        package="chain",
        version="1.0",
        file="chain.tgz",
        sha256="",
        members=(),
        reader="plain",
        licence="none",
        what="A chain of syllables.",
    )
    return Recipe("martian-small", "en", (source,))


def test_from_text_to_a_folder_with_its_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (model, sources):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    recipe = small_recipe(tmp_path, SETTINGS)
    work = recipe.work
    made = model.make(recipe, place=tmp_path / "bundled")
    assert polyseme.load(made).dim == 16
    card = (made / "README.md").read_text(encoding="utf-8")
    assert "| A chain of syllables. | other | pypi: chain 1.0 | none | 2,000 | 100.0% |" in card
    assert "| held-out text | " in card
    assert card.count("| 0 | 0.500 |") == 2
    assert not list(tmp_path.glob("**/*.training"))
    digest = hashlib.sha256((made / "model.safetensors").read_bytes()).hexdigest()
    assert f"{digest}  martian-small/model.safetensors\n" in (tmp_path / "bundled/SHA256SUMS").read_text("utf-8")
    # Nothing is trained or measured again when it is done; further figures come into the card.
    done = [work / "stage-1/metrics.jsonl", work / "measured.json"]
    times = [path.stat().st_mtime_ns for path in done]
    figures = "Martians agree in 3 of 4 cases.\n"
    fingerprint = polyseme.load(made).fingerprint()
    for name, shown in (("another", False), (fingerprint, True)):
        (work.parent / "figures.md").write_text(f"Of model {name}.\n\n{figures}", encoding="utf-8")
        model.make(recipe, place=tmp_path / "bundled")
        assert [path.stat().st_mtime_ns for path in done] == times
        assert (f"\n\n{figures}\n## What to expect" in (made / "README.md").read_text("utf-8")) == shown
    # Stored otherwise it is measured again; trained otherwise it is another model.
    (work.parent / "settings.toml").write_text(SETTINGS.replace("int8", "bfloat16"), encoding="utf-8")
    model.make(recipe, place=tmp_path / "bundled")
    assert "Release 7.\nStored as bfloat16" in (made / "README.md").read_text("utf-8")
    now = [path.stat().st_mtime_ns for path in done]
    assert now[0] == times[0]
    assert now[1] > times[1]
    (work.parent / "settings.toml").write_text(SETTINGS.replace("epochs = 1", "epochs = 9"), encoding="utf-8")
    with pytest.raises(InputError, match=r"was trained with other settings, or on another text, than settings\.toml"):
        model.make(recipe, place=tmp_path / "bundled")
    (work.parent / "settings.toml").write_text(SETTINGS, encoding="utf-8")
    facts = json.loads((work / "sources.json").read_text("utf-8"))
    (work / "sources.json").write_text(json.dumps({**facts, "heldout": {}}), encoding="utf-8")
    with pytest.raises(InputError, match=r"restore those, or remove work/stage-1"):
        model.make(recipe, place=tmp_path / "bundled")


def test_stages_continue_each_other_and_an_unfinished_model_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (model, sources):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    recipe = small_recipe(tmp_path, SETTINGS + "[[stage]]\n[[stage]]\nepochs = 2\nlearning_rate = 1e-4\n")
    first = model.make(recipe, place=tmp_path / "bundled", stages=1)
    config = json.loads((first / "config.json").read_text("utf-8"))
    assert config["release"] == "7, stage 1 of 2"
    assert "Stored as bfloat16" in (first / "README.md").read_text("utf-8")
    begun = polyseme.load(first).embed([["ba", "du"]])[0]
    second = model.make(recipe, place=tmp_path / "bundled")
    assert json.loads((second / "config.json").read_text("utf-8"))["release"] == "7"
    card = (second / "README.md").read_text("utf-8")
    assert "Stage 1 of 2: " in card
    assert "epochs 2, precision float32, learning_rate 0.0001" in card
    moved = np.abs(polyseme.load(second).embed([["ba", "du"]])[0] - begun).max()
    assert 0 < moved < 0.5  # the second stage begins where the first one ended


def test_an_unfinished_model_in_the_package_is_continued_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (model, sources):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    recipe = small_recipe(tmp_path, SETTINGS + "[[stage]]\n[[stage]]\nepochs = 2\nlearning_rate = 1e-4\n")
    place = tmp_path / "bundled"
    first = model.make(recipe, place=place, stages=1)
    begun = polyseme.load(first).embed([["ba", "du"]])[0]
    learnt = curve.last_row(rows_of(tmp_path), 1)
    assert learnt["tokens"] > 1000
    shutil.rmtree(recipe.work / "stage-1")  # as on another machine
    (recipe.work / "origin.json").unlink()
    assert model.take_bundled(recipe, place=place) == 1
    with pytest.raises(InputError, match="stage-1: exists already"):
        model.take_bundled(recipe, place=place)
    second = model.make(recipe, place=place)
    moved = np.abs(polyseme.load(second).embed([["ba", "du"]])[0] - begun).max()
    assert 0 < moved < 0.5
    # The curve goes on where the first stage ended, and the card knows both.
    rows = rows_of(tmp_path)
    assert [row["stage"] for row in rows] == sorted(row["stage"] for row in rows)
    assert curve.last_row(rows, 1) == learnt
    card = (second / "README.md").read_text("utf-8")
    assert f"Stage 1 of 2: {learnt['tokens']:,} tokens seen" in card
    assert "](learning-curve.png)" in card
    assert (second / "learning-curve.png").exists()
    with pytest.raises(InputError, match="release '7' is no unfinished one of this recipe"):
        model.take_bundled(recipe, place=place)


def rows_of(root: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (root / "martian-small" / curve.FILE).read_text("utf-8").splitlines()]
