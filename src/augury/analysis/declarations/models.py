"""CREATE MODEL, and streams that are inferred with one: names, columns and clauses.

A model's tables name their columns after its states: `place` in STATES and EMISSION, `place_from`
and `place_to` in TRANSITION. Which sensor read is the TYPE of the readings; EMISSION has that
column too, and one more if a sensor reads values. The probability is a DOUBLE that is called p.
A model of positions has rectangles in CELLS, whose other columns are the states, segments in WALLS,
and in ANTENNAS where each sensor is, how far it reaches, and p.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from augury.analysis import places
from augury.analysis.declarations.catalog import (
    Column,
    DataType,
    Inferred,
    ModelSchema,
    StreamSchema,
    TableSchema,
)
from augury.analysis.declarations.durations import microseconds
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.misnamed import what_it_is
from augury.analysis.expressions.comparable import comparable
from augury.analysis.findings import Findings, listing, suggest
from augury.language.tree import CreateModel, InferStream

P = "p"
CORNERS = ("x_from", "y_from", "x_to", "y_to")
HEARD = ("x", "y", "reach", P)
MOST_PARTICLES = 1_000_000
SECOND = 1_000_000
Found = tuple[Inferred, *tuple[StreamSchema, ...]]


def read_model(statement: CreateModel, ledger: Ledger, findings: Findings) -> ModelSchema | None:
    """Return a model whose parts are there and fit; None where they do not (reported)."""
    before = findings.error_count
    reading = _Reading(statement, ledger, findings)
    if statement.kind == "POSITIONS":
        states = reading.floor()
    else:
        states = reading.labelled() if statement.learn_on else reading.tables()
    if findings.error_count > before or states is None:
        return None
    step = microseconds(statement.step) if statement.step else SECOND
    return ModelSchema(statement.name, states, statement, step)


class _Reading:
    """One CREATE MODEL while its parts are looked up."""

    def __init__(self, statement: CreateModel, ledger: Ledger, findings: Findings) -> None:
        self.statement, self.ledger, self.findings = statement, ledger, findings

    def report(self, message: str, hint: str, word: str = "") -> None:
        span = places.word(self.findings.source, self.statement.span, word or self.statement.name)
        self.findings.error("A090", f"model {self.statement.name} {message}", span, hint)

    def tables(self) -> tuple[Column, ...] | None:
        """Return the state's columns, if every table is there and has them."""
        node = self.statement
        given = {
            "STATES": node.states,
            "TRANSITION": node.transition,
            "EMISSION": node.emission,
        }
        if self._lacks(given):
            return None
        states = self._table(node.states or "")
        if states is None:
            return None
        columns = states.columns
        moves = [Column(f"{c.name}{end}", c.type) for end in ("_from", "_to") for c in columns]
        self._has(node.transition, (*moves, Column(P, DataType.DOUBLE)))
        self._has(node.emission, (*columns, Column(P, DataType.DOUBLE)))
        if node.initial is not None:
            self._has(node.initial, (*columns, Column(P, DataType.DOUBLE)))
        if node.learn_from is not None:
            self._stream(node.learn_from)
        return columns

    def floor(self) -> tuple[Column, ...] | None:
        """Return the columns of the cells that are no corners, if the floor's tables fit."""
        node = self.statement
        if self._lacks({"CELLS": node.cells, "ANTENNAS": node.antennas, "SPEED": node.speed}):
            return None
        if not (node.speed or 0.0) > 0.0:
            hint = "write how far a step goes, such as SPEED 1.4"
            self.report(f"has the SPEED {node.speed:g}, which is not above 0", hint, "SPEED")
        if not 0.0 <= (node.rest or 0.0) < 1.0:
            hint = "write a probability below 1"
            self.report(f"has the REST {node.rest:g}, with which nobody ever walks", hint, "REST")
        corners = tuple(Column(name, DataType.DOUBLE) for name in CORNERS)
        self._has(node.cells, corners)
        self._has(node.antennas, tuple(Column(name, DataType.DOUBLE) for name in HEARD))
        if node.walls is not None:
            self._has(node.walls, corners)
        cells = self._table(node.cells or "", is_reported=True)
        states = tuple(c for c in cells.columns if c.name.lower() not in CORNERS) if cells else ()
        if cells is not None and not states:
            hint = f"declare a column such as room STRING in table {cells.name}"
            self.report(f"has cells without a name in table {cells.name}", hint, cells.name)
        if node.initial is not None:
            self._has(node.initial, (*states, Column(P, DataType.DOUBLE)))
        return states

    def _lacks(self, given: Mapping[str, object]) -> bool:
        missing = [part for part, value in given.items() if value is None]
        if missing:
            what = "a number" if missing[0] == "SPEED" else "the name of a table"
            self.report(f"lacks {listing(missing)}", f"add {missing[0]} and {what}")
        return bool(missing)

    def labelled(self) -> tuple[Column, ...] | None:
        """Return the columns that label the readings: those of neither key nor time."""
        node = self.statement
        labels, readings = self._stream(node.learn_from or ""), self._stream(node.learn_on or "")
        if labels is None or readings is None:
            return None
        apart = {*labels.key, labels.time, labels.id, labels.order_by, labels.probability}
        states = tuple(c for c in labels.columns if c.name not in apart)
        if labels.key != readings.key or not states:
            what = "have no column that is a state" if not states else "have another KEY"
            hint = f"declare {labels.name} with the KEY of {readings.name}, a TIME and the states"
            self.report(f"is learned from {labels.name}, whose labels {what}", hint, labels.name)
            return None
        return states

    def _table(self, name: str, *, is_reported: bool = False) -> TableSchema | None:
        table = self.ledger.tables.get(name.lower())
        if table is None and not is_reported and not self.ledger.has_failed(name):
            known = [t.name for t in self.ledger.tables.values()]
            hint = suggest(name, known, "declare it with CREATE TABLE")
            what = what_it_is(name, "table", self.ledger)
            self.report(f"names the table {name}, which {what}", hint, name)
        return table

    def _stream(self, name: str) -> StreamSchema | None:
        stream = self.ledger.streams.get(name.lower())
        if stream is None and not self.ledger.has_failed(name):
            known = [s.name for s in self.ledger.streams.values()]
            hint = suggest(name, known, "declare it with CREATE STREAM")
            self.report(f"is learned from {name}, which is no declared stream", hint, name)
        return stream

    def _has(self, name: str | None, expected: Sequence[Column]) -> None:
        table = self._table(name or "")
        if table is None:
            return
        for column in expected:
            own = next((c for c in table.columns if c.name.lower() == column.name.lower()), None)
            hint = f"declare {column.name} {column.type.value} in table {table.name}"
            if own is None:
                what = f"names the table {table.name}, which has no column {column.name}"
                self.report(what, hint, table.name)
            elif not comparable(own.type, column.type):
                kind = own.type.value
                what = f"names the table {table.name}, whose column {own.name} is a {kind}"
                self.report(what, hint, table.name)


# Inferred streams ---------------------------------------------------------------------------------


def read_inferred(statement: InferStream, ledger: Ledger, findings: Findings) -> Found | None:
    """Return how a stream is inferred, and the streams that this gives; None where it cannot be."""
    before = findings.error_count
    model, readings = ledger.models.get(statement.model.lower()), None
    if statement.model.lower() in ledger.moves:
        message = f"uses the model {statement.model}, which is one of MOVES"
        _report(statement, findings, message, "write AS IDENTIFY for it")
    elif model is None and not ledger.has_failed(statement.model):
        known = [m.name for m in ledger.models.values()]
        hint = suggest(statement.model, known, "declare it with CREATE MODEL")
        what = what_it_is(statement.model, "model", ledger)
        _report(statement, findings, f"uses the model {statement.model}, which {what}", hint)
    readings = ledger.streams.get(statement.readings.lower())
    if readings is None and not ledger.has_failed(statement.readings):
        known = [s.name for s in ledger.streams.values()]
        hint = suggest(statement.readings, known, "declare it with CREATE STREAM")
        message = f"reads {statement.readings}, which is no declared stream"
        _report(statement, findings, message, hint)
    _check_clauses(statement, model, readings, findings)
    if model is None or readings is None:
        return None
    for message, hint in _unfit(readings, model, ledger):
        _report(statement, findings, message, hint)
    return None if findings.error_count > before else _streams(statement, model, readings)


def _report(statement: InferStream, findings: Findings, message: str, hint: str) -> None:
    span = places.word(findings.source, statement.span, statement.name)
    findings.error("A091", f"stream {statement.name} {message}", span, hint)


def _check_clauses(
    statement: InferStream,
    model: ModelSchema | None,
    readings: StreamSchema | None,
    findings: Findings,
) -> None:
    def report(word: str, message: str, hint: str) -> None:
        span = places.word(findings.source, statement.span, word)
        findings.error("A092", message, span, hint)

    if statement.lag is not None and statement.method != "SMOOTH":
        hint = "write SMOOTHED" if statement.method == "PARTICLES" else "write AS SMOOTH"
        report("LAG", f"LAG looks ahead, which {statement.method} does not", hint)
    if statement.prune is not None and not 0 < statement.prune < 1:
        hint = "write a small probability, such as 0.001"
        report("PRUNE", f"PRUNE {statement.prune:g} is not between 0 and 1", hint)
    if statement.prune is not None and statement.method in ("VITERBI", "MLE", "PARTICLES"):
        is_many = statement.method == "PARTICLES"
        has = "leave out the unlikely by themselves" if is_many else "has one only"
        message = f"PRUNE leaves out states, but {statement.method} {has}"
        report("PRUNE", message, "remove PRUNE")
    if statement.smoothed and statement.method != "PARTICLES":
        message = f"SMOOTHED is for PARTICLES, not for {statement.method}"
        report("SMOOTHED", message, "write AS SMOOTH, or remove SMOOTHED")
    if statement.correlated:
        _check_correlated(statement, report)
    if statement.particles is not None and not 0 < statement.particles <= MOST_PARTICLES:
        message = f"PARTICLES ({statement.particles}) is not between 1 and {MOST_PARTICLES}"
        report("PARTICLES", message, "write a number such as 1000")
    if model is not None:
        _check_kind(statement, model, report)
    ticks = readings is not None and readings.time_is_ticks
    if ticks and model is not None and model.statement.step is not None:
        message = f"the TIME of {statement.readings} is in ticks, which are one step each"
        report(statement.readings, message, f"remove STEP from model {model.name}")


def _check_correlated(statement: InferStream, report: Callable[[str, str, str], None]) -> None:
    is_apart = statement.method == "FILTER" or statement.lag is not None
    if not is_apart:
        always = statement.method == "SMOOTH"
        has = "is correlated as it is" if always else "has no correlation to keep"
        hint = "remove CORRELATED" if always else "write it with FILTER, or SMOOTH ... LAG 5"
        report("CORRELATED", f"{statement.method} {has}", hint)
    if statement.prune is not None:
        message = "PRUNE leaves out states by steps, but CORRELATED needs where each came from"
        report("PRUNE", message, "remove PRUNE, or CORRELATED")


def _check_kind(
    statement: InferStream, model: ModelSchema, report: Callable[[str, str, str], None]
) -> None:
    has_positions, kind = model.statement.kind == "POSITIONS", statement.method
    if has_positions and kind != "PARTICLES":
        message = f"{kind} sums over states, but model {model.name} has continuous positions"
        report(kind, message, "write AS PARTICLES (1000)")
    if kind == "PARTICLES" and not has_positions:
        message = f"PARTICLES guess at positions, but model {model.name} has states"
        report("PARTICLES", message, "write AS FILTER or AS SMOOTH, which are exact")


def _unfit(readings: StreamSchema, model: ModelSchema, ledger: Ledger) -> Iterator[tuple[str, str]]:
    name = readings.name
    if readings.time is None:
        yield f"reads {name}, which has no TIME", f"declare TIME on {name}"
    if readings.type is None:
        yield f"reads {name}, which has no TYPE", f"declare which column of {name} is the sensor"
    if readings.is_uncertain:
        yield (
            f"reads {name}, whose rows are uncertain",
            "readings are what was read, with certainty",
        )
    taken = {*readings.key, readings.time, P} & {c.name for c in model.states}
    if taken:
        yield (
            f"would have two columns {listing(sorted(map(str, taken)))}",
            "rename the state's column",
        )
    heard = model.statement.emission or model.statement.antennas or ""
    emission = ledger.tables.get(heard.lower())
    if emission is not None and readings.type is not None:
        known = {c.name.lower() for c in emission.columns}
        if readings.type.lower() not in known:
            hint = f"call the sensor's column {readings.type} in both"
            yield f"reads sensors in column {readings.type}, which {emission.name} lacks", hint


def _streams(statement: InferStream, model: ModelSchema, readings: StreamSchema) -> Found:
    assert readings.time is not None
    time = readings.column(readings.time)
    keys = tuple(c for c in readings.columns if c.name in readings.key)
    assert time is not None
    linked = (statement.method == "SMOOTH" and statement.lag is None) or statement.smoothed
    moves = f"{statement.name}_moves" if linked else None
    # Transitions that change with what is read later are no rows of a table: they stay inside.
    markov = statement.name if statement.correlated else moves
    own = StreamSchema(
        statement.name,
        (*keys, time, *model.states, Column(P, DataType.DOUBLE)),
        key=readings.key,
        time=time.name,
        probability=P,
        alternatives=tuple(c.name for c in model.states),
        markov=markov,
        lateness=readings.lateness,
    )
    if moves is None:
        return (Inferred(statement), own)
    ends = tuple(Column(f"{c.name}{end}", c.type) for end in ("_from", "_to") for c in model.states)
    columns = (*keys, time, *ends, Column(P, DataType.DOUBLE))
    table = StreamSchema(moves, columns, key=readings.key, time=time.name, probability=P)
    return (Inferred(statement, moves), own, table)
