"""Kills runs that build an index or add to one, and looks at what is there after they were resumed.

Run: python tests/index/killing.py FOLDER moments 50
"""

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.index import folder_run
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.text.corpus import Corpus

KILLED = 9
REFUSED = 3
CHANGES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")
"""What Python tells an audit hook about files."""
TEXT = ["the river bank was steep", "a bank", "they play cards", "a play in three acts", "money", "cards and money"]


class Bench:
    """A folder with a text, an index to add to, and what should come out."""

    def __init__(self, folder: Path, *, times: int = 1) -> None:
        folder.mkdir()
        self.folder = folder
        self.embedder = Embedder(tiny_model(softmax=False))
        for name, lines in (("old", TEXT[:2]), ("new", TEXT * times)):
            (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def build(self, index: Path, text: str, *, append: bool, resume: bool = False) -> None:
        """What is killed: two or three shards, saved after every sentence."""
        folder_run.SECONDS = 0
        corpus = Corpus([self.folder / f"{text}.txt"])
        OccurrenceIndex.build(self.embedder, corpus, index, append=append, resume=resume, shard_bytes=250)

    def run(
        self, index: Path, *, append: bool, resume: bool, at_step: int | None = None, after: float | None = None
    ) -> int:
        """Build in a process of its own, and kill it before a step that changes a file, or after some seconds."""
        child = os.fork()
        if not child:
            if at_step is not None:
                _kill_at(at_step, self.folder)
            try:
                self.build(index, "new", append=append, resume=resume)
                code = 0
            except InputError as error:
                code = REFUSED if "--resume" in str(error) else 1
                sys.stderr.write(f"{error}\n")
            except BaseException:  # the parent is told
                traceback.print_exc()
                code = 1
            finally:
                os._exit(code)
        if after is not None:
            time.sleep(after)
            os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def start(self, name: str, *, append: bool) -> Path:
        """A fresh place to build in."""
        index = self.folder / name
        if append:
            if not (self.folder / "base").exists():
                self.build(self.folder / "base", "old", append=False)
            shutil.copytree(self.folder / "base", index)
        return index

    def check(self, index: Path, expected: Path) -> None:
        """The index is, byte by byte, the one that was never interrupted, and nothing else is left."""
        one, two = _files(index), _files(expected)
        assert one.keys() == two.keys(), one.keys() ^ two.keys()
        assert not [name for name in one if one[name] != two[name]]
        assert not [path.name for path in self.folder.iterdir() if path.name.startswith((f"{index.name}.", "."))]
        shutil.rmtree(index)


def _files(index: Path) -> dict[str, object]:
    found: dict[str, object] = {
        str(path.relative_to(index)): path.read_bytes() for path in sorted(index.rglob("*")) if path.is_file()
    }
    manifest = json.loads(found["index.json"])  # type: ignore[arg-type]
    for run in manifest["runs"]:
        del run["id"]
    found["index.json"] = manifest
    return found


def _kill_at(step: int, folder: Path) -> None:
    left = iter(range(step))

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event not in CHANGES or not isinstance(arguments[0], str | os.PathLike):
            return
        reads = event == "open" and not int(arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)  # type: ignore[call-overload]
        if not reads and str(arguments[0]).startswith(str(folder)) and next(left, None) is None:
            os._exit(KILLED)

    sys.addaudithook(hook)


def every_step(bench: Bench, *, append: bool, resume: bool, first: int = 0, stride: int = 1) -> int:
    """Kill a run before each of its steps, or before some of them; gives their number.

    Then resume it, or begin anew and resume it only if that is what the program advises.
    """
    expected = bench.start("expected", append=append)
    bench.build(expected, "new", append=append)
    step, code, kills = first, KILLED, 0
    while code == KILLED:
        index = bench.start("index", append=append)
        code = bench.run(index, append=append, resume=False, at_step=step)
        step += stride
        kills += code == KILLED
        done = not index.with_name("index.partial").exists() and len(_runs(index)) == 1 + append
        # To begin anew after the end is refused, or adds the text once more, as it should.
        if bench.run(index, append=append, resume=resume or done) == REFUSED:
            assert bench.run(index, append=append, resume=True) == 0
        bench.check(bench.folder / "index", expected)
    shutil.rmtree(expected)
    return kills


def _runs(index: Path) -> list[object]:
    path = index / "index.json"
    return json.loads(path.read_bytes())["runs"] if path.exists() else []


def random_moments(bench: Bench, count: int, *, append: bool, seed: int = 1) -> dict[str, int]:
    """Kill runs with SIGKILL after random times, resume them, and compare; gives what was found after the kill."""
    draw = random.Random(seed)
    expected = bench.start("expected", append=append)
    begun = time.monotonic()
    bench.run(expected, append=append, resume=False)
    seconds, found = time.monotonic() - begun, {"not begun": 0, "interrupted": 0, "finished": 0}
    for _ in range(count):
        index = bench.start("index", append=append)
        bench.run(index, append=append, resume=False, after=draw.uniform(0, 1.05 * seconds))
        finished = len(_runs(index)) == 1 + append
        begun_to_work = index.with_name("index.partial").exists()
        found["finished" if finished else "interrupted" if begun_to_work else "not begun"] += 1
        assert bench.run(index, append=append, resume=True) == 0
        bench.check(index, expected)
    shutil.rmtree(expected)
    return found


if __name__ == "__main__":
    bench = Bench(Path(sys.argv[1]), times=1 if sys.argv[2] == "steps" else 10)
    for adding in (False, True):
        what = "append" if adding else "build"
        if sys.argv[2] == "steps":
            for resuming in (True, False):
                kills = every_step(bench, append=adding, resume=resuming)
                sys.stdout.write(f"{what}, {'resumed' if resuming else 'begun anew'}: {kills}\n")
        else:
            sys.stdout.write(f"{what}: {random_moments(bench, int(sys.argv[3]), append=adding)}\n")
