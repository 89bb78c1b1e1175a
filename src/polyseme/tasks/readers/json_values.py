"""Checks what JSON holds before it is used."""

import json
from typing import TypeGuard

from polyseme.errors import InputError


def json_object(text: str, place: str) -> dict[str, object]:
    """The object that a text holds.

    Raises:
        InputError: It is no JSON, or not an object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON: {error}; give JSON with an object") from None
    if not isinstance(value, dict):
        raise InputError(f"{place}: {text[:40]!r} where a JSON object is expected; give an object")
    return value


def are_strings(value: object) -> TypeGuard[list[str]]:
    """Whether a value is a list of strings that are not empty."""
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)


def is_number(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number from 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
