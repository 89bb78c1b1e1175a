"""Token vectors of words seen before, within a memory budget."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_LONGEST = 256
"""A word of more characters rarely comes twice, and would take more memory than its vector."""


class WordCache:
    """Keeps the context-free vectors of the most recently used words. Threads may share one.

    Args:
        dim: Width of a vector.
        budget_bytes: Memory for vectors; 0 keeps none.
        device: Where the vectors are kept.
    """

    def __init__(self, dim: int, *, budget_bytes: int, device: torch.device | str = "cpu") -> None:
        self._slots: OrderedDict[str, int] = OrderedDict()
        self._rows = max(0, budget_bytes) // (4 * dim)
        self._table = torch.empty(0, dim, device=device)
        self._lock = threading.Lock()  # a slot and its row are two things, and torch lets other threads in between

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __len__(self) -> int:
        return len(self._slots)

    def clear(self) -> None:
        """Forget every word."""
        with self._lock:
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
        with self._lock:
            for place, word in enumerate(words):
                slot = self._slots.get(word)
                if slot is None:
                    wanted.append(place)
                    new.append(word)
                else:
                    self._slots.move_to_end(word)
                    known.append(place)
                    slots.append(slot)
            kept = self._table[slots]
        if not new:
            return kept
        fresh = encode(new)
        with self._lock:
            self._keep(new, fresh)
        if not known:
            return fresh
        result = fresh.new_empty(len(words), fresh.shape[1])
        result[known], result[wanted] = kept, fresh
        return result

    def _keep(self, new: Sequence[str], vectors: Tensor) -> None:
        """Store new words in place of the least recently used ones."""
        places, slots = [], []
        for place, word in enumerate(new[: self._rows]):
            if word in self._slots:  # another thread was quicker
                continue
            if len(word) > _LONGEST:
                continue
            slot = len(self._slots) if len(self._slots) < self._rows else self._slots.popitem(last=False)[1]
            self._slots[word] = slot
            places.append(place)
            slots.append(slot)
        if len(self._slots) > len(self._table):  # grows by doubling, so that small jobs stay small
            rows = min(self._rows, max(1024, 2 * len(self._slots)))
            larger = self._table.new_empty(rows, self._table.shape[1])
            larger[: len(self._table)] = self._table
            self._table = larger
        self._table[slots] = vectors[places]
