"""An index in a database, open for reading."""

from collections import Counter
from collections.abc import Iterator
from typing import LiteralString, cast

from polyseme.arrays import Numbers, Vectors
from polyseme.errors import FormatError, InputError
from polyseme.index.occurrence import Occurrence
from polyseme.index.places import Place
from polyseme.index.postgres import tables
from polyseme.index.postgres.address import Address
from polyseme.index.postgres.codec import from_text, half_rows, single_row
from polyseme.index.postgres.connection import Connection
from polyseme.index.postgres.search import Search
from polyseme.index.postgres.whitening import open_whitening
from polyseme.index.store import Choice, Store
from polyseme.index.stored_whitening import candidates, rank_whitened
from polyseme.index.vectors import merge
from polyseme.index.whitening import Whitening

_WORDS = 1000  # sums that are fetched at a time


class PostgresStore(Store):
    """An index that ``polyseme index -o postgresql://...`` made.

    Args:
        address: Where it is.

    Raises:
        StoreError: The server cannot be reached, or refuses.
        InputError: There is no index.
        FormatError: The tables are of another version.
    """

    def __init__(self, address: Address) -> None:
        self.name = address.name
        self._connection = Connection(address)
        try:
            about = tables.read_about(self._connection) if tables.has_tables(self._connection) else None
        except BaseException:
            self._connection.close()
            raise
        if about is None:
            self._connection.close()
            raise InputError(f"{self.name}: no index is here; build one with polyseme index")
        self.about = about
        self._search = Search(self._connection)

    def __len__(self) -> int:
        ((count,),) = self._connection.rows("SELECT occurrences FROM polyseme_index")
        return cast("int", count)

    @property
    def parts(self) -> str:
        """The schema that it is in."""
        return f"schema {self._connection.address.schema}"

    def counts(self) -> Counter[str]:
        """How often each word is in it."""
        found = self._connection.rows("SELECT word, count FROM word WHERE count > 0 ORDER BY id")
        return Counter({from_text(str(word)): cast("int", count) for word, count in found})

    def word_sums(self) -> Iterator[tuple[str, int, Vectors]]:
        """Words with the number of their occurrences and the sum (D,) of their unit vectors."""
        statement = "SELECT word, count, vector_send(total) FROM word WHERE count > 0 ORDER BY id"
        for word, count, total in self._connection.stream(statement, _WORDS):
            yield from_text(str(word)), cast("int", count), single_row(cast("bytes", total), self.about.dim)

    def search(
        self, query: Vectors, k: int, choice: Choice, *, exact: bool, whitening: Whitening | None
    ) -> tuple[Vectors, Numbers]:
        """The occurrences nearest to a unit vector (D,).

        Vectors that the database finds are compared with the query again, as it rounds the query to 16 bits.
        """
        wanted = k if whitening is None else candidates(k)
        if exact and whitening is not None:
            return rank_whitened(query, self._search.every(choice), self.vectors, whitening, k)
        numbers, rows = self._search.nearest(query, wanted, choice, exact=exact)
        if whitening is not None:
            return rank_whitened(query, numbers, self.vectors, whitening, k)
        return merge([(self._decoded(rows) @ query, numbers)], k)

    def labels(self) -> list[str]:
        """The labels that texts were indexed with."""
        return self._names("SELECT name FROM source WHERE id IN (SELECT label FROM occurrence) ORDER BY id")

    def documents(self) -> list[str]:
        """The documents of its occurrences; or files, where their source names no document."""
        return self._names("SELECT name FROM source WHERE id IN (SELECT document FROM occurrence) ORDER BY id")

    def _names(self, statement: LiteralString) -> list[str]:
        return [from_text(str(name)) for (name,) in self._connection.rows(statement)]

    def numbers(self, word: str) -> Numbers:
        """The numbers of a word's occurrences in any letter case, ascending."""
        return self._search.every(Choice(frozenset([word.casefold()])))

    def words(self, numbers: Numbers) -> list[str]:
        """The word of each of some occurrences."""
        found = self._connection.rows(
            "SELECT o.id, w.word FROM occurrence o JOIN word w ON w.id = o.word WHERE o.id = ANY(%s)", numbers.tolist()
        )
        words = {number: from_text(str(word)) for number, word in found}
        return [words[number] for number in numbers.tolist()]

    def vectors(self, numbers: Numbers) -> Vectors:
        """The unit vectors (n, D) of some occurrences, as they are stored."""
        found = self._connection.rows(
            "SELECT id, halfvec_send(embedding) FROM occurrence WHERE id = ANY(%s)", numbers.tolist()
        )
        rows = {number: cast("bytes", row) for number, row in found}
        return self._decoded([rows[number] for number in numbers.tolist()])

    def read(self, numbers: Numbers, similarities: Vectors) -> list[Occurrence]:
        """Some occurrences in their sentences, each with its similarity."""
        found = self._connection.rows(
            "SELECT o.id, o.position, s.tokens, f.name, s.line, d.name, s.name, l.name FROM occurrence o "
            "JOIN sentence s ON s.id = o.sentence LEFT JOIN source f ON f.id = s.file "
            "LEFT JOIN source d ON d.id = s.document LEFT JOIN source l ON l.id = s.label WHERE o.id = ANY(%s)",
            numbers.tolist(),
        )
        read = {}
        for number, position, tokens, file, line, document, name, label in found:
            sentence = [from_text(token) for token in cast("list[str]", tokens)]
            place = Place(_text(file), cast("int | None", line), _text(document), _text(name), _text(label))
            read[number] = sentence, cast("int", position), place
        result = []
        for number, similarity in zip(numbers.tolist(), similarities, strict=True):
            sentence, position, place = read[number]
            result.append(Occurrence(sentence[position], float(similarity), [*sentence], position, place))
        return result

    def whitening(self) -> Whitening:
        """The whitening of the index: as it is stored, or fitted now and stored, if the user may write."""
        return open_whitening(self._connection, self)

    def _decoded(self, rows: list[bytes]) -> Vectors:
        try:
            return half_rows(rows, self.about.dim)
        except ValueError as error:
            raise FormatError(f"{self.name}: the table of occurrences is damaged ({error}); build it again") from None


def _text(stored: object) -> str | None:
    return None if stored is None else from_text(str(stored))
