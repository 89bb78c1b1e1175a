"""The native folder of word vectors: config.json, vectors.npy, which is memory-mapped, and words.txt."""

import json
import warnings
from pathlib import Path

import numpy as np

from polyseme.arrays import Vectors
from polyseme.errors import FormatError, InputError
from polyseme.files.whole import whole_folder
from polyseme.formats.files import Files
from polyseme.models.static import WordVectors
from polyseme.text.table_words import fits_a_line

KIND = "polyseme word vectors"
CONFIG, MATRIX, WORDS = "config.json", "vectors.npy", "words.txt"


def read(path: Path, *, limit: int | None) -> WordVectors:
    """Open a folder written by `write`; vectors are read from disk when they are used."""
    files = Files.folder(path)
    config = files.json(CONFIG) if CONFIG in files.names else {}
    if config.get("format") != KIND:
        if config.get("format") == "polyseme":
            raise InputError(f"{path}: is a biLM and not word vectors; polyseme.load reads it")
        raise FormatError(
            f"{path}: contains no word vectors; expected a folder written by StaticVectors.save, with {CONFIG}, "
            f"{MATRIX} and {WORDS}, or the path of one file of word vectors"
        )
    for name in ("words", "dim", "duplicates", "repaired"):
        if not isinstance(value := config.get(name), int):
            raise FormatError(
                f"{path / CONFIG}: {name} is {value!r:.60}, expected a whole number; get the folder again"
            )
    for name in (WORDS, MATRIX):
        if name not in files.names:
            raise FormatError(f"{path / name}: missing; get the folder again")
    words = _read_words(files, path / WORDS, config["words"])
    matrix = _read_matrix(path / MATRIX, (config["words"], config["dim"]))
    try:
        return WordVectors(
            words[:limit],
            matrix[:limit],
            source=str(config.get("source")),
            duplicates=config["duplicates"],
            repaired=config["repaired"],
        )
    except InputError as error:
        raise FormatError(f"{path}: {error}; get the folder again") from error


def _read_words(files: Files, path: Path, count: int) -> list[str]:
    *words, after = files.text(WORDS).split("\n")
    if len(words) != count or after:
        raise FormatError(
            f"{path}: {len(words):,} whole lines{' and a part of one' if after else ''}, but {CONFIG} says "
            f"{count:,} words; the file is damaged or truncated: get the folder again"
        )
    return words


def _read_matrix(path: Path, shape: tuple[int, int]) -> Vectors:
    try:
        with warnings.catch_warnings(action="ignore"):
            matrix: Vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises almost anything on a damaged header
        reason = str(error).partition("\n")[0]
        raise FormatError(
            f"{path}: cannot be read ({reason}); the file is damaged or truncated: get the folder again"
        ) from error
    if matrix.shape != shape or matrix.dtype != np.dtype("<f4"):
        raise FormatError(
            f"{path}: {matrix.dtype} of shape {matrix.shape}, but {CONFIG} says float32 of shape "
            f"({shape[0]}, {shape[1]}); get the folder again"
        )
    return matrix


def write(vectors: WordVectors, path: Path) -> None:
    """Write a new folder, completely or not at all."""
    for number, word in enumerate(vectors.words):
        if not fits_a_line(word):
            raise InputError(
                f"{path}: word {number:,} is {word!r:.60}, which {WORDS} cannot hold (a line break, or half of a "
                "surrogate pair); leave it out"
            )
    config = {
        "format": KIND,
        "words": len(vectors.words),
        "dim": vectors.dim,
        "source": vectors.source,
        "duplicates": vectors.duplicates,
        "repaired": vectors.repaired,
    }
    with whole_folder(path) as target:
        (target / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        (target / WORDS).write_text("".join(f"{word}\n" for word in vectors.words), encoding="utf-8", newline="\n")
        np.save(target / MATRIX, vectors.matrix.astype("<f4", order="C", copy=False))
