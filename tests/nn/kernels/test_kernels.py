"""The kernels against plain torch: the same numbers, whatever the sizes, rows and threads."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from polyseme.models.encoders import EncoderState, LstmEncoder
from polyseme.models.inference import InferenceLstm, InferenceTokenEncoder
from polyseme.models.token_encoders import CharacterTokenEncoder
from polyseme.nn.backend import available
from polyseme.nn.kernels.packed import PRECISIONS, Precision
from polyseme.nn.packing import Packing

LENGTHS = (7, 1, 12, 3, 12, 5, 9, 2, 8, 8, 4, 1, 6)
# Rounding is the same on both sides; sums differ in their order, and a value between two steps may go either way.
TOLERANCE = {"float32": 2e-6, "bfloat16": 2e-2, "int8": 6e-2}


def encoder(*, hidden: int = 37, projection: int = 11, layers: int = 2, clip: float | None = 0.8) -> LstmEncoder:
    torch.manual_seed(hidden)
    made = LstmEncoder(
        layers=layers,
        hidden_dim=hidden,
        projection_dim=projection,
        cell_clip=clip,
        projection_clip=clip,
        skip_connections=True,
        forget_bias=1.0,
    )
    for name, parameter in made.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.5)
    return made.eval().requires_grad_(False)


@contextmanager
def plain_torch() -> Iterator[None]:
    """Compute without kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polyseme.nn.backend.available", lambda _: False)
        yield


def needs(precision: Precision) -> None:
    if not available(precision):
        pytest.skip(f"no {precision} kernel on this machine")


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("hidden", "projection"), [(37, 11), (64, 64), (16, 128), (130, 70)])
def test_layers_and_states_are_those_of_torch(precision: Precision, hidden: int, projection: int, threads: int) -> None:
    needs(precision)
    plain = encoder(hidden=hidden, projection=projection)
    packing = Packing.of(LENGTHS)
    tokens = torch.randn(sum(LENGTHS), projection)
    state = EncoderState(
        (torch.randn(2, len(LENGTHS), 2 * projection) * 0.3, torch.randn(2, len(LENGTHS), 2 * hidden) * 0.3)
    )
    for given in (None, state):
        layers, final = InferenceLstm(plain, precision)(tokens, packing, given)
        with plain_torch():
            expected, expected_final = InferenceLstm(plain, precision)(tokens, packing, given)
        for ours, wanted in zip([*layers, *final.parts], [*expected, *expected_final.parts], strict=True):
            torch.testing.assert_close(ours, wanted, atol=TOLERANCE[precision], rtol=0)
            assert (ours - wanted).abs().mean() < TOLERANCE[precision] / 10
    with plain_torch():
        exact, _ = plain(tokens, packing)
    cosine = torch.cosine_similarity(InferenceLstm(plain, precision)(tokens, packing)[0][-1], exact[-1], dim=1)
    assert cosine.min() > {"float32": 0.999999, "bfloat16": 0.999, "int8": 0.98}[precision]


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 13])
def test_any_number_of_rows(rows: int) -> None:
    needs("float32")
    plain = encoder()
    packing = Packing.of([3] * rows)
    tokens = torch.randn(3 * rows, 11)
    fast, _ = InferenceLstm(plain, "float32")(tokens, packing)
    with plain_torch():
        expected, _ = plain(tokens, packing)
    for ours, wanted in zip(fast, expected, strict=True):
        torch.testing.assert_close(ours, wanted, atol=2e-6, rtol=0)


def test_without_clips_and_with_large_numbers() -> None:
    needs("float32")
    plain = encoder(clip=None)
    for parameter in plain.parameters():
        parameter.mul_(30)
    packing = Packing.of([1] * 13)  # one step: over several, rounding grows without bound at this size
    tokens = torch.randn(13, 11) * 20
    fast, _ = InferenceLstm(plain, "float32")(tokens, packing)
    with plain_torch():
        expected, _ = plain(tokens, packing)
    for ours, wanted in zip(fast, expected, strict=True):
        assert torch.isfinite(ours).all()
        torch.testing.assert_close(ours, wanted, atol=1e-3, rtol=1e-5)


def test_new_weights_are_packed_anew() -> None:
    plain = encoder()
    fast = InferenceLstm(plain, "float32")
    packing, tokens = Packing.of([4]), torch.randn(4, 11)
    before = fast(tokens, packing)[0][-1]
    next(iter(plain.parameters())).mul_(2)
    with plain_torch():
        expected = plain(tokens, packing)[0][-1]
    torch.testing.assert_close(fast(tokens, packing)[0][-1], expected, atol=2e-6, rtol=0)
    assert not torch.allclose(before, fast(tokens, packing)[0][-1])


def test_a_fused_optimiser_is_noticed() -> None:
    """Torch's fused optimisers write to weights without counting it."""
    plain = encoder().requires_grad_(True)
    fast = InferenceLstm(plain, "float32")
    packing, tokens = Packing.of([4]), torch.randn(4, 11)
    fast(tokens, packing)
    for parameter in plain.parameters():
        parameter.grad = torch.ones_like(parameter)
    torch.optim.AdamW(plain.parameters(), lr=0.01, fused=True).step()
    with torch.no_grad():
        expected = plain.forward_layers[0](tokens, packing.batch_sizes)[0]
    torch.testing.assert_close(fast(tokens, packing)[0][0][:, :11], expected, atol=2e-6, rtol=0)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("words", [0, 9])
def test_token_vectors_are_those_of_torch(precision: Precision, activation: str, words: int, threads: int) -> None:
    needs(precision)
    torch.manual_seed(words)
    plain = CharacterTokenEncoder(
        dim=21,
        characters=30,
        character_dim=5,
        filters=((1, 7), (2, 64), (3, 70), (7, 33)),
        activation=activation,  # type: ignore[arg-type]
        padding_id=29,
        highway_layers=2,
        words=words,
        word_dim=4 if words else 0,
    ).requires_grad_(False)
    ids = torch.full((50, 20), 29)
    for row in range(50):
        ids[row, : 1 + row % 20] = torch.randint(0, 29, (1 + row % 20,))
    if words:
        ids = torch.cat([torch.randint(0, words, (50, 1)), ids], dim=1)
    with plain_torch():
        expected = plain(ids)
    ours = InferenceTokenEncoder(plain, precision)(ids)
    assert ours.shape == expected.shape
    tolerance = {"float32": 2e-6, "bfloat16": 2e-2, "int8": 6e-2}[precision]
    torch.testing.assert_close(ours, expected, atol=tolerance, rtol=0)
    assert InferenceTokenEncoder(plain, precision)(ids[:0]).shape == (0, 21)


def test_an_id_outside_the_table_is_refused() -> None:
    needs("float32")
    plain = CharacterTokenEncoder(
        dim=3,
        characters=10,
        character_dim=2,
        filters=((1, 4),),
        activation="relu",
        padding_id=9,
        highway_layers=0,
    ).requires_grad_(False)
    for bad in (10, -1):
        with pytest.raises(IndexError, match=r"character ids must be within 0\.\.9"):
            InferenceTokenEncoder(plain, "float32")(torch.tensor([[1, bad, 9]]))


SCRIPT = """
import sys
import numpy as np
import polyseme
model, out = sys.argv[1:]
sentences = [["The", "river", "bank"], ["Yes"], ["A", "bank", "loan", "and", "a", "very" * 20, "word"]]
arrays = {}
for precision in ("float32", "bfloat16", "int8"):
    for number, vectors in enumerate(polyseme.load(model, precision=precision).embed(sentences)):
        arrays[f"{precision}{number}"] = vectors
np.savez(out, **arrays)
"""


def test_without_kernels_the_same_vectors(tmp_path: Path, golden: Path) -> None:
    """As on a machine with no compiler."""
    import numpy as np

    model = str(golden / "allennlp" / "two_layers")
    for name, environment in (("with", {}), ("without", {"POLYSEME_KERNELS": "off"})):
        subprocess.run(
            [sys.executable, "-c", SCRIPT, model, str(tmp_path / name)], env={**os.environ, **environment}, check=True
        )
    with np.load(tmp_path / "with.npz") as one, np.load(tmp_path / "without.npz") as two:
        for name in one.files:
            # The token encoder rounds its layers in the kernels alone.
            tolerance = {"f": 1e-5, "b": 6e-2, "i": 2e-1}[name[0]]
            np.testing.assert_allclose(one[name], two[name], atol=tolerance, rtol=0, err_msg=name)
