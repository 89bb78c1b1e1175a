"""The spaCy component in real pipelines."""

import sys
from pathlib import Path

import numpy as np
import pytest
import spacy
from conftest import GOLDEN
from spacy.language import Language
from spacy.tokens import DocBin

import polyseme
from polyseme.errors import InputError, MissingPart

TEXT = "He sat on the bank.  It was wet."
WORDS = [["He", "sat", "on", "the", "bank", "."], ["It", "was", "wet", "."]]
TWO = str(GOLDEN / "allennlp" / "two_layers")


def pipeline(**config: object) -> Language:
    """A pipeline made as a user would, through the entry point."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("polyseme", config=config)
    return nlp


def test_tokens_have_our_vectors_and_whitespace_has_none() -> None:
    doc = pipeline(layers="top")(TEXT)
    expected = np.concatenate(polyseme.load("english-small").embed(WORDS, layers="top"))
    words = [token for token in doc if not token.is_space]
    assert doc.tensor.shape == (11, 256)
    np.testing.assert_array_equal(np.stack([token.vector for token in words]), expected)
    space = next(token for token in doc if token.is_space)
    assert not space.vector.any()
    assert not space.has_vector
    np.testing.assert_allclose(doc.vector, expected.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(doc[:3].vector, expected[:3].mean(axis=0), atol=1e-6)
    cosine = expected[4] @ expected[1] / np.linalg.norm(expected[4]) / np.linalg.norm(expected[1])
    assert doc[4].similarity(doc[1]) == pytest.approx(float(cosine), abs=1e-6)


def test_a_document_without_sentences_is_read_as_one() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("polyseme", config={"model": TWO})
    doc = nlp("one two. three")
    expected = polyseme.load(TWO).embed([[token.text for token in doc]], layers="mean")[0]
    np.testing.assert_array_equal(doc.tensor, expected)


def test_pipe_gives_what_calls_give() -> None:
    nlp = pipeline(model=TWO)
    texts = [TEXT, "", "Yes.", " "]
    for doc, text in zip(nlp.pipe(texts, batch_size=3), texts, strict=True):
        np.testing.assert_allclose(doc.tensor, nlp(text).tensor, atol=1e-6)


@pytest.mark.parametrize("model", ["english-small", TWO])
def test_a_stored_pipeline_needs_no_other_file(model: str, tmp_path: Path) -> None:
    nlp = pipeline(model=model, layers=1)
    expected = nlp(TEXT).tensor
    nlp.to_disk(tmp_path / "nlp")
    assert (tmp_path / "nlp" / "polyseme" / "model").exists() == (model == TWO)
    np.testing.assert_array_equal(spacy.load(tmp_path / "nlp")(TEXT).tensor, expected)
    other = pipeline(layers="top").from_bytes(nlp.to_bytes())
    np.testing.assert_array_equal(other(TEXT).tensor, expected)


def test_documents_can_be_stored_with_their_vectors() -> None:
    nlp = pipeline(model=TWO, hooks=False)
    doc = nlp(TEXT)
    (again,) = DocBin(attrs=["ORTH"], docs=[doc]).get_docs(nlp.vocab)
    assert again.text.split() == TEXT.split()
    copy = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
    np.testing.assert_array_equal(copy[4].vector, doc[4].vector)


def test_all_layers_are_refused() -> None:
    with pytest.raises(InputError, match="choose layers mean, top or a layer's number"):
        pipeline(layers="all")


def test_without_spacy_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "polyseme.compat.spacy", raising=False)
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    with pytest.raises(MissingPart) as caught:
        __import__("polyseme.compat.spacy")
    assert str(caught.value) == (
        "polyseme.compat.spacy needs spaCy, which is not installed; pip install 'polyseme[spacy]'"
    )
