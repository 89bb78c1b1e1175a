"""Reads raw text that is to be answered, and tells it from columns."""

import re
from collections.abc import Iterator, Sequence

from polyseme.errors import InputError
from polyseme.tasks.choices import TaskName
from polyseme.tasks.examples import Document, Example, Tagged, Text
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.tags import is_span_tag
from polyseme.text.looks import RAW, look_at

SUFFIXES = (".txt", ".text", ".md", "")
"""Files of these names may hold raw text; others are read as such only if the user says so."""
_TAG = re.compile(r"[A-Z0-9$#.,:;'`()\"_|=+*/-]+")


def read_text(reading: Reading) -> Iterator[Example]:
    """Read raw text: a sentence is an example of tag and ner, a line of classify, the whole file of coref.

    Raises:
        InputError: Answers are needed, which raw text does not have.
    """
    if reading.options.labelled:
        raise InputError(f"{reading.lines.name}: raw text has no answers to learn or to compare with; give other data")
    if reading.task == "classify":
        return (Text(tokens) for line in reading.lines if (tokens := reading.tokens(line)))
    if reading.task == "coref":
        return (Document("text", sentences) for sentences in [tuple(reading.sentences())] if sentences)
    return map(Tagged, reading.sentences())


def are_columns(words: Sequence[Sequence[str]], text: str, task: TaskName) -> bool:
    """Whether lines without tabs that have equally many words are tokens with their tags, rather than prose.

    Args:
        words: The words of each line.
        text: What they are from; lines of one word are tokens if it does not look raw.
        task: What the tags are for.

    Example:
        >>> are_columns([["Rome", "B-LOC"], ["fell", "O"]], "...", "ner")
        True
        >>> are_columns([["good", "film"], ["dull", "book"]], "...", "ner")
        False
    """
    if all(len(row) == 1 for row in words):
        return len(words) > 1 and look_at(text) not in RAW
    tags = [row[-1] for row in words]
    if task == "ner":
        return all(map(is_span_tag, tags))
    return all(map(_TAG.fullmatch, tags)) and any(tag[0].isalpha() for tag in tags)
