"""A connection to a database: every statement goes through here, and every error becomes one line.

Statements are fixed texts (``LiteralString``, which the type checker enforces); all values, and whatever comes from a
corpus, are parameters or go through COPY.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import LiteralString, TypeAlias

from polyseme.errors import InputError, MissingPart, StoreError
from polyseme.files.whole import reason
from polyseme.index.postgres.address import Address

try:
    import psycopg
    from psycopg import sql as sql
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as error:
    raise MissingPart("an index in PostgreSQL needs psycopg; run: pip install 'polyseme[postgres]'") from error

Statement: TypeAlias = LiteralString | sql.Composed
Value: TypeAlias = object
Row: TypeAlias = tuple[Value, ...]

_SECONDS = 10  # to wait for a server that does not answer
_OLDEST = (0, 8)
"""The first version of pgvector that goes on searching if a filter leaves too few."""


class Connection:
    """A connection to the database of an index, with its schema in front.

    Args:
        address: Of the index.
        write: To make an index or add to one: pgvector is added to the database if it has not got it. Otherwise a
            connection that was lost is opened again when the next statement comes.

    Raises:
        StoreError: The server cannot be reached, or refuses.
        InputError: The database has no index, or cannot have one.
    """

    def __init__(self, address: Address, *, write: bool = False) -> None:
        self.address, self._write = address, write
        self._lock, self._inside = threading.RLock(), 0
        self._settings: dict[str, str] = {}
        with self._told():
            self._open()

    def close(self) -> None:
        """End it; an open transaction is given up."""
        self._psycopg.close()

    def __del__(self) -> None:
        if hasattr(self, "_psycopg"):
            self.close()

    def rows(self, statement: Statement, *values: Value) -> list[Row]:
        """What a statement gives."""
        with self._lock, self._told():
            try:
                return self._rows(statement, values)
            except psycopg.OperationalError:
                if self._write or self._inside or not self._psycopg.closed:
                    raise
            self._open()
            return self._rows(statement, values)

    def set(self, settings: dict[str, str]) -> None:
        """Change settings of the session, if they are others now."""
        with self._lock:
            for name, value in settings.items():
                if self._settings.get(name) != value:
                    self.rows("SELECT set_config(%s, %s, false)", name, value)
                    self._settings[name] = value

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements of the block, or none."""
        with self._lock, self._told(), self._psycopg.transaction():
            self._inside += 1
            try:
                yield
            finally:
                self._inside -= 1

    def stream(self, statement: LiteralString, many: int) -> Iterator[Row]:
        """What a statement gives, some rows at a time."""
        self.rows("SELECT 1")  # a connection that was lost is opened here, and not within the transaction
        with self.transaction(), self._psycopg.cursor(name="polyseme", binary=True) as cursor:
            cursor.itersize = many
            cursor.execute(statement)
            yield from cursor

    def copy(self, statement: Statement, data: bytes) -> None:
        """Send bytes in the binary format of COPY."""
        with self._told(), self._psycopg.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(data)

    def copy_rows(self, statement: Statement, types: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
        """Send rows of these types by a binary COPY."""
        with self._told(), self._psycopg.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the block as one line."""
        try:
            yield
        except psycopg.Error as error:
            why = " ".join((error.diag.message_primary or reason(error)).split())
            raise StoreError(f"{self.address.name}: {self._without_secrets(why)}") from error

    def _rows(self, statement: Statement, values: Sequence[Value]) -> list[Row]:
        with self._psycopg.cursor(binary=True) as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def _open(self) -> None:
        """Connect, look for pgvector and put the schema in front."""
        try:
            given = conninfo_to_dict(self.address.server)
            known = {"connect_timeout": _SECONDS, "application_name": "polyseme", **given, "client_encoding": "utf8"}
            self._psycopg = psycopg.connect(make_conninfo("", **known), autocommit=True)
        except psycopg.Error as error:
            why = self._without_secrets(reason(error).removeprefix("connection failed: "))
            raise StoreError(
                f"{self.address.name}: cannot connect ({why}); check the address, and that the server runs"
            ) from None
        self._settings = {}
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        name = self.address.name
        (encoding,) = self._rows("SHOW server_encoding", ())[0]
        if encoding != "UTF8":
            raise InputError(
                f"{name}: the database stores text as {encoding}, expected UTF8; create one with ENCODING 'UTF8'"
            )
        if self._write:
            with suppress(psycopg.errors.UniqueViolation):  # another process creates it at this moment
                self._add_extension()
        found = self._rows(
            "SELECT extversion, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
            "WHERE extname = 'vector'",
            (),
        )
        if not found:
            raise InputError(f"{name}: no index is here; build one with polyseme index")
        version, schema = (str(value) for value in found[0])
        if tuple(map(int, version.split(".")[:2])) < _OLDEST:
            raise InputError(
                f"{name}: the database has version {version} of pgvector, expected 0.8 or later; update it, then run "
                "ALTER EXTENSION vector UPDATE"
            )
        path = sql.SQL(", ").join([sql.Identifier(self.address.schema), sql.Identifier(schema)])
        self._rows("SELECT set_config('search_path', %s, false)", (path.as_string(self._psycopg),))

    def _add_extension(self) -> None:
        try:
            self._rows("CREATE EXTENSION IF NOT EXISTS vector", ())
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
            raise InputError(
                f"{self.address.name}: the server has no pgvector ({reason(error)}); install it there"
            ) from None
        except psycopg.errors.InsufficientPrivilege as error:
            raise InputError(
                f"{self.address.name}: pgvector cannot be added to the database ({reason(error)}); let its owner run "
                "CREATE EXTENSION vector"
            ) from None

    def _without_secrets(self, text: str) -> str:
        secret = self.address.password
        return text.replace(secret, "***") if secret else text
