"""Sentences in memory that can be used as a corpus."""

import json
from collections.abc import Iterable, Iterator, Sequence

from polyseme.files.checksum import digest
from polyseme.progress.figures import counted
from polyseme.text.batching import checked
from polyseme.text.choices import Layout
from polyseme.text.corpus import Corpus
from polyseme.text.readers import Sentence
from polyseme.text.repairs import Repairs


class HeldSentences(Corpus):
    """Sentences in memory that can be used as a corpus.

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
        return f"{counted(len(self._held), 'sentence')} in memory"

    def __iter__(self) -> Iterator[Sentence]:
        """Yield every sentence."""
        self.repairs = Repairs()
        for number, tokens in enumerate(self._held, 1):
            self._given = number
            self.repairs.judge(tokens, f"sentence {number - 1}")
            yield Sentence(tokens)

    @property
    def layouts(self) -> set[Layout]:
        """No file, no layout."""
        return set()

    def _tokens_already(self) -> bool:
        return True

    @property
    def from_files(self) -> bool:
        """There is nothing to read."""
        return False

    def share_read(self) -> float | None:
        """The share of the sentences yielded in the current iteration, from 0 to 1."""
        return self._given / max(1, len(self._held))

    def identity(self) -> list[list[str | int]]:
        """The number of sentences and a digest of them."""
        return [[digest([json.dumps(self._held).encode()]), len(self._held)]]

    def check_resumable(self) -> None:
        """Always allowed: the digest shows whether the sentences are the same."""
