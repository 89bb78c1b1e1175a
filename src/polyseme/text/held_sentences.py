"""Sentences in memory, where a corpus is expected."""

import json
from collections.abc import Iterable, Iterator, Sequence

from polyseme.files.checksum import digest
from polyseme.text.batching import checked
from polyseme.text.corpus import Corpus
from polyseme.text.lines import Repairs
from polyseme.text.readers import Sentence


class HeldSentences(Corpus):
    """Sentences in memory, where a corpus is expected.

    Args:
        sentences: Lists of tokens.

    Example:
        >>> [sentence.tokens for sentence in HeldSentences([["The", "river", "bank"], ["Yes"]])]
        [['The', 'river', 'bank'], ['Yes']]
    """

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        self._held = [list(tokens) for tokens in checked(sentences)]
        self._given = 0
        self.reader, self.repairs = "lines", Repairs()
        self._choice, self._dictionary, self._segmentation = "auto", None, None

    def __str__(self) -> str:
        return f"{len(self._held):,} sentences in memory"

    def __iter__(self) -> Iterator[Sentence]:
        """Give every sentence."""
        for number, tokens in enumerate(self._held, 1):
            self._given = number
            yield Sentence(tokens)

    def _tokens_already(self) -> bool:
        return True

    def share_read(self) -> float | None:
        """How many of the sentences the iteration begun last has given, from 0 to 1."""
        return self._given / max(1, len(self._held))

    def facts(self) -> list[list[str | int]]:
        """Their number and a digest."""
        return [[digest([json.dumps(self._held).encode()]), len(self._held)]]

    def check_resumable(self) -> None:
        """A digest tells whether they are the same."""
