"""A corpus: files, folders and standard input read as one stream of sentences, as often as needed."""

import io
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import cast

from polyseme.errors import InputError
from polyseme.text.beginning import STDIN, beginning
from polyseme.text.choices import READERS, TOKENS_ALREADY, Layout, Reader, Tokenizer, TokenizerChoice
from polyseme.text.dictionary import Dictionary
from polyseme.text.layouts import layout_of, read_sentences
from polyseme.text.lines import Lines
from polyseme.text.readers import Sentence
from polyseme.text.repairs import Repairs
from polyseme.text.segmentation import Segmentation, check_choice, resolve

__all__ = ["Corpus", "Dictionary", "Sentence"]


class Corpus:
    """Sentences from files, streamed: memory does not grow with the corpus.

    Args:
        sources: Files, folders (all files in them and below, sorted by path, without hidden ones) or "-" for standard
            input. Gzip is recognised by content.
        reader: The format of all sources; "auto" decides by the suffix before any .gz, and reads other files and
            standard input as lines.
        tokenize: How running text (lines, paragraphs of TEI, and the "text" of JSON lines) is split into sentences and
            tokens: the name of a tokeniser; ``none`` (or None) if a line is a sentence and tokens are separated by
            whitespace; ``auto`` to do as was done for the model's text (see `follow`), or without a model by what the
            text looks like.
            CoNLL-U, FASTA, VRT, words in TEI and JSON lines of tokens are never tokenised again.
        dictionary: Words that the tokeniser ``zh`` keeps whole.

    Attributes:
        reader: As given.
        repairs: What has been replaced so far in the current iteration.

    Raises:
        InputError: A source does not exist or a folder has no files; while iterating, a source has the wrong format.

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
            raise InputError(f"sources is the single path {str(sources)!r}, but a list of paths is expected: [path]")
        if reader not in READERS:
            raise InputError(f"unknown reader {reader!r}; choose one of {', '.join(READERS)}")
        self._choice = check_choice(tokenize)
        self._dictionary = dictionary
        self._segmentation = None if self._choice == "auto" else resolve(self._choice, dictionary, None, str)[0]
        self._sources = [str(source) for source in sources]
        self._paths = [path for source in self._sources for path in files_of(source)]
        if not self._paths:
            raise InputError("no source given; name a file, a folder or - for standard input")
        if self._paths.count(STDIN) > 1:
            raise InputError("standard input (-) is given twice but can be read only once; give it once")
        self.reader = reader
        self._spent: str | None = None
        self._pipe = next((path for path in self._paths if _is_pipe(path)), None)
        self._size = 0 if self._pipe else sum(Path(path).stat().st_size for path in self._paths)
        self._size_before = 0  # bytes of the files that are already read
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
        """Decide how the text is tokenised, given how the model's text was tokenised.

        Args:
            model: How the model's text was tokenised; None if there is no model yet.

        Returns:
            One line to show to the user: what ``auto`` means here, or that the choice differs from the model's.
        """
        if self._tokens_already() and self._choice == "auto":
            # This text is not tokenised, but queries of an index of it are, and must be like the model's text.
            known = model or Segmentation()
            self._segmentation = Segmentation(known.tokenizer, self._dictionary or known.dictionary)
            return None
        self._segmentation, note = resolve(self._choice, self._dictionary, model, self._beginning)
        return None if self._tokens_already() else note

    @property
    def segmentation(self) -> Segmentation:
        """How running text is tokenised; decided by what it looks like if `follow` was not called."""
        if self._segmentation is None:
            self.follow(None)
        return cast("Segmentation", self._segmentation)

    @property
    def tokenize(self) -> Tokenizer | None:
        """The tokeniser of running text; None if the text is already tokenised."""
        return self.segmentation.tokenizer

    @property
    def dictionary(self) -> Dictionary | None:
        """Words that the tokeniser keeps whole."""
        return self.segmentation.dictionary

    @property
    def layouts(self) -> set[Layout]:
        """The layouts of the files."""
        return {self._layout(path) for path in self._paths}

    def _tokens_already(self) -> bool:
        return all(self._layout(path) in TOKENS_ALREADY for path in self._paths)

    def _beginning(self) -> str:
        return beginning((path, self._layout(path)) for path in self._paths)

    @property
    def from_files(self) -> bool:
        """Whether all text is in files, neither in a pipe, which may make its reader wait, nor in memory."""
        return bool(self._size)

    def share_read(self) -> float | None:
        """The share of the bytes read in the current iteration, from 0 to 1; None if a pipe has no known length."""
        if not self._size:
            return None
        return min(1.0, (self._size_before + (self._stream.tell() if self._stream else 0)) / self._size)

    def identity(self) -> list[list[str | int]]:
        """Name, size and modification time of each file, to check whether the corpus is the same as before."""
        found: list[list[str | int]] = []
        for path in self._paths:
            status = None if _is_pipe(path) else Path(path).stat()
            found.append([path, status.st_size, status.st_mtime_ns] if status else [path])
        return found

    def check_resumable(self) -> None:
        """Raise `InputError` if it cannot be checked that the text is the same when a run is resumed."""
        if self._pipe:
            name = "standard input" if self._pipe == STDIN else self._pipe
            raise InputError(
                f"{name}: is a pipe, and a run on it cannot be resumed; save the text to a file and start with that"
            )

    def nonempty(self) -> Generator[Sentence, None, None]:
        """Iterate, and raise `InputError` at the end if no sentence has a token."""
        tokens = 0
        for sentence in self:
            tokens += len(sentence.tokens)
            yield sentence
        if not tokens:
            raise InputError(f"{self}: no sentences; give text with at least one word")

    def _sentences(self, repairs: Repairs) -> Iterator[Sentence]:
        for path in self._paths:
            name = "<stdin>" if path == STDIN else path
            with open_bytes(path) as stream:
                if _is_pipe(path):
                    self._spent = name
                self._stream = stream if self._size else None
                try:
                    lines = Lines(stream, name=name, repairs=repairs)
                    for sentence in read_sentences(lines, self._layout(path), self.tokenize, self.dictionary):
                        repairs.judge(sentence.tokens, lines.place)
                        yield sentence
                    self._size_before += stream.tell() if self._size else 0
                finally:
                    self._stream = None

    def _layout(self, path: str) -> Layout:
        return layout_of(path, self.reader)


def files_of(source: str) -> list[str]:
    """The files of a source: the file itself, or all files in and below a folder, sorted by path.

    Raises:
        InputError: There is no such file, or it cannot be read; or the folder has none.
    """
    if source == STDIN:
        return [source]
    if not Path(source).is_dir():
        return [_readable(source)]

    def fail(error: OSError) -> None:
        raise InputError(f"{error.filename}: cannot be opened: {error.strerror}") from error

    def is_new(folder: str) -> bool:
        """Whether a folder was not visited before, since links may form a cycle."""
        real = os.path.realpath(folder)
        visited = real in seen
        seen.add(real)
        return not visited

    paths: list[Path] = []
    seen: set[str] = set()
    is_new(source)
    for folder, folders, files in os.walk(source, onerror=fail, followlinks=True):
        folders[:] = [name for name in sorted(folders) if not name.startswith(".") and is_new(f"{folder}/{name}")]
        paths += [Path(folder, name) for name in files if not name.startswith(".")]
    if not paths:
        raise InputError(f"{source}: no file in this folder (hidden files are not read); give text")
    return [_readable(str(path)) for path in sorted(paths)]


def _is_pipe(path: str) -> bool:
    return path == STDIN or not Path(path).is_file()


def _readable(path: str) -> str:
    if not Path(path).exists():
        raise InputError(f"{path}: no such file or folder; check the path")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: cannot be opened: permission denied")
    return path


def open_bytes(path: str) -> AbstractContextManager[io.BufferedIOBase]:
    """Open a file, or standard input for ``-``.

    Raises:
        InputError: It cannot be opened.
    """
    if path == STDIN:
        if sys.stdin is None:  # as in a service, or after "<&-"
            raise InputError("standard input (-) is closed; give a file, or pipe text into the command")
        return nullcontext(cast("io.BufferedIOBase", sys.stdin.buffer))  # not closed: it belongs to the caller
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
