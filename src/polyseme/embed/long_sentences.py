"""Sentences that are much longer than others, such as proteins of thousands of residues, are counted and told."""

from dataclasses import dataclass

from polyseme.text.corpus import Sentence

LONG = 5_000
"""Tokens from which a sentence is called long."""


@dataclass(slots=True)
class LongSentences:
    """Counts long sentences.

    Attributes:
        count: How many there were.
        longest: Tokens of the longest sentence of all.
        name: The name of that one.
    """

    count: int = 0
    longest: int = 0
    name: str | None = None

    def add(self, sentence: Sentence) -> None:
        """Take in a sentence."""
        length = len(sentence.tokens)
        self.count += length > LONG
        if length > self.longest:
            self.longest, self.name = length, sentence.name

    def __str__(self) -> str:
        many = f"{self.count:,} sentence{'s are' if self.count > 1 else ' is'} longer than {LONG:,} tokens"
        name = f" ({self.name})" if self.name else ""
        return f"{many}, the longest{name} has {self.longest:,}; each was embedded whole"
