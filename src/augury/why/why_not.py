"""Why a query has no match: rows that were put aside, and else the nearest miss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import DataType, StreamSchema
from augury.why.asked import Asked
from augury.why.explanation import Change, WhyNot, shown
from augury.why.nearest import Search
from augury.why.opening import Opened, asked_of

# Of rows that were put aside, so many are put back one by one.
MOST_ASIDE = 40


def why_not(opened: Opened, checked: CheckedQuery, key: Any = None, around: Any = None) -> WhyNot:
    """Return why a query has no match of a key, around a time."""
    asked, fixed = asked_of(opened, checked, key, around)
    found = asked.matches(asked.query, asked.rows) or []
    ids: tuple[str, ...] = ()
    unknown = asked.untried
    changes: list[Change] = []
    if found:
        ids, unknown = tuple(_own_ids(asked)), ()
    if not ids:
        search = Search(asked, fixed)
        changes = [*_put_back(opened, asked), *search.changes()]
        if asked.trials.count >= search.budget.stop:
            unknown += (f"more changes, for {asked.trials.count} questions were asked",)
    looked_at = sum(table.num_rows for table in asked.rows.tables.values())
    return WhyNot(checked.name, asked.key, asked.around, ids, tuple(changes), looked_at, unknown)


def _own_ids(asked: Asked) -> list[str]:
    """Return the ids of the matches that are meant, as the query itself tells them."""
    rows = asked.trials.session_matches(asked.checked.name, asked.rows)
    # One that asks for a probability or a count tells no matches.
    listed = [each for each in rows if "match_id" in each]
    return [each["match_id"] for each in asked.meant(listed, asked.rows)]


# Rows that were put aside -------------------------------------------------------------------------


def _put_back(opened: Opened, asked: Asked) -> Iterator[Change]:
    """Yield what would come of rows that were rejected or late, had they been good and in time."""
    for name, schema in asked.streams.items():
        if name in opened.catalog.guarded:
            continue
        for kind, table in opened.aside(name).items():
            for row in _of_interest(asked, table.to_pylist())[:MOST_ASIDE]:
                change = _if_good(asked, schema, kind, row)
                if change is not None:
                    yield change


def _of_interest(asked: Asked, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the key that is meant, or without any."""
    return [
        row
        for row in rows
        if all(own is None or own == asked.key.get(name.lower(), own) for name, own in row.items())
    ]


def _if_good(
    asked: Asked, schema: StreamSchema, kind: str, row: Mapping[str, Any]
) -> Change | None:
    name = schema.name.lower()
    mended = _mended(asked, schema, row, is_late=kind == "late")
    if mended is None:
        return None
    rows = asked.rows.and_row(name, mended)
    found = asked.matches(asked.query, rows)
    if not found:
        return None
    own = {k: v for k, v in row.items() if k in mended}
    fixed = [f"{k} = {shown(v)}" for k, v in mended.items() if own.get(k) != v]
    how = "in time" if kind == "late" else "good" + (f" ({', '.join(fixed)})" if fixed else "")
    at = shown(mended[schema.time or ""])
    return Change(
        ("late" if kind == "late" else "rejected",),
        (f"a row of {schema.name} at {at} was {kind}: {row.get('reason')}",),
        (f"had the row of {schema.name} at {at} been {how}",),
        None,
        {name: [mended]},
        {},
        found[0]["confidence"],
        asked.events(found[0], rows),
        (),
    )


def _mended(
    asked: Asked, schema: StreamSchema, row: Mapping[str, Any], *, is_late: bool
) -> dict[str, Any] | None:
    """Return a row that was put aside as it should have been; None where that cannot be told."""
    mended = {column.name: row.get(column.name) for column in schema.columns}
    if is_late:
        return mended
    for column in schema.columns:
        if mended[column.name] is None and column.name.lower() in asked.key:
            mended[column.name] = asked.key[column.name.lower()]
    if schema.probability is not None and not _is_chance(mended[schema.probability]):
        mended[schema.probability] = 1.0
    if schema.time is not None and mended[schema.time] is None:
        mended[schema.time] = asked.around
    taken = set() if schema.id is None else set(asked.places(asked.rows))
    if schema.id is not None and (mended[schema.id] is None or str(mended[schema.id]) in taken):
        own = schema.column(schema.id)
        is_text = own is not None and own.type is DataType.STRING
        mended[schema.id] = "new" if is_text else 10**15
    needed = (schema.time, *schema.key)
    return None if any(mended[name] is None for name in needed if name is not None) else mended


def _is_chance(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1
