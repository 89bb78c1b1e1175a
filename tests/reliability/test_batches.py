"""A small part of ``python -m reliability.batches``: a sentence has the same vectors in any batch."""

import pytest

from polyseme import load
from polyseme.nn.backend import available
from polyseme.nn.kernels.packed import PRECISIONS, Precision
from reliability.batches import LARGEST, largest_difference, sentences

TEXT = sentences(80, seed=5)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_with_kernels_to_the_last_bit(precision: Precision) -> None:
    if not available(precision):
        pytest.skip(f"no {precision} kernel on this machine")
    expected = load("english-small", precision=precision, batch_tokens=512).embed(TEXT, layers="all")
    assert largest_difference("english-small", precision, TEXT, expected, seed=1) == 0


@pytest.mark.parametrize("precision", PRECISIONS)
def test_without_kernels_to_what_is_promised(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyseme.nn.backend.available", lambda _: False)
    expected = load("english-small", precision=precision, batch_tokens=512).embed(TEXT, layers="all")
    assert largest_difference("english-small", precision, TEXT, expected, seed=1) <= LARGEST
