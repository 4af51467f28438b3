"""The outbox of a store: firings that are to be told elsewhere, written with what they changed.

A letter is put in by the transaction that writes the rows of its firing, so there is one if and
only if the firing is. It stays until somebody has taken it. The id of the firing names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from augury.stores.letter import OUTBOX, Letter

_TABLE = sa.Table(
    OUTBOX,
    sa.MetaData(),
    sa.Column("firing_id", sa.String(64), primary_key=True),
    sa.Column("target", sa.String(1000), primary_key=True),
    sa.Column("ts", sa.BigInteger, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("refused", sa.Text),
)


def put_in(connection: Any, letters: Iterable[Letter]) -> None:
    """Add letters, once each."""
    rows = [
        {"firing_id": x.firing_id, "target": x.target, "ts": x.ts, "number": x.number}
        | {"body": x.body}
        for x in letters
    ]
    if rows:
        _TABLE.create(connection, checkfirst=True)
        is_large = connection.dialect.name == "postgresql"
        made: Any = postgresql.insert(_TABLE) if is_large else sqlite.insert(_TABLE)
        connection.execute(made.on_conflict_do_nothing(), rows)


def waiting(connection: Any, most: int, targets: Iterable[str]) -> list[Letter]:
    """Return the first letters to targets that nobody has taken, in the order of their firings."""
    if not sa.inspect(connection).has_table(OUTBOX):
        return []
    asked = sa.select(_TABLE).where(
        _TABLE.c.refused.is_(None), _TABLE.c.target.in_(sorted(targets))
    )
    asked = asked.order_by(_TABLE.c.ts, _TABLE.c.number, _TABLE.c.firing_id).limit(most)
    found = connection.execute(asked)
    return [Letter(x.firing_id, x.target, x.ts, x.number, x.body) for x in found]


def taken(connection: Any, letter: Letter) -> None:
    """Take a letter out."""
    connection.execute(_TABLE.delete().where(*_is(letter)))


def refused(connection: Any, letter: Letter, reason: str) -> None:
    """Keep a letter that will never be taken, with the reason, and pass it over."""
    connection.execute(_TABLE.update().where(*_is(letter)).values(refused=reason))


def _is(letter: Letter) -> tuple[Any, ...]:
    return _TABLE.c.firing_id == letter.firing_id, _TABLE.c.target == letter.target
