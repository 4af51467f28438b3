"""What a page tells of a session: rows in, rows put aside, answers, and what is true of them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from augury.errors import AuguryError
from augury.language.printer import to_text
from augury.language.tree import CreatePolicy, CreateQuery, Explain, Write
from augury.report.scores import Judged
from augury.why.trials import ids_of

Row = dict[str, Any]


@dataclass(frozen=True)
class StreamRows:
    """The rows of a stream: how many readers see, from when to when, and which were put aside."""

    name: str
    good: int
    first: Any
    last: Any
    rejected: Mapping[str, int]
    is_guarded: bool


@dataclass(frozen=True)
class Truth:
    """What is known of the answers: each with its confidence, and how many there should be."""

    column: str
    judged: tuple[Judged, ...]
    relevant: int
    what: str


@dataclass(frozen=True)
class Answer:
    """The answer of a query: matches, probabilities or counts; `error` is why there is none."""

    name: str
    kind: str
    rows: tuple[Row, ...]
    keys: tuple[str, ...]
    threshold: float | None
    picture: str
    statement: str
    truth: Truth | None = None
    error: str = ""


def streams_of(ag: Any) -> list[StreamRows]:
    """Return what came of each stream that has rows; of those under a policy, what was kept."""
    catalog, found = ag._declared.catalog, []
    for name, schema in catalog.streams.items():
        if schema.query is not None or name not in ag._bound.rows:
            continue
        rows = ag._bound.local_runner().rows(name)
        is_guarded = name in catalog.guarded
        times = rows.column(schema.time) if schema.time else None
        first, last = (None if times is None else end(times).as_py() for end in (pc.min, pc.max))
        reasons = {} if is_guarded else _reasons(ag, name)
        found.append(StreamRows(schema.name, rows.num_rows, first, last, reasons, is_guarded))
    return found


def _reasons(ag: Any, stream: str) -> dict[str, int]:
    reasons = ag.rejected(stream).column("reason").to_pylist()
    return dict(Counter(reasons).most_common())


def script_of(ag: Any) -> str:
    """Return what was asked, without what a policy keeps private."""
    catalog = ag._declared.catalog
    if not catalog.policies:
        return "\n\n".join(text.strip() for text in ag._declared.texts)
    shown = []
    for statement in ag._declared.statements:
        if isinstance(statement, Explain | Write):
            continue
        if isinstance(statement, CreateQuery) and catalog.is_private(statement.name or ""):
            continue
        shown.append(
            _public(statement) if isinstance(statement, CreatePolicy) else to_text(statement)
        )
    return "\n\n".join(shown)


def _public(policy: CreatePolicy) -> str:
    weights = (f"{q.query} WEIGHT {1 if q.weight is None else q.weight:g}" for q in policy.public)
    public = ", ".join(weights) or "nothing by name"
    return f"-- POLICY {policy.name} ON {policy.stream} PUBLIC {public}"


def answers_of(ag: Any, truth: str | None) -> list[Answer]:
    """Return the answer of every query that may be read, in the order of the script."""
    catalog = ag._declared.catalog
    names = [name for name in ag.queries if catalog.is_private(name) is None]
    return [_answer(ag, name, truth) for name in names]


def _answer(ag: Any, name: str, truth: str | None) -> Answer:
    checked = ag._declared.checked_queries[name.lower()]
    keys = tuple(column.name for column in checked.keys)
    threshold = None if checked.having is None else checked.having.threshold
    picture = _picture(ag, name)
    statement = to_text(ag._declared.catalog.queries[name.lower()])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = tuple(ag.table(name).to_pylist())
    except AuguryError as problem:
        return Answer(name, "none", (), keys, threshold, picture, statement, error=str(problem))
    if not rows:
        return Answer(name, "matches", (), keys, threshold, picture, statement)
    if "confidence" in rows[0]:
        known = None if truth is None else _truth(ag, name, truth, rows, keys)
        return Answer(name, "matches", rows, keys, threshold, picture, statement, known)
    kind = "probabilities" if "probability" in rows[0] else "counts"
    groups = tuple(each for each in rows[0] if each not in ("query", "ts", "probability", *_ABOUT))
    return Answer(name, kind, rows, groups, threshold, picture, statement)


_ABOUT = ("method", "error_bound", "count", "revision")


def _picture(ag: Any, query: str) -> str:
    try:
        return str(ag.explain(query, "svg"))
    except AuguryError:
        return ""


# Truth --------------------------------------------------------------------------------------------


def _truth(ag: Any, query: str, column: str, rows: tuple[Row, ...], keys: tuple[str, ...]) -> Truth:
    """Return which answers are right: those whose column says so, or else all their events."""
    own = {name.lower(): name for name in rows[0]}
    known = _known(ag, query, column)
    if column.lower() in own:
        is_right = [_is_true(row[own[column.lower()]]) for row in rows]
    else:
        is_right = [all(_of_event(known, each) for each in row["events"]) for row in rows]
    if not keys:
        judged = tuple((r["confidence"], right) for r, right in zip(rows, is_right, strict=True))
        return Truth(column, judged, sum(is_right), "matches")
    best: dict[tuple[Any, ...], Judged] = {}
    for row, right in zip(rows, is_right, strict=True):
        key = tuple(row[name] for name in keys)
        best[key] = max(best.get(key, (-1.0, False)), (row["confidence"], right))
    relevant = _relevant(ag, query, column, keys)
    return Truth(column, tuple(best.values()), max(relevant, _right(best)), ", ".join(keys))


def _right(best: Mapping[Any, Judged]) -> int:
    return sum(right for _, right in best.values())


def _of_event(known: Mapping[str, bool], event: Row) -> bool:
    return bool(event["missed"]) or known.get(str(event["event_id"]), False)


def _known(ag: Any, query: str, column: str) -> dict[str, bool]:
    """Return what is true of each event, by its id."""
    found: dict[str, bool] = {}
    for stream in ag._declared.checked_queries[query.lower()].streams:
        bound = ag._bound.rows.get(stream.name.lower())
        if stream.query is not None or bound is None:
            continue
        if stream.column(column):
            rows = ag._bound.local_runner().rows(stream.name)
            values = rows.column(_named(rows.column_names, column)).to_pylist()
            found |= dict(zip(ids_of(stream, rows), map(_is_true, values), strict=True))
        elif stream.id is not None and hasattr(bound, "column_names"):
            names = {name.lower() for name in bound.column_names}
            if column.lower() not in names:
                continue
            ids = bound.column(_named(bound.column_names, stream.id)).to_pylist()
            values = bound.column(_named(bound.column_names, column)).to_pylist()
            found |= dict(zip(map(str, ids), map(_is_true, values), strict=True))
    return found


def _relevant(ag: Any, query: str, column: str, keys: tuple[str, ...]) -> int:
    """Return of how many keys there is something to be found, in rows that readers see."""
    guarded = ag._declared.catalog.guarded
    for stream in ag._declared.checked_queries[query.lower()].streams:
        bound = ag._bound.rows.get(stream.name.lower())
        if bound is not None and stream.name.lower() in guarded:
            bound = ag._bound.local_runner().rows(stream.name)
        names = {name.lower() for name in getattr(bound, "column_names", ())}
        if bound is None or not {column.lower(), *(key.lower() for key in keys)} <= names:
            continue
        columns = [bound.column(_named(bound.column_names, key)).to_pylist() for key in keys]
        truths = bound.column(_named(bound.column_names, column)).to_pylist()
        pairs = zip(zip(*columns, strict=True), truths, strict=True)
        return len({key for key, value in pairs if _is_true(value)})
    return 0


def _named(names: list[str], given: str) -> str:
    return next(name for name in names if name.lower() == given.lower())


def _is_true(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in ("true", "t", "yes", "y", "1")
    return bool(value)


def check_truth(ag: Any, column: str) -> None:
    """Raise where no stream and no answer has the column of truth."""
    names = {
        name.lower()
        for bound in ag._bound.rows.values()
        for name in getattr(bound, "column_names", ())
    }
    outputs = {
        output.column.name.lower()
        for query in ag._declared.checked_queries.values()
        for output in query.outputs
    }
    if column.lower() not in names | outputs:
        raise AuguryError(
            f"there is no column {column} in the rows or answers that could tell what is true"
        )
