"""Writes word vectors as GloVe text: one word and its numbers per line."""

from pathlib import Path

from polyseme.errors import InputError
from polyseme.files.whole import whole_file
from polyseme.models.static import WordVectors
from polyseme.text.table_words import fits_a_line

_WHITE_SPACE = " \t\r\n\v\f"
"""What readers take off the ends of a line."""


def write(vectors: WordVectors, path: Path) -> None:
    """Write a new file; with nine digits every float32 is read back as it was."""
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for number, (word, row) in enumerate(zip(vectors.words, vectors.matrix, strict=True)):
            if not word or word != word.strip(_WHITE_SPACE) or not fits_a_line(word):
                raise InputError(f"{path}: word {number:,} is {word!r:.60}, which a line of text cannot hold")
            file.write(f"{word} {' '.join(f'{value:.9g}' for value in row.tolist())}\n")
