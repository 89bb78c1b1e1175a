"""Slips of a beginner on the command line, each met with what to write instead."""

from pathlib import Path

import pytest
from conftest import Command, refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("embed a.txt -m englsh-small -o o.h5", "english-small); did you mean english-small?"),
        ("embed a.txt -m english-small", "Missing option '--output' / '-o'; name what to write, such as -o NAME; see"),
        ("embed a.txt -m english-small -o -", "vectors are not written to standard output; name a .npz, .h5 or"),
        ("emebd a.txt", "No such command 'emebd'; did you mean 'embed'; see"),
        ("serve english-small --port 99999", "'--port': should be at most 65535; got '99999'; see"),
        ("task train nre -o x", "'nre' is not one of 'classify', 'tag', 'ner', "),
        ("change a a.txt a.txt -m english-small --csv b.csv", "it prints: write ... --csv > b.csv"),
        ("nearest index She was very [happy]", "(was very [happy]); put the sentence in quotes; see"),
        ("train a.txt -o m --epochs 0", "setting epochs: should be at least 1, got 0"),
    ],
)
def test_what_to_write_instead(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("A bank .\n")
    done = run(*arguments.split())
    refused(done, message)
    assert "Input should" not in done.err
    assert "got 'train'" not in done.err


def test_help_is_there_however_it_is_asked_for(run: Command) -> None:
    plain = run("help")
    assert plain.code == 0
    assert "Contextual word vectors" in plain.out
    assert run("help", "senses", "evaluate").out == run("senses", "evaluate", "--help").out
    for group in ("senses", "cove", "task"):
        alone = run(group)
        assert (alone.code, alone.err) == (2, "")
        assert alone.out.strip() == run(group, "--help").out.strip()
