"""Every example in a docstring runs as it stands and gives what it shows."""

import doctest
import gzip
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from conftest import GOLDEN

PACKAGE = Path(__file__).parents[1] / "src/polyseme"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CONLLU = """\
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tbanks\tbank\tNOUN\tNNS\tNumber=Plur\t3\tnsubj\t_\t_
3\tflooded\tflood\tVERB\tVBD\t_\t0\troot\t_\t_

1\tShe\tshe\tPRON\tPRP\tNumber=Sing\t2\tnsubj\t_\t_
2\tslept\tsleep\tVERB\tVBD\t_\t0\troot\t_\t_

"""


def modules_with_examples() -> list[str]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = ("polyseme", *path.relative_to(PACKAGE).with_suffix("").parts)
            found.append(".".join(parts).removesuffix(".__init__"))
    return found


@pytest.fixture
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that examples name, in the folder they run in."""
    (tmp_path / "news.txt.gz").write_bytes(gzip.compress(b"He sat on the bank. It's wet.\n"))
    (tmp_path / "novel.txt").write_text("He sat on the bank of the river. She went to the bank for money. " * 20)
    (tmp_path / "train.conllu").write_text(CONLLU)
    (tmp_path / "dev.conllu").write_text(CONLLU)
    for path in (GOLDEN / "tf_checkpoint/model").glob("model.ckpt-*"):
        shutil.copy(path, tmp_path)
    for path in (GOLDEN / "allennlp/two_layers").iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("name", modules_with_examples())
def test_examples(name: str) -> None:
    module = import_module(name)
    finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(optionflags=OPTIONS)
    examples = [found for found in finder.find(module) if found.examples]
    assert examples
    for found in examples:
        skipped = [example.source for example in found.examples if doctest.SKIP in example.options]
        assert not skipped, "make it run: the fixture `_files` writes what it needs"
        report: list[str] = []
        failed, _ = runner.run(found, out=report.append)
        assert not failed, "".join(report)
