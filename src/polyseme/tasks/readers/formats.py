"""One table of how the data of every task is recognised by its content, and read."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from polyseme.errors import InputError
from polyseme.tasks.choices import FORMAT_NAMES, TASKS, FormatName, TaskName
from polyseme.tasks.examples import Example
from polyseme.tasks.readers.documents import BEGIN, read_documents
from polyseme.tasks.readers.own_data import read_csv, read_jsonl, read_tsv
from polyseme.tasks.readers.pairs import read_sick, read_snli
from polyseme.tasks.readers.predicates import ARGUMENTS, read_conll2012_roles, read_propositions
from polyseme.tasks.readers.questions import read_squad
from polyseme.tasks.readers.raw_text import SUFFIXES, are_columns, read_text
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.rows import CONLLU_COLUMNS, is_comment
from polyseme.tasks.readers.tagged import WIKIANN_TOKEN, read_conll, read_conllu_tags, read_wikiann
from polyseme.tasks.readers.trees import read_trees

_TREE = re.compile(r"\(\s*\d\s*\(")
_SNLI = re.compile(r'"sentence1"\s*:')
_SQUAD = re.compile(r'\{\s*"(version|data)"\s*:')


@dataclass(frozen=True)
class Beginning:
    """What the beginning of a file shows.

    Attributes:
        suffix: The end of the file's name, without ``.gz``.
        text: Its first characters, without white space before them.
        rows: The columns between tabs of its first lines that are no comments.
        words: The columns between spaces of the same.
    """

    suffix: str
    text: str
    rows: list[list[str]]
    words: list[list[str]]

    @classmethod
    def of(cls, text: str, suffix: str) -> "Beginning":
        """From the first characters of a file; a last line that is not whole is left out."""
        lines = text.splitlines()[:200]
        lines = lines[:-1] if len(lines) > 1 and not text.endswith("\n") else lines
        shown = [line for line in lines if line.strip() and not is_comment(line) and "-DOCSTART-" not in line]
        tabs = [line.split("\t") for line in shown]
        return cls(suffix, text.lstrip(), tabs, [line.split() for line in shown])

    def numbered(self, columns: int) -> bool:
        """Whether the first lines have so many columns between tabs, and the first begins with a number."""
        rows = [row for row in self.rows if not row[0].startswith("#")]
        return bool(rows) and rows[0][0][:1].isdecimal() and all(len(row) >= columns for row in rows)

    def even(self) -> bool:
        """Whether all lines have the same number of columns, two or more (or one, in a file without tags)."""
        rows = self.rows if any(len(row) > 1 for row in self.rows) else self.words
        return len({len(row) for row in rows}) == 1 and not self.text.startswith(("{", "("))

    def is_prose(self, task: TaskName) -> bool:
        """Whether a file that may hold raw text does, by its name and as it has no columns."""
        tabs = [len(row) > 1 and bool(row[0].strip()) for row in self.rows]  # a tab in front is an indent
        if self.suffix not in SUFFIXES or (tabs and all(tabs)):
            return False
        return not self.even() or not (any(tabs) or are_columns(self.words, self.text, task))


@dataclass(frozen=True)
class Format:
    """One format: its name, what it is for, how it is recognised and how it is read.

    Attributes:
        name: What the user calls it.
        tasks: The tasks whose data it holds.
        recognised_by: How it is recognised, in words.
        fits: Whether a file begins like it.
        read: From a file to its examples.
        raw: Whether it holds text that is not tokenised.
        english: Whether such text is taken for English if it does not show what it is.
    """

    name: FormatName
    tasks: tuple[TaskName, ...]
    recognised_by: str
    fits: Callable[[Beginning], bool]
    read: Callable[[Reading], Iterable[Example]]
    raw: bool = False
    english: bool = False


def _by_suffix(*suffixes: str) -> Callable[[Beginning], bool]:
    return lambda begin: begin.suffix in suffixes


_TAGGED: tuple[TaskName, ...] = ("tag", "ner")

FORMATS = (
    Format(
        "squad",
        ("answer",),
        "JSON with 'data' that has 'paragraphs'",
        lambda begin: bool(_SQUAD.match(begin.text)) and begin.suffix not in (".jsonl", ".ndjson"),
        read_squad,
        raw=True,
        english=True,
    ),
    Format(
        "snli",
        ("entail",),
        "JSON lines with 'sentence1' and 'gold_label'",
        lambda begin: begin.text.startswith("{") and bool(_SNLI.search(begin.text.partition("\n")[0])),
        read_snli,
        raw=True,
        english=True,
    ),
    Format(
        "sst", ("classify",), "trees as (3 (2 It) (4 works))", lambda begin: bool(_TREE.match(begin.text)), read_trees
    ),
    Format(
        "sick",
        ("entail",),
        "a table with the columns pair_ID, sentence_A and sentence_B",
        lambda begin: bool(begin.rows) and {"sentence_A", "sentence_B"} <= set(begin.rows[0]),
        read_sick,
        raw=True,
        english=True,
    ),
    Format("csv", TASKS, "the suffix .csv", _by_suffix(".csv"), read_csv, raw=True),
    Format("tsv", TASKS, "the suffix .tsv", _by_suffix(".tsv"), read_tsv, raw=True),
    Format(
        "jsonl",
        TASKS,
        "JSON objects, one a line, or the suffix .jsonl",
        lambda begin: begin.text.startswith("{") or begin.suffix in (".jsonl", ".ndjson"),
        read_jsonl,
        raw=True,
    ),
    Format(
        "coref",
        ("coref",),
        "'# begin document', and mentions as (3 3) in the last column",
        lambda begin: bool(BEGIN.match(begin.text)),
        read_documents,
    ),
    Format(
        "conll2012",
        ("roles", "coref"),
        "12 columns or more between spaces, the fourth the word",
        lambda begin: (
            bool(begin.words)
            and all(len(row) > ARGUMENTS and row[2].isdecimal() for row in begin.words)
            and not begin.numbered(CONLLU_COLUMNS)
        ),
        lambda reading: read_conll2012_roles(reading) if reading.task == "roles" else read_documents(reading),
    ),
    Format(
        "up",
        ("roles",),
        "CoNLL-U with 11 columns or more between tabs",
        lambda begin: begin.numbered(CONLLU_COLUMNS + 1),
        read_propositions,
    ),
    Format(
        "conllu",
        _TAGGED,
        "10 columns or more between tabs, the first a number",
        lambda begin: begin.numbered(CONLLU_COLUMNS),
        read_conllu_tags,
    ),
    Format(
        "wikiann",
        _TAGGED,
        "a language before each token: en:token TAB tag",
        lambda begin: bool(begin.rows) and all(WIKIANN_TOKEN.match(row[0]) and len(row) < 3 for row in begin.rows),
        read_wikiann,
    ),
    Format("conll", _TAGGED, "as many columns in each line, blank lines between sentences", Beginning.even, read_conll),
    Format("text", ("tag", "ner", "classify", "coref"), "raw text", lambda _: False, read_text, raw=True),
)


def find_format(name: str) -> Format:
    """The format of a name.

    Raises:
        InputError: There is none.
    """
    for row in FORMATS:
        if row.name == name:
            return row
    raise InputError(f"unknown format {name!r}; choose one of auto, {', '.join(FORMAT_NAMES)}")


def recognise(begin: Beginning, task: TaskName, where: str, *, may_be_text: bool = False) -> Format:
    """The first format of a task that a file begins like.

    Args:
        begin: The beginning.
        task: What the file is read for.
        where: The file, for messages.
        may_be_text: Whether raw text, which has no answers, will do.

    Raises:
        InputError: There is none; the message says what the file looks like, if it is known.
    """
    fitting = [row for row in FORMATS if row.fits(begin)]
    telling = [row.name for row in fitting if row.fits is not Beginning.even]  # any list of words has even columns
    text = find_format("text")
    may_be_text = may_be_text and task in text.tasks
    if may_be_text and not telling and begin.is_prose(task):
        return text
    for row in fitting:
        if task in row.tasks:
            return row
    expected = "; ".join(
        f"{row.name} ({row.recognised_by})" for row in FORMATS if task in row.tasks and row is not text
    )
    looks = f"looks like {telling[0]}, which holds no data for" if telling else "is in no known format for"
    name = "name its format" + (", as --format text for raw text" if may_be_text else "")
    raise InputError(f"{where}: {looks} the task {task!r}; give one of: {expected}; or {name}")
