"""`Elmo` on inputs of every number type and size, and under autocast."""

import logging
from typing import Any

import pytest
import torch
from conftest import GOLDEN, batches

from polyseme.compat.allennlp import Elmo, batch_to_ids
from polyseme.models.bilm import BiLM

MODEL = GOLDEN / "allennlp" / "two_layers"
FILES = (MODEL / "options.json", MODEL / "weights.hdf5")
CACHED = ["", *sorted({word for sentence in batches()[0] for word in sentence})]


def vectors(elmo: Elmo, ids: torch.Tensor, words: torch.Tensor | None = None) -> torch.Tensor:
    found: torch.Tensor = elmo(ids, words)["elmo_representations"][0]
    return found


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_ids_of_any_whole_number_type(dtype: torch.dtype, requires_grad: bool) -> None:
    elmo = Elmo(*FILES, 1, dropout=0, requires_grad=requires_grad)
    ids = batch_to_ids(batches()[0])
    assert torch.equal(vectors(elmo, ids.to(dtype)), vectors(elmo, ids))
    if requires_grad:
        vectors(elmo, ids.to(dtype)).sum().backward()
    spread = torch.stack([ids, ids], dim=-1)[..., 0]
    assert not spread.is_contiguous()
    assert torch.equal(vectors(elmo, spread), vectors(elmo, ids))


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("options", [{}, {"stateful": True}, {"do_layer_norm": True}, {"vocab_to_cache": CACHED}])
def test_autocast(
    dtype: torch.dtype, requires_grad: bool, kernels: bool, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernels:
        monkeypatch.setattr("polyseme.nn.backend.available", lambda _: False)
    ids = batch_to_ids(batches()[0])
    words = None
    if "vocab_to_cache" in options:
        words = torch.zeros(ids.shape[:2], dtype=torch.long)
        for row, sentence in enumerate(batches()[0]):
            words[row, : len(sentence)] = torch.tensor([CACHED.index(word) for word in sentence])
    expected = vectors(Elmo(*FILES, 1, dropout=0, **options), ids, words)
    elmo = Elmo(*FILES, 1, dropout=0, requires_grad=requires_grad, **options)
    with torch.autocast("cpu", dtype=dtype):
        found = vectors(elmo, ids, words)
    assert found.dtype == torch.float32
    cosine = torch.cosine_similarity(found, expected, dim=-1)[elmo(ids)["mask"]]
    assert cosine.min() > 0.999
    found.square().sum().backward()
    learning = [parameter for name, parameter in elmo.named_parameters() if parameter.requires_grad]
    if words is not None and requires_grad:  # the words come from the cache; characters make the two markers alone
        assert elmo.encoder.cached is not None
        assert elmo.encoder.cached.weight.grad is not None
    assert all(parameter.grad is not None for parameter in learning)
    other = Elmo(*FILES, 1, dropout=0, requires_grad=requires_grad, **options)
    with torch.no_grad(), torch.autocast("cpu", dtype=dtype):
        torch.testing.assert_close(vectors(other, ids, words), found.detach(), atol=0.05, rtol=0)


def test_a_state_made_in_inference_mode_serves_outside_of_it() -> None:
    ids = batch_to_ids(batches()[0])
    elmo, plain = (Elmo(*FILES, 1, dropout=0, requires_grad=True, stateful=True) for _ in range(2))
    with torch.inference_mode():
        vectors(elmo, ids)
    with torch.no_grad():
        vectors(plain, ids)
    for _ in range(2):
        found = vectors(elmo, ids)
        found.sum().backward()
        torch.testing.assert_close(found, vectors(plain, ids))


@pytest.mark.parametrize("kernels", [True, False])
def test_autocast_of_the_network_alone(kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:
        monkeypatch.setattr("polyseme.nn.backend.available", lambda _: False)
    bilm = Elmo(*FILES, 1).encoder.network
    assert isinstance(bilm, BiLM)
    ids, lengths = batch_to_ids(batches()[0][:2]), torch.tensor([2, 3])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = bilm.requires_grad_(True)(ids, lengths)
    torch.testing.assert_close(found, bilm(ids, lengths), atol=0.05, rtol=0.05)


@pytest.mark.parametrize(
    ("ids", "shape"),
    [
        (batch_to_ids([]), (0, 0)),
        (batch_to_ids([[], []]), (2, 0)),
        (torch.zeros(2, 0, 50, dtype=torch.long), (2, 0)),
        (torch.zeros(0, 3, 50, dtype=torch.long), (0, 3)),
        (torch.zeros(2, 0, 3, 50, dtype=torch.long), (2, 0, 3)),
        (torch.zeros(2, 3, 0, 50, dtype=torch.long), (2, 3, 0)),
    ],
)
@pytest.mark.parametrize("kept", [False, True])
def test_no_tokens(ids: torch.Tensor, shape: tuple[int, ...], kept: bool) -> None:
    longer = (*shape[:-1], shape[-1] + 2) if kept else shape
    for elmo in (
        Elmo(*FILES, 2, keep_sentence_boundaries=kept),
        Elmo(*FILES, 2, keep_sentence_boundaries=kept, do_layer_norm=True, stateful=True),
    ):
        output = elmo(ids)
        assert [tuple(one.shape) for one in output["elmo_representations"]] == [(*longer, 16)] * 2
        assert tuple(output["mask"].shape) == longer


def test_no_tokens_with_cached_words(caplog: pytest.LogCaptureFixture) -> None:
    elmo = Elmo(*FILES, 1, vocab_to_cache=["", "The"])
    with caplog.at_level(logging.WARNING):
        output = elmo(torch.zeros(2, 0, 50, dtype=torch.long), torch.zeros(2, 0, dtype=torch.long))
    assert output["elmo_representations"][0].shape == (2, 0, 16)
    assert not caplog.records
