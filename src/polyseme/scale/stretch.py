"""Reads the sentences of a stretch of a file."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyseme.scale.parts import Part
from polyseme.text.layouts import read_sentences
from polyseme.text.lines import Lines
from polyseme.text.readers import Sentence
from polyseme.text.repairs import Repairs
from polyseme.text.segmentation import Segmentation

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


@dataclass(frozen=True)
class Stretch:
    """A stretch of a file, opened.

    Attributes:
        lines: Its lines; their number grows while sentences are read.
        sentences: Its sentences, to be read once.
        repairs: What has been replaced so far.
    """

    lines: Lines
    sentences: Iterator[Sentence]
    repairs: Repairs


@contextmanager
def opened(part: Part, segmentation: Segmentation) -> Iterator[Stretch]:
    """Open the stretch of a file that a part is made of."""
    shown = part.file.location.shown
    name = f"{shown} (from byte {part.start:,})" if part.start else shown
    repairs = Repairs()
    with part.file.location.open() as stream:
        within = io.BufferedReader(_Within(stream, part.start, part.stop), 1 << 16)
        lines = Lines(within, name=name, repairs=repairs, continues=part.start > 0)
        found = read_sentences(lines, part.file.layout, segmentation.tokenizer, segmentation.dictionary)
        yield Stretch(lines, _judged(found, lines, repairs), repairs)


def _judged(sentences: Iterator[Sentence], lines: Lines, repairs: Repairs) -> Iterator[Sentence]:
    for sentence in sentences:
        repairs.judge(sentence.tokens, lines.place)
        yield sentence


class _Within(io.RawIOBase):
    """The bytes of a file from one place to another."""

    def __init__(self, stream: io.BufferedIOBase, start: int, stop: int) -> None:
        stream.seek(start)
        self._stream, self._left = stream, stop - start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._stream.read1(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)
