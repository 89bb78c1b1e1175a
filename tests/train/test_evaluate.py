"""Perplexity against a plain loop over the padded network."""

import math

import numpy as np
import pytest
import torch
from tiny import WORDS, tiny_model

from polyseme.errors import InputError, MissingPart
from polyseme.text.characters import BEGIN_SENTENCE, END_SENTENCE
from polyseme.train.lm import evaluate as module
from polyseme.train.lm.evaluate import evaluate, evaluate_heldout
from polyseme.train.lm.text_store import BEGIN, END, TextPart, TextStore, pieces

SENTENCES = [["the", "river", "bank"], [], ["unheard"], ["a", "of", "the", "strange", "bank"]]


def test_perplexity_of_each_direction_with_and_without_unknown_words() -> None:
    model = tiny_model()
    assert model.bilm.softmax is not None
    losses: dict[str, list[float]] = {"forward": [], "backward": [], "forward_known": [], "backward_known": []}
    for sentence in filter(None, SENTENCES):
        rows = [model.indexer.boundaries[:1], model.indexer.ids(sentence), model.indexer.boundaries[1:]]
        ids = torch.cat([torch.from_numpy(row) for row in rows]).unsqueeze(0)
        top = model.bilm(ids, torch.tensor([ids.shape[1]]))[-1, 0]
        words = ["<S>", *sentence, "</S>"]
        for place, word in enumerate(words):
            target = WORDS.index(word) if word in WORDS else WORDS.index("<UNK>")
            for name, state in (
                ("forward", top[place - 1, :6] if place > 0 else None),
                ("backward", top[place + 1, 6:] if place + 1 < len(words) else None),
            ):
                if state is not None:
                    loss = -model.bilm.softmax(state)[target].item()
                    losses[name].append(loss)
                    if word in WORDS:
                        losses[f"{name}_known"].append(loss)
    result = evaluate(model, SENTENCES, batch_tokens=6)
    for name, values in losses.items():
        assert getattr(result, name) == pytest.approx(math.exp(sum(values) / len(values)), rel=1e-5), name
    assert result.average == pytest.approx((result.forward + result.backward) / 2)
    assert result.tokens == 9
    assert result.unknown_share == pytest.approx(2 / 9)


def test_a_long_sentence_is_measured_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 4)
    model = tiny_model()
    long = ["the", "river", "bank", "a"] * 3
    assert evaluate(model, [long]) == evaluate(model, [long[:4]] * 3)


@pytest.mark.parametrize("longest", [5, 7, 400])
def test_pieces_of_heldout_sentences_lose_no_token(longest: int) -> None:
    words = ["the", "river", "unheard", "bank"] * 5
    model = tiny_model()
    assert model.vocabulary is not None
    types = {BEGIN_SENTENCE: BEGIN, END_SENTENCE: END, **{word: 2 + n for n, word in enumerate(dict.fromkeys(words))}}
    text = np.array([BEGIN, *(types[word] for word in words), END, BEGIN, types["bank"], END], dtype=np.int32)
    part = TextPart(text, np.array([0, 22, 25]))
    characters = np.concatenate([model.indexer.boundaries, model.indexer.ids(list(types)[2:])]).astype(np.int32)
    store = TextStore(part, part, characters, np.array(model.vocabulary.lookup(list(types))), model.vocabulary)
    result = evaluate_heldout(model.bilm, store, pieces(part, longest), tokens=1000, batch_tokens=16)
    assert result.tokens == 21
    assert result.unknown_share == pytest.approx(5 / 21)


def test_what_cannot_be_measured() -> None:
    with pytest.raises(MissingPart, match="has no softmax, so it has no perplexity"):
        evaluate(tiny_model(softmax=False), SENTENCES)
    with pytest.raises(InputError, match="no tokens to measure"):
        evaluate(tiny_model(), [[]])
