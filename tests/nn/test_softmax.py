"""The output layers against plain formulas."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, linear

from polyseme.nn import sampled_softmax, softmax
from polyseme.nn.adaptive_softmax import AdaptiveSoftmax
from polyseme.nn.sampled_softmax import Negatives, sampled_nll
from polyseme.nn.softmax import FullSoftmax

DIM, WORDS, TOKENS = 5, 40, 23


def _inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    states = torch.randn(TOKENS, DIM, generator=generator, dtype=torch.float64, requires_grad=True)
    return states, torch.randint(0, WORDS, (TOKENS,), generator=generator)


def _gradients(loss: torch.Tensor, *tensors: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad(loss, tensors))


@pytest.mark.parametrize("chunk", [1 << 24, 200])
def test_full_loss_and_gradient_are_those_of_cross_entropy(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "CHUNK_NUMBERS", chunk)
    states, targets = _inputs()
    layer = FullSoftmax(DIM, WORDS).double()
    loss = layer.nll(states, targets)
    plain = cross_entropy(linear(states, layer.weight, layer.bias), targets, reduction="sum")
    assert loss.item() == pytest.approx(plain.item(), rel=1e-12)
    for got, expected in zip(
        _gradients(3 * loss, states, layer.weight, layer.bias),
        _gradients(3 * plain, states, layer.weight, layer.bias),
        strict=True,
    ):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("chunk", [1 << 24, 60])
def test_sampled_loss_and_gradient_are_those_of_the_plain_formula(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_softmax, "CHUNK_NUMBERS", chunk)
    states, targets = _inputs()
    negatives = Negatives.draw(12, WORDS, np.random.default_rng(0))
    drawn = torch.from_numpy(negatives.words)
    assert set(drawn.tolist()) & set(targets.tolist())  # so that the case of a negative that is the target is met
    rows = torch.unique(torch.cat([targets, drawn]))
    weight = torch.randn(len(rows), DIM, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(len(rows), dtype=torch.float64, requires_grad=True)

    place = {word: index for index, word in enumerate(rows.tolist())}
    probability = [math.log((k + 2) / (k + 1)) / math.log(WORDS + 1) for k in range(WORDS)]
    expected_count = [1 - (1 - q) ** negatives.tries for q in probability]
    plain = torch.zeros((), dtype=torch.float64)
    for state, target in zip(states, targets.tolist(), strict=True):
        candidates = [target, *(word for word in drawn.tolist() if word != target)]
        logits = [
            state @ weight[place[word]] + bias[place[word]] - math.log(expected_count[word]) for word in candidates
        ]
        plain = plain - torch.stack(logits).log_softmax(0)[0]

    loss = sampled_nll(states, weight, bias, rows=rows, targets=targets, negatives=negatives)
    assert loss.item() == pytest.approx(plain.item(), rel=1e-6)
    for got, expected in zip(
        _gradients(loss, states, weight, bias), _gradients(plain, states, weight, bias), strict=True
    ):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
