"""Raw text where lists of tokens are expected: cut as the model's text was."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.index.occurrence_index import OccurrenceIndex

TEXT = "It's a river. The bank of the river!"
SENTENCES = [["It", "'s", "a", "river", "."], ["The", "bank", "of", "the", "river", "!"]]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    model = tiny_model()
    return Embedder(replace(model, config=model.bilm_config.model_copy(update={"tokenize": "en"})))


def same(found: object, expected: object) -> None:
    for one, other in zip(found, expected, strict=True):  # type: ignore[call-overload]
        np.testing.assert_array_equal(one, other)


def test_one_array_per_sentence_of_a_text(embedder: Embedder) -> None:
    assert embedder.tokenize(TEXT) == SENTENCES
    same(embedder.embed(TEXT), embedder.embed(SENTENCES))
    same(embedder.stream(TEXT, layers="top"), embedder.embed(SENTENCES, layers="top"))
    same(embedder.embed_sentences(TEXT), embedder.embed_sentences(SENTENCES))
    same(embedder.score(TEXT), embedder.score(SENTENCES))
    assert embedder.tokenize("") == embedder.embed("  \n") == []
    stateful = Embedder(embedder.model, stateful=True)
    assert [array.shape[1] for array in stateful.embed(TEXT)] == [5, 6]


def test_a_place_in_brackets(embedder: Embedder, tmp_path: Path) -> None:
    assert embedder.substitutes("It's a [river].", k=3) == embedder.substitutes(SENTENCES[0], 3, k=3)
    index = OccurrenceIndex.build(embedder, SENTENCES, tmp_path / "index")
    assert index.nearest("It's a [river].", k=3) == index.nearest(SENTENCES[0], 3, k=3)
    assert OccurrenceIndex(tmp_path / "index").segmentation.tokenizer == "en"
    for ask in (embedder.substitutes, index.nearest):
        with pytest.raises(InputError, match=r"^position is 3 for the raw sentence .It's a river.; put the word in br"):
            ask("It's a river", 3)
        with pytest.raises(InputError, match="needs one word in brackets"):
            ask("It's a river")
        with pytest.raises(InputError, match=r"^position is None, expected the number of a token, from 0$"):
            ask(["a", "river"])


@pytest.mark.parametrize("strings", [["a", "river"], ("a text.", "another"), iter(["a"]), np.array(["a", "b"])])
def test_strings_in_a_list_have_two_readings(embedder: Embedder, strings: object) -> None:
    with pytest.raises(
        InputError,
        match=r"^sentence 0 is the string '.*', not a list of tokens; if these are the tokens of one sentence, put "
        r"them into another list: \[tokens\]; if they are texts, give each by itself as a string$",
    ):
        embedder.embed(strings)  # type: ignore[arg-type]


def test_a_text_for_tokenize_is_one_string(embedder: Embedder) -> None:
    with pytest.raises(InputError, match=r"^text is a list, expected one string of raw text$"):
        embedder.tokenize([TEXT])  # type: ignore[arg-type]


def test_a_model_that_does_not_say_how_its_text_was_cut() -> None:
    embedder = Embedder(tiny_model())
    assert embedder.tokenize("It 's a river .\n\nYes .") == [["It", "'s", "a", "river", "."], ["Yes", "."]]
    with pytest.warns(
        UserWarning, match="It's a river.*the model does not record how its text was tokenised, so it is split"
    ):
        assert len(embedder.embed("It's a river, and the bank of it.")) == 1
