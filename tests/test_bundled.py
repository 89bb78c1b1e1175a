"""The models in the box are whole, small, and know what their cards say."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import senses
from polyseme.cli import demo
from polyseme.embed.load import load_embedder
from polyseme.formats.detect import BUNDLED, bundled_names, open_model
from polyseme.text.marked import marked

NAMES = bundled_names()


def test_every_file_is_as_it_was_made() -> None:
    lines = (BUNDLED / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    files = {path.relative_to(BUNDLED).as_posix(): path for path in BUNDLED.glob("*/*")}
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()} == sums
    assert sum(path.stat().st_size for path in files.values()) <= 48e6


@pytest.mark.parametrize("name", NAMES)
class TestModel:
    def test_senses_are_told_apart_as_the_card_says(self, name: str) -> None:
        sets, embedder = senses.read_sets(senses.language_of(name)), load_embedder(name)
        sentences, hard = (senses.measure(embedder, pairs) for pairs in sets.values())
        card = (BUNDLED / name / "README.md").read_text(encoding="utf-8")
        said = re.findall(r"^\| (\w+) \| (\d\.\d{3}) \| \d\.\d{3} to ", card, re.MULTILINE)
        found = [*sentences, *hard]
        assert [layer for layer, _ in said] == [row.layer for row in found]
        # Processors round differently, and few pairs decide.
        assert [float(auc) for _, auc in said] == pytest.approx([row.auc for row in found], abs=0.01)
        assert sentences[0].auc == hard[0].auc == 0.5
        assert sentences[-2].auc > 0.65
        assert sentences[-2].low > 0.55

    def test_it_predicts_and_fills_gaps(self, name: str) -> None:
        embedder = load_embedder(name)
        known, rare = {
            "english-small": (["the", "king", "of", "England"], ["of", "England", "the", "king"]),
            "chinese-small": (["我", "不", "知道", "。"], ["。", "知道", "不", "我"]),
        }[name]
        likely, unlikely = (scores.sum() for scores in embedder.score([known, rare]))
        assert likely > unlikely
        assert len({one.word for one in embedder.substitutes(known, 1, k=5)}) == 5

    def test_it_loads_by_name_in_a_process_of_its_own(self, name: str, tmp_path: Path) -> None:
        # Torch's compiler takes longer to import than the model to load, and is not needed.
        code = (
            f"import sys, polyseme; print(polyseme.load({name!r}).embed([['bank', '苹果']])[0].shape, "
            "'torch._dynamo' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout == "(3, 2, 256) False\n"


def test_the_demo_shows_every_model_and_refuses_to_overwrite(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "polyseme", "demo"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    for name in NAMES:
        assert f"$ polyseme info {name}\n" in done.stdout
        assert f"$ polyseme nearest demo-output/{name}-index" in done.stdout
        for word in {row["word"] for row in demo.sentences(demo.SHOWN[name])}:
            pictures = list(tmp_path.glob(f"demo-output/{word}.*"))
            assert [picture.suffix for picture in pictures] in ([".png"], [".svg"])
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert again.returncode == 2
    assert again.stderr == "polyseme: demo-output: exists already; give another folder with -o, or remove it\n"


@pytest.mark.parametrize("part", ["matplotlib", "faiss"])
def test_a_demo_that_lacks_a_part_says_so_and_leaves_nothing(part: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{part!r}] = None; sys.argv = ['polyseme', 'demo']; import polyseme.__main__"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 2
    assert re.match(rf"polyseme: \w+ needs? {part}; run: pip install", done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_words_of_the_demo_are_marked() -> None:
    for name, shown in demo.SHOWN.items():
        cut = open_model(name).config.segmentation
        for row in demo.sentences(shown):
            tokens, position = marked(row["sentence"], cut)
            assert tokens[position] == row["word"]
