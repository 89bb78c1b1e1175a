"""``polyseme probe`` as a person meets it."""

import json
import math
from pathlib import Path

import pytest
from conftest import GOLDEN, Command, refused

from polyseme.progress import lines

MODEL = GOLDEN / "allennlp" / "two_layers"
TAGS = {"The": "DET", "river": "NOUN", "bank": "NOUN", "runs": "VERB", "slowly": "ADV"}


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "SECONDS", math.inf)  # however slow the machine


@pytest.fixture
def text(tmp_path: Path) -> Path:
    rows = [f"{n}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for n, (word, tag) in enumerate(TAGS.items(), 1)]
    path = tmp_path / "text.conllu"
    path.write_text(("".join(rows) + "\n") * 3, encoding="utf-8")
    return path


def test_a_table_and_a_chart(run: Command, text: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = run("probe", MODEL, "--train", text, "--test", text, "--plot", tmp_path / "layers.svg")
    assert result.code == 0
    assert result.err == ""
    lines = result.out.splitlines()
    assert [line.split()[0] for line in lines[:6]] == ["layer", "0", "1", "2", "mean", "baseline"]
    assert lines[1].split() == ["0", "100.00%"]
    assert lines[5].split() == ["baseline", "100.00%"]
    assert lines[6].startswith("15 words, 4 labels learnt from 15 words, ")
    assert "most frequent upos of each word (100.0%)" in (tmp_path / "layers.svg").read_text()


def test_json_and_notes(run: Command, text: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.conllu"
    test.write_text("1\tThe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tbank\t_\tX\t_\t_\t_\t_\t_\t_\n", encoding="utf-8")
    result = run("probe", MODEL, "--train", text, "--test", test, "--most", "10", "--json")
    found = json.loads(result.out)
    assert [one["layer"] for one in found["results"]] == [0, 1, 2, "mean", "baseline"]
    assert found["column"] == "upos"
    assert found["results"][-1]["accuracy"] == 0.5
    assert found["unseen"] == 1
    assert result.err.splitlines() == [
        "polyseme: only about 10 words of a file were used, spread evenly over it; --most sets how many",
        f"polyseme: {test}: 1 words whose label was not learnt count as wrong",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--column", "pos"], "unknown column 'pos'; expected form, lemma, upos"),
        (["--column", "xpos"], "column xpos is not given (_) on any of its 15 words"),
        (["--plot", "layers.pdf"], "layers.pdf: a picture is written as .png or .svg"),
        (["--train", "none.conllu"], "none.conllu: cannot be opened: No such file or directory; give a CoNLL-U file"),
        (["--most", "0"], "--most"),
    ],
)
def test_refusals(run: Command, text: Path, options: list[str], message: str) -> None:
    refused(run("probe", MODEL, "--train", text, "--test", text, *options), message)


def test_a_damaged_line_is_named(run: Command, text: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tThe\tDET\n", encoding="utf-8")
    result = run("probe", MODEL, "--train", text, "--test", bad)
    refused(result, f"{bad}:1: 3 tab-separated columns where CoNLL-U has 10")
