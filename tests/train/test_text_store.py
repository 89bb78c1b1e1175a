"""Text to numbers on disk."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from polyseme.errors import InputError
from polyseme.progress import Watcher
from polyseme.text.characters import ByteCharacters
from polyseme.text.corpus import Corpus
from polyseme.train.lm import encode_text, text_store
from polyseme.train.lm.text_store import TextPart, TextStore

LINES = ["the cat sat", "", "the <unk> sat <UNK>", "a dog", *[f"the cat number {n}" for n in range(60)]]


def _store(
    tmp_path: Path, *, stop_words: frozenset[str] = frozenset(), size: int = 100, min_count: int = 1
) -> TextStore:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    folder = tmp_path / "text"
    words = encode_text.encode_corpus(
        folder,
        Corpus([path]),
        None,
        stop_words=stop_words,
        heldout_tokens=10_000,
        seed=1,
        watcher=Watcher(),
    )
    counts = encode_text.count_words(folder, len(words))
    vocabulary = encode_text.make_vocabulary(words, counts, size=size, min_count=min_count)
    assert not text_store.is_whole(folder)
    encode_text.finish(folder, words, vocabulary, ByteCharacters())
    assert text_store.is_whole(folder)
    return text_store.open_store(folder, vocabulary, [262] * 50)


def _texts(store: TextStore, part: TextPart) -> list[list[str]]:
    """Back to words, by what the token encoder would read."""
    result = []
    for number in range(len(part.starts) - 1):
        rows = store.characters[part.sentence(number)]
        sentence = []
        for row in rows[1:-1]:
            letters = row[1 : list(row).index(260)]
            sentence.append(bytes(int(letter) - 1 for letter in letters).decode())
        result.append(sentence)
    return result


def test_every_sentence_is_in_one_part_and_keeps_the_characters_of_rare_words(tmp_path: Path) -> None:
    store = _store(tmp_path, size=3)
    training, heldout = _texts(store, store.training), _texts(store, store.heldout)
    assert sorted([*training, *heldout]) == sorted(line.split() for line in LINES if line)
    assert 1 <= len(heldout) <= 10
    assert store.vocabulary.words[:5] == ("<S>", "</S>", "<UNK>", "the", "cat")
    assert len(store.vocabulary) == 6
    for part in (store.training, store.heldout):
        assert (part.types[part.starts[:-1]] == text_store.BEGIN).all()
        assert (part.types[part.starts[1:] - 1] == text_store.END).all()


def test_both_spellings_of_the_unknown_word_are_unknown_and_markers_are_themselves(tmp_path: Path) -> None:
    store = _store(tmp_path)
    assert "<unk>" not in store.vocabulary
    assert store.outputs[:2].tolist() == [0, 1]
    names = {tuple(row): output for row, output in zip(store.characters.tolist(), store.outputs.tolist(), strict=True)}
    for word in ("<unk>", "<UNK>"):
        assert names[tuple(ByteCharacters().ids([word])[0].tolist())] == store.vocabulary.unknown


def test_the_same_sentences_are_held_out_each_time(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = _store(tmp_path / "one"), _store(tmp_path / "two")
    np.testing.assert_array_equal(one.heldout.types, two.heldout.types)


def test_words_of_the_training_part_alone_are_counted(tmp_path: Path) -> None:
    store = _store(tmp_path)
    counted = encode_text.count_words(tmp_path / "text", len(store.outputs))
    expected = Counter(word for sentence in _texts(store, store.training) for word in sentence)
    names = {tuple(row): number for number, row in enumerate(store.characters.tolist())}
    assert len(_texts(store, store.heldout)) > 0
    for word in {word for line in LINES for word in line.split()}:
        assert counted[names[tuple(ByteCharacters().ids([word])[0].tolist())]] == expected[word], word


def test_a_vocabulary_obeys_its_limits() -> None:
    words = ["<S>", "</S>", "b", "a", "line\nbreak", "rare", "<unk>", "heldout"]
    counts = np.array([9, 9, 5, 5, 4, 1, 7, 0])
    assert encode_text.make_vocabulary(words, counts, size=10, min_count=1).words[3:] == ("b", "a", "rare")
    assert encode_text.make_vocabulary(words, counts, size=10, min_count=2).words[3:] == ("b", "a")
    assert encode_text.make_vocabulary(words, counts, size=1, min_count=1).words[3:] == ("b",)


def test_stop_words_are_left_out(tmp_path: Path) -> None:
    store = _store(tmp_path, stop_words=frozenset({"the", "cat"}))
    assert "the" not in store.vocabulary
    assert ["sat"] in [*_texts(store, store.training), *_texts(store, store.heldout)]


def test_long_sentences_are_cut_and_nothing_is_lost() -> None:
    part = TextPart(np.arange(30, dtype=np.int32), np.array([0, 4, 25, 30]))
    cut = text_store.pieces(part, 8)
    assert cut.starts.tolist() == [0, 4, 12, 20, 25, 30]
    assert text_store.pieces(part, 21) is part


def test_character_set_has_the_markers_first_and_then_characters_by_count() -> None:
    table = encode_text.character_set(["ab", "b", "z"], np.array([2, 1, 0]))
    assert list(table) == ["<pad>", "<oov>", "<bos>", "<eos>", "<bow>", "<eow>", "b", "a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no sentences; give text with at least one word"),
        ("one sentence only\n", "1 sentence, so that nothing can be held out"),
    ],
)
def test_too_little_text(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        encode_text.encode_corpus(
            tmp_path / "text",
            Corpus([tmp_path / "short.txt"]),
            None,
            stop_words=frozenset(),
            heldout_tokens=100,
            seed=1,
            watcher=Watcher(),
        )
