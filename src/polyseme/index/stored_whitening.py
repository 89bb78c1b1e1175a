"""The whitening of an index: fitted on its own occurrences, kept beside its manifest, used in a search."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.errors import FormatError, InputError, OutputError
from polyseme.files.checksum import crc32
from polyseme.files.lock import locked
from polyseme.files.whole import reason, whole_file
from polyseme.index.manifest import DAMAGED, WHITENING, FileRecord, Manifest, read_manifest, write_manifest
from polyseme.index.shard import UNREADABLE, Shard
from polyseme.index.store import Store
from polyseme.index.whitening import SpreadWithinWords, Whitening

MOST = 200_000
"""Occurrences that a whitening is fitted on, spread evenly over the index."""
_CANDIDATES = 1000  # that are compared in each shard, at least
_PER_RESULT = 10  # candidates for each occurrence that is asked for
_ROWS = 1 << 13  # vectors in memory at a time


def open_whitening(folder: Path, manifest: Manifest, store: Store) -> Whitening:
    """The whitening of an index: as it is stored, or fitted now and stored, if the folder can be written.

    Args:
        folder: The index.
        manifest: As it was read when the index was opened.
        store: The same index, open.

    Raises:
        InputError: No word occurs twice in the index.
        FormatError: What is stored is damaged.
    """
    if manifest.whitening is not None:
        return _read(folder / WHITENING, manifest.whitening, manifest.dim)
    fitted = fit(store)
    # A folder that cannot be written, or that another process writes to, keeps none: it is fitted again next time.
    with contextlib.suppress(OutputError, OSError):
        _store(folder, manifest, fitted)
    return fitted


def fit(store: Store) -> Whitening:
    """A whitening by the spread within the words of an index, each as it is written."""
    chosen = np.unique(np.linspace(0, len(store) - 1, min(MOST, len(store))).astype(np.int64))
    words = {word: number for number, word in enumerate(store.counts())}
    spread = SpreadWithinWords(len(words), store.about.dim)
    for some in _blocks(chosen):
        spread.add(store.vectors(some), np.array([words[word] for word in store.words(some)]))
    try:
        return spread.whitening()
    except InputError as error:
        raise InputError(f"{store.name}: {error}") from None


def search_whitened(
    shard: Shard,
    query: Vectors,
    k: int,
    whitening: Whitening,
    *,
    only: Numbers | None,
    but: Numbers | None,
    exact: bool,
) -> tuple[Vectors, Numbers]:
    """The occurrences of a shard nearest to a unit vector (D,) after whitening, and their similarities.

    A thousand occurrences, or ten for each that is asked for, are found without whitening and compared with it.

    Args:
        shard: Where to search.
        query: (D,) not whitened.
        k: How many.
        whitening: The one of the index.
        only: Numbers of the occurrences that count; all by default.
        but: Numbers of those that do not.
        exact: Compare with every occurrence.
    """
    if exact:
        every = np.arange(shard.count) if only is None else only
        numbers = every if but is None else np.setdiff1d(every, but)
    else:
        _, numbers = shard.search(query, candidates(k), only=only, but=but, exact=False)
    return rank_whitened(query, numbers, shard.vectors, whitening, k)


def rank_whitened(
    query: Vectors, numbers: Numbers, vectors: Callable[[Numbers], Vectors], whitening: Whitening, k: int
) -> tuple[Vectors, Numbers]:
    """The occurrences among some that are nearest to a unit vector (D,) after whitening, and their similarities.

    Args:
        query: (D,) not whitened.
        numbers: Of the occurrences to compare.
        vectors: Gives the unit vectors (n, D) of some of them, not whitened.
        whitening: The one of the index.
        k: How many.
    """
    asked = whitening(query)
    similarities = [whitening(vectors(some)) @ asked for some in _blocks(numbers)]
    cosines = np.concatenate([np.zeros(0, np.float32), *similarities])
    best = np.argsort(-cosines, kind="stable")[:k]
    return cosines[best], numbers[best]


def candidates(k: int) -> int:
    """How many occurrences are compared by whitening to find k."""
    return max(_CANDIDATES, _PER_RESULT * k)


def _blocks(numbers: Numbers) -> list[Numbers]:
    return [numbers[start : start + _ROWS] for start in range(0, len(numbers), _ROWS)]


def _store(folder: Path, manifest: Manifest, whitening: Whitening) -> None:
    with locked(folder):
        now = read_manifest(folder)
        if now.shards != manifest.shards or now.whitening is not None:
            return  # text was added since, or another process was quicker
        path = folder / WHITENING
        with whole_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, np.concatenate([whitening.matrix, whitening.centre[None]]))
        record = FileRecord(path.stat().st_size, crc32(path))
        write_manifest(folder, now.model_copy(update={"whitening": record}))


def _read(path: Path, known: FileRecord, dim: int) -> Whitening:
    try:
        with path.open("rb") as file:
            stored = file.read(known.size + 1)
        rows = np.load(io.BytesIO(stored), allow_pickle=False)
    except UNREADABLE as error:
        raise FormatError(f"{path}: not an array of numpy ({reason(error)}); {DAMAGED}") from error
    if len(stored) != known.size or crc32(path) != known.crc32:
        raise FormatError(f"{path}: its bytes have changed since it was written; {DAMAGED}")
    if rows.dtype != np.float32 or rows.shape != (dim + 1, dim) or not np.isfinite(rows).all():
        raise FormatError(f"{path}: not {dim + 1} finite rows of {dim} numbers; {DAMAGED}")
    return Whitening(rows[-1], rows[:-1])
