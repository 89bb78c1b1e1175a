"""ELMo as a module of a real SentenceTransformer."""

from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import GOLDEN
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling

import polyseme
from polyseme.compat.sentence_transformers import ElmoModule
from polyseme.errors import InputError

TEXTS = ["He sat on the bank. It was wet.", "The bank lends money.", ""]


def test_a_text_is_the_mean_of_its_tokens(tmp_path: Path) -> None:
    model = SentenceTransformer(modules=[ElmoModule("english-small")], device="cpu")
    found = model.encode(TEXTS)
    embedder = polyseme.load("english-small")
    for text, vector in zip(TEXTS[:2], found[:2], strict=True):
        tokens = np.concatenate(embedder.embed(text, layers="mean"))
        np.testing.assert_allclose(vector, tokens.mean(axis=0), atol=1e-5)
    assert not found[2].any()
    assert model.get_embedding_dimension() == 256
    model.save(str(tmp_path / "saved"))
    again = SentenceTransformer(str(tmp_path / "saved"), device="cpu", trust_remote_code=True)
    np.testing.assert_array_equal(again.encode(TEXTS), found)


def test_other_modules_can_follow(tmp_path: Path) -> None:
    module = ElmoModule(GOLDEN / "allennlp" / "two_layers", tokenize="en")
    pooling = Pooling(module.get_embedding_dimension(), "max")
    model = SentenceTransformer(modules=[module, pooling, Normalize()], device="cpu")
    found = model.encode(TEXTS[:2])
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    model.save(str(tmp_path / "saved"))
    again = SentenceTransformer(str(tmp_path / "saved"), device="cpu", trust_remote_code=True)
    np.testing.assert_array_equal(again.encode(TEXTS[:2]), found)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_mix_learns_and_the_network_if_asked(requires_grad: bool) -> None:
    module = ElmoModule(GOLDEN / "allennlp" / "two_layers", tokenize="en", requires_grad=requires_grad)
    features = module(module.preprocess(["one two", "three"]))
    assert features["attention_mask"].tolist() == [[1, 1], [1, 0]]
    features["sentence_embedding"].square().sum().backward()
    assert all(parameter.grad is not None for parameter in module.elmo.mixes[0].parameters())
    learns = [parameter.grad is not None for parameter in module.elmo.encoder.network.parameters()]
    assert all(learns) if requires_grad else not any(learns)
    assert isinstance(features["token_embeddings"], torch.Tensor)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="where a text is expected; give strings"):
        ElmoModule(GOLDEN / "allennlp" / "two_layers").preprocess([["one", "two"]])  # type: ignore[list-item]
