"""Size, speed and recall of an index in PostgreSQL beside the same index in a folder.

Run: python -m benchmarks.postgres MODEL CORPUS... [--tokenize en] [--occurrences 200000] [--queries 500]
     [--address postgresql://...] [--work FOLDER]

Both are built from the same vectors, which are computed beforehand. Queries and recall@10 are those of
`benchmarks.search`. Without an address, the server that the tests use is started, with the settings of PostgreSQL but
for ``shared_buffers`` of 1 GB.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from postgres_server import Server

from benchmarks.plain_search import Known, Query, Truth
from benchmarks.process import say
from benchmarks.search import TEXT, WAYS, Answers, ask, prepare, table
from polyseme import Embedder, OccurrenceIndex
from polyseme.embed.load import load_embedder
from polyseme.errors import PolysemeError
from polyseme.index.postgres.address import Address
from polyseme.text.choices import TOKENIZERS
from polyseme.text.corpus import Corpus


@dataclass(frozen=True)
class Figures:
    """An index in one store: bytes per occurrence, seconds to build it from its vectors, and how it answers."""

    store: str
    size: float
    build: float
    answers: list[Answers]


def measure(
    store: str, place: str | Path, text: Path, known: Known, asking: Known, queries: list[Query], truth: Truth
) -> Figures:
    """Build an index and query it; the vectors of the text and of the queries are known."""
    begun = time.perf_counter()
    OccurrenceIndex.build(known, Corpus([text], tokenize="none"), place)
    build = time.perf_counter() - begun
    prepared = OccurrenceIndex(place, asking)
    answers = []
    for name, (words, exact) in WAYS.items():
        _, search = ask(prepared, queries, words, exact=exact)
        index = OccurrenceIndex(place, Embedder(known.model, precision=known.precision), verify=False)
        found, whole = ask(index, queries, words, exact=exact)
        answers.append(Answers(name, truth.recall(words, found), search, whole))
        sys.stderr.write(f"{store}, {name}: recall {answers[-1].recall:.3f}, {search.median:,.1f} ms a search\n")
    return Figures(store, _size(place) / len(prepared), build, answers)


def _size(place: str | Path) -> int:
    """Bytes of an index on disk."""
    if isinstance(place, Path):
        return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    address = Address.parse(place)
    with psycopg.connect(address.server) as connection:
        found = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = %s AND relkind = 'r'",
            [address.schema],
        ).fetchone()
    assert found is not None
    return int(found[0])


def run(embedder: Embedder, corpus: Corpus, folder: Path, address: str, *, occurrences: int, queries: int) -> str:
    """Build both indexes, query them, and return the tables."""
    known, asking, drawn, truth, seconds = prepare(embedder, corpus, folder, occurrences, queries)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        figures = [
            measure(store, where, folder / TEXT, known, asking, drawn, truth)
            for store, where in (("folder", Path(place) / "index"), ("PostgreSQL", address))
        ]
    costs = [[one.store, f"{one.size:,.0f}", f"{seconds:,.0f} s", f"{one.build:,.0f} s"] for one in figures]
    answers = [
        [f"{one.store}, {row.way}", f"{row.recall:.3f}", *row.search.cells()[:2], *row.whole.cells()[:2]]
        for one in figures
        for row in one.answers
    ]
    return (
        f"{len(known.rows):,} occurrences of {embedder.dim} numbers, {queries:,} queries, "
        f"{torch.get_num_threads()} threads"
        f"\n\n{table('bytes each,embedding,the rest of building', costs)}"
        f"\n\n{table('recall@10,search alone: median,95%,whole query: median,95%', answers)}"
    )


@contextmanager
def _address(given: str | None) -> Iterator[str]:
    """The address that was given, or that of a server of our own."""
    if given is not None:
        yield given
        return
    server = Server().start("-c shared_buffers=1GB -c fsync=on")
    try:
        yield server.address()
    finally:
        server.remove()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="a model of any known format")
    parser.add_argument("corpus", nargs="+", help="files or folders")
    parser.add_argument("--tokenize", choices=TOKENIZERS, help="how raw text is cut; without it, it is tokens")
    parser.add_argument("--occurrences", type=int, default=200_000, help="to put into an index")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--address", help="of an index that is not there yet; or a server is started")
    parser.add_argument("--work", type=Path, help="where vectors stay; or a temporary folder")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary, _address(given.address) as address:
        folder = given.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        corpus = Corpus(given.corpus, tokenize=given.tokenize)
        sizes = {"occurrences": given.occurrences, "queries": given.queries}
        try:
            say(run(load_embedder(given.model), corpus, folder, address, **sizes))
        except PolysemeError as error:
            parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
