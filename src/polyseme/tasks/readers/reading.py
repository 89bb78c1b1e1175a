"""What a reader is given: the lines of a file, the user's choices, and where to count repairs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from polyseme.errors import InputError
from polyseme.tasks.choices import HeadSpans, TaskName
from polyseme.tasks.examples import Tokens
from polyseme.tasks.readers.repairs import EMPTY_TOKEN, DataRepairs
from polyseme.text.lines import Lines
from polyseme.text.segmentation import Segmentation
from polyseme.text.tokenizers import tokenized

_MOST_CHARACTERS = 2**31
_CHUNK = 2**20


@dataclass(frozen=True, kw_only=True)
class Options:
    """The choices for reading, each for the formats that have it.

    Attributes:
        labelled: Whether answers (labels, tags, spans, clusters) must be there; without, they are read if they are.
        column: The tags' column: a number from 1 (default in CoNLL columns: the last), or for CoNLL-U a name such as
            ``upos`` (the default), ``xpos`` or ``feats:Number``.
        classes: 5 or 2 classes of SST's trees; with 2, neutral texts are left out.
        subtrees: Whether each phrase of SST's trees is a text too.
        spans: What an argument of Universal Propositions is: its head word, or the subtree of that.
        columns: For CSV, TSV and JSON lines: the name of the file's column for each of ours that is called otherwise,
            as ``{"text": "review", "label": "stars"}``; numbers from 1 if the file has no header.
        header: Whether CSV and TSV begin with the names of their columns.
    """

    labelled: bool = True
    column: str | None = None
    classes: int = 5
    subtrees: bool = False
    spans: HeadSpans = "heads"
    columns: Mapping[str, str] = field(default_factory=dict)
    header: bool = True

    def __post_init__(self) -> None:
        if self.classes not in (2, 5):
            raise InputError(f"classes is {self.classes}; SST's trees have 5 classes, or 2 without the neutral one")
        if self.spans not in ("heads", "subtree"):
            raise InputError(f"spans is {self.spans!r}; choose heads or subtree")


@dataclass(frozen=True)
class Reading:
    """A file being read.

    Attributes:
        lines: Its lines, which know their position.
        task: What it is read for.
        options: The user's choices.
        repairs: Counts the repairs.
        split: Splits raw text into tokens.
        segmentation: Splits raw text into sentences; None if that is not known yet.
    """

    lines: Lines
    task: TaskName
    options: Options
    repairs: DataRepairs
    split: Callable[[str], list[str]]
    segmentation: Segmentation | None = None

    @property
    def place(self) -> str:
        """The position of the line read last, as ``file:line``."""
        return self.lines.place

    def at(self, number: int) -> str:
        """A line's position, as ``file:line``."""
        return f"{self.lines.name}:{number}"

    def count(self, what: str, place: str | None = None) -> None:
        """Count a repair at the line read last, or at another place."""
        self.repairs.count(what, place or self.place)

    def tokens(self, text: str) -> Tokens:
        """The tokens of raw text."""
        return tuple(self.split(self.mended(text)))

    def sentences(self) -> Iterator[Tokens]:
        """The sentences of raw text: of all that is left of the file; a line is one if the text is tokenised."""
        cut = self.segmentation
        if cut is None or cut.tokenizer is None:
            return (tokens for line in self.lines if (tokens := self.tokens(line)))
        return map(tuple, tokenized(self.lines.readline, cut.tokenizer, cut.dictionary))

    def token(self, text: str, line: int) -> str:
        """A token of a column, which must have a character to keep its place."""
        if text.strip():
            return text
        self.count(EMPTY_TOKEN, self.at(line))
        return "\ufffd"

    def mended(self, text: str) -> str:
        """Text without what is no text, which JSON can hide behind escapes."""
        return self.lines.repairs.mend(text, self.place)

    def whole(self) -> str:
        """All that is left of the file, lines of any length."""
        return "".join(self._chunks())

    def _chunks(self) -> Iterator[str]:
        characters = 0
        while chunk := self.lines.readline(_CHUNK):
            characters += len(chunk)
            if characters > _MOST_CHARACTERS:
                raise InputError(f"{self.place}: more than {_MOST_CHARACTERS:,} characters in one file; split it")
            yield chunk
