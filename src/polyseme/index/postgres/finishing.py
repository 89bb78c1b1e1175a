"""The end of a run in a database: its occurrences become part of the index, all at once."""

from typing import LiteralString

from polyseme.errors import StoreError
from polyseme.index.about import About
from polyseme.index.postgres import tables
from polyseme.index.postgres.connection import Connection, sql

_MEMORY = "1GB"
"""For the graph of neighbours while it is made; many times slower if it does not fit."""
_COUNT: LiteralString = (
    "UPDATE word SET count = word.count + added.count, total = coalesce(word.total + added.total, added.total) "
    "FROM (SELECT word, count(*) AS count, sum(embedding::vector) AS total FROM {} GROUP BY word) added "
    "WHERE word.id = added.word"
)
_ENTER: LiteralString = (
    "UPDATE polyseme_index SET about = %s, sentences = polyseme_index.sentences + run.sentences, "
    "occurrences = polyseme_index.occurrences + run.occurrences FROM run WHERE run.id = %s"
)


def finish(connection: Connection, run: int, about: About, *, append: bool) -> None:
    """Make what a run has stored part of the index.

    Args:
        connection: To the database.
        run: The number of the run.
        about: What the index is made with.
        append: Whether it is added to what is there.
    """
    if not append:
        for statement in tables.INDEXES:
            connection.rows(statement)
        _join_neighbours(connection)
    with connection.transaction():
        filled = sql.Identifier("new_occurrence" if append else "occurrence")
        connection.rows(sql.SQL(_COUNT).format(filled))
        if append:
            connection.rows("INSERT INTO sentence SELECT * FROM new_sentence")
            connection.rows("INSERT INTO occurrence SELECT * FROM new_occurrence")
            tables.drop(connection, "new_sentence", "new_occurrence")
        connection.rows("DELETE FROM whitening")  # the next query that wants one fits it on all of the text
        connection.rows(_ENTER, about.model_dump_json(), run)
        connection.rows("UPDATE run SET finished = true WHERE id = %s", run)
    connection.rows("ANALYZE sentence, occurrence, word")


def _join_neighbours(connection: Connection) -> None:
    """Make the graph of neighbours."""
    connection.rows(
        "SELECT set_config('maintenance_work_mem', %s, false) "
        "WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes(%s)",
        _MEMORY,
        _MEMORY,
    )
    try:
        connection.rows(tables.NEIGHBOURS)
    except StoreError:
        # Several processes share memory of that size, which a container may not have: one alone needs none.
        connection.rows("SELECT set_config('max_parallel_maintenance_workers', '0', false)")
        connection.rows(tables.NEIGHBOURS)
