"""Writes predictions to a file: in the format of the input, or as JSON lines."""

import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from polyseme.errors import InputError, OutputError
from polyseme.files.whole import reason, whole_file
from polyseme.tasks.choices import FormatName
from polyseme.tasks.examples import Example
from polyseme.tasks.readers.opening import Examples
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.writers.columns import (
    conll2012_role_lines,
    conll_lines,
    conllu_lines,
    propositions_lines,
    wikiann_lines,
)
from polyseme.tasks.writers.documents import coreference_lines
from polyseme.tasks.writers.tables import csv_lines, json_lines, prediction_lines, squad_predictions, tsv_lines

Lines = Callable[[Reading, Iterator[Example]], Iterator[str]]

_WRITERS: dict[FormatName, Lines] = {
    "conll": conll_lines,
    "wikiann": wikiann_lines,
    "conllu": conllu_lines,
    "conll2012": lambda reading, predictions: (
        conll2012_role_lines(reading, predictions)
        if reading.task == "roles"
        else coreference_lines(reading, predictions)
    ),
    "up": propositions_lines,
    "coref": coreference_lines,
    "squad": lambda reading, predictions: iter([json.dumps(squad_predictions(predictions), ensure_ascii=False)]),
    "csv": csv_lines,
    "tsv": tsv_lines,
    "jsonl": json_lines,
}
"""The formats that predictions are written in; those of trees and pairs have no place for them."""


def write_predictions(
    target: Path,
    predictions: Iterable[Example],
    *,
    examples: Examples | None = None,
    format: Literal["same", "jsonl"] = "jsonl",  # noqa: A002 - what the user calls it
) -> None:
    """Write predictions, whole or not at all; compressed if the name ends in .gz.

    Args:
        target: The file to write.
        predictions: The examples with their predicted answers, in the order of the input.
        examples: What was predicted for; needed for ``same``.
        format: ``same`` copies the input's file with the predictions in the place of its answers (for SQuAD: the JSON
            that its evaluation reads); ``jsonl`` writes all that is known of each example, one a line.

    Raises:
        InputError: The input's format has no place for predictions, or they are not those of the input.
        OutputError: The file cannot be written.
    """
    if format == "jsonl":
        _write(target, prediction_lines(predictions))
        return
    if examples is None:
        raise InputError("the format 'same' needs the examples that were predicted for; give them, or choose jsonl")
    if examples.format not in _WRITERS:
        raise InputError(f"{examples.path}: the format {examples.format} has no place for predictions; choose jsonl")
    with examples.reopened() as reading:
        _write(target, _all_used(_WRITERS[examples.format], reading, iter(predictions)))


def _all_used(lines: Lines, reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    yield from lines(reading, predictions)
    if next(predictions, None) is not None:
        raise InputError(f"{reading.lines.name}: there are more predictions than examples; give one for each")


def _write(target: Path, lines: Iterator[str]) -> None:
    try:
        with whole_file(target) as temporary, temporary.open("wb") as file:
            packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if target.suffix == ".gz" else None
            with io.TextIOWrapper(packed or file, "utf-8", newline="\n") as text:
                text.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{target}: could not be written ({reason(error)})") from error
