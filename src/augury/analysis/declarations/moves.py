"""CREATE MODEL ... MOVES, and streams whose events get owners: names, columns and clauses.

OBJECTS is the closed world: its columns OWNER, PLACE and BY are called as in the stream. A model
has a hall (HALL, EXIT) or doors (DOORS, FROM_PLACE). The stream must have an ID, by which
alternatives of one event are told apart, and be certain: only who did it is in doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from augury.analysis import places
from augury.analysis.declarations.catalog import (
    Column,
    DataType,
    Identified,
    MovesSchema,
    StreamSchema,
    TableSchema,
)
from augury.analysis.declarations.durations import microseconds
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.misnamed import what_it_is
from augury.analysis.declarations.streams import check_length
from augury.analysis.expressions.comparable import comparable
from augury.analysis.findings import Findings, listing, suggest
from augury.language.expressions import Duration
from augury.language.tree import CreateMoves, IdentifyStream, Window

SECOND = 1_000_000
# What is told beside the columns of the stream.
P, REVISION, AS_OF, METHOD, ERROR_BOUND = "p", "revision", "as_of", "method", "error_bound"
TOLD = (P, REVISION, AS_OF, METHOD, ERROR_BOUND)
Value = str | int | float | bool | None


def read_moves(statement: CreateMoves, ledger: Ledger, findings: Findings) -> MovesSchema | None:
    """Return a model of moves whose parts are there and fit; None where they do not (reported)."""
    before = findings.error_count
    reading = _Reading(statement, ledger, findings)
    found = reading.schema()
    return None if findings.error_count > before else found


class _Reading:
    """One model of moves while its parts are looked up."""

    def __init__(self, statement: CreateMoves, ledger: Ledger, findings: Findings) -> None:
        self.statement, self.ledger, self.findings = statement, ledger, findings

    def report(self, message: str, hint: str, word: str = "") -> None:
        span = places.word(self.findings.source, self.statement.span, word or self.statement.name)
        self.findings.error("A090", f"model {self.statement.name} {message}", span, hint)

    def schema(self) -> MovesSchema | None:
        """Return the model, with the columns that it names."""
        node = self.statement
        self._ways_are_one()
        missing = [
            word
            for word, value in (
                ("OBJECTS", node.objects),
                ("OWNER", node.owner),
                ("PLACE", node.place),
                ("ENTER", node.enter),
            )
            if value is None
        ]
        if missing:
            what = "add " + listing([f"{word} ..." for word in missing])
            self.report(f"lacks {listing(missing)}", what)
            return None
        self._step_is_positive()
        staff = self._table(node.objects or "")
        if staff is None:
            return None
        owner, place = self._column(staff, node.owner), self._column(staff, node.place)
        by = self._column(staff, node.by) if node.by is not None else None
        if owner is None or place is None:
            return None
        self._places_fit(place)
        self._tables_fit(owner, place)
        return MovesSchema(node.name, owner, place, by, node)

    def _ways_are_one(self) -> None:
        node = self.statement
        hall = [("HALL", node.hall), ("EXIT", node.exit)]
        if node.doors is None:
            missing = [word for word, value in hall if value is None]
            if missing:
                hint = "add HALL and EXIT, or DOORS with a table of passages"
                self.report(f"lacks {listing(missing)}", hint)
            if node.from_place is not None:
                what = "has FROM_PLACE, but a hall: where from is known there"
                self.report(what, "remove FROM_PLACE, or write DOORS", "FROM_PLACE")
            if node.enter is not None and node.enter == node.exit:
                what = f"takes {node.enter!r} for ENTER and for EXIT"
                self.report(what, "name two types of events", "EXIT")
            return
        for word, value in hall:
            if value is not None:
                hint = f"remove {word}: with DOORS, ENTER leads from any place to the next"
                self.report(f"has {word} and DOORS", hint, word)

    def _step_is_positive(self) -> None:
        step = self.statement.step
        if step is not None and not _amount(step) > 0:
            self.report("has a STEP that is not above 0", "write STEP 1 SECOND", "STEP")

    def _places_fit(self, place: Column) -> None:
        hall = self.statement.hall
        if hall is not None and not comparable(place.type, _type_of(hall)):
            what = f"has the hall {hall!r}, but column {place.name} is a {place.type.value}"
            self.report(what, "write the hall as a value of that column", "HALL")

    def _tables_fit(self, owner: Column, place: Column) -> None:
        node = self.statement
        if node.doors is not None:
            self._fits(node.doors, (place.type, place.type))
        if node.prefer is not None:
            self._fits(node.prefer, (owner.type, place.type, DataType.DOUBLE))

    def _fits(self, written: Sequence[str], kinds: Sequence[DataType]) -> None:
        name, *columns = written
        table = self._table(name)
        if table is None:
            return
        for column, kind in zip(columns, kinds, strict=True):
            own = self._column(table, column)
            if own is not None and not comparable(own.type, kind):
                what = f"names {table.name}.{own.name}, which is a {own.type.value}"
                self.report(what, f"declare {own.name} {kind.value}", own.name)

    def _table(self, name: str) -> TableSchema | None:
        table = self.ledger.tables.get(name.lower())
        if table is None and not self.ledger.has_failed(name):
            known = [each.name for each in self.ledger.tables.values()]
            hint = suggest(name, known, "declare it with CREATE TABLE")
            what = what_it_is(name, "table", self.ledger)
            self.report(f"names the table {name}, which {what}", hint, name)
        return table

    def _column(self, table: TableSchema, name: str | None) -> Column | None:
        lowered = (name or "").lower()
        own = next((c for c in table.columns if c.name.lower() == lowered), None)
        if own is None:
            hint = suggest(
                name or "", [c.name for c in table.columns], f"declare it in {table.name}"
            )
            self.report(f"names the column {name}, which {table.name} lacks", hint, name or "")
        return own


def _amount(window: Window) -> float:
    length = window.length
    return length.amount if isinstance(length, Duration) else length


def _type_of(value: Value) -> DataType:
    if isinstance(value, bool):
        return DataType.BOOLEAN
    if isinstance(value, str):
        return DataType.STRING
    return DataType.LONG if isinstance(value, int) else DataType.DOUBLE


# Streams whose events get owners ------------------------------------------------------------------


def read_identified(
    statement: IdentifyStream, ledger: Ledger, findings: Findings
) -> tuple[Identified, StreamSchema] | None:
    """Return how the events of a stream get owners, and the stream that this gives."""
    before = findings.error_count

    def report(message: str, hint: str, word: str) -> None:
        span = places.word(findings.source, statement.span, word)
        findings.error("A091", f"stream {statement.name} {message}", span, hint)

    model = ledger.moves.get(statement.model.lower())
    if model is None and statement.model.lower() in ledger.models:
        message = f"uses the model {statement.model}, which is none of MOVES"
        report(message, "write AS FILTER or AS SMOOTH for it", statement.model)
    elif model is None and not ledger.has_failed(statement.model):
        known = [m.name for m in ledger.moves.values()]
        hint = suggest(statement.model, known, "declare it with CREATE MODEL ... MOVES")
        what = what_it_is(statement.model, "model", ledger)
        report(f"uses the model {statement.model}, which {what}", hint, statement.model)
    source = ledger.streams.get(statement.readings.lower())
    if source is None and not ledger.has_failed(statement.readings):
        known = [s.name for s in ledger.streams.values()]
        hint = suggest(statement.readings, known, "declare it with CREATE STREAM")
        report(f"reads {statement.readings}, which is no declared stream", hint, statement.readings)
    _check_clauses(statement, findings)
    if model is None or source is None:
        return None
    for message, hint in _unfit(source, model):
        report(message, hint, source.name)
    _check_lengths(statement, model, source, findings)
    if findings.error_count > before:
        return None
    return _identified(statement, model, source)


def _check_clauses(statement: IdentifyStream, findings: Findings) -> None:
    def error(code: str, message: str, word: str, hint: str) -> None:
        findings.error(code, message, places.word(findings.source, statement.span, word), hint)

    if statement.by is not None and not 0.0 < statement.by <= 1.0:
        message = f"REVISE BY {statement.by:g} is not above 0 and at most 1"
        error("A092", message, "REVISE", "write a difference of probabilities, such as 0.5")
    if statement.within is None and statement.revise != "NEVER":
        message = f"stream {statement.name} has no WITHIN, so it could be told again for ever"
        error("A021", message, statement.name, "add WITHIN 60 MINUTES, or REVISE NEVER")
    if statement.within is not None and _amount(statement.within) < 0:
        error("A023", "WITHIN is negative", "WITHIN", "write a length of 0 or more")


def _check_lengths(
    statement: IdentifyStream, model: MovesSchema, source: StreamSchema, findings: Findings
) -> None:
    span = places.word(findings.source, statement.span, "WITHIN")
    if statement.within is not None:
        check_length(statement.within.length, source.time_is_ticks, "WITHIN", span, findings)
    step = model.statement.step
    if step is not None:
        place = places.word(findings.source, statement.span, model.name)
        check_length(step.length, source.time_is_ticks, "STEP", place, findings)


def _unfit(source: StreamSchema, model: MovesSchema) -> Iterator[tuple[str, str]]:
    node = model.statement
    for clause, value in (("ID", source.id), ("TIME", source.time), ("TYPE", source.type)):
        if value is None:
            yield (
                f"reads {source.name}, which has no {clause}",
                f"declare {clause} on {source.name}",
            )
    if source.is_uncertain or source.markov:
        hint = "only who did it may be in doubt: identify events that happened"
        yield f"reads {source.name}, whose rows are uncertain", hint
    named = [(node.owner, model.owner.type), (node.place, model.place.type)]
    named += [(node.from_place, model.place.type)] if node.from_place else []
    named += [(node.by, model.by.type)] if model.by else []
    for name, kind in named:
        own = source.column(name or "")
        if own is None:
            yield f"reads {source.name}, which has no column {name}", f"declare {name} {kind.value}"
        elif not comparable(own.type, kind):
            what = f"whose column {own.name} is a {own.type.value}, and a {kind.value} in the model"
            yield f"reads {source.name}, {what}", "give both one type"
    if node.owner and any(node.owner.lower() == key.lower() for key in source.key):
        hint = (
            f"leave {node.owner} out of the KEY of {source.name}: it is NULL where nobody was read"
        )
        yield f"reads {source.name}, whose KEY is the owner", hint
    yield from _unfit_values(source, model)


def _unfit_values(source: StreamSchema, model: MovesSchema) -> Iterator[tuple[str, str]]:
    node, kind = model.statement, source.column(source.type or "")
    for word, value in (("ENTER", node.enter), ("EXIT", node.exit)):
        if kind is not None and value is not None and not comparable(kind.type, _type_of(value)):
            what = (
                f"reads {source.name}, whose types are {kind.type.value}, unlike {word} {value!r}"
            )
            yield what, f"write {word} as a value of column {kind.name}"
    taken = [c.name for c in source.columns if c.name.lower() in TOLD]
    if taken:
        yield f"would have two columns {listing(taken)}", f"rename {taken[0]} in {source.name}"


def _identified(
    statement: IdentifyStream, model: MovesSchema, source: StreamSchema
) -> tuple[Identified, StreamSchema]:
    time = source.column(source.time or "")
    owner = source.column(model.statement.owner or "")
    by = source.column(model.statement.by) if model.statement.by else None
    assert time is not None
    assert owner is not None
    added = (
        Column(P, DataType.DOUBLE),
        Column(REVISION, DataType.LONG),
        Column(AS_OF, time.type),
        Column(METHOD, DataType.STRING),
        Column(ERROR_BOUND, DataType.DOUBLE),
    )
    schema = StreamSchema(
        statement.name,
        (*source.columns, *added),
        id=source.id,
        key=(by.name, owner.name) if by else (owner.name,),
        time=source.time,
        order_by=source.order_by,
        type=source.type,
        probability=P,
        alternatives=(owner.name,),
        lateness=source.lateness,
        is_identified=True,
    )
    within = _units(statement.within) if statement.within else 0
    step = model.statement.step
    default = 1 if source.time_is_ticks else SECOND
    return Identified(statement, within, _units(step) if step else default), schema


def _units(window: Window) -> int:
    length = window.length
    return microseconds(length) if isinstance(length, Duration) else int(length)
