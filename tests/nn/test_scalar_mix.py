import math

import pytest
import torch
from conftest import arrays

from polyseme import ScalarMix


def test_the_worked_example_of_bank() -> None:
    """h1 and h2 with shares .3 and .7, as in the tutorial's example."""
    mix = ScalarMix(2, initial_weights=[math.log(0.3), math.log(0.7)])
    mixed = mix([torch.tensor([[0.2, 0.4, 0.1, 0.3]]), torch.tensor([[0.6, 0.1, 0.5, 0.2]])])
    torch.testing.assert_close(mixed, torch.tensor([[0.48, 0.19, 0.38, 0.23]]))


def test_starts_as_the_mean() -> None:
    layers = torch.randn(3, 2, 5, 4)
    torch.testing.assert_close(ScalarMix(3)(list(layers)), layers.mean(dim=0))


@pytest.mark.parametrize("case", ["plain", "layer_norm"])
def test_agrees_with_allennlp(case: str) -> None:
    reference = {
        name.removeprefix("scalar_mix/"): torch.from_numpy(value)
        for name, value in arrays("allennlp/elmo.npz").items()
        if name.startswith("scalar_mix/")
    }
    mix = ScalarMix(3, layer_norm=case == "layer_norm", initial_weights=reference["weights"].tolist())
    mix.gamma.data.fill_(float(reference["gamma"]))
    torch.testing.assert_close(mix(list(reference["inputs"]), reference["mask"]), reference[case], atol=1e-5, rtol=0)


def test_masked_layer_norm_ignores_padding() -> None:
    mix = ScalarMix(1, layer_norm=True)
    layer = torch.randn(1, 4, 8)
    mask = torch.tensor([[True, True, True, False]])
    changed = layer.clone()
    changed[0, 3] = 1e3
    torch.testing.assert_close(mix([layer], mask)[0, :3], mix([changed], mask)[0, :3])
    normal = mix([layer[:, :3]])
    torch.testing.assert_close(normal.mean(), torch.tensor(0.0), atol=1e-6, rtol=0)
    torch.testing.assert_close(normal.var(unbiased=False), torch.tensor(1.0))


def test_penalties() -> None:
    mix = ScalarMix(3, initial_weights=[1.0, 0.0, -2.0])
    torch.testing.assert_close(mix.penalty(0.1), torch.tensor(0.5))
    shares = torch.tensor([1.0, 0.0, -2.0]).softmax(0)
    torch.testing.assert_close(mix.penalty(2.0, kind="distance"), 2 * ((shares - 1 / 3) ** 2).sum())
    assert ScalarMix(3).penalty(1.0).item() == 0
    assert ScalarMix(3).penalty(1.0, kind="distance").item() == 0
    with pytest.raises(ValueError, match=r"^kind is 'square', expected one of weights, distance$"):
        mix.penalty(1.0, kind="square")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["weights", "distance"])
def test_a_strong_penalty_keeps_the_mean(kind: str) -> None:
    """lambda = 1 nearly freezes the mix, 0.001 lets it move."""
    torch.manual_seed(0)
    layers = list(torch.randn(3, 64, 8))
    moved = {}
    for strength in (1.0, 0.001):
        mix = ScalarMix(3)
        optimizer = torch.optim.Adam(mix.parameters(), lr=0.05)
        for _ in range(200):
            loss = (mix(layers) - layers[1]).square().mean() + mix.penalty(strength, kind=kind)  # type: ignore[arg-type]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        moved[strength] = float((mix.shares().detach() - 1 / 3).abs().max())
    assert moved[0.001] > 1.5 * moved[1.0]


def test_refuses_another_number_of_layers() -> None:
    with pytest.raises(ValueError, match="got 2 layers, expected 3"):
        ScalarMix(3)([torch.zeros(1, 2), torch.zeros(1, 2)])
    with pytest.raises(ValueError, match="holds 2 numbers, expected one for each of 3 layers"):
        ScalarMix(3, initial_weights=[1.0, 2.0])


def test_shows_its_shares() -> None:
    assert "shares=[0.333, 0.333, 0.333], gamma=1.000" in repr(ScalarMix(3))
