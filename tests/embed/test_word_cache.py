"""Words seen before: the right vector for each, whoever asks."""

import copy
import threading
import time

import torch
from torch import Tensor

from polyseme.embed.word_cache import WordCache


def encode(words: list[str]) -> Tensor:
    return torch.tensor([[float(word), -float(word)] for word in words])


def right(cache: WordCache, words: list[str]) -> bool:
    return torch.equal(cache.vectors(words, encode), encode(words))


def test_every_word_gets_its_own_vector_while_others_come_and_go() -> None:
    cache = WordCache(2, budget_bytes=8 * 5)  # five words
    for start in range(40):
        assert right(cache, [str((start * 7 + step) % 23) for step in range(1 + start % 9)])
    assert len(cache) == 5
    assert cache.vectors([], encode).shape == (0, 2)


def test_the_least_recently_used_word_goes_first() -> None:
    cache = WordCache(2, budget_bytes=8 * 2)
    asked: list[str] = []

    def remember(words: list[str]) -> Tensor:
        asked.extend(words)
        return encode(words)

    for word in ("1", "2", "1", "3", "1", "2"):
        cache.vectors([word], remember)
    assert asked == ["1", "2", "3", "2"]


def test_no_budget_keeps_nothing() -> None:
    for budget in (0, -8):
        cache = WordCache(2, budget_bytes=budget)
        assert right(cache, ["1", "2"])
        assert len(cache) == 0


def test_what_is_no_word_is_not_kept() -> None:
    """A paragraph given as one token would take more memory than the budget knows of."""
    cache = WordCache(2, budget_bytes=1 << 20)
    long = "1" * 300
    assert right(cache, ["1", long])
    assert right(cache, [long, "1"])
    assert len(cache) == 1


def test_threads_share_it() -> None:
    """A thread that meets a word another one is just storing waits for its vector."""
    cache = WordCache(2, budget_bytes=8 * 3000)
    wrong: list[int] = []

    def slow(words: list[str]) -> Tensor:
        time.sleep(0.0005)  # lets the others in
        return encode(words)

    def work(seed: int) -> None:
        random = torch.Generator().manual_seed(seed)
        for _ in range(60):
            words = [str(number) for number in torch.randperm(4000, generator=random)[:200].tolist()]
            if not torch.equal(cache.vectors(words, slow), encode(words)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(cache) == 3000


def test_a_copy_serves() -> None:
    cache = WordCache(2, budget_bytes=80)
    cache.vectors(["1"], encode)
    again = copy.deepcopy(cache)
    assert len(again) == 1
    assert right(again, ["2", "1"])
