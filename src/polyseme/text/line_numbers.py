"""Which line of running text does a sentence begin on, after wrapped lines were joined and split again?"""

from collections import deque
from collections.abc import Sequence

from polyseme.text.lines import Lines


class LineNumbers:
    r"""Follows the characters of a text from its lines to its sentences.

    Tokenisers drop nothing but whitespace, so the number of other characters before a sentence is also the number
    before its place in the lines. Only lines that were read ahead of the sentences are remembered.

    Args:
        lines: The text.

    Example:
        >>> import io
        >>> from polyseme.text.lines import Repairs
        >>> from polyseme.text.tokenizers import tokenized
        >>> text = io.BytesIO(b"It was late. We left.\nThe bank was closed.\n")
        >>> numbers = LineNumbers(Lines(text, name="a.txt", repairs=Repairs()))
        >>> [(numbers.line_of(tokens), tokens[0]) for tokens in tokenized(numbers.readline, "en")]
        [(1, 'It'), (1, 'We'), (2, 'The')]
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._read: deque[tuple[int, int]] = deque()  # number of a line, and characters up to its end
        self._end = 0
        self._given = 0

    def readline(self, limit: int) -> str:
        """As `Lines.readline`."""
        text = self._lines.readline(limit)
        if count := _characters(text):
            self._end += count
            self._read.append((self._lines.number, self._end))
        return text

    def line_of(self, tokens: Sequence[str]) -> int:
        """The line on which the next sentence begins; to be called for each sentence, in the order of the text."""
        while self._read and self._read[0][1] <= self._given:
            self._read.popleft()
        self._given += sum(map(_characters, tokens))
        return self._read[0][0] if self._read else self._lines.number


def _characters(text: str) -> int:
    """Characters that are not whitespace."""
    return sum(map(len, text.split()))
