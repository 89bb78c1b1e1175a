"""Token vectors of words seen before, within a memory budget."""

from collections import OrderedDict
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


class WordCache:
    """Keeps the context-free vectors of the most recently used words.

    Args:
        dim: Width of a vector.
        budget_bytes: Memory for vectors; 0 keeps none.
        device: Where the vectors lie.
    """

    def __init__(self, dim: int, *, budget_bytes: int, device: torch.device | str = "cpu") -> None:
        self._slots: OrderedDict[str, int] = OrderedDict()
        self._rows = budget_bytes // (4 * dim)
        self._table = torch.empty(0, dim, device=device)

    def __len__(self) -> int:
        return len(self._slots)

    def clear(self) -> None:
        """Forget every word."""
        self._slots.clear()

    def vectors(self, words: Sequence[str], encode: Callable[[list[str]], Tensor]) -> Tensor:
        """The vectors of distinct words, encoding those that are not kept.

        Args:
            words: No word twice.
            encode: Words to their vectors.

        Returns:
            (U, P) in the order of ``words``.
        """
        known, slots, new, wanted = [], [], [], []
        for place, word in enumerate(words):
            slot = self._slots.get(word)
            if slot is None:
                wanted.append(place)
                new.append(word)
            else:
                self._slots.move_to_end(word)
                known.append(place)
                slots.append(slot)
        if not known:
            result = encode(new) if new else self._table.new_empty(0, self._table.shape[1])
        else:
            result = self._table.new_empty(len(words), self._table.shape[1])
            result[known] = self._table[slots]
            if new:
                result[wanted] = encode(new)
        self._keep(new, wanted, result)
        return result

    def _keep(self, new: Sequence[str], places: Sequence[int], vectors: Tensor) -> None:
        """Store new words, letting the least recently used ones go."""
        kept = min(len(new), self._rows)
        if not kept:
            return
        slots = []
        for word in new[:kept]:
            slot = len(self._slots) if len(self._slots) < self._rows else self._slots.popitem(last=False)[1]
            self._slots[word] = slot
            slots.append(slot)
        if len(self._slots) > len(self._table):  # grows by doubling, so that small jobs stay small
            rows = min(self._rows, max(1024, 2 * len(self._slots)))
            larger = self._table.new_empty(rows, self._table.shape[1])
            larger[: len(self._table)] = self._table
            self._table = larger
        self._table[slots] = vectors[places[:kept]]
