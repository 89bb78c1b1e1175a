"""The words a language model can predict."""

from collections.abc import Iterable, Sequence

from polyseme.errors import FormatError

UNKNOWN = "<UNK>"


class Vocabulary:
    """Output words by id, most frequent first after the markers.

    Args:
        words: In the order of their ids. A word that occurs twice keeps its first id.
        where: The name of the vocabulary in messages.
    """

    def __init__(self, words: Iterable[str], *, where: str = "the vocabulary") -> None:
        self.words = tuple(words)
        self.ids: dict[str, int] = {}
        for index, word in enumerate(self.words):
            self.ids.setdefault(word, index)
        # bilm-tf accepts <UNK> and <unk> alike.
        unknown = self.ids.get(UNKNOWN, self.ids.get(UNKNOWN.lower()))
        if unknown is None:
            raise FormatError(
                f"{where}: no {UNKNOWN} among its {len(self.words)} words; it is needed for unknown words"
            )
        self.unknown = unknown

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.ids

    def lookup(self, words: Sequence[str]) -> list[int]:
        """The id of each word; that of the unknown word if it is not in the vocabulary."""
        return [self.ids.get(word, self.unknown) for word in words]
