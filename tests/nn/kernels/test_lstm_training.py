"""Gradients of the fused layer against autograd through the plain loop."""

import pytest
import torch
from torch import Tensor

from polyseme.models.encoders import EncoderState, LstmEncoder
from polyseme.nn.backend import available
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.packing import Packing
from polyseme.nn.projected_lstm import ProjectedLstm

LENGTHS = (7, 1, 12, 3, 12, 5, 9, 2, 8)


def gradients(
    encoder: LstmEncoder, tokens: Tensor, state: EncoderState | None, *, bfloat16: bool = False
) -> dict[str, Tensor]:
    """Of a loss that touches every layer and the final state."""
    encoder.zero_grad()
    leaf = tokens.clone().requires_grad_()
    given = None
    if state is not None:
        given = EncoderState(tuple(part.clone().requires_grad_() for part in state.parts))
    weight = torch.linspace(-1, 1, sum(LENGTHS)).unsqueeze(1)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
        layers, final = encoder(leaf, Packing.of(LENGTHS), given)
    loss = sum((layer.float() * weight).square().sum() for layer in layers) + sum(p.float().sum() for p in final.parts)
    assert isinstance(loss, Tensor)
    loss.backward()
    found = {name: parameter.grad for name, parameter in encoder.named_parameters()} | {"tokens": leaf.grad}
    if given is not None:
        found |= {f"state {number}": part.grad for number, part in enumerate(given.parts)}
    assert all(gradient is not None for gradient in found.values())
    return {name: gradient.clone() for name, gradient in found.items() if gradient is not None}


def compare(encoder: LstmEncoder, monkeypatch: pytest.MonkeyPatch, *, with_state: bool, precision: Precision) -> None:
    if not available(precision):
        pytest.skip(f"no {precision} kernel on this machine")
    layer = encoder.forward_layers[0]
    assert isinstance(layer, ProjectedLstm)
    width, hidden = layer.projection_dim, layer.hidden_dim
    tokens = torch.randn(sum(LENGTHS), width)
    state = None
    if with_state:
        rows = len(LENGTHS)
        state = EncoderState((torch.randn(2, rows, 2 * width) * 0.4, torch.randn(2, rows, 2 * hidden) * 0.4))
    ours = gradients(encoder, tokens, state, bfloat16=precision == "bfloat16")
    monkeypatch.setattr("polyseme.nn.backend.available", lambda _: False)
    plain = gradients(encoder, tokens, state)
    assert ours.keys() == plain.keys()
    for name, wanted in plain.items():
        if precision == "float32":
            scale = float(wanted.abs().max())
            torch.testing.assert_close(ours[name], wanted, atol=2e-5 * max(scale, 1), rtol=0, msg=name)
        else:
            cosine = torch.cosine_similarity(ours[name].flatten(), wanted.flatten(), dim=0)
            assert cosine > 0.995, f"{name}: {cosine}"
            assert float(ours[name].norm()) == pytest.approx(float(wanted.norm()), rel=0.05), name


def encoder(*, hidden: int, projection: int, clip: float | None, skip: bool = True) -> LstmEncoder:
    torch.manual_seed(hidden)
    return LstmEncoder(
        layers=2,
        hidden_dim=hidden,
        projection_dim=projection,
        cell_clip=clip,
        projection_clip=clip,
        skip_connections=skip,
        forget_bias=1.0,
    )


@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize(("hidden", "projection"), [(37, 11), (64, 64), (16, 130)])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_float32(
    hidden: int, projection: int, clip: float | None, with_state: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = encoder(hidden=hidden, projection=projection, clip=clip)
    compare(made, monkeypatch, with_state=with_state, precision="float32")


def test_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(encoder(hidden=64, projection=32, clip=3.0), monkeypatch, with_state=True, precision="bfloat16")


def test_only_what_learns_gets_a_gradient() -> None:
    """Biases alone, or the state that a frozen layer began with."""
    if not available("float32"):
        pytest.skip("no kernel on this machine")
    made = encoder(hidden=9, projection=4, clip=None)
    tokens, packing = torch.randn(5, 4), Packing.of([3, 2])
    made(tokens, packing)[0][-1].sum().backward()
    expected = {
        name: parameter.grad.clone() for name, parameter in made.named_parameters() if parameter.grad is not None
    }
    made.zero_grad()
    for name, parameter in made.named_parameters():
        parameter.requires_grad_(name.endswith("bias"))
    made(tokens, packing)[0][-1].sum().backward()
    for name, parameter in made.named_parameters():
        if name.endswith("bias"):
            torch.testing.assert_close(parameter.grad, expected[name])
        else:
            assert parameter.grad is None
    state = EncoderState((torch.zeros(2, 2, 8, requires_grad=True), torch.zeros(2, 2, 18, requires_grad=True)))
    made.requires_grad_(False)(tokens, packing, state)[0][-1].sum().backward()
    assert all(part.grad is not None and part.grad.abs().sum() > 0 for part in state.parts)


def test_weights_of_another_precision_than_float32_take_the_plain_way() -> None:
    made = encoder(hidden=9, projection=4, clip=None).double()
    layers, _ = made(torch.randn(5, 4, dtype=torch.float64), Packing.of([3, 2]))
    assert layers[0].dtype == torch.float64


def test_weights_changed_before_the_backward_pass_are_noticed() -> None:
    if not available("float32"):
        pytest.skip("no kernel on this machine")
    made = encoder(hidden=9, projection=4, clip=None)
    layers, _ = made(torch.randn(5, 4), Packing.of([3, 2]))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(1)
    with pytest.raises(RuntimeError, match="changed between its forward and its backward pass"):
        layers[-1].sum().backward()


def test_a_copy_leaves_packed_weights_behind() -> None:
    import copy
    import pickle

    made = encoder(hidden=9, projection=4, clip=None).requires_grad_(False)
    tokens, packing = torch.randn(5, 4), Packing.of([3, 2])
    expected = made(tokens, packing)[0][-1]
    for twin in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert torch.equal(twin(tokens, packing)[0][-1], expected)
