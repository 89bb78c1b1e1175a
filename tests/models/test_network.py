"""A network of another kind than the biLM goes through everything that only needs layers."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from tiny import tiny_model
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError, MissingPart
from polyseme.models.elmo import Elmo
from polyseme.models.encoders import EncoderState
from polyseme.models.model import Model
from polyseme.models.network import Network
from polyseme.models.token_encoders import WordTokenEncoder
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.packing import Packing
from polyseme.text.characters import WholeWords
from polyseme.text.segmentation import Segmentation

WORDS = ("the", "<S>", "</S>", "<UNK>", "river", "bank")
SENTENCES = [["the", "bank"], ["river"], [], ["the", "river", "the", "sea"]]


class TranslationEncoder(Network):
    """Two bidirectional LSTM layers over static vectors, the second of which reads both directions; no markers."""

    marks_sentences = False
    token_encoder: WordTokenEncoder

    def __init__(self) -> None:
        super().__init__()
        self.token_encoder = WordTokenEncoder(dim=5, words=len(WORDS))
        self.lstms = nn.ModuleList([nn.LSTM(5, 5, bidirectional=True), nn.LSTM(10, 5, bidirectional=True)])
        self.layers, self.dim = 3, 10

    def contextualise(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        packed = tokens[packing.flat_of_packed]
        layers = [torch.cat([packed, packed], dim=1)]
        for lstm in self.lstms:
            outputs, _ = lstm(PackedSequence(packed, torch.tensor(packing.batch_sizes)))
            packed = outputs.data
            layers.append(packed)
        return layers, EncoderState((tokens.new_zeros(2, len(packing.lengths), 0),))

    def for_inference(self, precision: Precision) -> "TranslationEncoder":
        return self

    def plain(self, ids: list[int]) -> Tensor:
        """All layers (3, T, 10) of one sentence, by torch alone."""
        tokens = self.token_encoder.words.weight[ids].unsqueeze(1)
        first, _ = self.lstms[0](tokens)
        second, _ = self.lstms[1](first)
        return torch.cat([torch.cat([tokens, tokens], dim=2), first, second], dim=1).transpose(0, 1)


@dataclass(frozen=True)
class Settings:
    source: str = "translation"
    segmentation: Segmentation = field(default_factory=Segmentation)
    source_options: None = None

    def computation(self) -> str:
        return "translation"


@pytest.fixture
def model() -> Model:
    torch.manual_seed(3)
    table = {word: number for number, word in enumerate(WORDS)}
    return Model(Settings(), TranslationEncoder().requires_grad_(False), WholeWords(table))


def expected(model: Model, sentence: list[str]) -> Tensor:
    assert isinstance(model.network, TranslationEncoder)
    return model.network.plain([WORDS.index(word) if word in WORDS else 3 for word in sentence])


def test_embedded_without_markers(model: Model) -> None:
    embedder = Embedder(model, batch_tokens=3)
    assert (embedder.layers, embedder.dim) == (3, 10)
    for sentence, found in zip(SENTENCES, embedder.embed(SENTENCES), strict=True):
        assert found.shape == (3, len(sentence), 10)
        if sentence:
            np.testing.assert_allclose(found, expected(model, sentence), atol=1e-6, rtol=0)
    assert embedder.embed([["the"]], layers="top")[0].shape == (1, 10)
    assert embedder.fingerprint() == model.fingerprint()


def test_in_a_task(model: Model) -> None:
    elmo = Elmo(model, dropout=0, requires_grad=True)
    ids = elmo.ids(SENTENCES)
    assert ids.shape == (4, 4, 1)
    assert ids[0].flatten().tolist() == [0, 5, -1, -1]  # 0 is the id of "the"
    vectors, mask = elmo(ids)
    assert mask.sum(dim=1).tolist() == [2, 1, 0, 4]
    for number, sentence in enumerate(SENTENCES):
        if sentence:
            wanted = expected(model, sentence).mean(dim=0)
            torch.testing.assert_close(vectors[0][number, : len(sentence)], wanted, atol=1e-6, rtol=0)
        assert not vectors[0][number, len(sentence) :].any()
    vectors[0].sum().backward()
    assert model.network.token_encoder.get_parameter("words.weight").grad is not None


def test_what_it_cannot_do_is_said(model: Model) -> None:
    with pytest.raises(InputError, match=r"^the model \(translation\) is a TranslationEncoder, but a biLM is needed"):
        _ = model.bilm
    with pytest.raises(InputError, match=r"^the model \(translation\) is not a biLM, which is needed here; give"):
        _ = model.bilm_config
    with pytest.raises(MissingPart, match=r"^the model \(translation\) has no softmax, so it cannot say how likely"):
        Embedder(model).score(SENTENCES)
    with pytest.raises(InputError, match=r"^stateful: the model \(translation\) reads sentences without markers"):
        Embedder(model, stateful=True)
    with pytest.raises(InputError, match=r"^stateful: this network carries no state from sentence to sentence"):
        Elmo(model, stateful=True)
    assert not model.predicts_words
    assert model.without_softmax().network is model.network


def test_a_bilm_without_its_softmax() -> None:
    whole = tiny_model()
    assert whole.predicts_words
    bare = whole.without_softmax()
    assert not bare.predicts_words
    assert bare.bilm_config.vocabulary_size == 0
    assert bare.fingerprint() == whole.fingerprint()
    assert whole.predicts_words
