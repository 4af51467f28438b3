"""Session: the one facade. It keeps a catalog, adds scripts to it, explains and answers queries.

A script is taken as a whole or not at all: `sql` collects every error of it, raises one
`QueryError`, and leaves the catalog as it was.

>>> ag = Session(engine="local")
>>> _ = ag.sql("CREATE STREAM s (kind STRING, t LONG, p DOUBLE) TIME t TYPE kind PROBABILITY p;")
>>> _ = ag.sql("CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WITHIN 10;")
>>> ag.bind("s", [{"kind": "A", "t": 1, "p": 0.5}, {"kind": "B", "t": 2, "p": 0.8}])
>>> ag.table("ab").column("confidence").to_pylist()
[0.4]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args, overload

from augury.errors import AuguryError, Diagnostic, QueryError, Source, warn
from augury.session.declared import Engine, blamed, refuse_no_text

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import TypeVar as TypeVarWithDefault

    from augury.analysis.declarations.catalog import Catalog
    from augury.evaluation.learning.forecast_scores import ForecastScore
    from augury.language.tree import Explain, Statement
    from augury.report.shown import Shown
    from augury.rules.locks import Grain, Scheduler
    from augury.runners.spark.frames import SparkFrame, SparkSession
    from augury.runners.spark.pipeline import Pipeline
    from augury.session.explained import Format
    from augury.why.explanation import Why, WhyNot
    from augury.why.opening import Opened

    # What answers are: an Arrow table, or a DataFrame of Spark.
    Rows = TypeVarWithDefault("Rows", default=Any)
else:
    Rows = TypeVar("Rows")


class Session(Generic[Rows]):
    """A catalog of streams, tables and queries, and what can be asked of it.

    `Session(spark)` works on that Spark session, `Session()` on a local one that it starts;
    `Session(engine="local")` works in this process and needs no Java. `shards` is how many parts
    Spark cuts the rows into where the equated key allows it; a stream's checkpoint keeps to it.
    `scheduler` and `locks` are for pushed events whose matches read tables: which of those that are
    known together are settled side by side ("lwm", "s2pl", "sei"; "row", "table"). Answers do not
    depend on it.
    `partly` lets `push` go on without the queries that it cannot evaluate; without, it fails.
    """

    @overload
    def __init__(
        self: Session[pa.Table],
        *,
        engine: Literal["local"],
        shards: int | None = None,
        scheduler: Scheduler | None = None,
        locks: Grain = "row",
        partly: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self: Session[SparkFrame],
        spark: SparkSession | None = None,
        *,
        engine: Literal["spark"] | None = None,
        shards: int | None = None,
        scheduler: Scheduler | None = None,
        locks: Grain = "row",
        partly: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        spark: Any = None,
        *,
        engine: Engine | None = None,
        shards: int | None = None,
        scheduler: Scheduler | None = None,
        locks: Grain = "row",
        partly: bool = False,
    ) -> None: ...
    def __init__(
        self,
        spark: Any = None,
        *,
        engine: Engine | None = None,
        shards: int | None = None,
        scheduler: Scheduler | None = None,
        locks: Grain = "row",
        partly: bool = False,
    ) -> None:
        if engine not in (None, *get_args(Engine)):
            raise AuguryError(f"there is no engine {engine!r}; expected 'spark' or 'local'")
        if spark is not None and engine == "local":
            raise AuguryError("the engine 'local' takes no Spark session; give one or the other")
        if shards is not None and (not isinstance(shards, int) or shards < 1):
            raise AuguryError(f"shards is {shards!r}; expected a positive whole number")
        if scheduler not in (None, "lwm", "s2pl", "sei") or locks not in ("row", "table"):
            raise AuguryError(
                f"scheduler is {scheduler!r} and locks {locks!r}; expected 'lwm', 's2pl' or "
                "'sei', and 'row' or 'table'"
            )
        if spark is not None:
            _warn_of_other_workers(spark)
        from augury.session.acted import Acted
        from augury.session.answers import Answers
        from augury.session.bound import BoundRows
        from augury.session.declared import Declared
        from augury.session.explained import Explanations
        from augury.session.notices import Notices
        from augury.session.pushed import PushedRows

        self.engine: Engine = engine or "spark"
        self._declared = declared = Declared()
        self._notices = notices = Notices(declared)
        self._bound = bound = BoundRows(declared, self.engine, spark, shards)
        flying = (scheduler, locks)
        self._pushed = pushed = PushedRows(declared, bound, notices, flying, partly=partly)
        self._acted = acted = Acted(declared, bound, pushed, notices)
        self._answers = answers = Answers(declared, bound, pushed, acted, notices)
        self._explanations = Explanations(declared, bound, acted, answers)

    # Declaring ----------------------------------------------------------------------------------

    def sql(self, text: str, *, name: str = "<text>") -> tuple[str, ...]:
        """Add the statements of a script; return what its EXPLAIN statements give, in order.

        `name` is what diagnostics call the script.
        """
        statements = self._add(Source(name, text))
        return tuple(self._explained(each) for each in _explains(statements))

    def run_file(self, path: str | Path) -> tuple[str, ...]:
        """Add the statements of a script file; see `sql`."""
        from augury.language.script_file import read

        return self.sql(read(path), name=str(path))

    def _add(self, source: Source) -> tuple[Statement, ...]:
        statements, checked, found = self._declared.check(source)
        if checked.catalog.policies:
            self._refuse_late_policies(checked.catalog, statements, source)
        self._pushed.refuse_late_rules(checked)
        if checked.catalog.policies != self._declared.catalog.policies:
            self._bound.suppressed = None
            self._pushed.forget()
        self._declared.take(checked, source, found)
        self._declared.statements += statements
        self._declared.texts += (source.text,)
        self._bound.renew()
        self._pushed.renew()
        if len(_explains(statements)) < len(statements):
            self._bound.sketches = {}
        return statements

    def _refuse_late_policies(
        self, catalog: Catalog, statements: tuple[Statement, ...], source: Source
    ) -> None:
        """Refuse what comes too late for decisions that were made."""
        from augury.planning.policy_changes import too_late

        known, decided = self._declared.catalog, self._bound.decided
        late = too_late(known, catalog, decided, self._pushed.streams_pushed())
        if late:
            raise QueryError([each.at(statements, source) for each in late])

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the declared streams, in order."""
        return self._declared.streams

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries, in order."""
        return tuple(query.name for query, _ in self._declared.queries.values())

    @property
    def forecasts(self) -> tuple[str, ...]:
        """The names of the forecasts, in order."""
        return tuple(forecast.name for forecast, _ in self._declared.forecasts.values())

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Every warning so far, script by script."""
        return self._declared.warnings

    # Explaining ---------------------------------------------------------------------------------

    def explain(
        self,
        query: str,
        format: Format = "text",  # noqa: A002
        *,
        analyze: bool = False,
    ) -> str:
        """Return how a query will be evaluated, and why.

        With `analyze` it is evaluated, now, over the bound rows, and what each stage did is shown:
        rows in and out, milliseconds, and the most bytes that it remembered.
        """
        refuse_no_text(query)
        return self._explanations.explain(query, format, analyze=analyze)

    def _explained(self, statement: Explain) -> str:
        shape: Any = statement.format.lower()
        return self.explain(statement.query, shape, analyze=statement.measured)

    def gaps(self, query: str) -> str:
        """Return the gaps of a query as a statement: as written, or as its history teaches them."""
        refuse_no_text(query)
        from augury.planning.missed.written_gaps import gaps_text

        checked, _ = self._declared.readable(query)
        if checked.learn_gaps_from is not None:
            checked = self._bound.runner().with_gaps(checked)
        return gaps_text(checked)

    # Over bound rows ----------------------------------------------------------------------------

    @property
    def spark(self) -> Any:
        """The Spark session; a local one is started when it is first needed."""
        return self._bound.spark

    def bind(self, name: str, data: Any) -> None:
        """Give a declared stream or table its rows: a DataFrame, Arrow data, or dicts.

        Whatever exports its columns to Arrow will do: pandas, polars, DuckDB. Also the path of a
        file of Parquet, CSV or JSON (a row a line), or of a folder of Parquet files; on Spark a
        DataFrame of Spark too, static or streaming. Binding again replaces the rows. Rows are
        checked when a query first reads them: bad ones do not stop it, see `rejected`.
        """
        refuse_no_text(name)
        declared = self._bound.bindable(name)
        self._pushed.refuse_bound(declared.name)
        self._bound.bind(declared, data)
        self._notices.forget(declared.name)

    def table(self, query: str, columns: Sequence[str] | None = None) -> Rows:
        """Return the answer of a query over the bound rows: one row per match, in no set order.

        On Spark a lazy DataFrame, streaming where an input is; otherwise an Arrow table. Who names
        the `columns` that are needed saves the making, and on Spark the sending, of others. Where
        missed events cannot matter as the query asks (P005, P006), or the values of MISS RATE BY do
        not fit the rows, a Python warning says so, once. So it does, with the engine 'local', where
        events of equal time are in no sequence, for want of ORDER BY. A stream AS SUPPRESS has a
        table, too: the events that its policy has kept.
        """
        refuse_no_text(query)
        answer: Rows = self._answers.table(query, columns)
        return answer

    def expired(self, query: str) -> Any:
        """Return the partial matches of a query that ran out of time: `waiting_for` what, they say.

        Over bound rows a table; of pushed rows, a list of those so far, and they are watched from
        the first call on. Each component behind the first has a query of its own, which this
        declares: `q_without_b` has the partial matches after which no b came.
        """
        refuse_no_text(query)
        from augury.runners.local.expired import in_one_pass, joined

        checked, _ = self._declared.readable(query)
        statement = self._declared.catalog.queries[checked.name.lower()]
        known = self._declared.catalog.queries
        waiting = self._pushed.expired.watch(statement, self.sql, known)
        if any(stream.name.lower() not in self._bound.rows for stream in checked.streams):
            return self._pushed.expired.so_far(checked.name)
        names = {str(each.query.name): each.component for each in waiting}
        if self._bound.engine != "local" and (pass_ := self.pipeline(list(names))).is_streaming:
            return in_one_pass(checked.name, pass_, names)
        return joined(checked.name, [(part, self.table(name)) for name, part in names.items()])

    def score(self, forecast: str, rows: Any = None) -> ForecastScore:
        """Return how good a forecast is on rows of its stream that are kept apart.

        Log loss, Brier score and reliability, each against the base rate; what is bound stays, and
        judges where no rows are given.
        """
        refuse_no_text(forecast)
        return self._answers.score(forecast, rows)

    def revisions(self, name: str) -> Any:
        """Return all that was told of a stream's owners, or of a query's matches, as it was told.

        `table` has the last revision of each event or match; here are those before it, too.
        """
        refuse_no_text(name)
        return self._answers.revisions(name)

    def audit(self, policy: str) -> Any:
        """Return what a policy has decided: one row per event, in order, kept or not, and why.

        It holds what was suppressed, and is as secret as the raw stream.
        """
        refuse_no_text(policy)
        return self._answers.audit(policy)

    def changes(self, table: str) -> Any:
        """Return every change that rules made to a table: when, by which firing, and the row.

        Over the bound rows, or, once events are pushed, those so far. `seq` counts the changes of a
        key from 1. The row is as it became; of a DELETE, as it last was.
        """
        refuse_no_text(table)
        return self._acted.changes(table)

    def rejected(self, stream: str) -> Any:
        """Return the bad rows of a stream, each with the reason why it was left out.

        Of a rule with ON ERROR REJECT: the firings that could not be done.
        """
        refuse_no_text(stream)
        return self._answers.rejected(stream)

    def late(self, stream: str) -> Any:
        """Return the rows of a stream that came after the watermark, with the reason."""
        refuse_no_text(stream)
        return self._answers.late(stream)

    def analyze(self, queries: Sequence[str]) -> None:
        """Count on Spark the rows that queries without an equated key would move.

        Reads the bound rows of their streams, now. From then on, until a stream is bound again or
        something is declared, EXPLAIN prices the plans that move events and temporal results, and
        the cheaper one runs.
        """
        runner = self._bound.spark_runner("analyze")
        for name in queries:
            checked, source = self._declared.readable(name)
            with blamed(source, checked):
                self._declared.refuse_tested(checked.name, "analyze")
                self._bound.sketches[checked.name.lower()] = runner.analysed(checked.name)
        self._bound.renew()

    def pipeline(
        self,
        queries: Sequence[str],
        *,
        tells_faults: bool = False,
        tells_movement: bool = False,
    ) -> Pipeline:
        """Return one pass over Spark's rows that answers several queries; see `Pipeline`."""
        runner = self._bound.spark_runner("pipeline")
        checked = [self._declared.readable(name) for name in queries]
        if not checked:
            raise AuguryError("a pipeline needs at least one query; name those it should answer")
        query, source = checked[0]
        names = [each.name for each, _ in checked]
        with blamed(source, query):
            for name in names:
                self._declared.refuse_tested(name, "a pipeline")
            return runner.pipeline(names, tells_faults=tells_faults, tells_movement=tells_movement)

    # Why ----------------------------------------------------------------------------------------

    def why(self, match_id: str, query: str | None = None) -> Why:
        """Return why a match was found: its events, conditions, and the sum of its confidence.

        Who names the `query` saves looking for the match in the others.
        """
        refuse_no_text(match_id)
        from augury.why.found import why

        opened = self._opened()
        own = None if query is None else self._declared.readable(query)[0].name
        return why(opened, match_id, list(opened.queries) if own is None else [own])

    def why_owner(self, stream: str, event_id: Any) -> Any:
        """Return which badge reads decided who did an event of a stream AS IDENTIFY.

        `p` is how likely the event was a person's, `without` how likely it were had the badge of
        that read not been read. Over bound rows, on the local engine.
        """
        refuse_no_text(stream)
        return self._answers.deciding_reads(stream, event_id)

    def why_not(self, query: str, *, key: Any = None, around: Any = None) -> WhyNot:
        """Return why a query has no match: the nearest miss, and the least that lets one through.

        `key` is the value of the key, or a dict of columns and values; `around` a time. The rows of
        four windows to both sides of it are looked at.
        """
        refuse_no_text(query)
        from augury.why.why_not import why_not

        return why_not(self._opened(), self._declared.readable(query)[0], key, around)

    def display(self, query: str) -> Shown:
        """Return the answer of a query for a notebook: a table, with bars for confidences."""
        from augury.report.shown import display

        return display(self, query)

    def report(self, *, title: str = "Answers", truth: str | None = None) -> str:
        """Return a page of HTML about what was asked, rows, answers, and why.

        It needs nothing else. `truth` names a column that says whether an answer is right: of the
        answer, or of the events that it is made of.
        """
        from augury.report.written import page_about

        return page_about(self, title=title, truth=truth)

    def _opened(self) -> Opened:
        from augury.session.opened import opened

        return opened(self._declared, self._bound, self._answers, lambda: Session(engine="local"))

    # Events one at a time -------------------------------------------------------------------------

    def push(self, stream: str, rows: Any) -> list[dict[str, Any]]:
        """Let events happen: one row as a dict, or many; return the matches that are known now.

        Each match is a dict with the columns of `table`. It is reported once the watermark, the
        latest time seen minus LATENESS, has passed its last event; `finish` reports the rest. All
        queries of the session that return matches, or probabilities by time, are evaluated; where
        one cannot be, it fails, or leaves it out with a warning (`Session(partly=True)`). Rows that
        are bad or too late are put aside: see `rejected` and `late`.
        """
        refuse_no_text(stream)
        return self._pushed.push(stream, rows)

    def advance(self, time: Any = None, *, stream: str | None = None) -> list[dict[str, Any]]:
        """Let time pass without an event; return the matches that are known now.

        It is as if an event of that `time` had come on every stream, or on one: the watermark goes
        on to it, less LATENESS, and rows before that are late. Without a time, only streams that
        were silent for longer than their IDLE AFTER are passed over.
        """
        return self._pushed.advance(time, stream)

    def finish(self) -> list[dict[str, Any]]:
        """End all pushed streams; return the matches that were still waiting for the watermark.

        Where events of equal time were in no sequence, for want of ORDER BY, a Python warning says
        how many of each query.
        """
        return self._pushed.finish()

    def checkpoint(self) -> bytes:
        """Return all that pushed events have left behind, for `restore` in another session."""
        return self._pushed.checkpoint()

    def restore(self, data: bytes) -> None:
        """Go on where `checkpoint` was called, in a session with the same declarations.

        Raises `StateError` for bytes of other declarations, of a later release, and damaged ones.
        """
        self._pushed.restore(data)


def _warn_of_other_workers(spark: Any) -> None:
    """Say so where the Python workers of a Spark session may lack augury."""
    from augury.runners.process.worker_python import notice_of

    notice = notice_of(spark)
    if notice is not None:
        warn(notice)


def _explains(statements: tuple[Statement, ...]) -> list[Explain]:
    from augury.language.tree import Explain

    return [statement for statement in statements if isinstance(statement, Explain)]
