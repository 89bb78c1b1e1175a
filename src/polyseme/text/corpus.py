"""A corpus: files, folders and standard input read as one stream of sentences, as often as needed."""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import cast

from polyseme.errors import InputError
from polyseme.text.beginning import STDIN, beginning
from polyseme.text.choices import READERS, TOKENS_ALREADY, Layout, Reader, Tokenizer, TokenizerChoice
from polyseme.text.dictionary import Dictionary
from polyseme.text.lines import Lines, Repairs
from polyseme.text.readers import Sentence, read_conllu, read_fasta, read_jsonl, read_lines
from polyseme.text.segmentation import Segmentation, check_choice, resolve

__all__ = ["Corpus", "Dictionary", "Sentence"]

_SUFFIXES: dict[str, Layout] = {
    ".conllu": "conllu",
    ".conll": "conllu",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".fasta": "fasta",
    ".fa": "fasta",
    ".faa": "fasta",
}


class Corpus:
    """Sentences from files, streamed: memory does not grow with the corpus.

    Args:
        sources: Files, folders (every file below, in the order of the paths, hidden ones skipped) or "-" for standard
            input. Gzip is recognised by content.
        reader: The format of all sources; "auto" goes by the suffix, .gz apart, and takes what it does not know, and
            standard input, for lines.
        tokenize: How running text (lines, and the "text" of JSON lines) is cut into sentences and tokens: by a
            tokeniser; ``none`` (or None) where a line is a sentence and tokens stand between whitespace; ``auto`` as
            the model's text was cut (see `follow`), and without a model by what the text looks like. CoNLL-U, FASTA
            and JSON lines of tokens are never cut again.
        dictionary: Words that the tokeniser ``zh`` keeps whole.

    Attributes:
        reader: As given.
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
        tokenize: TokenizerChoice | None = "auto",
        dictionary: Dictionary | None = None,
    ) -> None:
        if isinstance(sources, str | Path):
            raise InputError(f"sources is the one path {str(sources)!r} where a list of paths is expected: [path]")
        if reader not in READERS:
            raise InputError(f"unknown reader {reader!r}; choose one of {', '.join(READERS)}")
        self._choice = check_choice(tokenize)
        self._dictionary = dictionary
        self._segmentation = None if self._choice == "auto" else resolve(self._choice, dictionary, None, str)[0]
        self._sources = [str(source) for source in sources]
        self._paths = [path for source in self._sources for path in _files(source)]
        if not self._paths:
            raise InputError("no source given; name a file, a folder or - for standard input")
        if self._paths.count(STDIN) > 1:
            raise InputError("standard input (-) is given twice but can be read only once; give it once")
        self.reader = reader
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

    def follow(self, model: Segmentation | None) -> str | None:
        """Settle how the text is cut, now that it is known how a model's text was.

        Args:
            model: How the model's text was cut; None where there is no model yet.

        Returns:
            One line to tell the user: what ``auto`` has come to mean, or that the choice differs from the model's.
        """
        if self._tokens_already() and self._choice == "auto":
            # Nothing is cut; but an index of this text is asked in running text, which has to be like the model's.
            known = model or Segmentation()
            self._segmentation = Segmentation(known.tokenizer, self._dictionary or known.dictionary)
            return None
        self._segmentation, note = resolve(self._choice, self._dictionary, model, self._beginning)
        return None if self._tokens_already() else note

    @property
    def segmentation(self) -> Segmentation:
        """How running text is cut; decided by its look where `follow` has not decided it."""
        if self._segmentation is None:
            self.follow(None)
        return cast("Segmentation", self._segmentation)

    @property
    def tokenize(self) -> Tokenizer | None:
        """What cuts running text; None where it is cut already."""
        return self.segmentation.tokenizer

    @property
    def dictionary(self) -> Dictionary | None:
        """Words that are kept whole."""
        return self.segmentation.dictionary

    def _tokens_already(self) -> bool:
        return all(self._layout(path) in TOKENS_ALREADY for path in self._paths)

    def _beginning(self) -> str:
        return beginning((path, self._layout(path)) for path in self._paths)

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
            name = "standard input" if self._pipe == STDIN else self._pipe
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
            name = "<stdin>" if path == STDIN else path
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

    def _layout(self, path: str) -> Layout:
        if self.reader != "auto":
            return self.reader
        return _SUFFIXES.get(Path(path.lower().removesuffix(".gz")).suffix, "lines")


def _files(source: str) -> list[str]:
    """The file a source is, or the files below it."""
    if source == STDIN:
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
    return path == STDIN or not Path(path).is_file()


def _readable(path: str) -> str:
    if not Path(path).exists():
        raise InputError(f"{path}: no such file or folder; check the path")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: cannot be opened: permission denied")
    return path


def _opened(path: str) -> AbstractContextManager[io.BufferedIOBase]:
    if path == STDIN:
        if sys.stdin is None:  # a service, or "<&-"
            raise InputError("standard input (-) is closed; give a file, or pipe text into the command")
        return nullcontext(cast("io.BufferedIOBase", sys.stdin.buffer))  # left open: it is not ours
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
