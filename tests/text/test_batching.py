"""Sentences in windows and batches: every one once, within bounds, read no further ahead than needed."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.text import batching
from polyseme.text.batching import windows


@given(
    lengths=st.lists(st.integers(0, 30), max_size=40),
    batch_tokens=st.integers(1, 20),
    window_tokens=st.integers(1, 60),
    window_sentences=st.integers(1, 10),
)
def test_every_sentence_is_in_one_batch_within_the_bounds(
    lengths: list[int], batch_tokens: int, window_tokens: int, window_sentences: int
) -> None:
    sentences = [[f"{number}"] * length for number, length in enumerate(lengths)]
    found = list(
        windows(sentences, batch_tokens=batch_tokens, window_tokens=window_tokens, window_sentences=window_sentences)
    )
    assert [sentence for window in found for sentence in window.sentences] == sentences
    for window in found:
        assert 1 <= len(window.sentences) <= window_sentences
        assert sum(map(len, window.sentences)) <= window_tokens or len([s for s in window.sentences if s]) == 1
        places = [place for batch in window.batches for place in batch]
        assert sorted(places) == [place for place, sentence in enumerate(window.sentences) if sentence]
        for batch in window.batches:
            assert sum(len(window.sentences[place]) for place in batch) <= batch_tokens or len(batch) == 1


def test_a_window_is_bounded_by_its_characters_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A paragraph that came as one token is as long as thousands."""
    monkeypatch.setattr(batching, "_WINDOW_CHARACTERS", 1000)
    read = 0

    def paragraphs() -> Iterator[list[str]]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield ["x" * 300]

    first = next(windows(paragraphs(), batch_tokens=50, window_tokens=500))
    assert len(first.sentences) == 4
    assert read == 5
