"""How text follows the text of a model, in the one function that decides it."""

import doctest
import gzip
import io
import json
from pathlib import Path

import pytest

from polyseme.errors import InputError
from polyseme.models.config import BiLMConfig
from polyseme.text import segmentation
from polyseme.text.choices import TOKENIZER_CHOICES, TOKENIZERS, Tokenizer, TokenizerChoice
from polyseme.text.corpus import Corpus
from polyseme.text.dictionary import Dictionary
from polyseme.text.held_sentences import HeldSentences
from polyseme.text.segmentation import Segmentation, in_another_language, resolve

NAMES, OTHER = Dictionary(["玄德"]), Dictionary(["操"])
EN, ZH, NONE, UNICODE = Segmentation("en"), Segmentation("zh", NAMES), Segmentation(), Segmentation("unicode")
RAW, CUT, CHINESE, GERMAN, THAI = (
    "It's late, and the bank is closed.",
    "It 's late , and the bank is closed .",
    "玄德甚喜。操大怒曰。",
    "Es ist spät, und die Bank hat zu.",
    "เมื่อวานนี้เด็กชายกลับบ้านเพราะฝนตก แม่รออยู่ในครัว",
)
TAKEN = "the text is read as tokenised (one sentence per line, tokens between spaces)"


@pytest.mark.parametrize(
    ("choice", "dictionary", "model", "text", "expected", "note"),
    [
        # as the model's text was
        ("auto", None, EN, RAW, EN, "the text is tokenised by --tokenize en, as the model's text was"),
        ("auto", None, EN, CUT, EN, "the text is tokenised by --tokenize en, as the model's text was; it looks tok"),
        ("auto", None, ZH, CHINESE, ZH, f"the text is tokenised by --tokenize zh with a dictionary of {NAMES}, as the"),
        (
            *("auto", OTHER, ZH, CHINESE, Segmentation("zh", OTHER)),
            f"the text is tokenised by --tokenize zh with a dictionary of {OTHER}, but the model's text was tokenised",
        ),
        # the model does not say
        ("auto", None, NONE, CUT, NONE, None),
        (
            "auto",
            None,
            NONE,
            RAW,
            NONE,
            f"{TAKEN}, as the model does not record how its text was tokenised; it looks raw, and",
        ),
        ("auto", None, NONE, CHINESE, NONE, f"{TAKEN}, as the model does not record"),
        ("en", None, NONE, RAW, EN, None),
        # there is no model yet
        ("auto", None, None, RAW, EN, "the text looks like raw English and is tokenised by --tokenize en"),
        (
            "auto",
            None,
            None,
            CHINESE,
            Segmentation("zh"),
            "the text looks like raw Chinese and is tokenised by --tokenize zh",
        ),
        ("auto", None, None, GERMAN, UNICODE, "the text looks like raw text and is tokenised by --tokenize unicode"),
        (
            "auto",
            None,
            None,
            THAI,
            Segmentation("th"),
            "the text looks like raw Thai and is tokenised by --tokenize th",
        ),
        # the text is of another language than the tokeniser
        (
            "auto",
            None,
            EN,
            CHINESE,
            EN,
            "the text is tokenised by --tokenize en, as the model's text was; it looks like raw C",
        ),
        (
            "en",
            None,
            None,
            CHINESE,
            EN,
            "the text is tokenised by --tokenize en; it looks like raw Chinese, for which --t",
        ),
        ("zh", None, ZH, RAW, ZH, "the text is tokenised by --tokenize zh with"),
        ("en", None, None, GERMAN, EN, None),
        ("char", None, None, CHINESE, Segmentation("char"), None),
        ("auto", None, None, CUT, NONE, f"{TAKEN}, as it looks so"),
        ("auto", None, None, "", NONE, None),
        ("auto", NAMES, None, CHINESE, ZH, f"the text is tokenised by --tokenize zh with a dictionary of {NAMES}"),
        # another choice than the model's is said
        ("en", None, EN, RAW, EN, None),
        ("none", None, EN, CUT, NONE, f"{TAKEN}, but the model's text was tokenised by --tokenize en"),
        (
            "char",
            None,
            EN,
            RAW,
            Segmentation("char"),
            "the text is tokenised by --tokenize char, but the model's text was tokenised",
        ),
        ("zh", None, ZH, CHINESE, ZH, None),
        (
            "zh",
            OTHER,
            ZH,
            CHINESE,
            Segmentation("zh", OTHER),
            f"the text is tokenised by --tokenize zh with a dictionary of {OTHER}",
        ),
    ],
)
def test_decisions(
    choice: TokenizerChoice,
    dictionary: Dictionary | None,
    model: Segmentation | None,
    text: str,
    expected: Segmentation,
    note: str | None,
) -> None:
    found, told = resolve(choice, dictionary, model, lambda: text)
    assert found == expected
    assert told is None if note is None else told is not None and told.startswith(note)


@pytest.mark.parametrize(("choice", "model"), [("auto", EN), ("auto", NONE), ("en", None), ("none", ZH)])
def test_a_dictionary_is_for_chinese_words(choice: TokenizerChoice, model: Segmentation | None) -> None:
    with pytest.raises(
        InputError, match=r"^a dictionary is for the tokenizer 'zh' \(or ja, th, km, lo, my\), not for "
    ):
        resolve(choice, NAMES, model, str)


def test_what_a_run_accepts_its_model_can_hold() -> None:
    config = {
        "projection_dim": 2,
        "token_encoder": {"kind": "words", "words": 1},
        "encoder": {"kind": "gru", "layers": 1, "hidden_dim": 2},
    }
    for tokenizer in TOKENIZERS:
        assert tokenizer in TOKENIZER_CHOICES
        stored = BiLMConfig.model_validate({**config, "tokenize": tokenizer})
        read = BiLMConfig.model_validate_json(stored.model_dump_json())
        assert read.segmentation == Segmentation(tokenizer)
    stored = BiLMConfig.model_validate({**config, "tokenize": "zh", "dictionary": ("玄德",)})
    assert BiLMConfig.model_validate_json(stored.model_dump_json()).segmentation == ZH
    for wrong in ({"tokenize": "en", "dictionary": ["a"]}, {"tokenize": "zh", "dictionary": []}):
        with pytest.raises(ValueError, match=r"a dictionary of \d words with tokenize '\w\w', not zh, ja, th"):
            BiLMConfig.model_validate({**config, **wrong})


class TestCorpus:
    def test_it_follows_a_model_and_else_its_look(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text(RAW)
        assert Corpus([tmp_path]).segmentation == EN
        corpus = Corpus([tmp_path])
        note = corpus.follow(Segmentation("char"))
        assert note == "the text is tokenised by --tokenize char, as the model's text was"
        assert corpus.follow(Segmentation("char")) == note
        assert (corpus.tokenize, corpus.dictionary) == ("char", None)
        assert next(iter(corpus)).tokens[:4] == ["I", "t", "'", "s"]
        assert next(iter(Corpus([tmp_path], tokenize=None))).tokens == RAW.split()

    @pytest.mark.parametrize("choice", ["auto", "en"])
    def test_tokens_are_never_cut_again(self, tmp_path: Path, choice: TokenizerChoice) -> None:
        (tmp_path / "a.conllu").write_text("1\tIt's" + "\t_" * 8)
        (tmp_path / "b.fasta").write_text(">x\nIT")
        corpus = Corpus([tmp_path], tokenize=choice)
        assert corpus.follow(EN) is None
        assert [one.tokens for one in corpus] == [["It's"], ["I", "T"]]
        assert corpus.segmentation == EN  # which an index of them is asked by
        (tmp_path / "c.jsonl").write_text('["It\'s", "a.m."]\n{"tokens": ["It\'s"]}\n{"text": "It\'s late."}')
        corpus = Corpus([tmp_path], tokenize=choice)
        corpus.follow(EN)
        assert [one.tokens for one in corpus][2:] == [["It's", "a.m."], ["It's"], ["It", "'s", "late", "."]]

    def test_sentences_in_memory_are_tokens(self) -> None:
        held = HeldSentences([["It's"]])
        assert held.segmentation == NONE
        assert held.follow(EN) is None
        assert held.segmentation == EN

    def test_the_beginning_is_read_from_what_is_running_text(self, tmp_path: Path) -> None:
        (tmp_path / "a.conllu").write_text("1\tIt's" + "\t_" * 8)
        (tmp_path / "b.jsonl.gz").write_bytes(
            gzip.compress("\n".join(json.dumps(one) for one in (["a", ","], {"text": CHINESE})).encode())
        )
        assert Corpus([tmp_path]).tokenize == "zh"
        (tmp_path / "a.txt").write_bytes(b"\0\xff\xfe" * 50)  # refused when it is read
        assert Corpus([tmp_path]).tokenize == "zh"

    @pytest.mark.parametrize("pressed", [False, True])
    def test_standard_input_is_looked_at_and_then_read_whole(
        self, monkeypatch: pytest.MonkeyPatch, pressed: bool
    ) -> None:
        content = f"{RAW}\n\n".encode() * 2000
        raw = io.BytesIO(gzip.compress(content) if pressed else content)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(raw)))
        corpus = Corpus(["-"])
        assert corpus.follow(None) == "the text looks like raw English and is tokenised by --tokenize en"
        assert sum(1 for _ in corpus) == 2000


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(segmentation) == (0, 2)


RUSSIAN = "Ключ от двери лежал на столе, и никто его не видел. Он ушёл домой."


@pytest.mark.parametrize(
    ("choice", "model", "text", "end"),
    [
        (
            "auto",
            "en",
            CHINESE,
            "it looks like raw Chinese, but the model has read English: take a model of its language, ",
        ),
        ("zh", "en", CHINESE, "but the model has read English: take a model of its language, such as chinese-small"),
        ("auto", "zh", RAW, "but the model has read Chinese: take a model of its language, such as english-small"),
        ("auto", "en", RUSSIAN, "it looks like raw text of another language, but the model has read English: take a"),
        ("auto", "zh", RUSSIAN, "it looks like raw text of another language, but the model has read Chinese: take a"),
        ("auto", "en", THAI, "it looks like raw Thai, but the model has read English: take a model of its language"),
        ("auto", "unicode", CHINESE, "it looks like raw Chinese, for which --tokenize zh is made"),
    ],
)
def test_a_language_that_the_model_has_not_read(choice: TokenizerChoice, model: Tokenizer, text: str, end: str) -> None:
    _, note = resolve(choice, None, Segmentation(model), lambda: text)
    assert note is not None
    assert end in note


@pytest.mark.parametrize("text", [RAW, GERMAN])
def test_nothing_is_said_where_letters_do_not_show_the_language(text: str) -> None:
    assert resolve("en", None, EN, lambda: text) == (EN, None)


@pytest.mark.parametrize(
    ("model", "sentence", "told"),
    [
        (
            "en",
            "Ключ на столе",
            "has no letters of English, but the model has read English: take a model of its language",
        ),
        (
            "zh",
            "the river bank",
            "looks like English, but the model has read Chinese: take a model of its language, such",
        ),
        ("zh", "我 的 iPhone", None),
        ("en", "une clé était là", None),
        ("en", "12 %", None),
        ("unicode", "我的", None),
        (None, "我的", None),
    ],
)
def test_a_sentence_without_a_letter_of_the_model_s_language(
    model: Tokenizer | None, sentence: str, told: str | None
) -> None:
    found = in_another_language(sentence, Segmentation(model))
    assert found == told or (found is not None and told is not None and told in found)


def test_a_dictionary_that_was_added_is_no_difference_to_be_warned_of() -> None:
    _, note = resolve("auto", OTHER, Segmentation("zh"), lambda: CHINESE)
    assert note == f"the text is tokenised by --tokenize zh with a dictionary of {OTHER}"
