"""Which pairs are held out: whole groups, so that no sentence of either side stands in both parts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def groups_of(sources: Sequence[int], targets: Sequence[int]) -> NDArray[np.int64]:
    """The group of each pair: pairs that share a sentence on either side are in one, and so are those they lead to.

    Args:
        sources: The number of each pair's source sentence; equal sentences have equal numbers.
        targets: The same for the target side, numbered apart.
    """
    parent = list(range(len(sources)))

    def root(pair: int) -> int:
        while parent[pair] != pair:
            parent[pair] = parent[parent[pair]]
            pair = parent[pair]
        return pair

    for sentences in (sources, targets):
        first: dict[int, int] = {}
        for pair, sentence in enumerate(sentences):
            parent[root(pair)] = root(first.setdefault(sentence, pair))
    return np.fromiter((root(pair) for pair in range(len(parent))), dtype=np.int64, count=len(parent))


def hold_out(groups: NDArray[np.int64], *, wanted: int, seed: int) -> NDArray[np.bool_]:
    """Whether each pair is held out: groups in random order, as long as they fit into the wanted number of pairs."""
    names, where, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    chosen = np.zeros(len(names), dtype=bool)
    wanted = min(wanted, len(groups) - 1)
    for group in np.random.default_rng([seed, 3]).permutation(len(names)).tolist():
        if sizes[group] <= wanted:
            chosen[group] = True
            wanted -= int(sizes[group])
    return chosen[where]
