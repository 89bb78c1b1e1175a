"""Contextual vectors of numbered sentences: computed once and kept on disk as far as a budget allows.

A second epoch then costs no run of the language model. What is kept is float32, or float16 if only that fits; sentences
beyond the budget are computed whenever they are needed.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import Vectors
from polyseme.embed.source import VectorSource
from polyseme.errors import OutputError
from polyseme.files.checksum import digest
from polyseme.files.whole import reason, whole_file
from polyseme.progress import TokenCounter, Watcher
from polyseme.tasks.choices import VectorLayers
from polyseme.tasks.sentences import SentenceStore


class Features:
    """The layers of one source for the sentences of a store.

    Args:
        source: What computes them.
        store: The sentences.
        layers: All layers or the top one.
        kept: (R, L, D) the layers of the tokens of the first sentences; None if nothing is kept.
    """

    def __init__(
        self,
        source: VectorSource,
        store: SentenceStore,
        *,
        layers: VectorLayers = "all",
        kept: NDArray[np.floating] | None = None,
    ) -> None:
        self.source, self.store, self.layers, self._kept = source, store, layers, kept
        self.count = source.layers if layers == "all" else 1
        rows = 0 if kept is None else len(kept)
        self._known = int(np.searchsorted(store.starts, rows, side="right")) - 1  # sentences that are kept

    def read(self, numbers: Sequence[int]) -> Vectors:
        """The layers of some sentences, one after the other: (N, L, D)."""
        starts = self.store.starts
        lengths = [int(starts[number + 1] - starts[number]) for number in numbers]
        result = np.empty((sum(lengths), self.count, self.source.dim), dtype=np.float32)
        missing = list(dict.fromkeys(number for number in numbers if number >= self._known))  # passages come repeatedly
        computed = dict(zip(missing, self._compute(missing), strict=True))
        first = 0
        for number, length in zip(numbers, lengths, strict=True):
            if number < self._known:
                assert self._kept is not None
                result[first : first + length] = self._kept[starts[number] : starts[number + 1]]
            else:
                result[first : first + length] = computed[number]
            first += length
        return result

    def _compute(self, numbers: Sequence[int]) -> list[Vectors]:
        """(T, L, D) of each sentence."""
        if not numbers:
            return []
        found = self.source.embed([self.store.sentences[number] for number in numbers], layers=self.layers)
        return [array.swapaxes(0, 1) if self.layers == "all" else array[:, np.newaxis] for array in found]

    def save(self, path: Path, dtype: np.dtype[np.floating], rows: int, watcher: Watcher) -> None:
        """Compute the layers of the first ``rows`` tokens and write them to a file."""
        last = int(np.searchsorted(self.store.starts, rows, side="right")) - 1
        counter = TokenCounter(watcher, f"computing the vectors of {self.source.name}")
        total = max(1, int(self.store.starts[last]))
        try:
            with whole_file(path) as temporary, temporary.open("wb") as file:
                for array in self.source.stream(self.store.sentences[:last], layers=self.layers):
                    by_token = array.swapaxes(0, 1) if self.layers == "all" else array[:, np.newaxis]
                    file.write(np.ascontiguousarray(by_token, dtype=dtype).data)
                    counter.add(len(by_token), (counter.tokens + len(by_token)) / total)
        except OSError as error:
            raise OutputError(
                f"{path.parent}: the vectors could not be stored ({reason(error)}); free some space, or give a smaller "
                "--cache-mib"
            ) from error


def open_features(
    source: VectorSource,
    store: SentenceStore,
    folder: Path,
    *,
    layers: VectorLayers,
    budget: int,
    watcher: Watcher,
) -> tuple[Features, int]:
    """The features of a source, from a file in a folder that is written unless it is there.

    Args:
        source: What computes them.
        store: The sentences.
        folder: Where the file is; files of other sources and sentences may be there too.
        layers: All layers or the top one.
        budget: Bytes of the file, at most.
        watcher: Is told how it goes.

    Returns:
        The features, and the bytes of the file.
    """
    live = Features(source, store, layers=layers)
    row = live.count * source.dim
    rows = int(store.starts[-1])
    half = budget < 4 * row * rows and budget >= 2 * row * rows
    dtype: np.dtype[np.floating] = np.dtype(np.float16) if half else np.dtype(np.float32)
    fitting = min(rows, budget // (dtype.itemsize * row))
    fitting = int(store.starts[int(np.searchsorted(store.starts, fitting, side="right")) - 1])
    if not fitting:
        return live, 0
    # A kept file belongs to the sentences and to the weights of the source.
    text = json.dumps([source.fingerprint(), source.precision, layers, fitting, dtype.str, store.sentences])
    path = folder / f"vectors-{digest([text.encode('utf-8', 'surrogatepass')])}.bin"
    size = fitting * row * dtype.itemsize
    if not path.exists() or path.stat().st_size != size:
        folder.mkdir(exist_ok=True)
        live.save(path, dtype, fitting, watcher)
    kept = np.memmap(path, dtype=dtype, mode="r", shape=(fitting, live.count, source.dim))
    return Features(source, store, layers=layers, kept=cast("NDArray[np.floating]", np.asarray(kept))), size
