"""Writes word vectors as word2vec does, text or binary: the form that gensim's `KeyedVectors` and many others read."""

from pathlib import Path

import numpy as np

from polyseme.errors import InputError
from polyseme.files.whole import whole_file
from polyseme.models.static import WordVectors
from polyseme.text.table_words import fits_a_line

_ENDS_A_WORD = frozenset(" \t\r\n\v\f")


def write(vectors: WordVectors, path: Path, *, binary: bool) -> None:
    """Write a new file: a line with the number of words and of dimensions, then each word with its numbers.

    Args:
        vectors: Words without whitespace in them, which would end a word in this form.
        path: The file.
        binary: Numbers as 32-bit floats, with a line feed after each vector as the original software writes it;
            otherwise as text, with nine digits, from which every float32 is read back as it was.
    """
    for number, word in enumerate(vectors.words):
        if not word or not _ENDS_A_WORD.isdisjoint(word) or not fits_a_line(word):
            raise InputError(
                f"{path}: word {number:,} is {word!r:.60}, and word2vec's form cannot hold a word with whitespace; "
                "write a folder of static vectors instead, or leave such words out"
            )
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(f"{len(vectors.words)} {vectors.dim}\n".encode())
        for word, row in zip(vectors.words, vectors.matrix, strict=True):
            numbers = np.asarray(row, dtype="<f4").tobytes() if binary else _text(row.tolist())
            file.write(word.encode() + b" " + numbers + b"\n")


def _text(row: list[float]) -> bytes:
    return " ".join(f"{value:.9g}" for value in row).encode()
