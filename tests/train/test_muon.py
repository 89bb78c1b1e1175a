"""Muon against torch's own and against the steps written out."""

from typing import get_args

import pytest
import torch
from tiny import tiny_config
from torch import Tensor, nn

from polyseme.models.bilm import BiLM
from polyseme.models.config import EncoderKind, GatedCnnEncoderConfig, GruEncoderConfig, LstmEncoderConfig
from polyseme.nn.softmax import FullSoftmax
from polyseme.train.engine.muon import LARGEST, Matrix, Muon, orthogonal
from polyseme.train.engine.optimizers import Optimizer
from polyseme.train.engine.row_gradient import RowGradient, RowTable
from polyseme.train.lm.matrices import hidden_matrices
from polyseme.train.lm.settings import settings_of


def _plain(matrix: Tensor) -> Tensor:
    """Five steps on one matrix, in float64."""
    x: Tensor = matrix.double() / matrix.double().norm()
    for _ in range(5):
        product = x @ x.T
        x = 3.4445 * x - 4.7750 * product @ x + 2.0315 * product @ product @ x
    return x


@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (9, 9), (1, 5)])
def test_the_steps_in_small_products_are_the_steps_written_out(shape: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(0)
    matrices = torch.randn(3, *shape, generator=generator) * torch.rand(3, 1, shape[1], generator=generator) ** 4
    found = orthogonal(matrices)
    for one, plain in zip(found, matrices, strict=True):
        torch.testing.assert_close(one, _plain(plain).float(), rtol=2e-4, atol=2e-5)
    assert not orthogonal(torch.zeros(1, *shape)).any()


@pytest.mark.parametrize("shape", [(40, 7), (7, 40)])
def test_bfloat16_does_the_same_steps(shape: tuple[int, int]) -> None:
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))
    found = orthogonal(matrices, torch.bfloat16)
    assert found.dtype == torch.bfloat16
    for one, plain in zip(found.double(), matrices, strict=True):
        assert (one - _plain(plain)).norm() < 0.03 * one.norm()
    assert not orthogonal(torch.zeros(1, *shape), torch.bfloat16).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_singular_values_of_very_different_size_stay_bounded(dtype: torch.dtype) -> None:
    """As in the first updates of a training, whose gradients have few directions."""
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.linalg.qr(torch.randn(size, 64, generator=generator))[0] for size in (256, 64))
    matrices = (left * torch.logspace(0, -6, 64)) @ right.T
    values = torch.linalg.svdvals(orthogonal(matrices[None], dtype)[0].float())
    assert values.max() < 1.3
    assert values[:8].min() > 0.6


@pytest.mark.parametrize(("dtype", "largest"), [(torch.float32, 0.02), (torch.bfloat16, 0.04)])
def test_an_update_is_that_of_torch_with_each_gate_as_a_matrix_of_its_own(dtype: torch.dtype, largest: float) -> None:
    torch.manual_seed(0)
    stacked = nn.Parameter(torch.randn(4 * 12, 6))
    gates = [nn.Parameter(gate.clone()) for gate in stacked.detach().chunk(4)]
    own = Muon([Matrix(stacked, 4)], weight_decay=0.1, dtype=dtype)
    torchs = torch.optim.Muon(gates, lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    before = stacked.detach().clone()
    for seed in range(5):
        gradient = torch.randn(4 * 12, 6, generator=torch.Generator().manual_seed(seed))
        stacked.grad = gradient.clone()
        for gate, part in zip(gates, gradient.chunk(4), strict=True):
            gate.grad = part.clone()
        own.step(0.02)
        torchs.step()
    moved, expected = stacked.detach() - before, torch.cat([gate.detach() for gate in gates]) - before
    # Torch iterates in bfloat16, which has 8 bits.
    assert (moved - expected).norm() < largest * expected.norm()


def test_a_step_is_about_as_large_as_one_of_adamw() -> None:
    torch.manual_seed(0)
    parameter = nn.Parameter(torch.zeros(4 * 256, 64))
    parameter.grad = torch.randn(4 * 256, 64)
    Muon([Matrix(parameter, 4)], weight_decay=0.0).step(1.0)
    assert parameter.detach().square().mean().sqrt().item() == pytest.approx(0.2, rel=0.2)


_ENCODERS = {
    "lstm": (LstmEncoderConfig(layers=2, hidden_dim=10), 3),
    "gru": (GruEncoderConfig(layers=2, hidden_dim=10), 3),
    "gated-cnn": (GatedCnnEncoderConfig(layers=2, hidden_dim=10, width=3), 2),
}


@pytest.mark.parametrize("kind", get_args(EncoderKind))
def test_muon_gets_every_matrix_between_layers_and_adamw_the_rest(kind: EncoderKind) -> None:
    encoder, each = _ENCODERS[kind]
    bilm = BiLM.from_config(tiny_config(vocabulary_size=9).model_copy(update={"encoder": encoder}))
    matrices = hidden_matrices(bilm)
    names = {id(parameter): name for name, parameter in bilm.named_parameters()}
    found = {names[id(matrix.parameter)] for matrix in matrices}
    assert len(found) == len(matrices)
    two = {name for name, parameter in bilm.named_parameters() if parameter.dim() == 2}
    assert two - found == {"token_encoder.characters.embedding.weight", "softmax.weight"}
    assert sum(name.startswith("encoder.") for name in found) == 2 * 2 * each


def test_large_and_frozen_matrices_are_left_to_adamw_or_alone() -> None:
    network = nn.ModuleList([nn.Linear(LARGEST + 1, LARGEST + 1), nn.Linear(5, LARGEST + 1), nn.Linear(4, 4)])
    network[2].requires_grad_(False)
    matrices = [Matrix(layer.weight) for layer in network if isinstance(layer, nn.Linear)]
    optimizer = Optimizer(network, settings_of(optimizer="muon"), None, matrices)
    assert len(optimizer.state()["muon"]["momenta"]) == 1
    assert len(optimizer.state()["dense"]["param_groups"][0]["params"]) == 1
    assert not Optimizer(network, settings_of(), None, matrices).state()["muon"]["momenta"]


def test_an_optimiser_continues_from_its_state() -> None:
    def made() -> tuple[BiLM, Optimizer]:
        torch.manual_seed(0)
        bilm = BiLM.from_config(tiny_config(vocabulary_size=9))
        assert isinstance(bilm.softmax, FullSoftmax)
        table = RowTable(bilm.softmax.weight, bilm.softmax.bias)
        return bilm, Optimizer(bilm, settings_of(optimizer="muon"), table, hidden_matrices(bilm))

    def step(optimizer: Optimizer, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for parameter in optimizer.dense:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        rows = RowGradient(torch.tensor([1, 4]), torch.randn(2, 6, generator=generator), torch.ones(2))
        optimizer.step(0.01, rows)

    whole, optimizer = made()
    for seed in range(4):
        step(optimizer, seed)
    first, before = made()
    step(before, 0)
    step(before, 1)
    second, after = made()
    second.load_state_dict(first.state_dict())
    after.restore(before.state())
    step(after, 2)
    step(after, 3)
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, second.state_dict()[name]), name
