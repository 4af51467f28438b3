"""Events that would have to be there: proposed, and taken where the engine then finds a match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.language import expressions as ex
from augury.language.tree import Component
from augury.why.draft import Draft, NewRows, columns_named, taken_by
from augury.why.explanation import shown
from augury.why.inventing import Known, NewEvent, Taken, proposals, times_between, wishes
from augury.why.patterns import positives
from augury.why.relaxing import Constraint, conjuncts, names_of
from augury.why.trials import Match, Rows

# Of matches that come near, of rows that may stand in for an event, and of times so many are tried.
MOST_MATCHES = 3
MOST_PROPOSALS = 120
MOST_TIMES = 6
MOST_KINDS = 12


class Adding:
    """Adds the events that a draft lacks; `whole` makes a match of a query below another."""

    def __init__(self, draft: Draft, whole: Callable[..., NewRows | None]) -> None:
        self.draft, self.asked, self.whole = draft, draft.asked, whole
        self.matters = {*self.asked.key, *columns_named(self.asked.checked)}

    def all(self) -> bool:
        """Add every event that is missing; return whether that could be done."""
        while lost := self.draft.broken_of("component"):
            if not self._one(min(lost, key=lambda each: each.path)):
                return False
        return True

    def _one(self, lost: Constraint) -> bool:
        draft = self.draft
        left = [each for each in draft.broken if each is not lost]
        if lost.missing > 1:
            left.append(replace(lost, number=lost.number + 1, missing=lost.missing - 1))
        trial, tried = replace(draft, broken=left), 0
        nearest: list[Match | None] = [*draft.meets(draft.rows)[:MOST_MATCHES]]
        for match in nearest or [None]:
            for new in self._rows_for(lost, match):
                tried += 1
                rows = draft.rows
                for stream, row in new:
                    rows = rows.and_row(stream, row)
                if trial.meets(rows):
                    draft.broken, draft.rows = left, rows
                    draft.added += new
                    self._say(lost, new)
                    return True
                if tried >= MOST_PROPOSALS or draft.is_enough:
                    return False
        return False

    def _say(self, lost: Constraint, new: NewRows) -> None:
        self.draft.reasons.append(f"no event for component {lost.says}")
        for stream, row in new:
            schema = self.asked.streams[stream]
            kind = "" if schema.type is None else f" {row[schema.type]}"
            own = {schema.time, schema.type, schema.id, schema.probability, schema.order_by}
            values = ", ".join(
                f"{name} = {shown(value)}"
                for name, value in row.items()
                if name not in own and value is not None and name.lower() in self.matters
            )
            at = shown(row[schema.time or ""])
            with_values = f" with {values}" if values else ""
            self.draft.says.append(f"with an event{kind} of {schema.name} at {at}{with_values}")

    def _rows_for(self, lost: Constraint, match: Match | None) -> Iterator[NewRows]:
        component = dict(positives(self.asked.query.pattern))[lost.path]
        taken = taken_by(self.asked, match, self.draft.rows)
        known = Known(taken, self.asked.tables)
        checked = next(
            (c for c in self.asked.checked.components if c.name.lower() == lost.says.lower()), None
        )
        for by in () if checked is None else checked.played_by:
            name = by.stream.lower()
            schema = self.asked.streams.get(self.asked.made.get(name, name))
            if schema is None:
                yield from self._matches_for(by.stream, lost, match)
                continue
            self.draft.budget.number += 1
            new = NewEvent(
                schema,
                by.type,
                self._models(schema, by.type, match, self.draft.rows),
                self._given(schema, lost.says, taken),
                self.draft.budget.number,
            )
            wished = [wishes(each, lost.says, known) for each in self._about(component, lost.says)]
            times = self._times(lost, match, self.draft.rows)
            for row in islice(proposals(new, times, wished), MOST_PROPOSALS):
                yield [(schema.name.lower(), row)]

    def _matches_for(self, stream: str, lost: Constraint, match: Match | None) -> Iterator[NewRows]:
        """Yield the rows of a whole match of the query whose match is an event here."""
        below = self.asked.below.get(stream.lower())
        if below is None:
            return
        taken = taken_by(self.asked, match, self.draft.rows)
        given = self._given(below.output_schema, lost.says, taken)
        for at in self._times(lost, match, self.draft.rows)[:MOST_TIMES]:
            inner = self.asked.of_query(below, self.draft.rows, given, at)
            made = self.whole(inner, self.draft.budget)
            if made is not None:
                yield made

    def _about(self, component: Component, name: str) -> list[ex.Expression]:
        query = self.asked.query
        both = [*conjuncts(query.where), *conjuncts(query.after_where)]
        own = [each for each in both if name.lower() in names_of(each)]
        return [*own, *([component.filter] if component.filter is not None else [])]

    def _given(self, schema: Any, name: str, taken: Taken) -> dict[str, Any]:
        """Return what keys and equalities say of a new event."""
        given = {column: value for column, value in self.asked.key.items() if schema.column(column)}
        components = self.asked.checked.components
        for equality in self.asked.checked.equalities:
            own = [c for k, c in equality.members if components[k].name.lower() == name.lower()]
            for k, column in equality.members:
                for row in taken.get(components[k].name.lower(), ())[:1]:
                    values = {key.lower(): value for key, value in row.items()}
                    given |= {each: values[column.lower()] for each in own}
        return given

    def _models(
        self, schema: Any, kind: str | None, match: Match | None, rows: Rows
    ) -> list[dict[str, Any]]:
        """Return rows after which a new one is modelled: of its type, and of the match."""
        table = rows.table(schema.name.lower())
        if kind is not None and schema.type is not None:
            table = table.filter(pc.equal(table.column(schema.type), kind))
        others = [] if match is None else self.asked.events(match, rows)
        near = [e.row for e in others if e.row is not None]
        if schema.name.lower() in self.asked.made.values():
            # Which reading is needed is written nowhere: one of each kind is tried.
            return [*near, *_of_each_kind(schema, table)]
        return [*table.slice(0, 3).to_pylist(), *near]

    def _times(self, lost: Constraint, match: Match | None, rows: Rows) -> list[Any]:
        if match is None:
            return self._any_time(rows)
        order = {c.name.lower(): k for k, c in enumerate(self.asked.checked.components)}
        own = order.get(lost.says.lower(), 0)
        earlier = [e["ts"] for e in match["events"] if order.get(e["component"].lower(), 0) <= own]
        later = [e["ts"] for e in match["events"] if order.get(e["component"].lower(), 0) > own]
        every = [e["ts"] for e in match["events"]]
        return times_between(
            max(earlier, default=None),
            min(later, default=None),
            self.asked.length,
            self.asked.ticks,
            every,
        )

    def _any_time(self, rows: Rows) -> list[Any]:
        if self.asked.around is not None:
            return [self.asked.around]
        found = [
            at
            for name, schema in self.asked.streams.items()
            for at in rows.table(name).column(schema.time).to_pylist()[-2:]
        ]
        step: Any = 1 if self.asked.ticks else timedelta(seconds=1)
        found = found or [self.asked.latest]
        return [*(at + step for at in found), *(at - step for at in found), *found]


def _of_each_kind(schema: StreamSchema, table: pa.Table) -> list[dict[str, Any]]:
    """Return rows that differ in more than when they were read, and of whom."""
    beside = {schema.time, schema.id, schema.probability, schema.order_by, *schema.key}
    columns = [column.name for column in schema.columns if column.name not in beside]
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in table.to_pylist():
        found.setdefault(tuple(row[name] for name in columns), row)
    return list(found.values())[:MOST_KINDS]
