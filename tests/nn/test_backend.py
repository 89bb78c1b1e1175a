"""One place decides between the kernels and torch."""

import pytest
import torch
from tiny import tiny_model

from polyseme.models.encoders import LstmEncoder
from polyseme.nn import backend
from polyseme.nn.backend import backend_for, choose_backend
from polyseme.nn.kernels.packed import PRECISIONS, Precision

CPU = torch.device("cpu")


@pytest.fixture
def every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "available", lambda _: True)


@pytest.mark.usefixtures("every_kernel")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_the_kernels_can_compute(precision: Precision) -> None:
    assert choose_backend(precision, device=CPU) == "kernels"
    assert choose_backend(precision, device=torch.device("meta")) == "torch"
    assert choose_backend(precision, device=CPU, dtype=torch.float64) == "torch"
    assert choose_backend(precision, device=CPU, gradients=True) == ("torch" if precision == "int8" else "kernels")


@pytest.mark.usefixtures("every_kernel")
def test_weights_of_which_one_does_not_fit() -> None:
    weights = [torch.zeros(2), torch.zeros(2)]
    assert backend_for(weights, "float32") == "kernels"
    assert backend_for([*weights, torch.zeros(2, dtype=torch.float64)], "float32") == "torch"
    assert backend_for([*weights, torch.zeros(2, device="meta")], "float32") == "torch"


def test_a_processor_without_the_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "available", lambda precision: precision == "float32")
    assert [choose_backend(precision, device=CPU) for precision in PRECISIONS] == ["kernels", "torch", "torch"]


def test_every_layer_asks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no kernel available, none is called, neither by the characters nor by the LSTMs nor for inference."""
    monkeypatch.setattr(backend, "available", lambda _: False)

    def called(*_: object) -> None:
        raise AssertionError("a kernel was called")

    for module in ("lstm", "char_cnn", "dense", "packed"):
        monkeypatch.setattr(f"polyseme.nn.kernels.{module}.library", called)
    model = tiny_model()
    assert isinstance(model.bilm.encoder, LstmEncoder)
    ids = torch.from_numpy(model.indexer.ids(["the", "bank"])).unsqueeze(0)
    for network in (model.bilm, model.bilm.for_inference("float32"), model.bilm.for_inference("int8")):
        assert network(ids, torch.tensor([2])).shape == (3, 1, 2, 12)
