"""Kernels read tensors by their addresses: whatever the number type, strides, device or shape, memory stays whole."""

import pytest
import torch

from polyseme.models.encoders import LstmEncoder
from polyseme.models.inference import InferenceTokenEncoder
from polyseme.models.token_encoders import CharacterTokenEncoder
from polyseme.nn.backend import available
from polyseme.nn.highway import Highway
from polyseme.nn.kernels.dense import PackedDense
from polyseme.nn.kernels.lstm import PackedLayer
from polyseme.nn.kernels.lstm_training import trained_layer

pytestmark = pytest.mark.skipif(not available("float32"), reason="no kernel on this machine")


def words() -> CharacterTokenEncoder:
    torch.manual_seed(0)
    return CharacterTokenEncoder(
        dim=5,
        characters=30,
        character_dim=4,
        filters=((1, 7), (3, 9)),
        activation="relu",
        padding_id=29,
        highway_layers=1,
    )


def lstm() -> LstmEncoder:
    torch.manual_seed(0)
    return LstmEncoder(
        layers=1,
        hidden_dim=7,
        projection_dim=4,
        cell_clip=None,
        projection_clip=None,
        skip_connections=False,
        forget_bias=1.0,
    )


IDS = torch.randint(0, 29, (40, 12), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("ids", [IDS.int(), IDS.short(), IDS.byte(), IDS.t().contiguous().t()])
def test_ids_of_any_whole_number_type(ids: torch.Tensor) -> None:
    encoder = words()
    expected = encoder(IDS)
    expected.square().sum().backward()
    gradients = [parameter.grad.clone() for parameter in encoder.parameters() if parameter.grad is not None]
    encoder.zero_grad()
    found = encoder(ids)
    assert torch.equal(found, expected)
    found.square().sum().backward()
    for parameter, gradient in zip(encoder.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)
    torch.testing.assert_close(InferenceTokenEncoder(encoder, "float32")(ids), expected, atol=2e-6, rtol=0)


def test_weights_of_another_number_type() -> None:
    encoder = words().requires_grad_(False)
    expected = encoder(IDS)
    for other in (torch.float64, torch.bfloat16):
        plain = words().requires_grad_(False).to(other)
        tolerance = 2e-6 if other == torch.float64 else 5e-2
        torch.testing.assert_close(InferenceTokenEncoder(plain, "float32")(IDS), expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("layer", [torch.nn.Linear(6, 5), Highway(6)])
def test_a_dense_layer(layer: torch.nn.Linear | Highway) -> None:
    dense = PackedDense(layer, "float32")
    rows = torch.randn(9, 6)
    for given in (rows.double(), rows.t().contiguous().t()):
        torch.testing.assert_close(dense(given), layer(rows).detach(), atol=2e-6, rtol=0)
    with pytest.raises(RuntimeError, match="got a tensor on meta, but the kernels compute on the CPU"):
        dense(rows.to("meta"))
    with pytest.raises(ValueError, match="got rows of 5 numbers, expected 6"):
        dense(rows[:, :5])


def test_rows_and_states_of_another_number_type() -> None:
    encoder = lstm()
    pair = encoder._pair(0)
    rows, sizes = torch.randn(5, 4), (3, 2)
    state = torch.randn(3, 4), torch.randn(3, 7)
    doubles = state[0].double(), state[1].double()
    packed = PackedLayer(*pair, "float32")
    expected, _ = packed((rows, rows), sizes, (state, state))
    found, _ = packed((rows.double(), rows.double()), sizes, (doubles, doubles))
    assert torch.equal(found[0], expected[0])
    gradients = []
    for given in (state, doubles):
        leaves = [part.clone().requires_grad_() for part in given]
        before = leaves[0], leaves[1]
        outputs, _ = trained_layer(pair, (rows, rows), sizes, (before, before), "float32")
        gradients.append(torch.autograd.grad(outputs[0].square().sum() + outputs[1].sum(), leaves))
    for found_one, wanted in zip(gradients[1], gradients[0], strict=True):
        assert found_one.dtype == torch.float64
        torch.testing.assert_close(found_one.float(), wanted)


def test_what_does_not_fit_is_refused() -> None:
    pair = lstm()._pair(0)
    packed = PackedLayer(*pair, "float32")
    rows, sizes = torch.randn(5, 4), (3, 2)
    with pytest.raises(RuntimeError, match="got a tensor on meta, but the kernels compute on the CPU"):
        packed((rows.to("meta"), rows), sizes, (None, None))
    with pytest.raises(ValueError, match=r"got packed rows \(4, 4\), expected \(5, 4\)"):
        packed((rows, rows[:4]), sizes, (None, None))
    with pytest.raises(ValueError, match=r"got packed rows \(5, 3\), expected \(5, 4\)"):
        packed((rows[:, :3], rows), sizes, (None, None))
    small = torch.zeros(2, 4), torch.zeros(2, 7)
    with pytest.raises(ValueError, match=r"got a state \(2, 4\), expected \(3, 4\)"):
        packed((rows, rows), sizes, (small, None))
    with pytest.raises(ValueError, match="words have 2 characters, but a filter spans 3"):
        words()(IDS[:, :2])
    with pytest.raises(RuntimeError, match="got a tensor on meta, but the kernels compute on the CPU"):
        words()(IDS.to("meta"))


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), float("inf")])
@pytest.mark.parametrize("full", [True, False])
def test_weights_that_are_no_numbers(value: float, full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maxima are those of torch, NaN included, and the backward pass stays within its arrays."""
    ids = IDS.clone()
    if not full:
        ids[:, 7:] = 29  # padding
    filters = words().characters
    filters.embedding.weight.data[5, 0] = value
    if value != value:  # every window of this filter is NaN
        filters.convolutions[0].get_parameter("weight").data[1] = value
    found = filters(ids)
    found.sum().backward()
    assert filters.embedding.weight.grad is not None
    monkeypatch.setattr("polyseme.nn.backend.available", lambda _: False)
    expected = filters(ids)
    assert not expected.isfinite().all()
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0, equal_nan=True)
