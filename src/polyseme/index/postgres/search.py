"""Which occurrences in a database are nearest to a vector, and by which of its indexes are they found?

The graph of neighbours (HNSW) finds the nearest of all occurrences. If a choice of words, of a document or a label
leaves few, they are found by the index of that column and compared one by one, which is faster and exact. If it leaves
many, the graph is followed until enough of them were found.
"""

from typing import LiteralString, cast

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.index.postgres.codec import as_parameter, key
from polyseme.index.postgres.connection import Connection, Value
from polyseme.index.store import Choice

FEW = 10_000
"""Up to this many chosen occurrences are compared one by one."""
_MORE = 10  # that are fetched beyond k: the database rounds the query, and may change the order of the last ones
_LISTS = (200, 1000)
"""How many candidates the graph is searched with: at least, and at most."""

_FOUND: LiteralString = "SELECT id, halfvec_send(embedding) FROM occurrence"
_BY_GRAPH: LiteralString = " ORDER BY embedding <#> %s::halfvec LIMIT %s"
_ONE_BY_ONE: LiteralString = " ORDER BY (embedding <#> %s::halfvec) + 0 LIMIT %s"  # the sum is in no index


class Search:
    """Searches in the table of occurrences.

    Args:
        connection: To the database.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def nearest(self, query: Vectors, k: int, choice: Choice, *, exact: bool) -> tuple[Numbers, list[bytes]]:
        """At least k occurrences with the smallest distance to a unit vector (D,), and their vectors as stored."""
        where, values = self._conditions(choice)
        if where is None:
            return np.zeros(0, np.int64), []
        asked, wanted = as_parameter(query), k + _MORE
        if not exact and not self._are_few(where, values, choice):
            size = min(max(_LISTS[0], 2 * wanted), _LISTS[1])
            self._connection.set({"hnsw.ef_search": str(size), "hnsw.iterative_scan": "relaxed_order"})
            found = self._connection.rows(_FOUND + where + _BY_GRAPH, *values, asked, wanted)
            if len(found) == wanted:
                return _split(found)
        return _split(self._connection.rows(_FOUND + where + _ONE_BY_ONE, *values, asked, wanted))

    def every(self, choice: Choice) -> Numbers:
        """All occurrences of a choice, ascending."""
        where, values = self._conditions(choice)
        found = [] if where is None else self._connection.rows("SELECT id FROM occurrence" + where, *values)
        return np.sort(np.array([number for (number,) in found], dtype=np.int64))

    def _are_few(self, where: LiteralString, values: list[Value], choice: Choice) -> bool:
        if choice.words is None and choice.document is None and choice.label is None:
            return False
        some: LiteralString = "SELECT count(*) FROM (SELECT 1 FROM occurrence" + where + " LIMIT %s) AS chosen"
        ((count,),) = self._connection.rows(some, *values, FEW + 1)
        return cast("int", count) <= FEW

    def _conditions(self, choice: Choice) -> tuple[LiteralString | None, list[Value]]:
        """The end of a statement that a choice makes, and its values; None if nothing can fulfil it."""
        parts: list[LiteralString] = []
        values: list[Value] = []
        if choice.words is not None:
            parts.append("word = ANY(%s::int[])")
            values.append(self._words(choice.words))
        if choice.but and (others := self._words(choice.but)):
            parts.append("word <> ALL(%s::int[])")
            values.append(others)
        sources: tuple[tuple[LiteralString, str | None], ...] = (
            ("document = %s", choice.document),
            ("label = %s", choice.label),
        )
        for part, name in sources:
            if name is not None:
                parts.append(part)
                values.append(self._source(name))
        if None in values or [] in values:
            return None, []
        where: LiteralString = " WHERE " + " AND ".join(parts) if parts else ""
        return where, values

    def _words(self, folded: frozenset[str]) -> list[Value]:
        keys = [key(word) for word in folded]
        return [number for (number,) in self._connection.rows("SELECT id FROM word WHERE folded = ANY(%s)", keys)]

    def _source(self, name: str) -> Value:
        found = self._connection.rows("SELECT id FROM source WHERE key = %s", key(name))
        return found[0][0] if found else None


def _split(found: list[tuple[Value, ...]]) -> tuple[Numbers, list[bytes]]:
    numbers = np.array([number for number, _ in found], dtype=np.int64)
    return numbers, [cast("bytes", row) for _, row in found]
