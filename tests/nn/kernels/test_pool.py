"""The worker threads: after a fork, and with several callers at once."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.queues import Queue

import pytest
import torch
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.nn.backend import available
from polyseme.nn.kernels.product import product
from polyseme.nn.kernels.threads import set_threads

pytestmark = pytest.mark.skipif(not available("float32"), reason="no kernel on this machine")


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    set_threads(4)
    yield
    set_threads(None)


def matrices() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(700, 90, generator=generator), torch.randn(90, 300, generator=generator)


def result() -> float:
    """A sum over the product by numpy: torch's own threads do not survive a fork."""
    return float(product(*matrices(), "float32").numpy().sum())


def _child(answers: "Queue[list[float]]") -> None:
    answers.put([result() for _ in range(3)])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own() -> None:
    expected = result()  # the parent's workers are running now
    context = multiprocessing.get_context("fork")
    answers: Queue[list[float]] = context.Queue()
    process = context.Process(target=_child, args=(answers,))
    process.start()
    try:
        assert answers.get(timeout=60) == [expected] * 3
    finally:
        process.join(10)
        process.kill()
    assert result() == expected


def test_callers_at_once_get_what_each_gets_alone() -> None:
    one, two = matrices()
    parts = [one[:length] for length in range(100, 700, 40)]
    alone = [product(part, two, "float32") for part in parts]
    with ThreadPoolExecutor(4) as callers:
        for _ in range(5):
            together = callers.map(lambda part: product(part, two, "float32"), parts)
            assert all(torch.equal(ours, wanted) for ours, wanted in zip(together, alone, strict=True))


def test_two_embedders_at_once() -> None:
    sentences = [["the", "river", "bank"] * length for length in range(1, 12)]
    expected = Embedder(tiny_model()).embed(sentences)
    embedders = [
        Embedder(tiny_model()) for _ in range(4)
    ]  # made one by one: torch has one random state for all threads
    with ThreadPoolExecutor(2) as callers:
        for found in callers.map(lambda embedder: embedder.embed(sentences), embedders):
            assert all((ours == wanted).all() for ours, wanted in zip(found, expected, strict=True))
