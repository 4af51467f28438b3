"""Where a store lies: its address with secrets from the environment, and a way to ask it.

Secrets are in no text that leaves here: `${NAME}` stays as it was written, and what a driver says
is told without them.
"""

from __future__ import annotations

import os
import re
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from augury.config import value_of
from augury.errors import StoreError

_SECRET = re.compile(r"\$\{([^}]*)\}")
T = TypeVar("T")
# The first pause before a store is asked again; each is twice the one before, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0


@dataclass
class StoreAddress:
    """A store's name and address as they were declared; `pause` waits, in tests it does not."""

    name: str
    url: str
    pause: Callable[[float], None] = field(default=time.sleep, repr=False)

    @cached_property
    def _secrets(self) -> dict[str, str]:
        found = {}
        for name in _SECRET.findall(self.url):
            if name not in os.environ:
                raise StoreError(
                    f"store {self.name} lies at {self._shown}, and the environment has no {name}; "
                    f"set {name}"
                )
            found[name] = os.environ[name]
        return found

    @property
    def _shown(self) -> str:
        """The address without what may be a password."""
        shown = re.sub(r"(://[^:/@]*:)(?!\$\{)[^@]*@", r"\1***@", self.url)
        return re.sub(r"([?&]password=)(?!\$\{)[^&]*", r"\1***", shown)

    @cached_property
    def engine(self) -> Any:
        """What is asked: SQLAlchemy's engine. Nothing is connected before the first question."""
        url = sa.make_url(self._filled)
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        try:
            made = sa.create_engine(url, pool_pre_ping=not self.is_embedded, max_overflow=-1)
        except ImportError as error:
            raise StoreError(
                f"store {self.name} needs the package {error.name}; "
                "pip install 'augury[postgres]' brings it"
            ) from error
        if self.is_embedded:
            _embed(made)
        weakref.finalize(self, made.dispose)
        return made

    @property
    def _filled(self) -> str:
        """The address with secrets, each as a part of an address is written."""
        secrets = self._secrets
        return _SECRET.sub(lambda found: quote(secrets[found[1]], safe=""), self.url)

    @property
    def is_embedded(self) -> bool:
        """Whether it is a file of SQLite."""
        return self.url.startswith("sqlite")

    def ask(self, what: Callable[[Any], T]) -> T:
        """Return what a transaction gives; it is asked again while the store does not answer.

        A transaction that is asked again must find out itself whether it was done.
        """
        wait = FIRST_PAUSE
        for left in range(value_of("store_retries"), -1, -1):
            try:
                with self.engine.begin() as connection:
                    return what(connection)
            except SQLAlchemyError as error:
                answers = not (isinstance(error, DBAPIError) and _is_silence(error))
                if answers or not left:
                    said = "refuses" if answers else "does not answer"
                    raise StoreError(
                        f"store {self.name} at {self._shown} {said}: {self._told(error)}; "
                        "nothing of this transaction was written"
                    ) from None
            self.pause(wait)
            wait = min(2 * wait, LONGEST_PAUSE)
        raise AssertionError("the last try returns or raises")

    def _told(self, error: Exception) -> str:
        """Return what a driver said, in one line and without secrets."""
        text = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        for secret in self._secrets.values():
            text = text.replace(secret, "***")
        return text or type(error).__name__

    def close(self) -> None:
        """Let go of all connections."""
        if "engine" in self.__dict__:
            self.engine.dispose()


def _is_silence(error: Any) -> bool:
    """Return whether a store may answer the next time: it is busy, or the line is broken."""
    if error.connection_invalidated or isinstance(error, InterfaceError):
        return True
    return isinstance(error, OperationalError)


def _embed(engine: Any) -> None:
    """Let SQLite write ahead, wait for others, and begin transactions when they begin."""

    def connected(connection: Any, _: Any) -> None:
        # The driver would begin transactions late, and not before CREATE TABLE.
        connection.isolation_level = None
        for setting in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=5000"):
            connection.execute(f"PRAGMA {setting}")

    def begun(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    sa.event.listen(engine, "connect", connected)
    sa.event.listen(engine, "begin", begun)
