"""The tables of an index in a database, and their version.

- ``polyseme_index``: one row: the version of the tables; what the index was made with (JSON), how many occurrences and
  sentences it has. Until the first run is finished it is made with nothing, and there is no index for readers.
- ``run``: the runs that made it, with their settings; the one that is not finished says how far it came.
- ``word``: each distinct word with the number of its occurrences and the sum of their unit vectors. ``key`` and
  ``folded`` are digests of the word and of the word in one letter case, since an index cannot hold long texts.
- ``source``: names of files, documents and labels.
- ``sentence``: tokens and place of each sentence. ``occurrence``: sentence, position, word and vector of each
  occurrence; document (or file) and label are repeated here for the sake of searches in them. 0 is what is not known.
- ``new_sentence``, ``new_occurrence``: what a run has stored that is to be added.
- ``whitening``: at most one row, fitted on the index.

Texts are escaped as `polyseme.index.postgres.codec.to_text` says.
"""

from typing import LiteralString

from pydantic import ValidationError

from polyseme.errors import FormatError, InputError
from polyseme.index.about import About
from polyseme.index.postgres.connection import Connection, sql

VERSION = 1
WIDEST = 4000
"""Numbers of a vector that pgvector can have an index of."""

_KEPT: tuple[LiteralString, ...] = (
    "CREATE TABLE polyseme_index (version int NOT NULL, about text, occurrences bigint NOT NULL, "
    "sentences bigint NOT NULL)",
    "CREATE TABLE run (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, settings text NOT NULL, "
    "identity text NOT NULL, done bigint NOT NULL DEFAULT 0, sentences bigint NOT NULL DEFAULT 0, "
    "occurrences bigint NOT NULL DEFAULT 0, whole boolean NOT NULL DEFAULT false, "
    "finished boolean NOT NULL DEFAULT false)",
    "CREATE TABLE word (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, word text NOT NULL, "
    "key bytea NOT NULL UNIQUE, folded bytea NOT NULL, count bigint NOT NULL DEFAULT 0, total vector)",
    "CREATE INDEX word_folded ON word (folded)",
    "CREATE TABLE source (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, "
    "key bytea NOT NULL UNIQUE)",
    "CREATE TABLE whitening (centre bytea NOT NULL, matrix bytea NOT NULL)",
    "INSERT INTO polyseme_index VALUES (1, NULL, 0, 0)",
)
_FILLED: tuple[LiteralString, ...] = (
    "CREATE TABLE {sentence} (id bigint NOT NULL, tokens text[] NOT NULL, file int NOT NULL, line int, "
    "document int NOT NULL, name text, label int NOT NULL)",
    "CREATE TABLE {occurrence} (id bigint NOT NULL, sentence bigint NOT NULL, position int NOT NULL, "
    "word int NOT NULL, document int NOT NULL, label int NOT NULL, embedding halfvec({dim}) NOT NULL)",
    # The numbers of a vector hardly compress, and are read with every row that is compared.
    "ALTER TABLE {occurrence} ALTER embedding SET STORAGE PLAIN",
)
INDEXES: tuple[LiteralString, ...] = (
    "CREATE UNIQUE INDEX IF NOT EXISTS sentence_id ON sentence (id)",
    "CREATE UNIQUE INDEX IF NOT EXISTS occurrence_id ON occurrence (id)",
    "CREATE INDEX IF NOT EXISTS occurrence_word ON occurrence (word)",
    "CREATE INDEX IF NOT EXISTS occurrence_document ON occurrence (document)",
    "CREATE INDEX IF NOT EXISTS occurrence_label ON occurrence (label)",
)
NEIGHBOURS: LiteralString = (
    "CREATE INDEX IF NOT EXISTS occurrence_embedding ON occurrence USING hnsw (embedding halfvec_ip_ops)"
)


def has_tables(connection: Connection) -> bool:
    """Whether the schema holds the tables of an index, which need not be finished.

    Raises:
        InputError: It holds other tables, or those of another version.
    """
    schema, name = connection.address.schema, connection.address.name
    rows = connection.rows("SELECT tablename FROM pg_tables WHERE schemaname = %s", schema)
    found = {str(table) for (table,) in rows}
    if "polyseme_index" not in found:
        if found:
            raise InputError(
                f"{name}: the schema {schema} holds other tables ({min(found)}, ...); give another with ?schema=NAME"
            )
        return False
    ((version,),) = connection.rows("SELECT version FROM polyseme_index")
    if version != VERSION:
        raise FormatError(
            f"{name}: its tables are of version {version}, expected {VERSION}; use the polyseme that made them, or "
            "build the index again"
        )
    return True


def read_about(connection: Connection) -> About | None:
    """What an index was made with; None until it is finished."""
    ((stored,),) = connection.rows("SELECT about FROM polyseme_index")
    try:
        return None if stored is None else About.model_validate_json(str(stored))
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise FormatError(
            f"{connection.address.name}: what it was made with cannot be read ({why}); build the index again"
        ) from None


def create(connection: Connection) -> None:
    """Make the tables that every index has."""
    with connection.transaction():
        schema = sql.Identifier(connection.address.schema)
        connection.rows(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
        for statement in _KEPT:
            connection.rows(statement)


def create_filled(connection: Connection, prefix: LiteralString, dim: int) -> None:
    """Make the tables that a run fills, in place of what another left there."""
    names = {name: sql.Identifier(prefix + name) for name in ("sentence", "occurrence")}
    with connection.transaction():
        for table in names.values():
            connection.rows(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        for statement in _FILLED:
            connection.rows(sql.SQL(statement).format(**names, dim=sql.Literal(dim)))
        connection.rows("DELETE FROM word WHERE count = 0")


def drop(connection: Connection, *tables: LiteralString) -> None:
    """Remove tables."""
    for table in tables:
        connection.rows(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(table)))


EVERY: tuple[LiteralString, ...] = (
    "sentence",
    "occurrence",
    "new_sentence",
    "new_occurrence",
    "word",
    "source",
    "whitening",
    "run",
    "polyseme_index",
)
"""All tables of an index."""
