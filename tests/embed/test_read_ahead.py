"""Items that a thread produces ahead come in order, with their errors, and the thread ends."""

import threading
from collections.abc import Iterator
from itertools import count

import pytest

from polyseme.embed.read_ahead import read_ahead


def test_items_come_in_order() -> None:
    assert list(read_ahead(iter(range(10_000)), lambda item: item % 50)) == list(range(10_000))
    assert list(read_ahead(iter([]), len)) == []


def test_an_error_comes_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield from range(700)
        raise ValueError("bad text")

    reader = read_ahead(items(), lambda item: 100)
    assert [next(reader) for _ in range(700)] == list(range(700))
    with pytest.raises(ValueError, match="bad text"):
        next(reader)


def test_what_is_held_ahead_is_bounded_and_the_thread_ends_with_the_reader() -> None:
    before, items = threading.active_count(), count()
    reader = read_ahead(items, lambda item: 1000)
    assert next(reader) == 0
    reader.close()
    assert threading.active_count() == before
    assert next(items) < 60  # ten chunks of five
