"""What tasks have in common whose examples are two texts."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from polyseme.errors import InputError
from polyseme.tasks.examples import Tokens
from polyseme.tasks.kind import Kind
from polyseme.tasks.model import Ex
from polyseme.text.segmentation import Segmentation


class PairedKind(Kind[Ex]):
    """A task whose examples are two texts."""

    sides: ClassVar[tuple[str, str]]

    @abstractmethod
    def of_texts(self, number: int, texts: tuple[str, str], tokens: tuple[Tokens, Tokens]) -> Ex:
        """Two raw texts and their tokens as an example without an answer; ``number`` counts from 1."""

    def of_items(self, items: Sequence[object], segmentation: Segmentation) -> list[Ex]:
        """Pairs of raw texts, or one pair."""
        if len(items) == 2 and all(isinstance(item, str) for item in items):
            items = [tuple(items)]
        return [self._pair(number, item, segmentation) for number, item in enumerate(items, 1)]

    def of_sentences(self, sentences: Sequence[Tokens]) -> list[Ex]:
        """See `Kind`."""
        first, second = self.sides
        raise InputError(
            f"the task {self.name} needs two texts, a {first} and a {second}; give both, or a file of {self.unit}"
        )

    def _pair(self, number: int, item: object, segmentation: Segmentation) -> Ex:
        first, second = self.sides
        if not isinstance(item, list | tuple) or len(item) != 2 or not all(isinstance(one, str) for one in item):
            raise InputError(
                f"item {number:,} is {item!r:.60}; give pairs of strings ({first}, {second}), a file (a Path), or "
                f"{self.example.__name__} examples"
            )
        tokens = [tuple(token for one in segmentation.sentences(text) for token in one) for text in item]
        for side, found in zip(self.sides, tokens, strict=True):
            if not found:
                raise InputError(f"item {number:,}: its {side} has no tokens; give some text")
        return self.of_texts(number, (item[0], item[1]), (tokens[0], tokens[1]))
