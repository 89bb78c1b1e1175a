"""Words in columns, whatever their script."""

import doctest
import json
from pathlib import Path

from polyseme.cli import columns


def test_the_examples_in_the_docstrings() -> None:
    result = doctest.testmod(columns)
    assert result.attempted
    assert not result.failed


def test_chinese_words_leave_their_numbers_in_line(run, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("曹操 1 0.5\n司马懿 1 0.4\nplay 1 0.25\n荆 -1 0.2\n", encoding="utf-8")
    given = ("similar", "曹操", "--vectors", tmp_path / "vectors.txt")
    words = [word for word, _ in json.loads(run(*given, "--json").out)["static"]]
    lines = run(*given).out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == words
    # Where the number begins, in columns: the Chinese characters before it take two each.
    starts = {line.rindex(" ") + sum(not character.isascii() for character in line) for line in lines}
    assert len(starts) == 1
