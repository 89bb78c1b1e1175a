"""The six kinds of runs that write something, small enough to be killed fifty times each."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from polyseme.embed.embedder import Embedder
from polyseme.embed.job import embed_corpus
from polyseme.embed.writers import open_writer
from polyseme.files.work_folder import RUN, work_path
from polyseme.index import folder_run
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.progress import Watcher
from polyseme.tasks.task import Task
from polyseme.text.corpus import Corpus
from polyseme.train.engine.run import SUFFIX
from polyseme.train.lm.run import train
from polyseme.train.translate.run import train_translator
from reliability import good_models
from reliability.good_models import tiny_model
from reliability.targets.runs import LM, TAGGED, TASK, TRANSLATOR

_CLOCK = ("elapsed", "tokens_per_second")
"""Figures that are never the same twice."""
_PICTURES = (".png", ".md")
"""Files that show such figures."""


@dataclass(frozen=True)
class Job:
    """One kind of run."""

    name: str
    output: str
    run: Callable[[Path, Path], None]
    """Given the folder of the data and an output, makes it; or continues, as the messages of the program advise."""
    base: Callable[[Path, Path], None] | None = None
    """Makes what must be there before, if anything."""

    def result(self, output: Path) -> dict[str, object]:
        """Everything in the output that must be the same after an interruption."""
        if output.suffix == ".npz":
            with np.load(output) as arrays:
                return {name: arrays[name].tobytes() for name in arrays.files}
        files = (path for path in sorted(output.rglob("*")) if path.is_file())
        return {str(path.relative_to(output)): _content(path) for path in files}

    def left(self, output: Path) -> list[str]:
        """What is beside the output that should not be there once it is whole.

        A run that was killed while it cleaned up may leave hidden files and its lock, which the next run removes.
        """
        others = (path.name for path in output.parent.iterdir() if path != output)
        return sorted(name for name in others if not (name.startswith(".") or name.endswith(".lock")))


def _content(path: Path) -> object:
    """A file without what differs between two runs that do the same."""
    if path.suffix in _PICTURES:
        return None
    if path.name == "metrics.jsonl":
        records = [json.loads(line) for line in path.read_text().splitlines()]
        return [{name: value for name, value in record.items() if name not in _CLOCK} for record in records]
    if path.name == "index.json":
        manifest: dict[str, Any] = json.loads(path.read_bytes())
        return {**manifest, "runs": [run["settings"] for run in manifest["runs"]]}
    return path.read_bytes()


def prepare(folder: Path) -> None:
    """Write the text, vectors and models that the runs read."""
    folder.mkdir(parents=True)
    good_models.write_text(folder / "text.txt", 40)
    good_models.write_text(folder / "more.txt", 40, seed=2)
    good_models.write_text_vectors(folder)
    (folder / "bilm").mkdir()
    good_models.write_bilm(folder / "bilm")
    lines = sorted(set((folder / "text.txt").read_text().splitlines()))
    pairs = (f"{line}\t{' '.join(reversed(line.split()))}\n" for line in lines)
    (folder / "pairs.tsv").write_text("".join(pairs))


def _embedder() -> Embedder:
    return Embedder(tiny_model(), batch_tokens=24)


def _embed(data: Path, output: Path) -> None:
    if output.exists() and not work_path(output).exists():
        return  # it is complete
    corpus = Corpus([data / "text.txt"], tokenize="none")
    often = partial(open_writer, part_seconds=0.0)
    with mock.patch("polyseme.embed.job.open_writer", often):
        embed_corpus(_embedder(), corpus, output, resume=True)


def _index(data: Path, output: Path, *, text: str = "text.txt", append: bool = False) -> None:
    folder_run.SECONDS = 0
    corpus = Corpus([data / text], tokenize="none")
    OccurrenceIndex.build(_embedder(), corpus, output, append=append, resume=True, shard_bytes=700)


def _begun(output: Path) -> bool:
    """Whether a training run was interrupted here."""
    return (work_path(output, SUFFIX) / RUN).exists()


def _train(data: Path, output: Path) -> None:
    if _begun(output):
        train((), output, resume=True, watcher=Watcher())
    elif not output.exists():
        train(data / "text.txt", output, watcher=Watcher(), **{**LM, "updates": 6, "evaluate_every": 3})


def _cove(data: Path, output: Path) -> None:
    if _begun(output):
        train_translator((), output, resume=True, watcher=Watcher())
    elif not output.exists():
        settings = {**TRANSLATOR, "updates": 6, "evaluate_every": 3}
        train_translator(data / "pairs.tsv", output, vectors=data / "vectors.txt", watcher=Watcher(), **settings)


def _task(data: Path, output: Path) -> None:
    if _begun(output) or not output.exists():
        settings = {**TASK, "updates": 6, "evaluate_every": 3}
        vectors = (data / "bilm", data / "vectors.txt")
        Task.train(
            *("tag", TAGGED, output),
            dev=TAGGED[:2],
            vectors=vectors,
            resume=_begun(output),
            watcher=Watcher(),
            **settings,
        )


JOBS = (
    Job("embed", "out.npz", _embed),
    Job("index", "out", _index),
    Job("append", "out", partial(_index, text="more.txt", append=True), _index),
    Job("train", "out", _train),
    Job("task", "out", _task),
    Job("cove", "out", _cove),
)
