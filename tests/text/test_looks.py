"""What a text looks like: raw or cut already, and in which language."""

import doctest
import re

import pytest

from polyseme.text import looks
from polyseme.text.looks import Look, look_at
from polyseme.text.segmentation import Segmentation

ENGLISH = (
    "It was late, and the bank was closed. Mr. Doe of the U.S. Army said that he would wait, but nobody came. "
    '"Why," he asked, "would they go?" They had gone to the river, which was steep.'
)
CHINESE = "两国总统举行了会谈。昨天，我在银行（北京）买了一本书；他说：“好。”\n她喜欢吃苹果和梨。"
GERMAN = "Der Junge ging, weil es in der Stadt regnete, nach Hause. Dort wartete seine Mutter; was sollte er tun?"
FRENCH = "Le garçon est rentré hier, parce qu'il pleuvait. Sa mère l'attendait : elle était là. Que faire ?"
DUTCH = "De jongen ging gisteren naar huis, omdat het regende. Daar was zijn moeder, of was het zijn zus?"
THAI = "เมื่อวานนี้เด็กชายกลับบ้านเพราะฝนตก แม่รออยู่ในครัว"
JAPANESE = "昨日、男の子は雨が降っていたので家に帰りました。お母さんは台所で待っていました。"


@pytest.mark.parametrize(
    ("text", "look"),
    [
        (ENGLISH, "english"),
        (CHINESE, "chinese"),
        ("子曰：“学而时习之，不亦说乎？”", "chinese"),
        (GERMAN, "raw"),
        (FRENCH, "raw"),
        (DUTCH, "raw"),
        (JAPANESE, "japanese"),
        (THAI, "thai"),
        ("ម្សិលមិញក្មេងប្រុសបានទៅផ្ទះព្រោះភ្លៀងធ្លាក់។ ម្តាយរង់ចាំ។", "khmer"),
        ("ມື້ວານນີ້ເດັກຊາຍກັບບ້ານ", "lao"),
        ("မနေ့က ကောင်လေးသည် အိမ်ပြန်ခဲ့သည်။ မိုးရွာနေသည်။", "burmese"),
        ("लड़का घर गया। माँ इंतज़ार कर रही थी।", "raw"),
        ("ذهب الولد إلى البيت، هل كانت أمه؟ نعم.", "raw"),
        ("བོད་ཀྱི་སྐད་ཡིག་ནི་བོད་མིའི་སྐད་རིགས་ཡིན།", "raw"),
        ("Мальчик пошёл домой, потому что шёл дождь. Мать ждала его.", "raw"),
        ("", "unknown"),
        ("one two three\nfour five", "unknown"),
        ("He lives in the U.S. with Mr. Doe", "unknown"),
    ],
)
def test_texts(text: str, look: Look) -> None:
    assert look_at(text) == look


@pytest.mark.parametrize("text", [GERMAN, FRENCH, DUTCH])
def test_text_that_is_cut_at_punctuation(text: str) -> None:
    assert look_at(re.sub(r"([.,:;?])", r" \1", text)) == "cut"


@pytest.mark.parametrize(
    ("tokenizer", "text"),
    [
        *(("en", ENGLISH), ("zh", CHINESE), ("char", CHINESE), ("unicode", GERMAN), ("ja", JAPANESE)),
        *(("th", THAI), ("unicode", "लड़का घर गया। माँ इंतज़ार कर रही थी।")),
    ],
)
def test_what_a_tokeniser_gives_looks_cut(tokenizer: str, text: str) -> None:
    sentences = Segmentation(tokenizer).sentences(text)  # type: ignore[arg-type]
    assert look_at("\n".join(map(" ".join, sentences))) == "cut"


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(looks) == (0, 2)
