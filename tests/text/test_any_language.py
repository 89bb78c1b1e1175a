"""Words and sentences of many languages."""

import doctest
import sys

import pytest

from polyseme.errors import MissingPart
from polyseme.text import icu, unicode_sentences, unicode_words
from polyseme.text.choices import Tokenizer
from polyseme.text.dictionary import Dictionary
from polyseme.text.segmentation import Segmentation, resolve

THAI = "เมื่อวานนี้แม่รออยู่ในครัว"


@pytest.mark.parametrize(
    ("tokenizer", "text", "expected"),
    [
        ("unicode", "L'été, 3,5 km.", ["L'été , 3,5 km ."]),
        (
            "unicode",
            "Dr. Wolf kam am 3. Mai. Wo war J. Bach? Da!",
            ["Dr . Wolf kam am 3 . Mai .", "Wo war J . Bach ?", "Da !"],
        ),
        ("unicode", "Мальчик ушёл. Мать ждала!", ["Мальчик ушёл .", "Мать ждала !"]),
        ("unicode", "लड़का घर गया। माँ थी।", ["लड़का घर गया ।", "माँ थी ।"]),
        ("unicode", "ذهب الولد. هل كانت أمه؟ نعم.", ["ذهب الولد .", "هل كانت أمه ؟", "نعم ."]),
        ("unicode", "소년은 집에 갔다. 비가 왔다.", ["소년은 집에 갔다 .", "비가 왔다 ."]),
        ("unicode", "Siehe http://a.de/b?c ... Gut", ["Siehe http : / / a.de / b ? c . . .", "Gut"]),
        ("unicode", "... !!! ... Ja", [". . . ! ! ! . . . Ja"]),
        ("unicode", "ครัว", ["ค รั ว"]),
        (
            "ja",
            "昨日、雨の家。お母さんは台所に。",
            ["昨日 、 雨 の 家 。", "お母さん は 台所 に 。"],
        ),
        ("th", "แม่รออยู่ในครัว", ["แม่ รอ อยู่ ใน ครัว"]),
        ("km", "ម្តាយរង់ចាំ។ ភ្លៀងធ្លាក់។", ["ម្តាយ រង់ចាំ ។", "ភ្លៀង ធ្លាក់ ។"]),
        ("lo", "ເດັກຊາຍກັບບ້ານ", ["ເດັກຊາຍ ກັບບ້ານ"]),
        ("my", "အိမ်ပြန်ခဲ့သည်။", ["အိမ် ပြန် ခဲ့ သည် ။"]),
    ],
)
def test_sentences_and_words(tokenizer: Tokenizer, text: str, expected: list[str]) -> None:
    assert [" ".join(tokens) for tokens in Segmentation(tokenizer).sentences(text)] == expected


def test_a_dictionary_for_a_language_without_spaces() -> None:
    assert Segmentation("th", Dictionary(["อยู่ใน"])).sentences("แม่รออยู่ในครัว") == [["แม่", "รอ", "อยู่ใน", "ครัว"]]
    assert Segmentation("ja", Dictionary(["降った"])).sentences("雨が降った") == [["雨", "が", "降った"]]


@pytest.mark.parametrize("tokenizer", ["unicode", "ja", "th"])
def test_half_a_pair_is_kept(tokenizer: Tokenizer) -> None:
    assert Segmentation(tokenizer).sentences("雨\ud800. b") == [["雨", "\ud800", ".", "b"]]


def test_without_icu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    with pytest.raises(MissingPart, match=r"^the tokenizer 'th' needs the package icu4py, which is not installed: pip"):
        Segmentation("th").sentences(THAI)
    monkeypatch.setattr("polyseme.text.segmentation.is_installed", lambda: False)
    found, note = resolve("auto", None, None, lambda: THAI)
    assert found == Segmentation("unicode")
    assert note == (
        "the text looks like raw Thai and is tokenised into characters (--tokenize unicode); for words: "
        "pip install 'polyseme[languages]'"
    )


def test_the_examples_in_the_docstrings() -> None:
    for module in (icu, unicode_sentences, unicode_words):
        assert doctest.testmod(module) == (0, 1)
