"""Puts predictions into a user's own CSV, TSV or JSON lines, and answers into the JSON that SQuAD's scorer reads."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.tasks.examples import Example, Question
from polyseme.tasks.readers.own_data import Record, csv_records, json_records, tsv_records, with_records
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.writers.records import answer_of, to_record


def json_lines(reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    """The objects of the file with the predictions in the place of their answers."""
    for record in _filled(reading, predictions, json_records(reading)):
        yield json.dumps(record, ensure_ascii=False)


def csv_lines(reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    """The lines of a CSV file with a column of predictions; the column is added if there was none."""
    return _table_lines(reading, predictions, csv_records(reading), _csv_line)


def tsv_lines(reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    """The same for a TSV file; tabs and line ends in a value become spaces."""
    return _table_lines(reading, predictions, tsv_records(reading), _tsv_line)


def squad_predictions(predictions: Iterable[Example]) -> dict[str, JSON]:
    """The text of each answer by the id of its question; "" if there is none."""
    found: dict[str, JSON] = {}
    for example in predictions:
        if not isinstance(example, Question):
            raise InputError(f"the prediction {example!r:.80} is no question; give the task's own predictions")
        found[example.id] = example.answers[0].text if example.answers else ""
    return found


def prediction_lines(predictions: Iterable[Example]) -> Iterator[str]:
    """All that is known of each prediction, as JSON lines."""
    return (json.dumps(to_record(example), ensure_ascii=False) for example in predictions)


def _filled(reading: Reading, predictions: Iterator[Example], records: Iterator[Record]) -> Iterator[dict[str, object]]:
    """The records with the predicted answers under the file's name for them; what is left out stays as it is."""
    for record, example in with_records(reading, records):
        if example is None:
            yield dict(record)
            continue
        predicted = next(predictions, None)
        if type(predicted) is not type(example):
            raise InputError(
                f"{reading.place}: the prediction is {predicted!r:.80}; give one for each record, in their order"
            )
        names = reading.options.columns
        yield dict(record) | {names.get(name, name): value for name, value in answer_of(predicted).items()}


def _table_lines(
    reading: Reading, predictions: Iterator[Example], records: Iterator[Record], line: Callable[[list[str]], str]
) -> Iterator[str]:
    names: list[str] | None = None
    for record in _filled(reading, predictions, records):
        if names is None:
            names = list(record)
            if reading.options.header:
                yield line(names)
        yield line([_cell(record.get(name)) for name in names])


def _cell(value: object) -> str:
    """A value of a table: strings as they are, lists of words with spaces between them, the rest as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(one, str) and not set(one) & set(" []") for one in value):
        return " ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _csv_line(values: list[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(values)
    return stream.getvalue()


def _tsv_line(values: list[str]) -> str:
    return "\t".join(" ".join(value.replace("\t", " ").splitlines()) for value in values)
