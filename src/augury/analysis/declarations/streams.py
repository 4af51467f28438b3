"""CREATE STREAM and CREATE TABLE: from the written clauses to a schema.

Each rule judges one clause and reports for itself; a schema is made only if none of them did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from augury.analysis import places
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema, TableSchema
from augury.analysis.declarations.columns import column_hint, read_columns
from augury.analysis.declarations.durations import LONGEST, microseconds
from augury.analysis.declarations.keys import check_keys
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.source_options import source_options_are_heeded
from augury.analysis.findings import Findings, listing, suggest
from augury.errors import Span
from augury.language.expressions import Duration
from augury.language.tree import CreateStream, CreateTable, External

FORMATS = ("parquet", "csv", "json", "kafka")

_TOPICS = {"subscribe", "subscribepattern", "assign"}

_ORDERED = (DataType.LONG, DataType.DOUBLE, DataType.STRING, DataType.TIMESTAMP, DataType.DATE)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A stream statement with its columns, while its clauses are judged."""

    statement: CreateStream
    columns: tuple[Column, ...]
    findings: Findings

    def column(self, name: str | None) -> Column | None:
        lowered = (name or "").lower()
        return next((c for c in self.columns if c.name.lower() == lowered), None)

    def name_of(self, name: str | None) -> str | None:
        column = self.column(name)
        return column.name if column else None

    def place(self, name: str, keyword: str) -> Span:
        return places.word(self.findings.source, _after_columns(self.statement), name, keyword)


def _after_columns(statement: CreateStream | CreateTable) -> Span:
    start = statement.columns[-1].span.end if statement.columns else statement.span.start
    return Span(max(start, statement.span.start), statement.span.end)


def read_stream(statement: CreateStream, findings: Findings) -> StreamSchema | None:
    """Return the schema of a stream, or None where a clause is wrong."""
    before = findings.error_count
    columns = read_columns(f"stream {statement.name}", statement.columns, findings)
    reading = _Reading(statement, columns, findings)
    for rule in STREAM_RULES:
        rule(reading)
    return _schema(reading) if findings.error_count == before else None


def read_table(statement: CreateTable, ledger: Ledger, findings: Findings) -> TableSchema | None:
    """Return the schema of a table, or None where it is wrong."""
    before = findings.error_count
    columns = read_columns(f"table {statement.name}", statement.columns, findings)
    if not columns:
        findings.error("A013", f"table {statement.name} has no columns", statement.span)
    _check_source(statement, statement.source, findings)
    table = TableSchema(statement.name, columns, statement.source)
    check_keys(statement, table, ledger, findings)
    if findings.error_count > before:
        return None
    key = tuple(column.name for name in statement.key if (column := table.column(name)))
    return replace(table, key=key, store=statement.store, uncertain=statement.uncertain)


def _schema(reading: _Reading) -> StreamSchema:
    s = reading.statement
    return StreamSchema(
        name=s.name,
        columns=reading.columns,
        id=reading.name_of(s.id),
        key=tuple(reading.name_of(k) or k for k in s.key),
        time=reading.name_of(s.time),
        order_by=reading.name_of(s.order_by),
        type=reading.name_of(s.type),
        probability=reading.name_of(s.probability),
        alternatives=tuple(reading.name_of(a) or a for a in s.alternatives),
        markov=s.markov,
        miss_rate=s.miss_rate,
        lateness=_length(s.lateness),
        source=s.source,
        idle=None if s.idle is None else microseconds(s.idle),
    )


def _length(length: Duration | int | None) -> int:
    if isinstance(length, Duration):
        return microseconds(length)
    return length or 0


# Rules: one clause each -----------------------------------------------------------------------


def _clause_columns_exist(reading: _Reading) -> None:
    s = reading.statement
    by_column = s.miss_rate.column if s.miss_rate else None
    single = {
        "ID": s.id,
        "TIME": s.time,
        "ORDER BY": s.order_by,
        "TYPE": s.type,
        "PROBABILITY": s.probability,
        "MISS RATE BY": by_column,
    }
    named = [(k, n) for k, n in single.items() if n is not None]
    named += [("KEY", n) for n in s.key] + [("ALTERNATIVES", n) for n in s.alternatives]
    for keyword, name in named:
        if reading.column(name) is None:
            _report_unknown(reading, keyword, name)


def _report_unknown(reading: _Reading, keyword: str, name: str) -> None:
    reading.findings.error(
        "A013",
        f"{keyword} names column {name}, which stream {reading.statement.name} does not have",
        reading.place(name, keyword),
        column_hint(name, reading.columns),
    )


def _names_are_listed_once(reading: _Reading) -> None:
    s = reading.statement
    for keyword, names in (("KEY", s.key), ("ALTERNATIVES", s.alternatives)):
        lowered = [n.lower() for n in names]
        for name in sorted({n for n in lowered if lowered.count(n) > 1}):
            reading.findings.error(
                "A015",
                f"{keyword} of stream {s.name} lists column {name} twice",
                reading.place(name, keyword),
                "name it once",
            )


def _time_is_declared(reading: _Reading) -> None:
    s = reading.statement
    if s.time is None:
        reading.findings.error(
            "A016",
            f"stream {s.name} has no TIME, so its events have no order",
            places.word(reading.findings.source, s.span, s.name),
            "add TIME and a TIMESTAMP or LONG column",
        )
        return
    _expect(reading, "TIME", s.time, (DataType.TIMESTAMP, DataType.LONG), "A016")


def _expect(
    reading: _Reading, keyword: str, name: str, types: tuple[DataType, ...], code: str = "A017"
) -> None:
    column = reading.column(name)
    if column is None or column.type in types or column.type is DataType.NULL:
        return
    allowed = listing([t.value for t in types], "or")
    reading.findings.error(
        code,
        f"{keyword} column {column.name} of stream {reading.statement.name} is a "
        f"{column.type.value}; {keyword} needs {allowed}",
        reading.place(name, keyword),
        f"declare {column.name} as {types[0].value}, or name another column",
    )


def _probability_is_double(reading: _Reading) -> None:
    if reading.statement.probability:
        _expect(reading, "PROBABILITY", reading.statement.probability, (DataType.DOUBLE,))


def _order_is_comparable(reading: _Reading) -> None:
    if reading.statement.order_by:
        _expect(reading, "ORDER BY", reading.statement.order_by, _ORDERED)


def _type_is_text(reading: _Reading) -> None:
    if reading.statement.type:
        _expect(reading, "TYPE", reading.statement.type, (DataType.STRING,))


def _alternatives_have_weights(reading: _Reading) -> None:
    s = reading.statement
    if s.alternatives and s.probability is None:
        reading.findings.error(
            "A018",
            f"stream {s.name} has ALTERNATIVES but no PROBABILITY; "
            "each alternative needs its weight",
            reading.place(s.alternatives[0], "ALTERNATIVES"),
            "add PROBABILITY and a DOUBLE column",
        )


def _alternatives_leave_the_event_fixed(reading: _Reading) -> None:
    s = reading.statement
    fixed = {
        n.lower(): k
        for k, n in (("TIME", s.time), ("ID", s.id), ("PROBABILITY", s.probability))
        if n
    }
    if s.id is None:
        fixed |= {k.lower(): "KEY" for k in s.key}
    for name in s.alternatives:
        if (keyword := fixed.get(name.lower())) is not None:
            reading.findings.error(
                "A018",
                f"ALTERNATIVES of stream {s.name} lists {name}, which is its {keyword}",
                reading.place(name, "ALTERNATIVES"),
                _fixed_hint(keyword),
            )


def _fixed_hint(keyword: str) -> str:
    if keyword == "KEY":
        return "an uncertain key needs an ID column that its alternatives share"
    return "list only columns whose value is uncertain"


def _markov_links_alternatives(reading: _Reading) -> None:
    s = reading.statement
    if s.markov and not s.alternatives:
        reading.findings.error(
            "A018",
            f"stream {s.name} has MARKOV {s.markov} but no ALTERNATIVES to link",
            reading.place(s.markov, "MARKOV"),
            "add ALTERNATIVES with the columns that the table relates",
        )


def _miss_rates_are_rates(reading: _Reading) -> None:
    miss = reading.statement.miss_rate
    if miss is None:
        return
    overall = (
        ()
        if miss.overall is None
        else ((f"stream {reading.statement.name}", miss.overall, miss.span),)
    )
    for what, rate, span in (*overall, *((f"'{r.of}'", r.rate, r.span) for r in miss.rates)):
        if not 0 <= rate < 1:
            report_rate(what, rate, span, reading.findings)
    seen: set[str] = set()
    for each in miss.rates:
        if each.of in seen:
            message = f"the miss rate of '{each.of}' is given twice"
            reading.findings.error("A019", message, each.span, "keep one of them")
        seen.add(each.of)


def _roles_exclude_each_other(reading: _Reading) -> None:
    s = reading.statement
    roles = [("KEY", k) for k in s.key] + ([("ID", s.id)] if s.id else [])
    for keyword, name in roles:
        others = (("PROBABILITY", s.probability), ("TIME", s.time if keyword == "KEY" else None))
        for other, taken in others:
            if taken is not None and taken.lower() == name.lower():
                reading.findings.error(
                    "A078",
                    f"column {name} of stream {s.name} is its {keyword} and its {other}",
                    reading.place(name, keyword),
                    f"name another column in {keyword}, or leave {keyword} out",
                )


def report_rate(what: str, rate: float, span: Span, findings: Findings) -> None:
    """Report a miss rate that is no share of reads."""
    findings.error(
        "A019",
        f"the miss rate of {what} is {rate:g}; a miss rate is at least 0 and below 1",
        span,
        "write the share of reads that are missed, for example 0.1",
    )


def _lateness_fits_time(reading: _Reading) -> None:
    s = reading.statement
    column = reading.column(s.time)
    if s.lateness is None or column is None:
        return
    span = places.word(reading.findings.source, _after_columns(s), "LATENESS")
    check_length(s.lateness, column.type is DataType.LONG, "LATENESS", span, reading.findings)
    if _length(s.lateness) < 0:
        reading.findings.error("A023", "LATENESS is negative", span, "write 0 or a length of time")


def _idle_is_a_while(reading: _Reading) -> None:
    s = reading.statement
    if s.idle is not None and microseconds(s.idle) <= 0:
        span = places.word(reading.findings.source, _after_columns(s), "IDLE")
        message = "IDLE AFTER no time would pass over the stream always"
        reading.findings.error("A023", message, span, "write a length of time above 0")


def check_length(
    length: Duration | float, ticks: bool, what: str, span: Span, findings: Findings
) -> None:
    """Report a length whose unit does not fit the kind of time, or that is too long to count."""
    if isinstance(length, Duration) and ticks:
        message = f"{what} is in {length.unit.lower()}s, but TIME is a LONG tick"
        findings.error("A022", message, span, f"write a bare number of ticks: {what} 100")
    elif not isinstance(length, Duration) and not ticks:
        message = f"{what} {length:g} has no unit, but TIME is a TIMESTAMP"
        findings.error("A022", message, span, f"add a unit: {what} {length:g} SECONDS")
    elif isinstance(length, float) and not length.is_integer():
        message = f"{what} {length:g} is not a whole number of ticks"
        findings.error("A022", message, span, "ticks are counted: write a whole number")
    elif abs(microseconds(length) if isinstance(length, Duration) else length) > LONGEST:
        findings.error("A023", f"{what} is longer than time itself can be counted", span)


def _source_is_known(reading: _Reading) -> None:
    _check_source(reading.statement, reading.statement.source, reading.findings)


def _check_source(
    statement: CreateStream | CreateTable, source: External | None, findings: Findings
) -> None:
    if source is None:
        return
    span = places.word(findings.source, _after_columns(statement), source.format, "FROM")
    if source.format not in FORMATS:
        hint = suggest(source.format, FORMATS, f"the formats are {listing(FORMATS)}")
        findings.error("A020", f"source format {source.format} is unknown", span, hint)
        return
    if source.format == "kafka":
        _check_kafka(source, isinstance(statement, CreateTable), span, findings)
    elif source.path is None:
        message = f"FROM {source.format} says no path"
        findings.error("A020", message, span, f"write FROM {source.format} 'path/'")
    check_options(source, "A020", findings)
    source_options_are_heeded(source, findings)


def _check_kafka(source: External, is_table: bool, span: Span, findings: Findings) -> None:
    if is_table:
        findings.error("A020", "a table cannot come from kafka", span, "declare a stream instead")
    elif source.path is None and not _TOPICS & {o.key.lower() for o in source.options}:
        hint = "add OPTIONS (subscribe = 'topic', kafka.bootstrap.servers = 'host:9092')"
        findings.error("A020", "FROM kafka says no topic", span, hint)


def check_options(source: External, code: str, findings: Findings) -> None:
    """Report an option that is given twice."""
    seen: set[str] = set()
    for option in source.options:
        if option.key.lower() in seen:
            message = f"option {option.key} is given twice"
            findings.error(code, message, option.span, "keep one of them")
        seen.add(option.key.lower())


STREAM_RULES: tuple[Callable[[_Reading], None], ...] = (
    _clause_columns_exist,
    _names_are_listed_once,
    _time_is_declared,
    _probability_is_double,
    _order_is_comparable,
    _type_is_text,
    _alternatives_have_weights,
    _alternatives_leave_the_event_fixed,
    _markov_links_alternatives,
    _miss_rates_are_rates,
    _roles_exclude_each_other,
    _lateness_fits_time,
    _idle_is_a_while,
    _source_is_known,
)
