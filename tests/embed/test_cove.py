"""The Cove module: layers side by side, frozen or trained, any batch."""

from pathlib import Path

import pytest
import torch
from tiny import tiny_model
from tiny_cove import tiny_cove

import polyseme
from polyseme import Cove
from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError

SENTENCES = [["the", "river", "bank"], [], ["sea"], ["of", "Paris"]]


@pytest.mark.parametrize(("layers", "dim"), [("top", 12), (0, 4), (1, 12), ((1, 2), 24), ((0, 2), 16)])
def test_layers_are_put_side_by_side_whatever_the_batch(layers: str | int | tuple[int, ...], dim: int) -> None:
    model = tiny_cove(hidden_dim=6)
    cove = Cove(model, layers=layers)  # type: ignore[arg-type]
    assert cove.dim == dim
    vectors, mask = cove(cove.ids(SENTENCES))
    assert vectors.shape == (4, 3, dim)
    assert mask.tolist() == [[True] * len(s) + [False] * (3 - len(s)) for s in SENTENCES]
    for row, sentence in enumerate(SENTENCES):
        alone = torch.from_numpy(Embedder(model).embed([sentence])[0])
        expected = torch.cat([cove.network.narrow(alone[number], number) for number in cove.layers], dim=-1)
        torch.testing.assert_close(vectors[row, : len(sentence)], expected, rtol=0, atol=1e-6)
        assert not vectors[row, len(sentence) :].any()


def test_frozen_unless_asked() -> None:
    assert not any(parameter.requires_grad for parameter in Cove(tiny_cove()).parameters())
    trained = Cove(tiny_cove(), requires_grad=True)
    learns = {name for name, parameter in trained.named_parameters() if parameter.requires_grad}
    assert len(learns) == 16
    assert all(".lstm." in name for name in learns)
    both = Cove(tiny_cove(), requires_grad=True, train_vectors=True)
    both(both.ids([["river"]])).vectors.sum().backward()
    gradient = both.network.token_encoder.vectors.grad
    assert gradient is not None
    assert gradient[1].any()
    assert not gradient[[0, 2, 3, 4, 5]].any()


def test_saved_as_trained_and_loaded_again(tmp_path: Path) -> None:
    cove = Cove(tiny_cove(), requires_grad=True)
    with torch.no_grad():
        cove.network.lstm.get_parameter("bias_ih_l0").add_(1.0)
    cove.save(tmp_path / "mine")
    again = Cove(tmp_path / "mine")
    ids = cove.ids(SENTENCES)
    torch.testing.assert_close(again(ids).vectors, cove(ids).vectors)
    (vectors,) = polyseme.load(tmp_path / "mine").embed(SENTENCES[:1], layers="top")
    torch.testing.assert_close(torch.from_numpy(vectors), again(ids).vectors[0], rtol=0, atol=1e-6)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"the model \(polyseme\) is not CoVe; give a CoVe folder or \(weights, vector"
    ):
        Cove(tiny_model())
    with pytest.raises(InputError, match=r"layers is 3, expected 'top' or numbers from 0 \(static vectors\) to 2"):
        Cove(tiny_cove(), layers=3)
