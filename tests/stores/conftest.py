"""One PostgreSQL server for all tests of a process, and a new database for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stores.databases import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Yield a PostgreSQL server."""
    made = Server()
    yield made
    made.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ward.db"
    own: Server = request.getfixturevalue("server")
    return own.database()
