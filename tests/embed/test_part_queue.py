"""Parts on their way to the disk."""

import errno
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from polyseme.embed.writers.base import Part, Record
from polyseme.embed.writers.part_queue import PartQueue

RECORDS = [Record(("a",), np.zeros((1, 2), np.float32))]


def _part(number: int) -> Part:
    return Part(number, number + 1, Path(f"part-{number}"))


@pytest.mark.parametrize("background", [True, False])
def test_parts_are_stored_in_their_order(background: bool) -> None:
    stored: list[Part] = []
    queue = PartQueue(lambda part, records: stored.append(part), background=background)
    for number in range(5):
        queue.put(_part(number), RECORDS)
    assert (len(queue), queue.stop) == (5, 5)
    assert [queue.take() for _ in range(5)] == stored == [_part(number) for number in range(5)]
    assert (len(queue), queue.stop, queue.settled) == (0, None, False)
    queue.close()


@pytest.mark.parametrize("background", [True, False])
def test_after_a_part_that_could_not_be_stored_none_is(background: bool) -> None:
    stored: list[int] = []

    def store(part: Part, records: Sequence[Record]) -> None:
        if part.first == 1:
            raise OSError(errno.ENOSPC, "no room")
        stored.append(part.first)

    queue = PartQueue(store, background=background)
    for number in range(4):
        queue.put(_part(number), RECORDS)
    queue.close()
    assert queue.take() == _part(0)
    assert queue.settled
    for _ in range(2):  # it stays at the head
        with pytest.raises(OSError, match="no room"):
            queue.take()
    assert stored == [0]
