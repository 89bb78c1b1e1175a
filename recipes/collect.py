"""From the documents of a source to blocks of clean sentences that may be trained on."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from polyseme.text.choices import Tokenizer
from polyseme.text.tokenizers import tokenized
from recipes import blocks
from recipes.archive import read_members
from recipes.blocks import Block
from recipes.clean import FAULTS, Seen
from recipes.overlap import Measured, key
from recipes.readers import READERS
from recipes.sources import Recipe, Source

BLOCK_SENTENCES = 100
MEASURED_SHARE = 0.05  # a document with so many measured sentences is left out as a whole


@dataclass(slots=True)
class Counts:
    """What became of a source's sentences."""

    kept: list[Block] = field(default_factory=list)
    removed: Counter[str] = field(default_factory=Counter)
    measured: Counter[str] = field(default_factory=Counter)
    """How many sentences stand in each measured set."""


@dataclass(slots=True)
class Filters:
    """What all sources of a recipe are compared with."""

    tokenizer: Tokenizer
    measured: Measured = field(default_factory=Measured)
    before: frozenset[int] = frozenset()
    """Keys of the sentences held out for the first generation of the model."""
    seen: Seen = field(default_factory=Seen)
    found_before: dict[int, str] = field(default_factory=dict)
    """The first sentence found for each of those keys, in the order they came."""


def read(source: Source, recipe: Recipe, archives: Mapping[str, Path]) -> Iterator[str]:
    """The documents of a source; the table that its reader needs comes before its own files."""
    tables = [table for table in recipe.tables if table.name == source.needs]
    members = (read_members(archives[one.file], one.members, leave_out=one.leave_out) for one in (*tables, source))
    return READERS[source.reader](chain.from_iterable(members))


def collect(documents: Iterable[str], source: Source, filters: Filters, scratch: BinaryIO) -> Counts:
    """Split documents into clean sentences and keep those in blocks, as many as the source's cap allows."""
    counts = Counts()
    pending: list[str] = []
    stored: list[Block] = []
    for document in documents:
        for line in _clean(document, filters, counts):
            pending.append(line)
            if len(pending) == BLOCK_SENTENCES:
                stored.append(blocks.store(pending, source.name, len(stored), scratch))
                pending.clear()
    if pending:
        stored.append(blocks.store(pending, source.name, len(stored), scratch))
    counts.kept = blocks.capped(stored, source.cap)
    if over := sum(block.sentences for block in stored) - sum(block.sentences for block in counts.kept):
        counts.removed["over the cap"] = over
    return counts


def _clean(document: str, filters: Filters, counts: Counts) -> Iterator[str]:
    """The sentences of a document that may be trained on."""
    sentences = []
    for tokens in tokenized(io.StringIO(document).readline, filters.tokenizer):
        line = " ".join(tokens)
        if filters.before and (known_by := key(line)) in filters.before:
            filters.found_before.setdefault(known_by, line)
            counts.removed["held out before"] += 1
        else:
            sentences.append((tokens, line))
    found = {line: names for _, line in sentences if (names := filters.measured.find(line))}
    known = sum(line in found for _, line in sentences)
    for names in found.values():
        counts.measured.update(names)
    # The same article in another edition: its other sentences differ only in how they are written.
    if known > 1 and known >= MEASURED_SHARE * len(sentences):
        counts.removed["measured text"] += len(sentences)
        return
    for tokens, line in sentences:
        fault = (
            FAULTS[filters.tokenizer](tokens)
            or (line in found and "measured text")
            or (filters.seen(line) and "duplicate")
        )
        if fault:
            counts.removed[fault] += 1
        else:
            yield line
