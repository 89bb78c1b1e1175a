"""Which files a corpus has, and how they are divided into parts that can be read by themselves."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from polyseme.errors import InputError
from polyseme.files.location import Location, is_address
from polyseme.text.beginning import STDIN
from polyseme.text.choices import Layout, Reader, Tokenizer
from polyseme.text.corpus import files_of
from polyseme.text.layouts import divider, layout_of
from polyseme.text.lines import GZIP

_LOOK = 1 << 16
_OVERLAP = 256  # bytes of the last look that are searched again; what divides text is shorter, or is not found there
_READERS = 16
_UNSAFE = re.compile(r"[^\w.+-]", re.ASCII)
_LONGEST_NAME = 80


@dataclass(frozen=True)
class InputFile:
    """A file of the corpus.

    Attributes:
        location: Where it is.
        size: Bytes.
        changed: When it was changed last, as its file system tells it.
        layout: How sentences are stored in it.
    """

    location: Location
    size: int
    changed: str
    layout: Layout


@dataclass(frozen=True)
class Part:
    """A stretch of a file that is embedded as one piece of work.

    Attributes:
        name: Of the Parquet file that is made of it.
        file: The file.
        start: Its first byte.
        stop: The byte after its last.
    """

    name: str
    file: InputFile
    start: int
    stop: int


def find_files(sources: Sequence[str], reader: Reader) -> list[InputFile]:
    """The files of a corpus: paths and addresses of files, and of folders with all files in and below them.

    Raises:
        InputError: One of them does not exist, or cannot be read twice.
    """
    found = [file for source in sources for file in _files(source, reader)]
    if not found:
        raise InputError("no source given; name a file or a folder")
    return found


def divide(files: Sequence[InputFile], tokenize: Tokenizer | None, part_bytes: int) -> list[Part]:
    """Divide files into parts of about ``part_bytes``; those that cannot be divided are one part each.

    Args:
        files: The files.
        tokenize: The tokeniser of running text, on which depends where text may be divided.
        part_bytes: Bytes of a part.
    """
    starts = partial(_starts, tokenize=tokenize, part_bytes=part_bytes)
    with ThreadPoolExecutor(_READERS) as readers:  # looking at a file far away is waiting, most of all
        divided = list(readers.map(starts, files))
    return [
        Part(f"{number:05d}-{_safe(file.location.name)}-{at:05d}.parquet", file, start, stop)
        for number, (file, begun) in enumerate(zip(files, divided, strict=True))
        for at, (start, stop) in enumerate(zip(begun, [*begun[1:], file.size], strict=True))
    ]


def _files(source: str, reader: Reader) -> Iterator[InputFile]:
    if source == STDIN:
        raise InputError("standard input (-) cannot be divided among machines; save the text to a file and give that")
    location = Location.of(source)
    if not is_address(source):
        for path in files_of(source):
            one = Location.of(path)
            if one.size() is None:
                raise InputError(f"{path}: is a pipe and cannot be divided; save the text to a file and give that")
            status = (one.local or one).stat()  # type: ignore[union-attr]
            yield InputFile(one, status.st_size, str(status.st_mtime_ns), layout_of(path, reader))
        return
    size = location.size()
    inside = [(location, size, "")] if size is not None else location.files()
    if not inside:
        raise InputError(f"{source}: no such file, and no folder with files; check the address")
    for one, bytes_, changed in inside:
        yield InputFile(one, bytes_, changed, layout_of(one.name, reader))


def _starts(file: InputFile, *, tokenize: Tokenizer | None, part_bytes: int) -> list[int]:
    """Where the parts of a file begin."""
    ends, starts = divider(file.layout, tokenize), [0]
    if ends is None or file.size <= part_bytes:
        return starts
    with file.location.open() as stream:
        if stream.read(len(GZIP)) == GZIP:
            return starts
        while starts[-1] + part_bytes < file.size:
            stream.seek(starts[-1] + part_bytes)
            before, place = b"", starts[-1] + part_bytes
            while more := stream.read(_LOOK):
                if match := ends.search(before + more):
                    starts.append(place - len(before) + match.end())
                    break
                place += len(more)
                before = (before + more)[-_OVERLAP:]
            else:
                return starts
            if starts[-1] >= file.size:
                starts.pop()
                return starts
    return starts


def _safe(name: str) -> str:
    """The name of a file without what has a meaning in addresses."""
    return _UNSAFE.sub("_", name)[:_LONGEST_NAME]
