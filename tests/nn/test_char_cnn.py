from typing import Literal

import pytest
import torch

from polyseme.nn.backend import available
from polyseme.nn.char_cnn import CharacterCnn
from polyseme.nn.highway import Highway


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_trimming_gives_the_result_of_the_full_length(activation: Literal["relu", "tanh"]) -> None:
    torch.manual_seed(0)
    cnn = CharacterCnn(
        characters=20, character_dim=3, filters=((1, 4), (3, 5), (7, 6)), activation=activation, padding_id=9
    ).double()
    # A padding vector of weight: pure-padding windows must be able to win the maximum.
    cnn.embedding.weight.data[9] = 3.0
    for longest in (1, 5, 24, 30):
        ids = torch.full((8, 30), 9)
        for row in range(8):
            size = 1 + row * (longest - 1) // 7
            ids[row, :size] = torch.randint(0, 9, (size,))
        characters = cnn.embedding(ids).transpose(1, 2)
        full = torch.cat([convolution(characters).amax(dim=2) for convolution in cnn.convolutions], dim=1)
        expected = full.relu() if activation == "relu" else full.tanh()
        torch.testing.assert_close(cnn(ids), expected)


def test_highway_by_hand() -> None:
    highway = Highway(1).double()
    highway.weight.data = torch.tensor([[2.0], [0.5]], dtype=torch.float64)
    highway.bias.data = torch.tensor([-1.0, 0.25], dtype=torch.float64)
    x = torch.tensor([[3.0], [-2.0]], dtype=torch.float64)
    gate = torch.sigmoid(0.5 * x + 0.25)
    torch.testing.assert_close(highway(x), gate * x + (1 - gate) * torch.relu(2 * x - 1))


@pytest.mark.parametrize("characters", [20, 2000])
@pytest.mark.parametrize("full", [False, True])  # words that have no padding
def test_tables_give_the_values_and_gradients_of_convolutions(
    monkeypatch: pytest.MonkeyPatch, characters: int, full: bool
) -> None:
    if not available("float32"):
        pytest.skip("no kernel on this machine")
    torch.manual_seed(1)
    cnn = CharacterCnn(
        characters=characters, character_dim=3, filters=((1, 4), (3, 70), (7, 6)), activation="relu", padding_id=9
    )
    ids = torch.full((40, 30), 9)
    for row in range(40):
        length = 30 if full else 1 + row % 30
        ids[row, :length] = torch.randint(10, characters, (length,))
    weight = torch.randn(40, 80)
    results = []
    for kernels in (True, False):
        if not kernels:
            monkeypatch.setattr("polyseme.nn.backend.available", lambda _: False)
        features = cnn(ids)
        gradients = torch.autograd.grad((features * weight).sum(), list(cnn.parameters()))
        results.append([features.detach(), *gradients])
    for ours, wanted in zip(*results, strict=True):
        torch.testing.assert_close(ours, wanted, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("characters", [20, 2000])
@pytest.mark.parametrize("wrong", [-1, 2000])
def test_a_character_that_there_is_not(characters: int, wrong: int) -> None:
    cnn = CharacterCnn(characters=characters, character_dim=3, filters=((1, 4),), activation="relu", padding_id=9)
    with pytest.raises(IndexError):
        cnn(torch.tensor([[3, wrong, 9]]))
