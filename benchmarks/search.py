"""Size, speed and recall of an index of occurrences, by compression.

Run: python -m benchmarks.search MODEL CORPUS... [--tokenize en] [--occurrences 1000000] [--queries 500]
     [--compression float16 --compression int8 --compression pq] [--work FOLDER]

The first sentences of the corpus are embedded once and indexed in each compression. Queries are words of the sentences
after them, one per sentence. Recall@10 is measured against a plain search over the vectors as embedded (float32). The
first few queries are a warm-up; the timed ones are run once each, one at a time.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.plain_search import K, Known, Query, Truth
from benchmarks.process import say
from polyseme import Embedder, OccurrenceIndex
from polyseme.arrays import Vectors
from polyseme.embed.load import load_embedder
from polyseme.errors import InputError, PolysemeError
from polyseme.files.checksum import crc32
from polyseme.index.choices import COMPRESSIONS, Compression, Words
from polyseme.index.manifest import CODES, SCALES
from polyseme.index.occurrence import Occurrence
from polyseme.index.vectors import unit
from polyseme.text.choices import TOKENIZERS
from polyseme.text.corpus import Corpus

TEXT = "indexed.jsonl"
WARM_UP, SEED = 50, 0
TOLD_EVERY = 100_000  # tokens
WAYS: dict[str, tuple[Words, bool]] = {
    "any word": ("any", False),
    "any word, exact": ("any", True),
    "the same word": ("same", False),
}
"""The kinds of queries: which words they search, and whether they compare every vector."""


@dataclass(frozen=True)
class Speed:
    """How long queries took, in milliseconds.

    Attributes:
        median: The median over all queries.
        slow: Only one in twenty took longer.
        processor: The median of the processor's time, which other work on the machine hardly lengthens.
    """

    median: float
    slow: float
    processor: float

    def cells(self) -> list[str]:
        """The times as the cells of a table."""
        return [f"{value:,.1f} ms" for value in (self.median, self.slow, self.processor)]


@dataclass(frozen=True)
class Answers:
    """The quality and speed of one kind of query.

    Attributes:
        way: Its name.
        recall: The share of the ten nearest that was found.
        search: With the query's vector known: search, and reading the sentences that were found.
        whole: From tokens to sentences.
    """

    way: str
    recall: float
    search: Speed
    whole: Speed


@dataclass(frozen=True)
class Figures:
    """An index in one compression; sizes in bytes per occurrence, times in seconds."""

    compression: Compression
    vectors: float
    refined: float
    everything: float
    store: float
    open: float
    first: float
    answers: list[Answers]


def draw(corpus: Corpus, occurrences: int, queries: int) -> tuple[list[list[str]], list[Query]]:
    """The sentences with the first ``occurrences`` tokens, and a word of each of the sentences after them."""
    random = np.random.default_rng(SEED)
    indexed: list[list[str]] = []
    asked: list[Query] = []
    known: set[tuple[str, ...]] = set()
    tokens = 0
    for sentence in (one.tokens for one in corpus.nonempty()):
        if tokens < occurrences:
            indexed.append(sentence)
            known.add(tuple(sentence))
            tokens += len(sentence)
        elif tuple(sentence) not in known:
            places = [place for place, token in enumerate(sentence) if any(map(str.isalpha, token))]
            if places:
                asked.append(Query(sentence, int(random.choice(places))))
            if len(asked) == queries:
                return indexed, asked
    raise InputError(
        f"{corpus}: {tokens:,} tokens and then {len(asked):,} sentences with a word, expected {occurrences:,} and "
        f"{queries:,}; give more text, or lower --occurrences or --queries"
    )


def embedded(embedder: Embedder, sentences: list[list[str]], folder: Path) -> tuple[Vectors, float]:
    """The top layer (tokens, D) of the sentences in a folder, kept there, and the seconds it took to compute."""
    count = sum(map(len, sentences))
    facts = {"model": embedder.model.fingerprint(), "text": crc32(folder / TEXT)}
    done, path = folder / "embedded.json", folder / "embedded.npy"
    found = json.loads(done.read_text(encoding="utf-8")) if done.exists() else {}
    if found.get("facts") != facts:
        _tell(f"embedding {count:,} tokens")
        done.unlink(missing_ok=True)  # it speaks of the array that is written over
        rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, embedder.dim))
        begun, start, told = time.perf_counter(), 0, 0
        for array in embedder.stream(sentences, layers="top"):
            rows[start : start + len(array)] = array
            start += len(array)
            if start >= told + TOLD_EVERY:
                told = start
                _tell(f"  {start:,} tokens, {start / (time.perf_counter() - begun):,.0f} a second")
        found = {"facts": facts, "seconds": time.perf_counter() - begun}
        rows.flush()
        done.write_text(json.dumps(found), encoding="utf-8")
    return np.load(path, mmap_mode="r"), found["seconds"]


def measure(
    folder: Path, compression: Compression, known: Known, asking: Known, queries: list[Query], truth: Truth
) -> Figures:
    """Build an index of the sentences of a folder and query it.

    Args:
        folder: Holds the sentences; the index is built in it.
        compression: How vectors are stored.
        known: Has the vectors of the sentences.
        asking: Has those of the queries' sentences.
        queries: The queries, first those of the warm-up.
        truth: What the others should find.
    """
    path = folder / compression
    for old in (path, path.with_name(f"{path.name}.partial")):  # of an earlier run in the same folder
        shutil.rmtree(old, ignore_errors=True)
    _tell(f"{compression}: building")
    begun = time.perf_counter()
    OccurrenceIndex.build(known, Corpus([folder / TEXT], tokenize="none"), path, compression=compression)
    store = time.perf_counter() - begun
    embedder = Embedder(known.model, precision=known.precision)
    begun = time.perf_counter()
    index = OccurrenceIndex(path, embedder)
    opened = time.perf_counter() - begun
    begun = time.perf_counter()
    index.nearest(*queries[0], k=K)
    first = time.perf_counter() - begun
    prepared = OccurrenceIndex(path, asking, verify=False)
    answers = []
    for name, (words, exact) in WAYS.items():
        _, search = ask(prepared, queries, words, exact=exact)
        # A new embedder: no word is in its cache because it was asked about before.
        index = OccurrenceIndex(path, Embedder(known.model, precision=known.precision), verify=False)
        found, whole = ask(index, queries, words, exact=exact)
        answers.append(Answers(name, truth.recall(words, found), search, whole))
        _tell(f"{compression}, {name}: recall {answers[-1].recall:.3f}, {whole.median:,.0f} ms a query")
    sizes = {file: file.stat().st_size for file in path.rglob("*") if file.is_file()}
    vectors = sum(size for file, size in sizes.items() if file.suffix == ".faiss")
    refined = sum(size for file, size in sizes.items() if file.name in (CODES, SCALES))
    count = len(index)
    everything = sum(sizes.values()) / count
    return Figures(compression, vectors / count, refined / count, everything, store, opened, first, answers)


def tables(figures: list[Figures], count: int, embedding: float) -> str:
    """The figures in Markdown: what an index costs, and how it answers."""
    costs = [
        [
            one.compression,
            f"{one.vectors:,.0f}",
            f"{one.refined:,.0f}",
            f"{one.everything:,.0f}",
            f"{embedding:,.0f} s",
            f"{one.store:,.0f} s",
            f"{count / (embedding + one.store):,.0f}",
            f"{one.open:.2f} s",
            f"{1000 * one.first:,.0f} ms",
        ]
        for one in figures
    ]
    sizes = "bytes each: searched vectors,re-ranking vectors,everything"
    names = f"{sizes},embedding,the rest of building,occurrences/s,opening,first query"
    answers = [
        [f"{one.compression}, {row.way}", f"{row.recall:.3f}", *row.search.cells(), *row.whole.cells()]
        for one in figures
        for row in one.answers
    ]
    speeds = "recall@10,search alone: median,95%,processor,whole query: median,95%,processor"
    return f"{table(names, costs)}\n\n{table(speeds, answers)}"


def prepare(
    embedder: Embedder, corpus: Corpus, folder: Path, occurrences: int, queries: int
) -> tuple[Known, Known, list[Query], Truth, float]:
    """Draw and embed what is asked and searched.

    Returns:
        The vectors of the text, which is in the folder, and of the queries; the queries, first those of the warm-up;
        what the others should find; and the seconds that embedding the text took.
    """
    sentences, drawn = draw(corpus, occurrences, WARM_UP + queries)
    lines = (json.dumps(sentence, ensure_ascii=False) + "\n" for sentence in sentences)
    (folder / TEXT).write_text("".join(lines), encoding="utf-8")
    rows, seconds = embedded(embedder, sentences, folder)
    known = Known(embedder, sentences, rows)
    asked = [query.sentence for query in drawn]
    asking = Known(embedder, asked, np.concatenate(embedder.embed(asked, layers="top")))
    _tell("plain search")
    vectors = unit(asking.rows[[asking.row(*query) for query in drawn]])
    truth = Truth(known, sentences, drawn[WARM_UP:], vectors[WARM_UP:])
    return known, asking, drawn, truth, seconds


def run(
    embedder: Embedder, corpus: Corpus, folder: Path, *, occurrences: int, queries: int, kinds: Sequence[Compression]
) -> str:
    """Build indexes in a folder, query them, and return the tables."""
    known, asking, drawn, truth, seconds = prepare(embedder, corpus, folder, occurrences, queries)
    figures = [measure(folder, kind, known, asking, drawn, truth) for kind in kinds]
    return (
        f"{len(known.rows):,} occurrences of {embedder.dim} numbers, {queries:,} queries, "
        f"{torch.get_num_threads()} threads"
        f"\n\n{tables(figures, len(known.rows), seconds)}"
    )


def main() -> None:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="a model of any known format")
    parser.add_argument("corpus", nargs="+", help="files or folders")
    parser.add_argument("--tokenize", choices=TOKENIZERS, help="how raw text is cut; without it, it is tokens")
    parser.add_argument("--occurrences", type=int, default=1_000_000, help="to put into an index")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--compression", choices=COMPRESSIONS, action="append", help="may be given again; or all")
    parser.add_argument("--work", type=Path, help="where vectors and indexes stay; or a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            figures = run(
                load_embedder(given.model),
                Corpus(given.corpus, tokenize=given.tokenize),
                folder,
                occurrences=given.occurrences,
                queries=given.queries,
                kinds=given.compression or COMPRESSIONS,
            )
        except PolysemeError as error:
            parser.exit(2, f"{error}\n")
    say(figures)


def ask(
    index: OccurrenceIndex, queries: list[Query], words: Words, *, exact: bool
) -> tuple[list[list[Occurrence]], Speed]:
    """The answers to all queries after the warm-up, and how long they took."""
    answers, times = [], []
    for query in queries:
        begun = time.perf_counter(), time.process_time()
        answers.append(index.nearest(*query, k=K, words=words, exact=exact))
        times.append([time.perf_counter() - begun[0], time.process_time() - begun[1]])
    wall, processor = 1000 * np.array(times[WARM_UP:]).T
    return answers[WARM_UP:], Speed(float(np.median(wall)), float(np.quantile(wall, 0.95)), float(np.median(processor)))


def table(names: str, rows: list[list[str]]) -> str:
    """A table in Markdown; the first column has no name."""
    columns = ["", *names.split(",")]
    ruler = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, ruler, *rows))


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    main()
