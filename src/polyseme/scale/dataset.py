"""Embedding a Ray Dataset: rows with sentences in, the same rows with vectors out.

The result is a Dataset like any other: it is computed when it is written or read, in a stream that holds a bounded
number of rows, by actors that keep the model. Rows stay as they are, and get a column ``vectors``: for each row a list
of T lists of D numbers; with ``pool`` a list of D; with ``layers="all"`` a list of L x T x D numbers, flat.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from polyseme.arrays import Vectors
from polyseme.embed.choices import NumberType, Pool
from polyseme.embed.job import check_layers
from polyseme.embed.layers import LayerChoice
from polyseme.embed.load import load
from polyseme.embed.source import VectorSource, pool_tokens
from polyseme.embed.writers.base import check_number_type, converted
from polyseme.errors import InputError
from polyseme.models.model import ModelPath
from polyseme.scale.engine import ray_module
from polyseme.scale.settings import ScaleSettings
from polyseme.scale.shared_weights import SharedWeights

if TYPE_CHECKING:
    from ray.data import Dataset


def embed(
    dataset: "Dataset",
    model: VectorSource | ModelPath,
    *,
    column: str = "tokens",
    layers: LayerChoice = "mean",
    pool: Pool | None = None,
    dtype: NumberType = "float32",
    batch_rows: int = 1024,
    settings: ScaleSettings | None = None,
) -> "Dataset":
    """Add the vectors of every sentence to a Ray Dataset, lazily.

    Args:
        dataset: One sentence per row.
        model: What `polyseme.load` gives or takes.
        column: The column with the sentence: a list of tokens, or a string whose tokens are separated by spaces.
        layers: ``"all"``, ``"mean"``, ``"top"``, the number of a layer or a `ScalarMix`.
        pool: One vector per sentence instead of one per token.
        dtype: The numbers in the column.
        batch_rows: How many rows an actor takes at once.
        settings: How many actors, and their threads; ``address`` and ``part_bytes`` have no meaning here.
    """
    ray = ray_module()
    source = model if isinstance(model, VectorSource) else load(model)
    _check(dataset, ray.data.Dataset, source)
    check_layers(source, layers, pool)
    check_number_type(dtype)
    spread = settings or ScaleSettings()
    processors = int(ray.cluster_resources().get("CPU", 1))
    return dataset.map_batches(
        RowEmbedder,
        fn_constructor_args=(ray.put(source), column, layers, pool, dtype, spread.threads),
        batch_size=batch_rows,
        batch_format="pyarrow",
        num_cpus=spread.threads,
        concurrency=spread.actors or max(1, processors // spread.threads - 1),  # one is left for reading and writing
    )


def _check(dataset: object, kind: type, source: VectorSource) -> None:
    if not isinstance(dataset, kind):
        raise InputError(f"dataset is {dataset!r:.60}, expected a ray.data.Dataset; ray.data.from_items makes one")
    if source.stateful:
        raise InputError("a stateful source carries state from row to row, which a Dataset cannot; load another")


class RowEmbedder:
    """What an actor of Ray Data does: adds a column of vectors to batches of rows."""

    def __init__(
        self, held: object, column: str, layers: LayerChoice, pool: Pool | None, dtype: NumberType, threads: int
    ) -> None:
        torch.set_num_threads(threads)
        self._source: VectorSource = ray_module().get(held)
        self._column, self._layers, self._pool, self._dtype = column, layers, pool, dtype
        self._shared = SharedWeights.open()
        self._shared.share(self._source)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Add the vectors of some rows."""
        if self._column not in batch.column_names:
            known = ", ".join(batch.column_names)
            raise InputError(
                f"the Dataset has no column {self._column!r} (it has {known}); name the one with sentences"
            )
        sentences = [_tokens(value, self._column) for value in batch[self._column].to_pylist()]
        rows = [
            converted(pool_tokens(one, self._pool) if self._pool else one, self._dtype, where="a sentence")
            for one in self._source.stream(sentences, layers=self._layers)
        ]
        return batch.append_column("vectors", _as_column(rows, self._dtype))


def _tokens(value: object, column: str) -> list[str]:
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list) and all(isinstance(token, str) for token in value):
        return value
    raise InputError(f"column {column!r} has {value!r:.40} where a list of tokens or a string is expected")


def _as_column(rows: Sequence[Vectors], dtype: NumberType) -> pa.Array:
    """Arrays as a column of lists: (D,) as one list each, (T, D) as a list of lists, (L, T, D) flat."""
    numbers = pa.array(np.concatenate([row.reshape(-1) for row in rows]) if rows else np.zeros(0, dtype))
    if all(row.ndim == 2 for row in rows) and rows:
        dim = rows[0].shape[1]
        vectors = pa.FixedSizeListArray.from_arrays(numbers, dim)
        return pa.ListArray.from_arrays(_offsets(len(row) for row in rows), vectors)
    return pa.ListArray.from_arrays(_offsets(row.size for row in rows), numbers)


def _offsets(lengths: Iterator[int]) -> pa.Array:
    return pa.array(np.cumsum([0, *lengths]), pa.int32())
