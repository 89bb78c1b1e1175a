import io

import pytest

from polyseme.errors import InputError
from polyseme.text import readers
from polyseme.text.lines import Lines
from polyseme.text.readers import Sentence, read_conllu, read_fasta, read_jsonl, read_lines
from polyseme.text.repairs import Repairs


def lines(text: str) -> Lines:
    return Lines(io.BytesIO(text.encode()), name="a", repairs=Repairs())


def row(number: str, form: str, columns: int = 10) -> str:
    return "\t".join([number, form, *["_"] * (columns - 2)]) + "\n"


def test_lines() -> None:
    text = " The  river\tbank \n\n天\u3000黑 了\xa0。\n"
    assert list(read_lines(lines(text), None)) == [
        Sentence(["The", "river", "bank"]),
        Sentence([]),
        Sentence(["天", "黑", "了", "。"]),
    ]


def test_lines_tokenised() -> None:
    assert list(read_lines(lines("It's late. Go!\n\n\nNow"), "en")) == [
        Sentence(["It", "'s", "late", "."]),
        Sentence(["Go", "!"]),
        Sentence(["Now"]),
    ]


def test_conllu() -> None:
    text = (
        "# newdoc\n# sent_id = first\n# text = vámonos al 1 000\n"
        + row("1-2", "vámonos")
        + row("1", "vamos")
        + row("2", "nos")
        + row("3-4", "al")
        + row("3", "a")
        + row("3.1", "ghost")
        + row("4", "el")
        + row("5", "1 000", columns=13)
        + "\n\n# a remark\n\n"
        + row("1", "#")
    )
    assert list(read_conllu(lines(text))) == [Sentence(["vamos", "nos", "a", "el", "1 000"], "first"), Sentence(["#"])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "en:Sioux\tB-ORG\n",
            "a:3: 2 tab-separated columns where CoNLL-U has 10; give CoNLL-U, or name the reader that fits",
        ),
        (
            "plain text\n",
            "a:3: 1 tab-separated columns where CoNLL-U has 10; give CoNLL-U, or name the reader that fits",
        ),
        (
            row("x", "cat"),
            "a:3: word 'x' with form 'cat' where CoNLL-U has a number (1, 1-2 or 1.1) and a form; correct the line",
        ),
        (
            row("1", ""),
            "a:3: word '1' with form '' where CoNLL-U has a number (1, 1-2 or 1.1) and a form; correct the line",
        ),
    ],
)
def test_bad_conllu(text: str, message: str) -> None:
    found = read_conllu(lines(row("1", "ok") + "\n" + text))
    assert next(found) == Sentence(["ok"])
    with pytest.raises(InputError) as caught:
        next(found)
    assert str(caught.value) == message


def test_jsonl() -> None:
    text = (
        '["a", "b c"]\n'
        "\n"
        '{"tokens": ["x"], "id": "one", "text": "ignored"}\n'
        '{"tokens": [], "id": 7}\n'
        '{"text": "It\'s  late.\\nGo!", "id": null}\n'
    )
    assert list(read_jsonl(lines(text), None)) == [
        Sentence(["a", "b c"]),
        Sentence(["x"], "one"),
        Sentence([], "7"),
        Sentence(["It's", "late.", "Go!"]),
    ]


def test_jsonl_tokenised() -> None:
    text = '{"text": "It\'s late.\\r\\n\\r\\nGo!", "id": "t"}\n{"text": " ", "id": "blank"}\n{"tokens": ["It\'s"]}\n'
    assert list(read_jsonl(lines(text), "en")) == [
        Sentence(["It", "'s", "late", "."], "t"),
        Sentence(["Go", "!"], "t"),
        Sentence([], "blank"),
        Sentence(["It's"]),
    ]


def test_json_escapes_that_are_no_text_are_repaired() -> None:
    source = lines('["ok"]\n["a\\ud800b", "\\ud83d\\ude00", "\\u0000"]\n{"text": "\\udfff."}\n')
    assert list(read_jsonl(source, "en")) == [
        Sentence(["ok"]),
        Sentence(["a\ufffdb", "😀", "\ufffd"]),
        Sentence(["\ufffd", "."]),
    ]
    assert source.repairs == Repairs(invalid=2, nulls=1, first="a:2")


EXPECTED = (
    'where a list of non-empty strings is expected, or an object with such a list as "tokens" or a string as "text"'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"tokens": ["a"',
            "a:2: not JSON: Expecting ',' delimiter: line 1 column 16 (char 15); give one JSON object or list per",
        ),
        ("[" * 100_000, "a:2: not JSON: "),
        ('{"words": ["a"]}', f'a:2: {{"words": ["a"]}} {EXPECTED}'),
        ('["a", 1]', f'a:2: ["a", 1] {EXPECTED}'),
        ('["a", ""]', f'a:2: ["a", ""] {EXPECTED}'),
        ("3", f"a:2: 3 {EXPECTED}"),
        ('{"text": "a", "id": [1]}', 'a:2: "id" is [1]; give a string or a whole number'),
        ('{"text": "a", "id": true}', 'a:2: "id" is true; give a string or a whole number'),
        ('{"tokens": null, "text": null}', f'a:2: {{"tokens": null, "text": null}} {EXPECTED}'),
    ],
)
def test_bad_jsonl(text: str, message: str) -> None:
    found = read_jsonl(lines(f'["ok"]\n{text}\n'), None)
    assert next(found) == Sentence(["ok"])
    with pytest.raises(InputError) as caught:
        next(found)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_tokens_that_are_null_leave_the_text() -> None:
    assert list(read_jsonl(lines('{"tokens": null, "text": "a b"}\n'), None)) == [Sentence(["a", "b"])]


def test_fasta() -> None:
    text = "\n>sp|P1|X a protein\nMKvl\n  AC D*\n>empty\n\n>\nM\n"
    assert list(read_fasta(lines(text))) == [
        Sentence(list("MKVLACD"), "sp|P1|X"),
        Sentence([], "empty"),
        Sentence(["M"]),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MKV\n>a\nM", "a:1: MKV where a FASTA header is expected; start with >identifier"),
        (">a\nMK-V", "a:2: '-' in a FASTA sequence where letters are expected; take out gaps and numbers"),
        (">a\nMKß", "a:2: 'ß' in a FASTA sequence where letters are expected; take out gaps and numbers"),
    ],
)
def test_bad_fasta(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(read_fasta(lines(text)))
    assert str(caught.value) == message


def test_a_sentence_without_an_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_LONGEST_SENTENCE", 5)
    with pytest.raises(InputError, match=r"^a:3: a sentence of more than 5 tokens; split it$"):
        list(read_fasta(lines(">x\nMMM\nMMM\n")))
    with pytest.raises(InputError, match=r"^a:6: a sentence of more than 5 tokens; split it$"):
        list(read_conllu(lines("".join(row(str(n), "x") for n in range(1, 9)))))
