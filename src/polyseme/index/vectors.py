"""The vectors of one shard in faiss: compressed, in clusters if there are many, read from disk as they are needed."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from polyseme.arrays import HalfVectors, Numbers, Vectors
from polyseme.errors import FormatError, MissingPart
from polyseme.formats.faiss_file import check_faiss
from polyseme.index.choices import Compression

FaissIndex: TypeAlias = Any
"""An index of faiss, which has no types."""

_CLUSTERED = 20_000
"""This many vectors or more are put into clusters, and only the nearest clusters are searched."""
_PROBED = 16
"""One cluster out of this many is searched."""
FEW = 1000
"""Up to this many chosen vectors are compared one by one, which is faster than to look for them in clusters."""
_OUTLIERS = 0.0003
"""The share of a component's values, at either end, that 8 bits cut off; their range would coarsen all others."""
_TRAINING_POINTS = 64  # per cluster
_PQ_BYTES = 64  # of a vector, at most
_PQ_POINTS = 10_000  # at least, to learn the codes of sub-vectors from
_PQ_ROUNDS = 5  # of k-means, for each sub-vector; more take longer and find no more
_ROWS = 1 << 15  # added at a time


def faiss() -> Any:
    """The library; every use of it comes through here.

    Raises:
        MissingPart: It is not installed.
    """
    try:
        import faiss as library
    except ImportError as error:
        raise MissingPart("searching needs faiss; run: pip install 'polyseme[search]'") from error
    return library


def build(vectors: HalfVectors, compression: Compression) -> FaissIndex:
    """An index of unit vectors (N, D) by inner product."""
    library = faiss()
    count, dim = vectors.shape
    parts_of_pq = _sub_vectors(dim)
    if compression == "pq" and (count < _CLUSTERED or not parts_of_pq):  # few, or they cannot be divided
        compression = "int8"
    # "np" leaves out a training for a search that is not used here and takes minutes.
    kinds = {"float16": "SQfp16", "int8": "SQ8", "pq": f"PQ{parts_of_pq}np"}
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
    # For its quantiles faiss reads zeros instead of the first vector, so it is given twice.
    index.train(np.concatenate([sample[:1], sample]) if compression == "int8" else sample)
    for start in range(0, count, _ROWS):
        index.add(vectors[start : start + _ROWS].astype(np.float32))
    return index


def is_coarse(index: FaissIndex) -> bool:
    """Whether an index knows its vectors so coarsely that what it finds should be compared once more."""
    return isinstance(index, faiss().IndexIVFPQ)


def write(index: FaissIndex, path: Path) -> None:
    """Store an index."""
    library = faiss()
    if isinstance(index, library.IndexIVF):
        index.set_direct_map_type(library.DirectMap.NoMap)  # `stored` makes one; it is not part of the file
    library.write_index(index, str(path))


def read(path: Path, *, count: int, dim: int, advice: str) -> FaissIndex:
    """Open an index; the contents of clusters stay on disk until they are searched.

    Args:
        path: The file.
        count: How many vectors it should hold.
        dim: Their width.
        advice: What to do if it does not, as the end of a sentence.
    """
    library = faiss()
    check_faiss(path, count=count, dim=dim, advice=advice)
    try:
        index = library.read_index(str(path), library.IO_FLAG_MMAP | library.IO_FLAG_READ_ONLY)
    except (RuntimeError, MemoryError) as error:
        raise FormatError(f"{path}: faiss cannot read it ({' '.join(str(error).split())}); {advice}") from error
    if isinstance(index, library.IndexIVF):
        # Faiss reads ahead in 32 threads per query, which takes several times as long as a search in memory.
        library.downcast_InvertedLists(index.invlists).prefetch_nthread = 0
    return index


def search(
    index: FaissIndex,
    query: Vectors,
    k: int,
    *,
    only: Numbers | None = None,
    but: Numbers | None = None,
    exact: bool = False,
) -> tuple[Vectors, Numbers]:
    """The vectors of an index that are nearest to a query.

    Args:
        index: What `read` gives.
        query: (D,) a unit vector.
        k: How many.
        only: Numbers of the vectors that count; all by default.
        but: Numbers of those that do not.
        exact: Search every cluster, not only if the nearest ones hold too few.

    Returns:
        Similarities and numbers, best first; fewer than k if there are no more.
    """
    if only is not None and len(only) <= FEW:
        near = stored(index, only) @ query
        best = np.argsort(-near, kind="stable")[:k]
        return near[best], only[best]
    selector, wanted = _selector(index, k, only, but)
    if not isinstance(index, faiss().IndexIVF):
        return _found(index, query, wanted, faiss().SearchParameters(sel=selector))
    some = index.nlist if exact else max(1, index.nlist // _PROBED)
    found = _found(index, query, wanted, faiss().SearchParametersIVF(sel=selector, nprobe=some))
    if len(found[1]) < wanted:
        found = _found(index, query, wanted, faiss().SearchParametersIVF(sel=selector, nprobe=index.nlist))
    return found


def stored(index: FaissIndex, numbers: Numbers) -> Vectors:
    """Some vectors (n, D) of an index, as they are stored."""
    if isinstance(index, faiss().IndexIVF):
        index.make_direct_map()
    rows: Vectors = index.reconstruct_batch(numbers)
    return rows


def unit(vectors: Vectors) -> Vectors:
    """Vectors (N, D) of length 1; zeros stay zeros."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1), dtype=np.float32)


def merge(parts: Iterable[tuple[Vectors, Numbers]], k: int) -> tuple[Vectors, Numbers]:
    """The k best of what several searches found, best first; of equal ones, those that come first in the text."""
    similarities, numbers = np.zeros(0, np.float32), np.zeros(0, np.int64)
    for some, found in parts:
        similarities, numbers = np.concatenate([similarities, some]), np.concatenate([numbers, found])
    best = np.lexsort((numbers, -similarities))[:k]
    return similarities[best], numbers[best]


def _sub_vectors(dim: int) -> int:
    """Into how many parts product quantisation divides a vector: of four numbers, or more if that is too many bytes."""
    most = min(_PQ_BYTES, dim // 4)
    parts = max((parts for parts in range(1, most + 1) if dim % parts == 0), default=0)
    return parts if 32 * parts >= dim else 0


def _selector(index: FaissIndex, k: int, only: Numbers | None, but: Numbers | None) -> tuple[FaissIndex | None, int]:
    """What tells faiss which vectors count, and how many it can find."""
    if only is None and but is None:
        return None, min(k, index.ntotal)
    counted = np.full(index.ntotal, only is None)
    counted[but if only is None else only] = only is not None
    return faiss().IDSelectorBitmap(np.packbits(counted, bitorder="little")), min(k, int(counted.sum()))


def _found(index: FaissIndex, query: Vectors, k: int, parameters: FaissIndex) -> tuple[Vectors, Numbers]:
    similarities, numbers = index.search(query[None], max(1, k), params=parameters)
    found = numbers[0] >= 0
    return similarities[0][found], numbers[0][found]
