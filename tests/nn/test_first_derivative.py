"""Gradients written by hand are not differentiated again: that is an error, never a wrong number."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from polyseme.models.encoders import LstmEncoder
from polyseme.nn.backend import available
from polyseme.nn.char_cnn import CharacterCnn
from polyseme.nn.packing import Packing
from polyseme.nn.sampled_softmax import Negatives, sampled_nll
from polyseme.nn.softmax import FullSoftmax

Make = Callable[[], tuple[Tensor, Tensor]]
MESSAGE = "asks for second derivatives"


def lstm() -> tuple[Tensor, Tensor]:
    encoder = LstmEncoder(
        layers=1,
        hidden_dim=5,
        projection_dim=4,
        cell_clip=None,
        projection_clip=None,
        skip_connections=False,
        forget_bias=1.0,
    )
    tokens = torch.randn(5, 4, requires_grad=True)
    return encoder(tokens, Packing.of([3, 2]))[0][-1].sum(), tokens


def characters() -> tuple[Tensor, Tensor]:
    cnn = CharacterCnn(characters=9, character_dim=3, filters=((2, 4),), activation="tanh", padding_id=8)
    return cnn(torch.randint(0, 8, (3, 6))).sum(), cnn.embedding.weight


def full() -> tuple[Tensor, Tensor]:
    states = torch.randn(3, 4, requires_grad=True)
    return FullSoftmax(4, 7).nll(states, torch.tensor([0, 3, 6])), states


def sampled() -> tuple[Tensor, Tensor]:
    states = torch.randn(3, 4, requires_grad=True)
    negatives = Negatives.draw(3, 7, np.random.default_rng(0))
    rows = torch.arange(7)
    loss = sampled_nll(
        states, torch.randn(7, 4), torch.zeros(7), rows=rows, targets=torch.tensor([0, 3, 6]), negatives=negatives
    )
    return loss, states


@pytest.mark.parametrize("make", [lstm, characters, full, sampled])
@pytest.mark.parametrize("outer", ["linear", "squared"])
def test_a_penalty_on_a_gradient_is_refused(make: Make, outer: str) -> None:
    """With a linear loss the gradient that comes in is a constant, and the penalty would count for nothing."""
    if make in (lstm, characters) and not available("float32"):
        pytest.skip("no kernel on this machine, so torch differentiates")
    loss, leaf = make()
    loss = loss if outer == "linear" else loss.square()
    (gradient,) = torch.autograd.grad(loss, leaf, create_graph=True)
    with pytest.raises(RuntimeError, match=MESSAGE):
        (loss + gradient.square().sum()).backward()


@pytest.mark.parametrize("make", [lstm, characters, full, sampled])
def test_a_graph_that_nobody_uses_changes_nothing(make: Make) -> None:
    loss, leaf = make()
    (plain,) = torch.autograd.grad(loss, leaf, retain_graph=True)
    (kept,) = torch.autograd.grad(loss, leaf, create_graph=True)
    assert torch.equal(plain, kept)
    assert not plain.requires_grad
