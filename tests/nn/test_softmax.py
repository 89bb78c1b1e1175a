"""The output layers against plain formulas."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import cross_entropy, linear
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from polyseme.nn import sampled_softmax, softmax
from polyseme.nn.adaptive_softmax import AdaptiveSoftmax
from polyseme.nn.sampled_softmax import Negatives, sampled_nll
from polyseme.nn.softmax import FullSoftmax, Softmax

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
    monkeypatch.setattr(softmax, "LEAST_ROWS", 1)
    states, targets = _inputs()
    layer = FullSoftmax(DIM, WORDS).double()
    loss = layer.nll(states, targets)
    plain = cross_entropy(linear(states, layer.weight, layer.bias), targets, reduction="sum")
    assert loss.item() == pytest.approx(plain.item(), rel=1e-6)
    for got, expected in zip(
        _gradients(3 * loss, states, layer.weight, layer.bias),
        _gradients(3 * plain, states, layer.weight, layer.bias),
        strict=True,
    ):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("chunk", [1 << 24, 60])
def test_sampled_loss_and_gradient_are_those_of_the_plain_formula(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_softmax, "CHUNK_NUMBERS", chunk)
    monkeypatch.setattr(sampled_softmax, "LEAST_ROWS", 1)
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


def test_negatives_are_distinct_and_come_as_often_as_expected() -> None:
    generator = np.random.default_rng(1)
    seen, expected = np.zeros(WORDS), np.zeros(WORDS)
    draws = 4000
    for _ in range(draws):
        negatives = Negatives.draw(12, WORDS, generator)
        assert len(set(negatives.words.tolist())) == 12
        seen[negatives.words] += 1
        expected += negatives.log_expected_count(torch.arange(WORDS)).exp().numpy()
    np.testing.assert_allclose(seen / draws, expected / draws, atol=0.03)
    with pytest.raises(ValueError, match="21 distinct words of 40: draw at most half of them"):
        Negatives.draw(21, WORDS, generator)


@pytest.mark.parametrize("layer", [FullSoftmax(16, WORDS), AdaptiveSoftmax(16, WORDS, (10, 25))])
def test_tiles_of_the_logits_add_up(layer: Softmax, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "TILE", 7)
    states, targets = 30 * torch.randn(TOKENS, 16), torch.randint(0, WORDS, (TOKENS,))
    expected = layer(states).gather(1, targets.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(layer.log_probability(states, targets), expected, rtol=1e-5, atol=1e-4)
    assert layer.log_probability(states[:0], targets[:0]).shape == (0,)


@pytest.mark.parametrize(("dim", "cutoffs"), [(64, (5, 10, 20, 30)), (8, (10, 20)), (16, (10, 25)), (2, (5, 10, 20))])
def test_no_cluster_is_without_width(dim: int, cutoffs: tuple[int, ...]) -> None:
    layer = AdaptiveSoftmax(dim, WORDS, cutoffs)
    for cluster in layer.clusters.tail:
        assert cluster.get_parameter("0.weight").shape[0] >= 1


def test_adaptive_probabilities_sum_to_one_and_are_the_same_asked_either_way() -> None:
    torch.manual_seed(0)
    layer = AdaptiveSoftmax(16, WORDS, (10, 25))
    states, targets = torch.randn(TOKENS, 16), torch.randint(0, WORDS, (TOKENS,))
    everything = layer(states)
    torch.testing.assert_close(everything.exp().sum(1), torch.ones(TOKENS))
    single = layer.log_probability(states, targets)
    torch.testing.assert_close(single, everything.gather(1, targets.unsqueeze(1)).squeeze(1))
    assert layer.nll(states, targets).item() == pytest.approx(-single.sum().item(), rel=1e-5)
    torch.testing.assert_close(layer(states[0]), everything[0])
    layer.zero_grad()
    layer.nll(states, targets).backward()
    chunked = [parameter.grad.clone() for parameter in layer.parameters() if parameter.grad is not None]
    layer.zero_grad()
    (-layer(states).gather(1, targets.unsqueeze(1)).sum()).backward()
    for got, parameter in zip(chunked, layer.parameters(), strict=True):
        torch.testing.assert_close(got, parameter.grad, rtol=1e-4, atol=1e-5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer.nll(states, targets).item() == pytest.approx(-single.sum().item(), rel=2e-2)
    widths = [cluster.get_parameter("0.weight").shape[0] for cluster in layer.clusters.tail]
    assert widths == [4, 1]


class NoDoubles(TorchDispatchMode):
    """Refuses float64 on Apple's devices, as they do."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor) and (one.dtype, one.device.type) == (torch.float64, "mps"):
                raise TypeError(f"{function} makes float64 on mps")
        return result


def test_devices_without_float64() -> None:
    """Shapes and number types alone: there is no such device here."""
    negatives = Negatives.draw(12, WORDS, np.random.default_rng(0))
    with FakeTensorMode(), NoDoubles():  # type: ignore[no-untyped-call]
        ranks = torch.arange(WORDS, device="mps")
        for found in (negatives.log_expected_count(ranks), sampled_softmax.log_uniform(ranks, WORDS)):
            assert (found.dtype, found.device.type, found.shape) == (torch.float32, "mps", (WORDS,))
        total = softmax.summed_log(torch.ones(TOKENS, device="mps", dtype=torch.bfloat16))
        assert (total.dtype, total.device.type) == (torch.float64, "cpu")
        with pytest.raises(TypeError, match="makes float64 on mps"):
            torch.zeros(3, device="mps", dtype=torch.float64)
