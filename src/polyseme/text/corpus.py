"""A corpus: files, folders and standard input read as one stream of sentences, as often as needed."""

import hashlib
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, cast, get_args

from polyseme.errors import InputError
from polyseme.text.batching import checked
from polyseme.text.dictionary import Dictionary
from polyseme.text.lines import Lines, Repairs
from polyseme.text.readers import Sentence, read_conllu, read_fasta, read_jsonl, read_lines
from polyseme.text.tokenizers import TOKENIZERS, Tokenizer, check_dictionary

__all__ = [
    "READERS",
    "TOKENIZERS",
    "Corpus",
    "Dictionary",
    "HeldSentences",
    "Reader",
    "Repairs",
    "Sentence",
    "Tokenizer",
]

Reader = Literal["auto", "lines", "conllu", "jsonl", "fasta"]
READERS: tuple[Reader, ...] = get_args(Reader)

_SUFFIXES: dict[str, Reader] = {
    ".conllu": "conllu",
    ".conll": "conllu",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".fasta": "fasta",
    ".fa": "fasta",
    ".faa": "fasta",
}
_TOKENISED: frozenset[Reader] = frozenset({"conllu", "fasta"})
_STDIN = "-"


class Corpus:
    """Sentences from files, streamed: memory does not grow with the corpus.

    Args:
        sources: Files, folders (every file below, in the order of the paths, hidden ones skipped) or "-" for standard
            input. Gzip is recognised by content.
        reader: The format of all sources; "auto" goes by the suffix, .gz apart, and takes what it does not know, and
            standard input, for lines.
        tokenize: Part running text (lines, and the "text" of JSON lines) into sentences and tokens. Without it a line
            is a sentence and tokens stand between whitespace.
        dictionary: Words that the tokeniser ``zh`` keeps whole.

    Attributes:
        reader: As given.
        tokenize: As given.
        dictionary: As given.
        repairs: What was replaced in the iteration begun last, so far.

    Raises:
        InputError: A source does not exist or a folder holds no file; in iterating, a source is not what it should be.

    Example:
        >>> for sentence in Corpus(["news.txt.gz"], tokenize="en"):
        ...     print(sentence.tokens)
        ['He', 'sat', 'on', 'the', 'bank', '.']
        ['It', "'s", 'wet', '.']
    """

    def __init__(
        self,
        sources: Sequence[str | Path],
        *,
        reader: Reader = "auto",
        tokenize: Tokenizer | None = None,
        dictionary: Dictionary | None = None,
    ) -> None:
        if isinstance(sources, str | Path):
            raise InputError(f"sources is the one path {str(sources)!r} where a list of paths is expected: [path]")
        if reader not in READERS:
            raise InputError(f"unknown reader {reader!r}; choose one of {', '.join(READERS)}")
        if tokenize not in (None, *TOKENIZERS):
            raise InputError(f"unknown tokenizer {tokenize!r}; choose one of {', '.join(TOKENIZERS)}")
        check_dictionary(dictionary, tokenize)
        self._sources = [str(source) for source in sources]
        self._paths = [path for source in self._sources for path in _files(source)]
        if not self._paths:
            raise InputError("no source given; name a file, a folder or - for standard input")
        if self._paths.count(_STDIN) > 1:
            raise InputError("standard input (-) is given twice but can be read only once; give it once")
        self.reader = reader
        layouts = [self._layout(path) for path in self._paths]
        if tokenize and set(layouts) <= _TOKENISED:
            raise InputError(f"{layouts[0]} holds tokens already; leave out the tokenizer {tokenize!r}")
        self.tokenize = tokenize
        self.dictionary = dictionary
        self._spent: str | None = None
        self._pipe = next((path for path in self._paths if _is_pipe(path)), None)
        self._size = 0 if self._pipe else sum(Path(path).stat().st_size for path in self._paths)
        self._size_before = 0  # of the files read to their end
        self._stream: io.BufferedIOBase | None = None
        self.repairs = Repairs()

    def __str__(self) -> str:
        shown = ", ".join(self._sources[:3])
        return shown if len(self._sources) <= 3 else f"{shown} and {len(self._sources) - 3} more"

    def __iter__(self) -> Iterator[Sentence]:
        """Read every source from its beginning."""
        if self._spent:
            raise InputError(f"{self._spent}: has been read and cannot be read again; save it to a file and give that")
        self.repairs = Repairs()
        self._size_before = 0
        return self._sentences(self.repairs)

    def share_read(self) -> float | None:
        """How much of the bytes the iteration begun last has read, from 0 to 1; None where a pipe hides its length."""
        if not self._size:
            return None
        return min(1.0, (self._size_before + (self._stream.tell() if self._stream else 0)) / self._size)

    def facts(self) -> list[list[str | int]]:
        """Name, size and time of change of each file, to tell whether the corpus is the same as before."""
        found: list[list[str | int]] = []
        for path in self._paths:
            status = None if _is_pipe(path) else Path(path).stat()
            found.append([path, status.st_size, status.st_mtime_ns] if status else [path])
        return found

    def check_resumable(self) -> None:
        """Raise `InputError` where nobody can tell whether the text is the one that was begun with."""
        if self._pipe:
            name = "standard input" if self._pipe == _STDIN else self._pipe
            raise InputError(
                f"{name}: is a pipe, and a run on it cannot be resumed; save the text to a file and begin with that"
            )

    def nonempty(self) -> Iterator[Sentence]:
        """Iterate, and raise `InputError` at the end if no sentence had a token."""
        tokens = 0
        for sentence in self:
            tokens += len(sentence.tokens)
            yield sentence
        if not tokens:
            raise InputError(f"{self}: no sentences; give text with at least one word")

    def _sentences(self, repairs: Repairs) -> Iterator[Sentence]:
        for path in self._paths:
            name = "<stdin>" if path == _STDIN else path
            with _opened(path) as stream:
                if _is_pipe(path):
                    self._spent = name
                self._stream = stream if self._size else None
                try:
                    yield from self._read(Lines(stream, name=name, repairs=repairs), path)
                    self._size_before += stream.tell() if self._size else 0
                finally:
                    self._stream = None

    def _read(self, lines: Lines, path: str) -> Iterator[Sentence]:
        match self._layout(path):
            case "conllu":
                return read_conllu(lines)
            case "fasta":
                return read_fasta(lines)
            case "jsonl":
                return read_jsonl(lines, self.tokenize, self.dictionary)
            case _:
                return read_lines(lines, self.tokenize, self.dictionary)

    def _layout(self, path: str) -> Reader:
        if self.reader != "auto":
            return self.reader
        return _SUFFIXES.get(Path(path.lower().removesuffix(".gz")).suffix, "lines")


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
        self.reader, self.tokenize, self.dictionary, self.repairs = "lines", None, None, Repairs()

    def __str__(self) -> str:
        return f"{len(self._held):,} sentences in memory"

    def __iter__(self) -> Iterator[Sentence]:
        """Give every sentence."""
        for number, tokens in enumerate(self._held, 1):
            self._given = number
            yield Sentence(tokens)

    def share_read(self) -> float | None:
        """How many of the sentences the iteration begun last has given, from 0 to 1."""
        return self._given / max(1, len(self._held))

    def facts(self) -> list[list[str | int]]:
        """Their number and a digest."""
        digest = hashlib.blake2b(json.dumps(self._held).encode(), digest_size=8).hexdigest()
        return [[digest, len(self._held)]]

    def check_resumable(self) -> None:
        """A digest tells whether they are the same."""


def _files(source: str) -> list[str]:
    """The file a source is, or the files below it."""
    if source == _STDIN:
        return [source]
    if not Path(source).is_dir():
        return [_readable(source)]

    def fail(error: OSError) -> None:
        raise InputError(f"{error.filename}: cannot be opened: {error.strerror}") from error

    def is_new(folder: str) -> bool:
        """Whether a folder was not met before: links may lead in circles."""
        real = os.path.realpath(folder)
        met = real in seen
        seen.add(real)
        return not met

    paths: list[Path] = []
    seen: set[str] = set()
    is_new(source)
    for folder, folders, files in os.walk(source, onerror=fail, followlinks=True):
        folders[:] = [name for name in sorted(folders) if not name.startswith(".") and is_new(f"{folder}/{name}")]
        paths += [Path(folder, name) for name in files if not name.startswith(".")]
    if not paths:
        raise InputError(f"{source}: no file in this folder; hidden ones do not count")
    return [_readable(str(path)) for path in sorted(paths)]


def _is_pipe(path: str) -> bool:
    return path == _STDIN or not Path(path).is_file()


def _readable(path: str) -> str:
    if not Path(path).exists():
        raise InputError(f"{path}: no such file or folder; check the path")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: cannot be opened: permission denied")
    return path


def _opened(path: str) -> AbstractContextManager[io.BufferedIOBase]:
    if path == _STDIN:
        if sys.stdin is None:  # a service, or "<&-"
            raise InputError("standard input (-) is closed; give a file, or pipe text into the command")
        return nullcontext(cast("io.BufferedIOBase", sys.stdin.buffer))  # left open: it is not ours
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
