"""Searches for translations, against each other and against all translations there are."""

from itertools import product

import pytest
import torch
from tiny_translator import SOURCE, tiny_translator

from polyseme.errors import InputError
from polyseme.models.translation import TranslationModel, source_ids, source_vectors
from polyseme.models.translation_search import BEGIN, END, beam_search, greedy_search
from polyseme.models.translator import Read
from polyseme.nn.packing import Packing

SENTENCES = [["one", "two", "three"], ["six"], ["eight", "eight"], ["four", "zzz", "one", "five", "two"]]


def _read(model: TranslationModel, sentence: list[str]) -> Read:
    ids = torch.from_numpy(source_ids(model.table, sentence))
    vectors = source_vectors(torch.from_numpy(model.table.matrix), ids)
    with torch.no_grad():
        return model.network.read(vectors, Packing.of([len(sentence)]), torch.tensor([0]))


def _log_probability(model: TranslationModel, read: Read, words: tuple[int, ...]) -> float:
    """Of a whole translation, word by word."""
    total, last = 0.0, BEGIN
    with torch.no_grad():
        for word in words:
            scores, read, _ = model.network.next_words(torch.tensor([last]), read)
            total, last = total + float(scores[0, word]), word
    return total


def test_a_beam_of_one_is_the_greedy_search() -> None:
    model = tiny_translator()
    for sentence in SENTENCES:
        read = _read(model, sentence)
        (greedy,), (beam,) = greedy_search(model.network, read, [9]), beam_search(model.network, read, [9], width=1)
        assert (greedy.words, greedy.attended) == (beam.words, beam.attended)
        assert greedy.score == pytest.approx(beam.score)


@pytest.mark.parametrize("power", [0.0, 0.6, 1.0])
def test_a_wide_beam_finds_the_best_of_all(power: float) -> None:
    model = tiny_translator(words=("uno",))  # with <UNK> two words, up to four long
    improved = 0
    for sentence in SENTENCES:
        read = _read(model, sentence)
        every = [(*words, END) for length in range(4) for words in product((2, 3), repeat=length)]
        scores = {words: _log_probability(model, read, words) / len(words) ** power for words in every}
        best = max(scores, key=lambda words: scores[words])
        (found,) = beam_search(model.network, read, [4], width=len(every) + 20, length_penalty=power)
        assert tuple(found.words) == best[:-1]
        assert found.score == pytest.approx(scores[best], abs=1e-5)
        (greedy,) = greedy_search(model.network, read, [4])
        improved += greedy.words != found.words
    assert improved or power == 1.0


def test_sentences_together_are_translated_as_alone() -> None:
    model = tiny_translator()
    for beam in (1, 3):
        alone = [model.translate([sentence], beam=beam)[0] for sentence in SENTENCES]
        assert model.translate(SENTENCES, beam=beam) == alone
        assert model.translate([[], *SENTENCES, []], beam=beam) == [[], *alone, []]


def test_a_translation_ends() -> None:
    model = tiny_translator()
    with torch.no_grad():
        model.network.softmax.bias[END] = -1e9  # never the end
    for beam in (1, 2):
        assert [len(one) for one in model.translate(SENTENCES, beam=beam)] == [16, 12, 14, 20]


def test_no_sentence_begins_again_and_unknown_words_are_copied() -> None:
    model = tiny_translator()
    with torch.no_grad():
        model.network.softmax.bias[BEGIN] = 1e9
        model.network.softmax.bias[2] = 100.0  # always <UNK>
    (found,) = model.translate([["four", "zzz", "one"]])
    assert found
    assert set(found) <= {"four", "zzz", "one"}


def test_words_without_a_vector_are_zeros() -> None:
    model = tiny_translator()
    ids = torch.from_numpy(source_ids(model.table, ["two", "zzz", "Three"]))
    assert ids.tolist() == [1, -1, 2]  # another case will do
    vectors = source_vectors(torch.from_numpy(model.table.matrix), ids)
    assert vectors[1].tolist() == [0.0] * 5
    assert vectors[0].tolist() == model.table.matrix[SOURCE.index("two")].tolist()


def test_lines_are_tokenised_and_put_together() -> None:
    model = tiny_translator(words=("hola", ",", "."))
    (line,) = model.translate_lines(["One two. Three!"])
    (tokens,) = model.translate([["One", "two", ".", "Three", "!"]])
    assert line.replace(" ", "") == "".join(tokens)
    assert model.translate_lines(["", "  "]) == ["", ""]


def test_bad_options() -> None:
    with pytest.raises(InputError, match="beam is 0, expected at least 1"):
        tiny_translator().translate([["one"]], beam=0)
    with pytest.raises(InputError, match="device 'nowhere' cannot be used"):
        tiny_translator().to("nowhere")
