"""The order of batches."""

import tracemalloc
from itertools import islice

import numpy as np
import pytest

from polyseme.train.lm.batches import RowBatches, SentenceBatch, SentenceBatches, open_batches
from polyseme.train.lm.settings import settings_of
from polyseme.train.lm.text_store import BEGIN, END, TextPart


def _part(sentences: int = 300) -> TextPart:
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 30, sentences)
    words = iter(range(2, 10_000))
    types = [np.array([BEGIN, *islice(words, int(length)), END], dtype=np.int32) for length in lengths]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in types])])
    return TextPart(np.concatenate(types), starts)


def test_an_epoch_of_sentences_holds_every_sentence_once_in_batches_within_the_budget() -> None:
    part = _part()
    stream = SentenceBatches(part, settings_of(batch_tokens=64), 1)
    seen: list[int] = []
    shares = []
    for group in stream.groups(0, 0):
        (place,) = group.batches
        batch = stream.read(place)
        assert len(batch.types) == sum(batch.lengths) <= 64
        np.testing.assert_array_equal(batch.types, np.concatenate([part.sentence(number) for number in place.numbers]))
        seen += place.numbers.tolist()
        shares.append(group.share)
    assert sorted(seen) == list(range(300))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    other = [number for group in stream.groups(1, 0) for number in group.batches[0].numbers.tolist()]
    assert other != seen


@pytest.mark.parametrize("layout", ["sentences", "rows"])
def test_a_stream_goes_on_exactly_where_it_is_told_to(layout: str) -> None:
    stream = open_batches(_part(), settings_of(batch_tokens=64, layout=layout, rows=3, steps_a_row=5), 2)
    whole = list(stream.groups(2, 0))
    later = list(stream.groups(2, 7))
    assert len(later) == len(whole) - 7
    for group, other in zip(whole[7:], later, strict=True):
        assert group.share == other.share
        for one, two in zip(group.batches, other.batches, strict=True):
            first, second = stream.read(one), stream.read(two)
            for name in vars(first):
                np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_processes_share_a_group_and_together_see_everything() -> None:
    part = _part()
    alone = SentenceBatches(part, settings_of(batch_tokens=64), 1)
    together = SentenceBatches(part, settings_of(batch_tokens=64), 4)
    one = [place.numbers.tolist() for group in alone.groups(0, 0) for place in group.batches]
    two = [place.numbers.tolist() for group in together.groups(0, 0) for place in group.batches]
    assert one == two


def test_rows_run_on_from_batch_to_batch_in_both_directions() -> None:
    part = _part()
    stream = RowBatches(part, settings_of(rows=4, steps_a_row=7, layout="rows"), 2)
    batches = [stream.read(place) for group in stream.groups(0, 0) for place in group.batches if place.numbers[0] == 1]
    ahead = np.concatenate([batch.ahead for batch in batches], axis=1)
    back = np.concatenate([batch.back for batch in batches], axis=1)
    np.testing.assert_array_equal(ahead, back[:, ::-1])  # the same rows, read from the other end
    ring = np.concatenate([part.types, part.types])
    for row, following in zip(ahead, np.concatenate([batch.ahead_next for batch in batches], axis=1), strict=True):
        place = next(i for i in range(len(part.types)) if (ring[i : i + len(row)] == row).all())
        np.testing.assert_array_equal(following, ring[place + 1 : place + 1 + len(row)])
    previous = np.concatenate([batch.back_next for batch in batches], axis=1)
    np.testing.assert_array_equal(previous[:, :-1], back[:, 1:])


def test_a_sentence_longer_than_a_batch_stands_in_pieces() -> None:
    types = np.arange(1000, dtype=np.int32)
    stream = SentenceBatches(TextPart(types, np.array([0, 1000])), settings_of(batch_tokens=100, max_sentence=90), 1)
    batches = [stream.read(group.batches[0]) for group in stream.groups(0, 0)]
    assert all(isinstance(batch, SentenceBatch) and len(batch.types) <= 100 for batch in batches)
    np.testing.assert_array_equal(np.sort(np.concatenate([batch.types for batch in batches])), types)


def test_an_epoch_keeps_a_few_bytes_a_sentence() -> None:
    sentences = 200_000
    starts = np.arange(sentences + 1, dtype=np.int64) * 5  # eight bytes each, which are there already
    part = TextPart(np.zeros(sentences * 5, dtype=np.int32), starts)
    tracemalloc.start()
    try:
        groups = SentenceBatches(part, settings_of(batch_tokens=64), 1).groups(0, 0)
        next(groups)
        kept, peak = (size / sentences for size in tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
    assert kept < 6
    assert peak < 22


@pytest.mark.parametrize("sentences", [3, 300, 70_000])
def test_the_order_of_an_epoch_is_the_permutation_of_its_seed(sentences: int) -> None:
    # So that a run begun by any version goes on with the sentences it has not seen.
    part = TextPart(np.zeros(sentences * 2, dtype=np.int32), np.arange(sentences + 1, dtype=np.int64) * 2)
    stream = SentenceBatches(part, settings_of(batch_tokens=2, seed=4), 1)
    wanted = np.random.default_rng([4, 1]).permutation(sentences)[:32]
    seen = {int(group.batches[0].numbers[0]) for group in islice(stream.groups(1, 0), 63)}
    assert set(wanted.tolist()) <= seen
