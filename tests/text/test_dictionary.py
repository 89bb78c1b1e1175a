"""Words of one's own for the Chinese tokeniser."""

import pickle
from pathlib import Path

import pytest
import rjieba
from hypothesis import given
from hypothesis import strategies as st

from polyseme.errors import InputError
from polyseme.text.chinese import chinese_words
from polyseme.text.corpus import Corpus
from polyseme.text.dictionary import Dictionary
from polyseme.text.marked import marked
from polyseme.text.segmentation import Segmentation


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "names.txt"
    path.write_text("玄德\n\n 操 \n曹操\n玄德\n", encoding="utf-8")
    return path


class TestCutting:
    def test_names_that_jieba_glues_to_the_next_word(self) -> None:
        names = Dictionary(["玄德", "操", "曹操"])
        assert chinese_words("玄德甚喜。操大怒曰") == ["玄德甚", "喜", "。", "操大怒", "曰"]
        assert chinese_words("玄德甚喜。操大怒曰", names) == ["玄德", "甚", "喜", "。", "操", "大", "怒", "曰"]
        assert chinese_words("曹操引兵，操练人马", names) == ["曹操", "引", "兵", "，", "操", "练", "人马"]

    def test_a_longer_word_keeps_its_characters_from_a_shorter_one(self) -> None:
        assert chinese_words("操练人马", Dictionary(["操", "操练"])) == ["操练", "人马"]

    def test_the_word_that_begins_first_is_taken_and_of_those_the_longest(self) -> None:
        assert Dictionary(["甲乙", "乙丙丁", "甲乙丙", "丁"]).cut("甲乙丙丁乙丙丁", list) == ["甲乙丙", "丁", "乙丙丁"]

    def test_words_that_jieba_would_never_keep_whole(self) -> None:
        names = Dictionary(["安娜·卡列尼娜", "《史记》"])
        assert chinese_words("安娜·卡列尼娜读《史记》", names) == ["安娜·卡列尼娜", "读", "《史记》"]

    @pytest.mark.parametrize("word", ["caf", "cafe", "при", "afé"])
    def test_letters_are_not_only_those_of_ascii(self, word: str) -> None:
        text = "café，cafe\u0301，привет"
        assert Dictionary([word]).cut(text, lambda some: [some]) == [text]

    def test_a_latin_word_is_not_found_within_another(self) -> None:
        names = Dictionary(["AI", "T恤", "三国2"])
        assert names.cut("AI用AI，FAIR、AIR。BT恤T恤三国20三国2", lambda text: [text]) == [
            "AI",
            "用",
            "AI",
            "，FAIR、AIR。BT恤",
            "T恤",
            "三国20",
            "三国2",
        ]

    def test_a_character_is_not_parted_from_its_marks(self) -> None:
        assert chinese_words("操\U000e0100甲", Dictionary(["操"])) == ["操\U000e0100", "甲"]

    def test_jieba_itself_stays_as_it_was(self) -> None:
        chinese_words("玄德甚喜", Dictionary(["玄德"]))
        assert not rjieba.has_word("玄德")
        assert chinese_words("玄德甚喜") == ["玄德甚", "喜"]

    @given(
        text=st.text(st.sampled_from("甲乙丙aB1 \u3000，。\u0301")),
        words=st.lists(st.text(st.sampled_from("甲乙丙aB1，"), min_size=1), min_size=1),
    )
    def test_nothing_is_lost_and_what_is_left_holds_no_word(self, text: str, words: list[str]) -> None:
        names, rest = Dictionary(words), []

        def keep(piece: str) -> list[str]:
            rest.append(piece)
            return [piece]

        pieces = names.cut(text, keep)
        assert "".join(pieces) == text
        assert all(pieces)
        assert set(pieces) <= {*words, *rest}
        chinese = [word for word in words if not word.isascii() and not word[0].isascii() and not word[-1].isascii()]
        assert not any(word in piece for word in chinese for piece in rest)
        assert "".join(chinese_words(text, names)) == "".join(text.split())


class TestReading:
    def test_a_word_a_line(self, file: Path) -> None:
        assert Dictionary.read(file).words == ["操", "曹操", "玄德"]
        assert Dictionary.read(file) == Dictionary(["曹操", "玄德", "操"])
        assert Dictionary.read(file) != Dictionary(["曹操"])

    def test_a_file_made_for_jieba(self, file: Path) -> None:
        file.write_bytes(
            b"\xef\xbb\xbf" + "云计算 5\r\n李小福 2 nr\r\n创新办\t3 i\r\neasy_install 3 eng\r\n台中 ns".encode()
        )
        assert Dictionary.read(file).words == sorted(["云计算", "李小福", "创新办", "easy_install", "台中"])

    def test_it_can_be_shown_and_pickled(self) -> None:
        names = Dictionary(["曹操", "玄德"])
        assert str(names).startswith("2 words (")
        assert str(names) == str(Dictionary(["玄德", "曹操"])) != str(Dictionary(["玄德", "孔明"]))
        assert pickle.loads(pickle.dumps(names)) == names
        assert hash(names) == hash(Dictionary(["玄德", "曹操"]))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("曹操\nCao Cao\n".encode(), r"names\.txt:2: got 'Cao Cao', expected one word; write one word per line"),
            ("曹操 玄德".encode(), r"names\.txt:1: got '曹操 玄德', expected one word"),
            (b" \n\n", r"names\.txt: contains no words; write one word per line, or give no dictionary"),
            ("曹操\n".encode("gb18030"), r"names\.txt: the dictionary cannot be read \('utf-8' .*; give UTF-8 text"),
        ],
    )
    def test_what_is_no_dictionary(self, file: Path, content: bytes, message: str) -> None:
        file.write_bytes(content)
        with pytest.raises(InputError, match=message):
            Dictionary.read(file)

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"none\.txt: the dictionary cannot be read \(.*No such file"):
            Dictionary.read(tmp_path / "none.txt")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ([], "the dictionary has no words; give at least one"),
            (["曹操", ""], "the word '' of a dictionary is empty or contains whitespace"),
            (["曹\u3000操"], "is empty or contains whitespace; give one word"),
            ("曹操", "words is the single string '曹操', but a list of words is expected"),
        ],
    )
    def test_what_are_no_words(self, words: list[str], message: str) -> None:
        with pytest.raises(InputError, match=message):
            Dictionary(words)


class TestUse:
    def test_in_running_text_json_lines_and_marked_sentences(self, tmp_path: Path) -> None:
        names = Dictionary(["玄德"])
        (tmp_path / "novel.txt").write_text("玄德甚喜。\n", encoding="utf-8")
        (tmp_path / "novel.jsonl").write_text('{"text": "玄德甚喜。"}\n["玄德甚", "喜"]\n', encoding="utf-8")
        corpus = Corpus([tmp_path / "novel.txt", tmp_path / "novel.jsonl"], tokenize="zh", dictionary=names)
        assert [sentence.tokens for sentence in corpus] == [
            ["玄德", "甚", "喜", "。"],
            ["玄德", "甚", "喜", "。"],
            ["玄德甚", "喜"],  # tokens stay as they are
        ]
        assert marked("玄德甚喜，[操]曰", Segmentation("zh", names)) == (["玄德", "甚", "喜", "，", "操", "曰"], 4)

    @pytest.mark.parametrize(
        ("tokenize", "what"),
        [(None, "text that is already tokenised"), ("en", "the tokenizer 'en'"), ("char", "'char'")],
    )
    def test_only_chinese_words_have_a_dictionary(self, tmp_path: Path, tokenize: str | None, what: str) -> None:
        (tmp_path / "text.txt").write_text("玄德")
        for use in (
            lambda: Corpus([tmp_path / "text.txt"], tokenize=tokenize, dictionary=Dictionary(["玄德"])),  # type: ignore[arg-type]
            lambda: Segmentation(tokenize, Dictionary(["玄德"])),  # type: ignore[arg-type]
        ):
            with pytest.raises(InputError, match=rf"a dictionary is for the tokenizer 'zh' .*, not for .*{what}"):
                use()
