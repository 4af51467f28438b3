"""The changes of tables that lie in stores, as rows: what travels to who commits them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from augury.rules.contents import Row
from augury.rules.stage import Firing

# Changes as they travel to who commits them: rows as they are inside, in JSON.
WRITTEN = pa.schema(
    [
        ("ts", pa.int64()),
        ("number", pa.int64()),
        ("table", pa.string()),
        ("before", pa.string()),
        ("after", pa.string()),
    ]
)


def written(firings: Iterable[Firing], tables: Iterable[str]) -> pa.Table:
    """Return the changes of some tables as rows for `Stores.commit_rows`."""
    names = frozenset(tables)
    changes = [c for firing in firings for c in firing.changes if c.table in names]
    columns: list[list[Any]] = [
        [c.ts for c in changes],
        list(range(len(changes))),
        [c.table for c in changes],
        [_text(c.before) for c in changes],
        [_text(c.after) for c in changes],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, WRITTEN, strict=True)]
    return pa.table(arrays, schema=WRITTEN)


def _text(row: Row | None) -> str | None:
    return None if row is None else json.dumps(row)
