"""An index in PostgreSQL beside the same index in a folder, and what a server, a corpus or a user can do to it."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from conftest import Command, refused
from postgres_server import Server
from psycopg import sql
from recorder import Recorder
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import FormatError, InputError, OutputError, StoreError
from polyseme.formats import native
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.postgres import finishing, search, tables, writing
from polyseme.index.postgres.address import Address
from polyseme.index.postgres.connection import Connection, Statement, Value
from polyseme.text.corpus import Corpus

SENTENCES = [
    ["The", "bank", "of", "the", "river", "was", "steep"],
    ["She", "works", "at", "a", "bank"],
    ["They", "play", "cards"],
    ["The", "Bank", "closed"],
    ["A", "play", "in", "three", "acts", "."],
] * 3
QUERY = ["A", "bank", "by", "the", "river"]
HOSTILE = [
    '"; DROP TABLE word; --',
    "O'Neill",
    "nul\0inside",
    "\0",
    "x" * 10_000,
    "back\\slash\\u0000",
    "\ud83d",
    "%s",
    "{}",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server().start()
    yield started
    started.remove()


@pytest.fixture
def address(server: Server) -> str:
    return server.new_address()


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model())


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    for name, lines in (("one", SENTENCES[:10]), ("two", SENTENCES[10:])):
        text = "".join(" ".join(tokens) + "\n" for tokens in lines)
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    return Corpus([tmp_path / "one.txt", tmp_path / "two.txt"])


def content(server: Server, address: str) -> list[list[tuple[object, ...]]]:
    """Everything that an index holds, but for the numbers of words and names, which need not be the same."""
    schema = sql.Identifier(address.rpartition("schema=")[2])
    statements = (
        "SELECT o.id, o.sentence, position, word.word, d.name, l.name, embedding::text FROM {0}.occurrence o "
        "JOIN {0}.word ON word.id = o.word LEFT JOIN {0}.source d ON d.id = o.document "
        "LEFT JOIN {0}.source l ON l.id = o.label ORDER BY o.id",
        "SELECT s.id, tokens, f.name, line, d.name, s.name, l.name FROM {0}.sentence s "
        "LEFT JOIN {0}.source f ON f.id = file LEFT JOIN {0}.source d ON d.id = document "
        "LEFT JOIN {0}.source l ON l.id = label ORDER BY s.id",
        "SELECT word, count, total::text FROM {0}.word ORDER BY key",
        "SELECT * FROM {0}.polyseme_index",
        "SELECT finished, whole FROM {0}.run",
        "SELECT tablename FROM pg_tables WHERE schemaname = {1} ORDER BY 1",
        "SELECT indexname FROM pg_indexes WHERE schemaname = {1} ORDER BY 1",
    )
    name = sql.Literal(address.rpartition("schema=")[2])
    with server.connect() as connection:
        connection.execute("SET search_path = public")
        return [connection.execute(sql.SQL(one).format(schema, name)).fetchall() for one in statements]


@pytest.fixture(scope="module")
def both(
    server: Server, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> tuple[OccurrenceIndex, OccurrenceIndex]:
    """The same two texts in a folder and in a database."""
    folder, address = tmp_path_factory.mktemp("both"), server.new_address()
    (folder / "one.txt").write_text("".join(" ".join(tokens) + "\n" for tokens in SENTENCES), encoding="utf-8")
    found = []
    for place in (folder / "index", address):
        OccurrenceIndex.build(embedder, Corpus([folder / "one.txt"]), place, label="old", shard_bytes=600)
        more = [*SENTENCES[:3], ["Bank", "and", "BANK"]]
        found.append(OccurrenceIndex.build(embedder, more, place, label="new", append=True))
    return found[0], found[1]


@pytest.fixture(scope="module")
def many(server: Server, embedder: Embedder) -> OccurrenceIndex:
    draw = np.random.default_rng(4)
    names = [f"w{number}" for number in range(400)]
    sentences = [[str(word) for word in draw.choice(names, 8)] for _ in range(700)]
    return OccurrenceIndex.build(embedder, [["Rare", "bank"], *sentences], server.new_address())


class TestBesideTheFolder:
    @pytest.mark.parametrize(
        "options",
        [
            {"k": 1},
            {"k": 30},
            {"k": 1000},
            {"k": 1000, "exact": True},
            {"k": 40, "words": "same"},
            {"k": 40, "words": "same", "exact": True},
            {"k": 200, "words": "other"},
            {"k": 6, "group": True},
            {"k": 6, "group": True, "words": "other"},
            {"k": 20, "only": ["PLAY", "the", "zebra"]},
            {"k": 20, "only": ["zebra"]},
            {"k": 20, "only": []},
            {"k": 20, "label": "new"},
            {"k": 20, "label": "new", "words": "same"},
            {"k": 20, "label": "newer"},
            {"k": 20, "document": "one.txt", "only": ["cards", "acts"]},
            {"k": 20, "document": "bank"},
            {"k": 10, "whiten": True},
            {"k": 1000, "whiten": True, "exact": True, "words": "other"},
        ],
        ids=str,
    )
    def test_the_same_is_found(self, both: tuple[OccurrenceIndex, OccurrenceIndex], options: dict[str, Any]) -> None:
        if options.get("document") == "one.txt":
            options = {**options, "document": str(both[0].path.parent / "one.txt")}
        expected, found = (index.nearest(QUERY, 1, **options) for index in both)
        close = 1e-4 if options.get("whiten") else 1e-6
        assert [one.similarity for one in found] == pytest.approx([one.similarity for one in expected], abs=close)

        # Copies of a sentence are equally near: compared as sets, by their similarity.
        def key(one: Any) -> tuple[object, ...]:
            return (round(one.similarity, 3), one.word, one.sentence, one.position)

        if len(expected) < options["k"]:  # none of the equal ones is left out
            assert sorted(map(key, found)) == sorted(map(key, expected))
            assert sorted(one.place for one in found if one.place.file) == sorted(
                one.place for one in expected if one.place.file
            )

    def test_words_and_occurrences(self, both: tuple[OccurrenceIndex, OccurrenceIndex]) -> None:
        folder, database = both
        assert len(folder) == len(database)
        assert folder.counts == database.counts
        assert folder.made_with == database.made_with
        sums: list[dict[str, np.ndarray]] = [{}, {}]
        for index, total in zip(both, sums, strict=True):
            for word, _, row in index.word_sums():
                total[word] = total.get(word, 0) + row
        assert sums[0].keys() == sums[1].keys()
        for word, row in sums[0].items():
            np.testing.assert_allclose(sums[1][word], row, atol=1e-4)
        (found, rows), (expected, known) = database.occurrences("bank", most=7), folder.occurrences("bank", most=7)
        assert found == expected
        np.testing.assert_array_equal(rows, known)
        assert [one.word for one in database.similar("bank", least=3)] == [
            one.word for one in folder.similar("bank", least=3)
        ]

    def test_the_same_messages(self, both: tuple[OccurrenceIndex, OccurrenceIndex], embedder: Embedder) -> None:
        attempts: list[Callable[[OccurrenceIndex], object]] = [
            lambda index: index.occurrences("zebra"),
            lambda index: index.similar("zebra"),
            lambda index: index.similar("BANKS", least=1),
            lambda index: index.nearest(QUERY, 1, k=0),
            lambda index: index._checked(Embedder(tiny_model(seed=1))),
            lambda index: OccurrenceIndex.build(embedder, SENTENCES, _place(index), append=True, layers="mean"),
            lambda index: OccurrenceIndex.build(embedder, [], _place(index), append=True),
        ]
        for attempt in attempts:
            told = []
            for index in both:
                with pytest.raises(InputError) as error:
                    attempt(index)
                told.append(str(error.value).replace(index.name, "INDEX"))
            assert told[0] == told[1]
        with pytest.raises(InputError, match=r": is in a database and not in a folder; it has a name and no path$"):
            _ = both[1].path


def _place(index: OccurrenceIndex) -> str | Path:
    return index.name if index.name.startswith("postgresql") else index.path


class TestHostileText:
    def test_every_word_is_stored_and_found(self, embedder: Embedder, address: str, tmp_path: Path) -> None:
        built = OccurrenceIndex.build(embedder, [["a", *HOSTILE], HOSTILE[:2]], address, label="'; DROP TABLE run")
        index = OccurrenceIndex(address, embedder)
        assert set(index.counts) == {"a", *HOSTILE}
        assert len(built) == len(index) == 1 + len(HOSTILE) + 2
        for position, word in enumerate(HOSTILE, 1):
            best = index.nearest(["a", *HOSTILE], position, k=1, words="same")[0]
            assert (best.word, best.sentence, best.position) == (word, ["a", *HOSTILE], position)
            assert best.place.label == "'; DROP TABLE run"
            assert len(index.occurrences(word.upper())[0]) == index.counts[word]
        assert len(index.nearest(["a"], 0, k=99, label="'; DROP TABLE run")) == len(index)
        assert index.nearest(["a"], 0, document="' OR true --") == index.nearest(["a"], 0, only=["%s OR 1=1"]) == []

    def test_a_letter_and_its_escape_differ(self, embedder: Embedder, address: str) -> None:
        index = OccurrenceIndex.build(embedder, [["\0", "\\u0000", "\\", "\\u005c"]], address)
        assert index.counts == {"\0": 1, "\\u0000": 1, "\\": 1, "\\u005c": 1}


class TestIndexes:
    """Which index of the database a query uses, and how much the graph finds."""

    def plan(self, index: OccurrenceIndex, monkeypatch: pytest.MonkeyPatch, **options: Any) -> str:
        """How the database runs the last statement of a search."""
        asked: list[tuple[Statement, tuple[Value, ...]]] = []
        plain = Connection.rows

        def recorded(self: Connection, statement: Statement, *values: Value) -> list[tuple[Value, ...]]:
            if "<#>" in str(statement):
                asked.append((statement, values))
            return plain(self, statement, *values)

        with monkeypatch.context() as patch:
            patch.setattr(Connection, "rows", recorded)
            assert index.nearest(["Rare", "w7"], 0 if options.pop("rare", False) else 1, **options)
        connection: Connection = index._store._connection  # type: ignore[attr-defined]
        statement, values = asked[-1]
        assert isinstance(statement, str)
        return "\n".join(str(line) for (line,) in plain(connection, "EXPLAIN " + statement, *values))

    def test_one_word_alone_is_found_by_the_index_of_words(
        self, many: OccurrenceIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for options in ({"rare": True, "words": "same"}, {"words": "same"}, {"only": ["w7", "W9"]}):
            plan = self.plan(many, monkeypatch, **options)
            assert "occurrence_word" in plan
            assert "occurrence_embedding" not in plan

    def test_any_word_is_found_by_the_graph(self, many: OccurrenceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "occurrence_embedding" in self.plan(many, monkeypatch)
        assert "occurrence_embedding" in self.plan(many, monkeypatch, words="other")
        assert "occurrence_embedding" not in self.plan(many, monkeypatch, exact=True)
        monkeypatch.setattr(search, "FEW", 3)  # a word with more occurrences than can be compared one by one
        found = many.nearest(["w7"], 0, k=4, words="same")
        assert [one.word for one in found] == ["w7"] * 4

    def test_the_graph_finds_nearly_all(self, many: OccurrenceIndex) -> None:
        hits = 0
        for number in range(40):
            asked = ["w1", f"w{number}", "w3"]
            exact = [one.similarity for one in many.nearest(asked, 1, exact=True)]
            hits += sum(one.similarity >= exact[-1] - 1e-6 for one in many.nearest(asked, 1))
        assert hits / 400 > 0.97

    def test_a_choice_that_the_graph_does_not_reach(
        self, many: OccurrenceIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The graph gives up after some steps; all that was asked for is found nevertheless."""
        monkeypatch.setattr(search, "FEW", 0)
        connection: Connection = many._store._connection  # type: ignore[attr-defined]
        connection.rows("SELECT set_config('hnsw.max_scan_tuples', '1', false)")
        try:
            assert len(many.nearest(["w7"], 0, k=14, words="same")) == min(14, many.counts["w7"])
            assert [one.word for one in many.nearest(["Rare", "w7"], 1, k=5, only=["rare"])] == ["Rare"]
        finally:
            connection.rows("SELECT set_config('hnsw.max_scan_tuples', '20000', false)")


class TestStopped:
    """The server stops in the middle of a build."""

    @pytest.fixture(autouse=True)
    def save_often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(writing, "SECONDS", 0)

    def stopping(self, server: Server, after: int, *, at_once: bool) -> Embedder:
        """An embedder that stops the server after some sentences."""
        embedder = Embedder(tiny_model(), batch_size=2, batch_tokens=4)
        stream = embedder.stream

        def stopped(*given, **options):  # type: ignore[no-untyped-def]
            for count, rows in enumerate(stream(*given, **options)):
                if count == after:
                    server.stop(at_once=at_once)
                yield rows

        embedder.stream = stopped  # type: ignore[method-assign]
        return embedder

    @pytest.mark.parametrize("append", [False, True])
    def test_a_build_goes_on_after_the_server_was_stopped(
        self, server: Server, embedder: Embedder, corpus: Corpus, append: bool
    ) -> None:
        whole, address = server.new_address(), server.new_address()
        for place in (whole, address) if append else ():
            OccurrenceIndex.build(embedder, SENTENCES[:2], place)
        OccurrenceIndex.build(embedder, corpus, whole, append=append)
        broken = self.stopping(server, 6, at_once=append)
        kept = r"what was stored before is kept, continue with --resume"
        with pytest.raises(OutputError, match=rf"^postgresql://.*: .*; {kept}$") as error:
            OccurrenceIndex.build(broken, corpus, address, append=append)
        assert "\n" not in str(error.value)
        with pytest.raises(StoreError, match=r"^postgresql://.*: cannot connect \(.*\); check the address, and that"):
            OccurrenceIndex(address)
        server.start()
        if append:
            assert len(OccurrenceIndex(address)) == 12
        else:
            with pytest.raises(InputError, match=r": no index is here; build one with polyseme index$"):
                OccurrenceIndex(address)
        with pytest.raises(InputError, match=r"holds the work of an interrupted run; continue it with --resume, or"):
            OccurrenceIndex.build(embedder, corpus, address, append=append)
        with pytest.raises(InputError, match=r"sample was 1.0 in the interrupted run and is 0.5 here; resume with"):
            OccurrenceIndex.build(embedder, corpus, address, append=append, sample=0.5, resume=True)
        OccurrenceIndex.build(embedder, corpus, address, append=append, resume=True)
        assert content(server, address) == content(server, whole)
        told = Recorder()
        OccurrenceIndex.build(embedder, corpus, address, append=append, resume=True, watcher=told)
        assert "already, and nothing was left to do" in told.notes[0]
        assert content(server, address) == content(server, whole)

    @pytest.mark.parametrize("append", [False, True])
    def test_the_last_step_is_done_whole_or_not_at_all(
        self, server: Server, embedder: Embedder, corpus: Corpus, append: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole, address = server.new_address(), server.new_address()
        for place in (whole, address) if append else ():
            OccurrenceIndex.build(embedder, SENTENCES[:2], place)
        OccurrenceIndex.build(embedder, corpus, whole, append=append)
        plain, steps = Connection.rows, 0
        while True:  # stopped before its first statement, its second, ... until it comes to its end
            left = iter(range(steps))

            def rows(
                self: Connection, statement: Statement, *values: Value, left: Iterator[int] = left
            ) -> list[tuple[Value, ...]]:
                if self._write and next(left, None) is None:
                    raise StoreError("the server is gone")
                return plain(self, statement, *values)

            finish = finishing.finish

            def last(*given: Any, rows: Any = rows, finish: Any = finish, **options: Any) -> None:
                with monkeypatch.context() as patch:
                    patch.setattr(Connection, "rows", rows)
                    finish(*given, **options)

            with monkeypatch.context() as patch:
                patch.setattr(writing, "finish", last)
                try:
                    OccurrenceIndex.build(embedder, corpus, address, append=append, resume=True)
                    break
                except OutputError:
                    steps += 1
        assert steps >= 6
        assert content(server, address) == content(server, whole)

    def test_a_run_that_is_given_up(self, server: Server, embedder: Embedder, corpus: Corpus, address: str) -> None:
        with pytest.raises(OutputError):
            OccurrenceIndex.build(self.stopping(server, 6, at_once=False), corpus, address)
        server.start()
        with pytest.raises(InputError) as error:
            OccurrenceIndex.build(embedder, corpus, address)
        with server.connect() as connection:
            connection.execute(str(error.value).partition("give it up with: ")[2])
        assert OccurrenceIndex.build(embedder, SENTENCES[:2], address).counts["bank"] == 2


class TestRefusals:
    def test_what_is_there_already(self, server: Server, embedder: Embedder, address: str) -> None:
        with pytest.raises(InputError, match=r": no index is here; build one with polyseme index$"):
            OccurrenceIndex(address)
        with pytest.raises(InputError, match=r": no index is here; build one with polyseme index$"):
            OccurrenceIndex.build(embedder, SENTENCES, address, append=True)
        with pytest.raises(InputError, match=r"^15 sentences in memory: it has none of the words; nothing was stored$"):
            OccurrenceIndex.build(embedder, SENTENCES, address, words=["zebra"])
        OccurrenceIndex.build(embedder, SENTENCES, address)  # a refused build does not block the next
        with pytest.raises(InputError, match=r": exists already; give another with \?schema=NAME, or --append to add"):
            OccurrenceIndex.build(embedder, SENTENCES, address)
        with pytest.raises(InputError, match=r"a database stores two bytes per number; leave out --compression pq$"):
            OccurrenceIndex.build(embedder, SENTENCES, address, compression="pq")

    def test_two_processes_do_not_write_the_same_index(self, embedder: Embedder, address: str) -> None:
        OccurrenceIndex.build(embedder, SENTENCES, address)
        first = Connection(Address.parse(address), write=True)
        first.rows("SELECT pg_advisory_lock(hashtextextended('polyseme ' || %s, 0))", first.address.schema)
        with pytest.raises(OutputError, match=r": is being written by another process; wait until it is done, or give"):
            OccurrenceIndex.build(embedder, SENTENCES, address, append=True)
        assert len(OccurrenceIndex(address)) == sum(map(len, SENTENCES))  # reading goes on
        first.close()
        OccurrenceIndex.build(embedder, SENTENCES, address, append=True)

    @pytest.mark.parametrize(
        ("address", "message"),
        [
            (
                "postgresql://me:secret@127.0.0.1:9/words",
                r"^postgresql://me@127.0.0.1:9/words: cannot connect \(.*refused",
            ),
            (
                "postgresql://me:secret@127.0.0.1:x/words",
                r"^postgresql://me@127.0.0.1:x/words: cannot connect \(.*po",
            ),
            ("postgres://h/words?schem=a&password=secret", r"^postgres://h/words\?schem=a: cannot connect \(.*schem"),
        ],
    )
    def test_no_connection(self, address: str, message: str) -> None:
        with pytest.raises(StoreError, match=message) as error:
            OccurrenceIndex(address)
        assert "secret" not in str(error.value)
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize("schema", ["News", "a b", "pg_x", "a;b", "x" * 64, "", "a&schema=b"])
    def test_the_name_of_a_schema(self, schema: str) -> None:
        with pytest.raises(InputError, match=r"expected one name of small letters, digits and _$"):
            OccurrenceIndex(f"postgresql://h/words?schema={schema}")

    def test_other_tables_and_versions(self, server: Server, embedder: Embedder, address: str) -> None:
        schema = address.rpartition("schema=")[2]
        with server.connect() as connection:
            connection.execute(
                sql.SQL("CREATE SCHEMA {0}; CREATE TABLE {0}.word (a int)").format(sql.Identifier(schema))
            )
        with pytest.raises(InputError, match=rf"the schema {schema} holds other tables \(word, ...\); give another"):
            OccurrenceIndex.build(embedder, SENTENCES, address)
        server.drop(address)
        OccurrenceIndex.build(embedder, SENTENCES, address)
        with server.connect() as connection:
            connection.execute(sql.SQL("UPDATE {}.polyseme_index SET version = 9").format(sql.Identifier(schema)))
        with pytest.raises(FormatError, match=r"its tables are of version 9, expected 1; use the polyseme that"):
            OccurrenceIndex(address)
        with server.connect() as connection:
            connection.execute(
                sql.SQL("UPDATE {}.polyseme_index SET version = 1, about = '[1]'").format(sql.Identifier(schema))
            )
        with pytest.raises(FormatError, match=r"what it was made with cannot be read \(.*\); build the index again$"):
            OccurrenceIndex(address)

    def test_databases_that_cannot_hold_an_index(self, server: Server, embedder: Embedder) -> None:
        with server.connect() as connection:
            connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
            connection.execute("CREATE DATABASE plain")
            connection.execute("CREATE ROLE reader LOGIN")
        with pytest.raises(InputError, match=r"stores text as LATIN1, expected UTF8; create one with ENCODING 'UTF8'$"):
            OccurrenceIndex.build(embedder, SENTENCES, server.address(database="latin"))
        with pytest.raises(InputError, match=r": no index is here; build one with polyseme index$"):
            OccurrenceIndex(server.address(database="plain"))
        with pytest.raises(InputError, match=r"pgvector cannot be added to the database \(.*\); let its owner run"):
            OccurrenceIndex.build(embedder, SENTENCES, server.address(user="reader", database="plain"))
        with pytest.raises(StoreError, match=r'cannot connect \(.*database "none" does not exist\); check the address'):
            OccurrenceIndex(server.address(database="none"))

    def test_a_user_who_may_only_read(self, server: Server, embedder: Embedder, address: str) -> None:
        OccurrenceIndex.build(embedder, SENTENCES, address)
        schema = sql.Identifier(address.rpartition("schema=")[2])
        with server.connect() as connection, contextlib.suppress(psycopg.errors.DuplicateObject):
            connection.execute("CREATE ROLE looker LOGIN")
        with server.connect() as connection:
            connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO looker").format(schema))
            connection.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO looker").format(schema))
        theirs = OccurrenceIndex(address.replace("tester@", "looker@"), embedder)
        own = OccurrenceIndex(address, embedder)
        expected = own.nearest(QUERY, 1, k=5, whiten=True)
        assert theirs.nearest(QUERY, 1, k=5, whiten=True) == expected
        assert OccurrenceIndex(address, embedder).nearest(QUERY, 1, k=5, whiten=True) == expected  # as it is stored
        with pytest.raises(StoreError, match=r"permission denied for schema \w+$"):
            OccurrenceIndex.build(embedder, SENTENCES, address.replace("tester@", "looker@"), append=True)

    def test_vectors_that_are_too_wide(self, embedder: Embedder, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "WIDEST", 8)
        with pytest.raises(InputError, match=r": vectors of 12 numbers, and pgvector can search 8; use a folder$"):
            OccurrenceIndex.build(embedder, SENTENCES, address)


class TestCommands:
    def test_from_text_to_senses(self, run: Command, server: Server, embedder: Embedder, tmp_path: Path) -> None:
        native.write(tiny_model(), tmp_path / "model")
        text, address = tmp_path / "text.txt", server.new_address()
        text.write_text("".join(" ".join(tokens) + "\n" for tokens in SENTENCES), encoding="utf-8")
        given = ("index", text, "-m", tmp_path / "model", "-o")
        built = json.loads(run(*given, address, "--json", "--label", "old").out)
        assert (built["output"], built["occurrences"]) == (address, sum(map(len, SENTENCES)))
        assert f"{address}: this index was built already" in run(*given, address, "--label", "old", "--resume").err
        run(*given, tmp_path / "folder", "--label", "old")
        for command in (
            ("nearest", "INDEX", "A [bank] by the river", "--json", "-k", 5, "--words", "same", "--exact"),
            ("similar", "bank", "--index", "INDEX", "--json", "--least", 3),
            ("senses", "induce", "bank", "--index", "INDEX", "--json", "--senses", 2),
        ):
            found, expected = (
                json.loads(run(*(place if one == "INDEX" else one for one in command)).out)
                for place in (address, tmp_path / "folder")
            )
            assert found.get("index", address) == address
            assert _rounded(found) == _rounded(expected)
        found, expected = (
            json.loads(run("change", "bank", place, place, "--json").out) for place in (address, tmp_path / "folder")
        )
        assert _rounded(found["results"]) == _rounded(expected["results"])
        mixed = run("change", "bank", address, text, "-m", tmp_path / "model")
        refused(mixed, "one is an index and the other is not; give two indexes, or two texts")
        lost = run("nearest", address.replace("tester@", "tester:secret@").replace("postgres?", "none?"), "A [bank]")
        refused(lost, 'database "none" does not exist); check the address, and that the server runs')
        assert "secret" not in lost.err


def _rounded(value: Any) -> Any:
    """JSON without what may differ: names of indexes, the last digits of numbers."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items() if name != "index"}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value
