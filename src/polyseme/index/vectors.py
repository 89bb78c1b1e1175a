"""Vectors of one shard in faiss: compressed, clustered where there are many, read from disk as they are needed."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import FormatError, MissingPart
from polyseme.index.choices import Compression as Compression

_CLUSTERED = 20_000
"""From so many vectors on they are clustered, and only the nearest clusters are searched."""
_PROBED = 16
"""One cluster in so many is searched."""
_FEW = 1000
"""Of so many chosen vectors each is compared, which takes less time than to look for them in clusters."""
_OUTLIERS = 0.0003
"""The share of a component's values, at either end, that 8 bits cut off; their range would coarsen all others."""
_TRAINING_POINTS = 64  # a cluster
_PQ_POINTS = 10_000  # at least, to learn the codes of sub-vectors from
_PQ_ROUNDS = 5  # of k-means, for each sub-vector; more take longer and find no more
_ROWS = 1 << 15

Vectors = NDArray[np.float32]


def faiss() -> Any:
    """The library, or a line on how to get it."""
    try:
        import faiss as library
    except ImportError as error:
        raise MissingPart("searching needs faiss; run: pip install 'polyseme[search]'") from error
    return library


def build(vectors: NDArray[np.float16], compression: Compression) -> Any:
    """An index of unit vectors (N, D) by inner product."""
    library = faiss()
    count, dim = vectors.shape
    if compression == "pq" and (count < _CLUSTERED or dim % 4):  # faiss cannot select among codes without clusters
        compression = "int8"
    # "np" leaves out a training for a search that is not used here and takes minutes.
    kinds = {"float16": "SQfp16", "int8": "SQ8", "pq": f"PQ{dim // 4}np"}
    clusters = int(math.sqrt(count))
    parts = [f"IVF{clusters}"] if count >= _CLUSTERED else []
    index = library.index_factory(dim, ",".join([*parts, kinds[compression]]), library.METRIC_INNER_PRODUCT)
    if parts:
        index.cp.max_points_per_centroid, index.cp.seed = _TRAINING_POINTS, 1
    if compression == "int8":
        index.sq.rangestat, index.sq.rangestat_arg = library.ScalarQuantizer.RS_quantiles, _OUTLIERS
    if compression == "pq":
        index.pq.cp.max_points_per_centroid, index.pq.cp.niter = _TRAINING_POINTS, _PQ_ROUNDS
    chosen = np.random.default_rng(1).permutation(count)[: max(_PQ_POINTS, _TRAINING_POINTS * clusters)]
    sample = vectors[np.sort(chosen)].astype(np.float32)
    # For its quantiles faiss reads zeros where the first vector stands: give it twice.
    index.train(np.concatenate([sample[:1], sample]) if compression == "int8" else sample)
    for start in range(0, count, _ROWS):
        index.add(vectors[start : start + _ROWS].astype(np.float32))
    return index


def write(index: Any, path: Path) -> None:
    """Store an index."""
    faiss().write_index(index, str(path))


def read(path: Path) -> Any:
    """Open an index; the lists of clusters stay on disk until they are searched."""
    library = faiss()
    try:
        index = library.read_index(str(path), library.IO_FLAG_MMAP | library.IO_FLAG_READ_ONLY)
    except RuntimeError as error:
        raise FormatError(f"{path}: not an index of vectors, or a damaged one; build it again") from error
    if isinstance(index, library.IndexIVF):
        # Threads that read ahead, 32 of them a query, take several times as long as the search of what is in memory.
        library.downcast_InvertedLists(index.invlists).prefetch_nthread = 0
    return index


def search(
    index: Any,
    query: Vectors,
    k: int,
    *,
    only: NDArray[np.int64] | None = None,
    but: NDArray[np.int64] | None = None,
    exact: bool = False,
) -> tuple[Vectors, NDArray[np.int64]]:
    """The nearest of an index.

    Args:
        index: What `read` gives.
        query: (D,) a unit vector.
        k: How many.
        only: Numbers of the vectors that count; all by default.
        but: Numbers of those that do not.
        exact: Look into every cluster, not only where the nearest ones hold too few.

    Returns:
        Similarities and numbers, best first; fewer than k where there are no more.
    """
    if only is not None and len(only) <= _FEW:
        near = stored(index, only) @ query
        best = np.argsort(-near, kind="stable")[:k]
        return near[best], only[best]
    library = faiss()
    selector, wanted = None, min(k, index.ntotal)
    if only is not None or but is not None:
        counted = np.full(index.ntotal, only is None)
        counted[but if only is None else only] = only is not None
        selector = library.IDSelectorBitmap(np.packbits(counted, bitorder="little"))
        wanted = min(k, int(counted.sum()))
    if not isinstance(index, library.IndexIVF):
        return _found(index, query, wanted, library.SearchParameters(sel=selector))
    some = max(1, index.nlist // _PROBED)
    found = _found(
        index, query, wanted, library.SearchParametersIVF(sel=selector, nprobe=index.nlist if exact else some)
    )
    if len(found[1]) < wanted:
        found = _found(index, query, wanted, library.SearchParametersIVF(sel=selector, nprobe=index.nlist))
    return found


def stored(index: Any, numbers: NDArray[np.int64]) -> Vectors:
    """Some vectors (n, D) of an index, as it keeps them."""
    if isinstance(index, faiss().IndexIVF):
        index.make_direct_map()
    rows: Vectors = index.reconstruct_batch(numbers)
    return rows


def unit(vectors: Vectors) -> Vectors:
    """Vectors (N, D) of length 1; zeros stay zeros."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1), dtype=np.float32)


def merge(parts: Iterable[tuple[Vectors, NDArray[np.int64]]], k: int) -> list[tuple[float, int, int]]:
    """The k best of several shards' answers: similarity, shard, number."""
    found = [
        (float(similarity), shard, int(number))
        for shard, (similarities, numbers) in enumerate(parts)
        for similarity, number in zip(similarities, numbers, strict=True)
    ]
    return sorted(found, key=lambda one: (-one[0], one[1:]))[:k]


def _found(index: Any, query: Vectors, k: int, parameters: Any) -> tuple[Vectors, NDArray[np.int64]]:
    similarities, numbers = index.search(query[None], max(1, k), params=parameters)
    found = numbers[0] >= 0
    return similarities[0][found], numbers[0][found]
