"""Small JSON files that are read without trust: any content gets a value or one clear line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from polyseme.errors import FormatError
from polyseme.files.plain_words import in_plain_words
from polyseme.files.whole import JSON, reason

Record = TypeVar("Record", bound=BaseModel)

LARGEST = 1 << 28
"""Bytes. Larger files are refused before they are read."""


def read_json(path: Path, *, advice: str, largest: int = LARGEST) -> JSON:
    """The value in a JSON file.

    Args:
        path: The file.
        advice: What to do if it is damaged, as the end of a sentence.
        largest: Refuse a file of more bytes.

    Raises:
        FormatError: The file is missing, too large, not UTF-8 or not JSON.
    """
    try:
        if (size := path.stat().st_size) > largest:
            raise FormatError(f"{path}: {size:,} bytes, where at most {largest:,} are expected; {advice}")
        value: JSON = json.loads(path.read_text(encoding="utf-8"))
        return value
    except FileNotFoundError:
        raise FormatError(f"{path}: missing; {advice}") from None
    except (OSError, ValueError, RecursionError) as error:  # also UnicodeDecodeError
        raise FormatError(f"{path}: cannot be read, empty or damaged ({reason(error)}); {advice}") from error


def read_object(path: Path, *, advice: str, largest: int = LARGEST) -> dict[str, JSON]:
    """The value in a JSON file, which must be an object; see `read_json`."""
    value = read_json(path, advice=advice, largest=largest)
    if not isinstance(value, dict):
        raise FormatError(f"{path}: holds a {type(value).__name__} where a JSON object is expected; {advice}")
    return value


def read_record(path: Path, kind: type[Record], *, advice: str, largest: int = LARGEST) -> Record:
    """The value in a JSON file, checked against a pydantic model; see `read_json`."""
    return check_record(read_object(path, advice=advice, largest=largest), kind, where=str(path), advice=advice)


def check_record(value: object, kind: type[Record], *, where: str, advice: str) -> Record:
    """A value as a pydantic model.

    Raises:
        FormatError: With the place, what was found there and what was expected, in one line.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        place, problem = next(problems(error))
        raise FormatError(f"{where}: {f'{place}: ' if place else ''}{problem}; {advice}") from None


def problems(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Where each fault is, and what it is, in plain words rather than pydantic's."""
    for fault in error.errors(include_url=False):
        place = ".".join(str(part) for part in fault["loc"])
        got = repr(fault["input"])
        shown = got if len(got) <= 60 else got[:57] + "..."
        match fault["type"]:
            case "missing":
                yield place, "is missing"
            case "extra_forbidden":
                yield place, "is not a setting that is known here"
            case "value_error":
                yield place, f"{str(fault['msg']).removeprefix('Value error, ')}"
            case _:
                wanted = in_plain_words(str(fault["msg"]))
                yield place, f"{wanted[:1].lower() + wanted[1:]}, got {shown}"
