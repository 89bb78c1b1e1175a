"""The recipe of a translator, on tiny archives."""

import hashlib
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiny_translator import SOURCE, pairs

from polyseme.errors import InputError
from polyseme.formats import translator_folder
from recipes import translator
from recipes.sources import Recipe, Source, load_recipe


def _source(folder: Path, name: str, members: dict[str, bytes], *, reader: str = "tatoeba") -> Source:
    """A source whose archive has been fetched."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return Source(
        name=name,
        registry="pypi",
        package=name,
        version="1",
        file=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        members=tuple(members),
        reader=reader,
        licence="CC0",
        what="A test.",
    )


def test_a_translator_is_made_and_its_card_names_the_licence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recipes.sources.ROOT", tmp_path)
    monkeypatch.setattr("recipes.translator.ROOT", tmp_path)
    downloads = tmp_path / "toy/work/downloads"
    table = "".join(f"{source}\t{target}\tby somebody\n" for source, target in pairs(300)).encode()
    matrix, index = io.BytesIO(), io.BytesIO()
    np.save(matrix, np.random.default_rng(0).normal(size=(len(SOURCE), 7)).astype(np.float32))
    pq.write_table(pa.table({"index": SOURCE}), index)
    recipe = Recipe(
        "toy",
        "en",
        (_source(downloads, "text", {"a/spa.tsv": table}),),
        vectors=_source(
            downloads, "glove", {"v.npy": matrix.getvalue(), "w.parquet": index.getvalue()}, reader="matrix"
        ),
    )
    sizes = "encoder_dim = 8\ndecoder_dim = 8\nmin_count = 1\nprecision = 'float32'\n"
    (tmp_path / "toy/settings.toml").write_text(f"[train]\nupdates = 2\n{sizes}")
    made = translator.make(recipe)
    assert made == tmp_path / "toy/work/model"
    assert translator_folder.read(made).table.dim == 7
    card = (made / "README.md").read_text(encoding="utf-8")
    assert "Data and licence:\n\n- A test. text 1; CC0\n- A test. glove 1; CC0\n" in card
    assert translator.make(recipe) == made  # nothing is left to do
    with pytest.raises(InputError, match=r"sources\.toml: no \[vectors\], which the translator reads"):
        translator.make(replace(recipe, vectors=None))


def test_the_recipe_is_pinned() -> None:
    recipe = load_recipe("cove-en-es")
    assert [one.name for one in recipe.sources] == ["tatoeba"]
    assert recipe.vectors is not None
    assert recipe.vectors.name == "glove"
