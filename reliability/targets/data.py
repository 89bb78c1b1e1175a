"""Data of tasks in every format, and of the studies."""

import sys
from functools import partial
from pathlib import Path
from typing import Literal

from polyseme.study.sense_data import Lexeme, first_senses, read_senses
from polyseme.tasks.choices import FormatName, TaskName
from polyseme.tasks.readers.opening import open_examples
from polyseme.tasks.readers.reading import Options
from polyseme.text.labels import LabelledText
from reliability.good_texts import write_jsonl
from reliability.target import Target, every

sys.path.append(str(Path(__file__).parents[2] / "tests"))

import task_files  # small files of every format, shared with the tests

_JSONL = '{"text": "A fine play.", "label": "good", "tokens": ["A", "play"], "tags": ["DET", "NOUN"]}\n' * 3
_FILES: dict[FormatName, tuple[str, str, tuple[TaskName, ...]]] = {
    "conll": ("data.conll", task_files.CONLL, ("ner", "tag")),
    "wikiann": ("data.txt", task_files.WIKIANN, ("ner",)),
    "conllu": ("data.conllu", task_files.CONLLU, ("tag",)),
    "sst": ("data.txt", task_files.SST, ("classify",)),
    "snli": ("data.jsonl", task_files.SNLI, ("entail",)),
    "sick": ("data.txt", task_files.SICK, ("entail",)),
    "squad": ("data.json", task_files.SQUAD, ("answer",)),
    "conll2012": ("data.conll", task_files.CONLL2012, ("roles", "coref")),
    "up": ("data.conllu", task_files.UP, ("roles",)),
    "coref": ("data.conll", task_files.COREF, ("coref",)),
    "csv": ("data.csv", task_files.CSV, ("classify",)),
    "tsv": ("data.tsv", task_files.TSV, ("classify",)),
    "jsonl": ("data.jsonl", _JSONL, ("classify", "tag")),
}
"""A file of each format, and the tasks that it has data for."""


def _make(folder: Path, name: FormatName) -> None:
    file, text, _ = _FILES[name]
    (folder / file).write_text(text, encoding="utf-8")


def _read(folder: Path, name: FormatName) -> None:
    """Read a file for its tasks, as the format it has and as whatever it looks like."""
    columns = {"text": "review", "label": "stars"} if name == "csv" else {}
    options = Options(subtrees=name == "sst", spans="subtree", columns=columns)
    bare = Options(labelled=False, columns=columns)
    ways: list[tuple[FormatName | Literal["auto"], Options]] = [(name, options), (name, bare), ("auto", bare)]
    every(
        *(
            partial(_read_one, path, task, form, choices)
            for path in sorted(folder.iterdir())
            for task in _FILES[name][2]
            for form, choices in ways
        )
    )


def _read_one(path: Path, task: TaskName, form: FormatName | Literal["auto"], options: Options) -> None:
    open_examples(path, task=task, format=form, options=options).read()


def _make_senses(folder: Path) -> None:
    senses = [[1, 1, "bank", "noun", ["bank%1:17:01::"]], [0, 1, "the", "x", ["U"]]]
    write_jsonl(folder / "senses.jsonl", [{"tokens": ["the", "bank", "of_it"], "senses": senses}] * 3)
    (folder / "index.sense").write_text("bank%1:17:01:: 09213565 1 20\nbank%1:14:00:: 08420278 2 10\n")


def _use_senses(folder: Path) -> None:
    every(
        lambda: list(read_senses(folder / "senses.jsonl")),
        lambda: first_senses(folder / "index.sense", [Lexeme("bank", "noun")]),
    )


def _make_labels(folder: Path) -> None:
    (folder / "data.conllu").write_text(task_files.CONLLU, encoding="utf-8")


def _use_labels(folder: Path) -> None:
    columns = ("upos", "feats:Number", "3", "head")
    every(*(partial(list, LabelledText(folder / "data.conllu", column)) for column in columns))


_small = partial(Target, server="small")

TARGETS = (
    *(_small(f"task data, {name}", partial(_make, name=name), partial(_read, name=name)) for name in _FILES),
    _small("sense data", _make_senses, _use_senses),
    _small("labels of CoNLL-U", _make_labels, _use_labels),
)
