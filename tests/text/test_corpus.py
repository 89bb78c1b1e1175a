import gzip
import io
import os
import threading
from pathlib import Path

import pytest

from polyseme.errors import InputError
from polyseme.text.choices import READERS, TOKENIZER_CHOICES
from polyseme.text.corpus import Corpus, Sentence
from polyseme.text.repairs import Repairs


def tokens(corpus: Corpus) -> list[list[str]]:
    return [sentence.tokens for sentence in corpus]


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"from a\npipe\n"))))


def test_a_corpus_is_read_as_often_as_needed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two\n\nthree\n")
    corpus = Corpus([tmp_path / "a.txt", str(tmp_path / "a.txt")])
    assert tokens(corpus) == tokens(corpus) == [["one", "two"], [], ["three"]] * 2


def test_two_iterations_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    corpus = Corpus([tmp_path / "a.txt"])
    assert [pair[0].tokens + pair[1].tokens for pair in zip(corpus, corpus, strict=True)] == [["one"] * 2, ["two"] * 2]


def test_a_folder_is_read_in_the_order_of_its_paths(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "c", ".hidden", ".git/config", "a/.x/y.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    assert tokens(Corpus([tmp_path])) == [["a/b/c.txt"], ["a/z.txt"], ["b.txt"], ["c"]]


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/b.txt").write_text("b")
    (tmp_path / "corpus/inner").mkdir(parents=True)
    (tmp_path / "corpus/a.txt").write_text("a")
    (tmp_path / "corpus/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "corpus/inner/up").symlink_to(tmp_path / "corpus")
    assert tokens(Corpus([tmp_path / "corpus"])) == [["a"], ["b"]]


def test_a_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(
        InputError, match=r"^standard input \(-\) is closed; give a file, or pipe text into the command$"
    ):
        tokens(Corpus(["-"]))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.conllu", "# sent_id = s\n1\tcat" + "\t_" * 8 + "\n", Sentence(["cat"], "s")),
        ("a.CONLL", "1\tcat" + "\t_" * 8 + "\n", Sentence(["cat"])),
        ("a.jsonl", '["cat"]', Sentence(["cat"])),
        ("a.ndjson", '{"id": 3, "text": "cat"}', Sentence(["cat"], "3")),
        ("a.fasta", ">x\ncat", Sentence(["C", "A", "T"], "x")),
        ("a.fa", ">x\nc", Sentence(["C"], "x")),
        ("a.faa", ">x\nc", Sentence(["C"], "x")),
        ("a.txt", "cat", Sentence(["cat"])),
        ("a.json", "cat", Sentence(["cat"])),
        ("conllu", "cat", Sentence(["cat"])),
    ],
)
def test_the_reader_goes_by_the_suffix(tmp_path: Path, name: str, text: str, expected: Sentence) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert list(Corpus([tmp_path])) == [expected, expected]


def test_gzip_is_recognised_by_content_not_by_name(tmp_path: Path) -> None:
    (tmp_path / "plain.gz").write_text("one")
    (tmp_path / "squeezed.txt").write_bytes(gzip.compress(b"two"))
    assert tokens(Corpus([tmp_path])) == [["one"], ["two"]]


def test_a_named_reader_holds_for_every_source(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text('["a b"]')
    assert tokens(Corpus([tmp_path], reader="jsonl")) == [["a b"]]
    assert tokens(Corpus([tmp_path], reader="lines")) == [['["a', 'b"]']]


def test_tokenize_is_for_running_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("It's late.")
    (tmp_path / "b.jsonl").write_text('{"text": "It\'s late."}')
    (tmp_path / "c.conllu").write_text("1\tIt's" + "\t_" * 8)
    assert tokens(Corpus([tmp_path], tokenize="en")) == [["It", "'s", "late", "."]] * 2 + [["It's"]]
    assert tokens(Corpus([tmp_path / "c.conllu"], tokenize="en")) == [["It's"]]


@pytest.mark.usefixtures("stdin")
def test_standard_input_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text("1\tcat" + "\t_" * 8)
    corpus = Corpus([tmp_path, "-"])
    assert tokens(corpus) == [["cat"], ["from", "a"], ["pipe"]]
    with pytest.raises(
        InputError, match=r"^<stdin>: has been read and cannot be read again; save it to a file and give that$"
    ):
        iter(corpus)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("one\ntwo\n",))
    corpus = Corpus([pipe])
    writer.start()
    assert tokens(corpus) == [["one"], ["two"]]
    writer.join()
    with pytest.raises(InputError, match="pipe: has been read and cannot be read again"):
        iter(corpus)


def test_repairs_are_those_of_the_last_iteration(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9 au lait\n")
    (tmp_path / "b.txt").write_bytes(b"fine\nand a \0 here\n")
    corpus = Corpus([tmp_path])
    assert not corpus.repairs
    for _ in range(2):
        assert tokens(corpus)[0] == ["caf\ufffd", "au", "lait"]
        assert corpus.repairs == Repairs(invalid=1, nulls=1, first=f"{tmp_path / 'a.txt'}:1")


def test_the_share_read_is_of_the_bytes_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word\n" * 100_000)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(os.urandom(30_000).hex().encode() + b"\n"))
    (tmp_path / "c.txt").write_text("last")
    corpus = Corpus([tmp_path])
    assert corpus.share_read() == 0
    for _ in range(2):
        shares = [corpus.share_read() for _ in corpus]
        assert shares == sorted(shares)  # type: ignore[type-var]
        assert shares[0] == pytest.approx(0, abs=0.2)
        assert shares[50_000] == pytest.approx(0.47, abs=0.2)
        assert corpus.share_read() == 1


@pytest.mark.usefixtures("stdin")
def test_the_share_read_of_a_pipe_is_unknown() -> None:
    corpus = Corpus(["-"])
    assert [corpus.share_read() for _ in corpus] == [None, None]


def test_an_error_names_file_and_line_and_comes_after_what_was_good(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('["ok"]\n{}\n')
    found = iter(Corpus([tmp_path]))
    assert next(found).tokens == ["ok"]
    with pytest.raises(InputError, match=r"a\.jsonl:2: \{\} where a list of non-empty strings is expected"):
        next(found)


def test_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    assert tokens(Corpus([tmp_path])) == []
    (tmp_path / "b.txt").write_text("\n\n")
    corpus = Corpus([tmp_path])
    found = corpus.nonempty()
    assert [next(found), next(found)] == [Sentence([]), Sentence([])]
    with pytest.raises(InputError, match=r": no sentences; give text with at least one word$"):
        next(found)
    (tmp_path / "c.txt").write_text("one")
    assert [sentence.tokens for sentence in Corpus([tmp_path]).nonempty()] == [[], [], ["one"]]


def test_a_corpus_is_called_by_its_sources(tmp_path: Path) -> None:
    for name in "abcde":
        (tmp_path / name).touch()
    paths = [str(tmp_path / name) for name in "abcde"]
    assert str(Corpus(paths[:3])) == ", ".join(paths[:3])
    assert str(Corpus(paths)) == ", ".join(paths[:3]) + " and 2 more"


@pytest.mark.parametrize(
    ("sources", "options", "message"),
    [
        (["there", "nowhere.txt"], {}, "nowhere.txt: no such file or folder; check the path"),
        (["empty"], {}, "empty: no file in this folder (hidden files are not read); give text"),
        (["broken"], {}, "broken/link: no such file or folder; check the path"),
        ([], {}, "no source given; name a file, a folder or - for standard input"),
        (["-", "-"], {}, "standard input (-) is given twice but can be read only once; give it once"),
        ("there", {}, "sources is the single path 'there', but a list of paths is expected: [path]"),
        (["there"], {"reader": "csv"}, f"unknown reader 'csv'; choose one of {', '.join(READERS)}"),
        (["there"], {"tokenize": "de"}, f"unknown tokenizer 'de'; choose one of {', '.join(TOKENIZER_CHOICES)}"),
    ],
)
def test_what_cannot_be_read_is_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sources: list[str], options: dict[str, str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").write_text("x")
    Path("empty").mkdir()
    Path("empty/.hidden").write_text("x")
    Path("broken").mkdir()
    Path("broken/link").symlink_to("gone")
    with pytest.raises(InputError) as caught:
        Corpus(sources, **options)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_file_that_has_gone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x")
    corpus = Corpus([path])
    path.unlink()
    with pytest.raises(InputError, match=r"a\.txt: cannot be opened: No such file or directory$"):
        list(corpus)
