"""The loss against a slow plain loop."""

import numpy as np
import pytest
import torch
from tiny import WORDS, tiny_config

from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig, GruEncoderConfig
from polyseme.nn.packing import Packing
from polyseme.nn.softmax import FullSoftmax
from polyseme.text.characters import ByteCharacters
from polyseme.text.vocabulary import Vocabulary
from polyseme.train.lm.batches import RowBatch, SentenceBatch
from polyseme.train.lm.objective import Objective
from polyseme.train.lm.text_store import TextPart, TextStore

TYPES = ["<S>", "</S>", "the", "river", "unheard", "bank", "a"]


def _bilm(encoder: str = "lstm") -> BiLM:
    config = tiny_config(vocabulary_size=len(WORDS))
    if encoder == "gru":
        config = BiLMConfig(
            projection_dim=6,
            token_encoder=config.token_encoder,
            encoder=GruEncoderConfig(layers=2, hidden_dim=10),
            vocabulary_size=len(WORDS),
        )
    torch.manual_seed(0)
    return BiLM.from_config(config)


def _objective(bilm: BiLM) -> Objective:
    indexer, vocabulary = ByteCharacters(), Vocabulary(WORDS)
    characters = np.concatenate([indexer.boundaries, indexer.ids(TYPES[2:])]).astype(np.int32)
    nothing = TextPart(np.zeros(0, np.int32), np.zeros(1, np.int64))
    store = TextStore(nothing, nothing, characters, np.array(vocabulary.lookup(TYPES)), vocabulary)
    return Objective(bilm, store, dropout=0.0, device=torch.device("cpu"))


def _types(*sentences: str) -> list[np.ndarray]:
    return [np.array([TYPES.index(word) for word in ["<S>", *s.split(), "</S>"]], np.int32) for s in sentences]


def _top(bilm: BiLM, objective: Objective, types: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Both directions' top states of one sequence alone."""
    ids = torch.from_numpy(objective.store.characters[types].astype(np.int64))
    layers, _ = bilm.contextualise(bilm.token_encoder(ids), Packing.of([len(types)]))
    forward, backward = layers[-1].chunk(2, dim=1)
    return forward, backward


def _loss(bilm: BiLM, state: torch.Tensor, word: int) -> torch.Tensor:
    assert isinstance(bilm.softmax, FullSoftmax)
    return -(state @ bilm.softmax.weight.t() + bilm.softmax.bias).log_softmax(0)[word]


def test_each_direction_predicts_the_word_it_has_not_read() -> None:
    bilm = _bilm()
    objective = _objective(bilm)
    sentences = _types("the river", "a unheard bank the", "bank")
    plain, predictions = torch.zeros(()), 0
    for types in sentences:
        forward, backward = _top(bilm, objective, types)
        words = objective.store.outputs[types].tolist()
        for place in range(len(types) - 1):
            plain = plain + _loss(bilm, forward[place], words[place + 1])
            plain = plain + _loss(bilm, backward[place + 1], words[place])
            predictions += 2
    loss = objective(SentenceBatch(np.concatenate(sentences), tuple(map(len, sentences))), None)
    assert loss.predictions == predictions
    assert loss.total.item() == pytest.approx(plain.item(), rel=1e-5)
    parameters = list(bilm.parameters())
    got = torch.autograd.grad(loss.total, parameters)
    expected = torch.autograd.grad(plain, parameters)
    for one, two in zip(got, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_rows_carry_state_so_that_two_stretches_are_one_run(encoder: str) -> None:
    bilm = _bilm(encoder)
    objective = _objective(bilm)
    text = np.concatenate(_types("the river bank", "a bank", "the unheard a"))  # 14 types in one row
    forward, backward = _top(bilm, objective, text[:-1])
    words = objective.store.outputs[text].tolist()
    plain, predictions = torch.zeros(()), 0
    for place in range(len(text) - 1):
        if text[place] != TYPES.index("</S>"):
            plain = plain + _loss(bilm, forward[place], words[place + 1])
            predictions += 1
        if place > 0 and text[place] != TYPES.index("<S>"):
            plain = plain + _loss(bilm, backward[place], words[place - 1])
            predictions += 1
    row, total, counted = text[:-1], 0.0, 0
    for start in (0, 7):
        ahead = np.arange(start, min(start + 7, len(row)))
        back = len(row) - 1 - ahead
        batch = RowBatch(0, row[ahead][None], text[ahead + 1][None], row[back][None], row[back - 1][None])
        loss = objective(batch, None)
        total += loss.total.item()
        counted += loss.predictions
    assert counted == predictions
    assert total == pytest.approx(plain.item(), rel=1e-5)
    loss.total.backward()  # gradients stop at the border of a stretch, whose graph is gone
