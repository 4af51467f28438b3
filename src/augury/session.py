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

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from augury.errors import AuguryError, Diagnostic, QueryError, RowsWarning, Source, Span

if TYPE_CHECKING:
    from augury.analysis.checked import CheckedQuery
    from augury.analysis.declarations.catalog import (
        Catalog,
        PolicySchema,
        StreamSchema,
        TableSchema,
    )
    from augury.analysis.declarations.forecasts import CheckedForecast
    from augury.analysis.script import Checked
    from augury.evaluation.asked import Kind
    from augury.evaluation.identifying import Identities
    from augury.evaluation.learning.forecast_scores import ForecastScore
    from augury.evaluation.stream_rows import StreamRows
    from augury.evaluation.suppression import Suppressed
    from augury.language.tree import CreateRule, Explain, Statement
    from augury.planning.acting.moments import Candidates
    from augury.planning.acting.world import Acting
    from augury.planning.distribution.layout import Sketches
    from augury.planning.distribution.movement import Priced
    from augury.rules.locks import Grain, Scheduler
    from augury.rules.stage import State
    from augury.runners.live.acting import Used
    from augury.runners.live.runner import LiveRunner
    from augury.runners.local.acting import ActingRun
    from augury.runners.local.expired import Expired
    from augury.runners.local.runner import LocalRunner
    from augury.runners.spark.pipeline import Pipeline
    from augury.runners.spark.runner import SparkRunner

Engine = Literal["spark", "local"]
Format = Literal["text", "json", "svg", "mermaid"]
# How many rows were put aside, and why the first of them.
Aside = tuple[int, str]


class Session:
    """A catalog of streams, tables and queries, and what can be asked of it.

    `Session(spark)` works on that Spark session, `Session()` on a local one that it starts;
    `Session(engine="local")` works in this process and needs no Java. `shards` is how many parts
    Spark cuts the rows into where the equated key allows it; a stream's checkpoint keeps to it.
    `scheduler` and `locks` are for pushed events whose matches read tables: which of those that are
    known together are settled side by side ("lwm", "s2pl", "sei"; "row", "table"). Answers do not
    depend on it.
    `partly` lets `push` go on without the queries that it cannot evaluate; without, it fails.
    """

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
        from augury.analysis.declarations.catalog import Catalog

        self.engine: Engine = engine or "spark"
        self._flying: tuple[Scheduler | None, Grain] = (scheduler, locks)
        self._spark = spark
        if spark is not None:
            _warn_of_other_workers(spark)
        self._shards, self._partly = shards, partly
        self._catalog: Catalog = Catalog()
        self._queries: dict[str, tuple[CheckedQuery, Source]] = {}
        self._forecasts: dict[str, tuple[CheckedForecast, Source]] = {}
        self._warnings: tuple[Diagnostic, ...] = ()
        self._said: set[str] = set()
        self._told: dict[tuple[str, str], int] = {}
        self._bound: dict[str, Any] = {}
        self._suppressed: dict[str, Suppressed] | None = None
        self._decided: set[str] = set()
        self._sketches: dict[str, Sketches] = {}
        self._runner: LocalRunner | SparkRunner | None = None
        self._live: LiveRunner | None = None
        self._live_is_current = False
        self._acting: Acting | None = None
        self._acted_out: ActingRun | None = None

    def sql(self, text: str, *, name: str = "<text>") -> tuple[str, ...]:
        """Add the statements of a script; return what its EXPLAIN statements give, in order.

        `name` is what diagnostics call the script.
        """
        source = Source(name, text)
        statements = self._add(source)
        return tuple(self._explained(each) for each in _explains(statements))

    def run_file(self, path: str | Path) -> tuple[str, ...]:
        """Add the statements of a script file; see `sql`."""
        from augury.language.script_file import read

        return self.sql(read(path), name=str(path))

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
        if format not in get_args(Format):
            known = ", ".join(get_args(Format))
            raise AuguryError(f"there is no format {format!r}; expected one of {known}")
        if query.lower() in self._forecasts:
            return self._explain_forecast(query, format, analyze=analyze)
        if (policy := self._catalog.policies.get(query.lower())) is not None:
            return self._explained_policy(policy, format, analyze=analyze)
        checked, source = self._query(query)
        if analyze or self._sketches.get(checked.name.lower()):
            self._refuse_private(checked.name)
        priced = None
        if self._sketches.get(checked.name.lower()):
            priced = self._spark_runner("analyze").priced(checked.name)
        measures = self._measures(checked, source, format) if analyze else None
        shown = _explain(checked, source, format, self._catalog, (priced, measures))
        return shown + self._settling(checked.name) if format == "text" else shown

    def _settling(self, query: str) -> str:
        """Return how the candidates of a query are settled; nothing where they are not."""
        from augury.planning.acting.shards import settling_text

        if self._acting is None and not (self._catalog.rules or self._catalog.tables):
            return ""
        self._candidates()
        assert self._acting is not None
        return settling_text(query, self._acting, self._catalog, self._checked_queries())

    def _explain_forecast(self, name: str, shape: Format, *, analyze: bool) -> str:
        """Return how a forecast will be made, and then how its query is evaluated."""
        from augury.planning.explain.forecast import explain_forecast
        from augury.planning.refusal import PlanError

        forecast, source = self._forecasts[name.lower()]
        if shape != "text" or analyze:
            raise AuguryError(f"a forecast is explained as text; explain {forecast.query.name} so")
        try:
            own = explain_forecast(forecast, self._catalog)
            if self.engine == "local" and (forecast.learn_from or "").lower() in self._bound:
                own += self._local_runner().explain_learned(forecast)
        except PlanError as error:
            raise error.at(source, forecast.span) from error
        return f"{own}\n{self.explain(forecast.query.name)}"

    def _measures(self, query: CheckedQuery, source: Source, shape: Format) -> list[dict[str, Any]]:
        """Return what the stages of a query do over the bound rows."""
        from augury.planning.refusal import PlanError

        if shape not in ("text", "json"):
            raise AuguryError(f"what was measured is text or json, and no {shape}")
        try:
            acts = self._acts(query.name)
            by = self._acting_run(query.name) if acts else self._run()
            return by.measures(query.name)
        except PlanError as error:
            raise error.at(source, query.span) from error

    def _explained_policy(self, policy: PolicySchema, shape: Format, *, analyze: bool) -> str:
        from augury.planning.explain.policies import policy_text

        if shape != "text" or (analyze and self.engine != "local"):
            raise AuguryError(f"policy {policy.name} is explained as text; with data, locally")
        text = policy_text(policy, self._checked_queries())
        return text if not analyze else f"{text}\n\n{self._learned_by(policy)}"

    def _learned_by(self, policy: PolicySchema) -> str:
        from augury.evaluation.policies.explained import learned_text

        self.audit(policy.name)
        return learned_text(*self._decided_by(policy.stream.lower()))

    def gaps(self, query: str) -> str:
        """Return the gaps of a query as a statement: as written, or as its history teaches them."""
        from augury.planning.missed.written_gaps import gaps_text

        checked, _ = self._readable(query)
        if checked.learn_gaps_from is not None:
            checked = self._run().with_gaps(checked)
        return gaps_text(checked)

    def bind(self, name: str, data: Any) -> None:
        """Give a declared stream or table its rows: a pandas DataFrame, Arrow data, or dicts.

        Also the path of a Parquet file, or of a folder of them; on Spark a DataFrame of Spark too,
        static or streaming. Binding again replaces the rows. Rows are checked when a query first
        reads them: bad ones do not stop it, see `rejected`.
        """
        declared = self._catalog.stream(name) or self._catalog.table(name)
        if declared is None:
            raise QueryError([self._unbound(name)])
        if (how := self._catalog.inferred.get(declared.name.lower())) is not None:
            raise AuguryError(
                f"stream {declared.name} is inferred from {how.statement.readings}; "
                f"bind the rows of {how.statement.readings}"
            )
        if self._catalog.table(name) is not None and self._catalog.tables[name.lower()].store:
            raise AuguryError(
                f"table {declared.name} lies in a STORE; its rows are those that are there"
            )
        live = None if self._live is None else self._live.acting
        if live is not None and declared.name in live.state.tables:
            raise AuguryError(
                f"table {declared.name} is read by what acts on pushed events; bind it before them"
            )
        if (known := self._catalog.identified.get(declared.name.lower())) is not None:
            raise AuguryError(
                f"stream {declared.name} is identified from {known.statement.readings}; "
                f"bind the rows of {known.statement.readings}"
            )
        if (kept := self._catalog.suppressed.get(declared.name.lower())) is not None:
            raise AuguryError(
                f"stream {declared.name} is what policy {kept.policy} keeps of {kept.stream}; "
                f"bind the rows of {kept.stream}"
            )
        if self._live is not None and self._catalog.policies:
            self._live.refuse_used(declared.name)
            self._live_is_current = False
        self._bound[declared.name.lower()] = self._rows(declared, data)
        self._told.pop((declared.name.lower(), "rejected"), None)
        self._runner, self._suppressed, self._sketches = None, None, {}

    def _rows(self, declared: StreamSchema | TableSchema, data: Any) -> Any:
        """Return what is bound as the engine takes it: an Arrow table, or a DataFrame of Spark."""
        from augury.sources.tables import arrow_table, is_path

        if is_path(data) and self.engine == "spark":
            from augury.sources.files import bound_folder

            return bound_folder(self.spark, declared.name, os.fsdecode(data))
        if is_path(data):
            from augury.runners.local.stored_rows import stored_rows

            return stored_rows(declared, data)
        keeps = self.engine == "spark" and type(data).__module__.startswith("pyspark.sql")
        kinds = {column.name: column.type.value for column in declared.columns}
        return data if keeps else arrow_table(declared.name, data, kinds)

    def table(self, query: str, columns: Sequence[str] | None = None) -> Any:
        """Return the answer of a query over the bound rows: one row per match, in no set order.

        On Spark a lazy DataFrame, streaming where an input is; otherwise an Arrow table. Who names
        the `columns` that are needed saves the making, and on Spark the sending, of others. Where
        missed events cannot matter as the query asks (P005, P006), or the values of MISS RATE BY do
        not fit the rows, a Python warning says so, once. So it does, with the engine 'local', where
        events of equal time are in no sequence, for want of ORDER BY. A stream AS SUPPRESS has a
        table, too: the events that its policy has kept.
        """
        from augury.planning.refusal import PlanError

        if query.lower() in self._forecasts:
            return self._forecast_table(query, columns)
        if self._catalog.rules.get(query.lower()) or self._catalog.table(query):
            return self._acted(query, columns)
        if query.lower() in {**self._catalog.identified, **self._catalog.suppressed}:
            return self._made(query, columns)
        checked, source = self._readable(query)
        if self._acts(checked.name):
            if self.engine == "spark":
                self._acting_now(checked.name)
                return self._asked_on_spark("settled", checked.name, columns)
            return _columns_of(self._acting_run(checked.name).table(checked.name), columns)
        try:
            if self.engine == "spark":
                from augury.planning.evaluated import refuse_forecasts

                refuse_forecasts(checked, self._catalog)
            answer = self._run().table(checked.name, columns)
            if self.engine == "local" and checked.name.lower() in self._candidates():
                from augury.evaluation.stages.act import shown

                answer = shown(answer)
            unsaid = self._unsaid(checked)
        except PlanError as error:
            raise error.at(source, checked.span) from error
        for notice in unsaid:
            warnings.warn(notice, stacklevel=2)
        self._announce(self._bad_rows())
        return answer

    @cached_property
    def _expired(self) -> Expired:
        from augury.runners.local.expired import Expired

        return Expired()

    def expired(self, query: str) -> Any:
        """Return the partial matches of a query that ran out of time: `waiting_for` what, they say.

        Over bound rows a table; of pushed rows, a list of those so far, and they are watched from
        the first call on. Each component behind the first has a query of its own, which this
        declares: `q_without_b` has the partial matches after which no b came.
        """
        from augury.runners.local.expired import joined

        checked, _ = self._readable(query)
        statement = self._catalog.queries[checked.name.lower()]
        waiting = self._expired.watch(statement, self.sql)
        if any(stream.name.lower() not in self._bound for stream in checked.streams):
            return self._expired.so_far(checked.name)
        names = [(each.component, str(each.query.name)) for each in waiting]
        return joined(checked.name, [(part, self.table(name)) for part, name in names])

    def _made(self, stream: str, columns: Sequence[str] | None) -> Any:
        """Return the rows of a stream that is made of another: with owners, or what was kept."""
        if self.engine == "spark":
            return self._asked_on_spark("stream", stream, columns)
        if stream.lower() in self._catalog.suppressed:
            return self._kept(stream, columns)
        return _columns_of(self._known(stream).last.table, columns)

    def _asked_on_spark(
        self,
        kind: Kind,
        name: str,
        columns: Sequence[str] | None = None,
    ) -> Any:
        """Return the lazy rows of what is no query."""
        from augury.evaluation.asked import Asked

        runner = self._spark_runner(f"the table of {name}")
        return runner.asked(Asked(kind, name.lower()), columns)

    def _pushed_owners(self, name: str) -> Identities | None:
        """Return what is told of owners over pushed rows; None where the rows are bound."""
        how = self._catalog.identified[name.lower()]
        is_bound = how.statement.readings.lower() in self._bound
        return None if is_bound or self._live is None else self._live.identified(name)

    def _forecast_table(self, name: str, columns: Sequence[str] | None) -> Any:
        """Return the rows of a forecast over the bound rows."""
        from augury.planning.refusal import PlanError

        forecast, source = self._forecasts[name.lower()]
        try:
            if self.engine == "spark":
                return self._asked_on_spark("forecast", name, columns)
            from augury.evaluation.answers.schemas import chosen
            from augury.runners.local.runner import LocalRunner

            runner = self._run()
            assert isinstance(runner, LocalRunner)
            answer = runner.forecast(forecast)
        except PlanError as error:
            raise error.at(source, forecast.span) from error
        self._announce(self._bad_rows())
        if columns is None:
            return answer
        return answer.select(chosen(forecast.name, columns, answer.column_names))

    def score(self, forecast: str, rows: Any) -> ForecastScore:
        """Return how good a forecast is on rows of its stream that are kept apart.

        Log loss, Brier score and reliability, each against the base rate; what is bound stays.
        """
        from augury.planning.refusal import PlanError
        from augury.runners.local.runner import LocalRunner
        from augury.sources.tables import arrow_table

        found = self._forecasts.get(forecast.lower())
        if found is None:
            known = ", ".join(self.forecasts) or "none yet"
            raise AuguryError(f"there is no forecast {forecast}; declared: {known}")
        own, source = found
        name = own.query.streams[0].name
        bound = {**self._bound, name.lower(): arrow_table(name, rows)}
        try:
            return LocalRunner(self._catalog, self._checked_queries(), bound).score(own)
        except PlanError as error:
            raise error.at(source, own.span) from error

    def revisions(self, name: str) -> Any:
        """Return all that was told of a stream's owners, or of a query's matches, as it was told.

        `table` has the last revision of each event or match; here are those before it, too.
        """
        from augury.planning.refusal import PlanError

        if name.lower() in self._catalog.identified:
            if self.engine == "spark":
                return self._asked_on_spark("revisions", name)
            return self._known(name).log
        checked, source = self._readable(name)
        if self.engine == "spark" or self._acts(checked.name):
            return self.table(name)
        try:
            return self._local_runner().revisions(checked.name)
        except PlanError as error:
            raise error.at(source, checked.span) from error

    def _known(self, name: str) -> Identities:
        """Return what is told of the owners of a stream; say once what had to be reset."""
        found = self._pushed_owners(name) or self._local_runner().known(name)
        notice = (
            f"stream {name}: {found.resets} badge reads were impossible in every world; "
            "their owners were put where they lead"
        )
        if found.resets and notice not in self._said:
            self._said.add(notice)
            warnings.warn(notice, stacklevel=3)
        bad = found.last.rejected
        if bad.num_rows:
            self._announce({(name, "rejected"): (bad.num_rows, bad.column("reason")[0].as_py())})
        return found

    def _kept(self, stream: str, columns: Sequence[str] | None) -> Any:
        """Return the kept rows of a stream AS SUPPRESS."""
        from augury.evaluation.answers.schemas import chosen
        from augury.runners.local.runner import LocalRunner

        runner = self._run()
        assert isinstance(runner, LocalRunner), "Spark refuses policies as yet"
        rows = runner.rows(stream)
        return rows if columns is None else rows.select(chosen(stream, columns, rows.column_names))

    def audit(self, policy: str) -> Any:
        """Return what a policy has decided: one row per event, in order, kept or not, and why.

        It holds what was suppressed, and is as secret as the raw stream.
        """
        found = self._catalog.policies.get(policy.lower())
        if found is None:
            known = ", ".join(each.name for each in self._catalog.policies.values()) or "none yet"
            raise AuguryError(f"there is no policy {policy}; declared: {known}")
        stream = found.stream.lower()
        if self.engine == "spark":
            return self._asked_on_spark("audit", policy)
        if self.engine == "local" and self._live is not None and stream not in self._bound:
            return self._live_runner().audit(stream)
        self._run()
        decided = (self._suppressed or {}).get(stream)
        if decided is None:
            raise AuguryError(f"stream {found.stream} has no data; bind it, or push rows")
        return decided.audit

    def _decided_by(self, stream: str) -> tuple[Any, Any]:
        """Return what decides about a stream, and what it has decided."""
        found = (self._suppressed or {}).get(stream)
        if found is not None:
            return found.decider, found.audit
        gate = self._live_runner().gates[stream]
        return gate.open(), gate.audit()

    def _bad_rows(self) -> dict[tuple[str, str], Aside]:
        """Return how many rows of the bound streams that were read are bad, and why the first is.

        DataFrames of Spark are lazy: nothing is known of their rows before they are asked for.
        """
        from augury.runners.local.runner import LocalRunner

        runner = self._run()
        if not isinstance(runner, LocalRunner):
            return {}
        return {
            (stream.schema.name, "rejected"): (bad.num_rows, bad.column("reason")[0].as_py())
            for stream in runner.streams_read
            if (bad := stream.rejected).num_rows
        }

    def _announce(self, found: Mapping[tuple[str, str], Aside], *, again: bool = False) -> None:
        """Say of which streams rows were put aside: once of each, and `again` where it was more."""
        from augury.sources.announced import announcement

        for (stream, kind), (count, first) in found.items():
            # Of a stream under a policy nothing is told, not even how many rows are bad.
            if stream.lower() in self._catalog.guarded:
                continue
            told = self._told.get((stream.lower(), kind), 0)
            if count > told and (again or not told):
                self._told[stream.lower(), kind] = count
                sentence = announcement(stream, kind, count, first)
                warnings.warn(f"{sentence}; see {kind}({stream!r})", RowsWarning, stacklevel=3)

    def changes(self, table: str) -> Any:
        """Return every change that rules made to a table: when, by which firing, and the row.

        Over the bound rows, or, once events are pushed, those so far. `seq` counts the changes of a
        key from 1. The row is as it became; of a DELETE, as it last was.
        """
        from augury.evaluation.acting.tables import changes_table

        declared = self._catalog.table(table)
        if declared is None:
            raise QueryError([self._unbound(table, "table")])
        if self.engine == "spark":
            return self._acted_on_spark("changes", table)
        queries = self._checked_queries()
        return changes_table(declared, self._acting_state().firings, self._catalog, queries)

    # Rules ------------------------------------------------------------------------------------

    def _acts(self, query: str) -> bool:
        """Return whether tables that change decide what a query finds."""
        from augury.planning.acting.whom import tested_names

        return query.lower() in tested_names(self._catalog, self._checked_queries())

    def _refuse_tested(self, query: str, asked: str) -> None:
        """Raise where a query is asked for by itself whose matches are tested by tables."""
        if self._acts(query):
            from augury.planning.refusal import NOT_EVALUATED, PlanError

            message = (
                f"query {query} is tested by tables that rules write, so {asked} cannot have it"
            )
            raise PlanError(NOT_EVALUATED, message, f"ask for its table: table({query!r})")

    def _checked_queries(self) -> dict[str, CheckedQuery]:
        return {name: query for name, (query, _) in self._queries.items()}

    def _acting_now(self, query: str | None = None) -> Acting:
        """Return what acts; raise where something that it rests on is not evaluated."""
        if self._acting is None:
            from augury.planning.acting.world import acting_of

            self._acting = acting_of(self._catalog, self._checked_queries())
        fault = self._acting.fault_of(query)
        if fault is not None:
            span = (self._catalog.rules.get(fault) or self._queries[fault][0]).span
            raise self._acting.refused[fault].at(self._catalog.sources[fault], span)
        return self._acting

    def _acting_run(self, query: str | None = None) -> ActingRun:
        """Return what acts over the bound rows."""
        from augury.runners.local.acting import ActingRun
        from augury.runners.local.runner import LocalRunner

        acting, runner = self._acting_now(query), self._run()
        assert isinstance(runner, LocalRunner)
        if self._acted_out is None or self._acted_out.runner is not runner:
            self._acted_out = ActingRun(self._used(acting, runner.bound), runner)
        return self._acted_out

    def _acting_state(self) -> State:
        """Return what rules have done: so far, where events are pushed, or over the bound rows."""
        if self._live is None:
            state = self._acting_run().state
            self._announce_firings(state)
            self._announce_passed_over(self._acting_run().passed_over)
            return state
        live = self._live_runner().acting
        if live is None:
            raise AuguryError("nothing acts in this session; declare a rule with CREATE RULE")
        return live.state

    def _announce_firings(self, state: State, *, again: bool = False) -> None:
        """Say of which rules firings were put aside, as of rows."""
        if not state.rejected:
            return
        counts: dict[str, int] = {}
        for firing in state.rejected:
            counts[firing.rule] = counts.get(firing.rule, 0) + 1
        for rule, count in counts.items():
            told = self._told.get((rule.lower(), "firings"), 0)
            if count > told and (again or not told):
                self._told[rule.lower(), "firings"] = count
                which = "1 firing" if count == 1 else f"{count:,} firings"
                sentence = f"{which} of rule {rule} could not be done; see rejected({rule!r})"
                warnings.warn(sentence, RowsWarning, stacklevel=4)

    def _announce_passed_over(self, count: int, *, again: bool = False) -> None:
        """Say how many matches were left alone, since a store was written beyond their moments."""
        told = self._told.get(("", "passed over"), 0)
        if count > told and (again or not told):
            self._told["", "passed over"] = count
            which = "1 match was" if count == 1 else f"{count:,} matches were"
            warnings.warn(f"{which} settled by an earlier run", RowsWarning, stacklevel=4)

    def _acted_on_spark(self, kind: Kind, name: str, columns: Sequence[str] | None = None) -> Any:
        """Return what rules do, or what comes of a table, over Spark's rows."""
        acting, table = self._acting_now(), self._catalog.table(name)
        if table is not None and table.name not in acting.world.tables:
            raise AuguryError(
                f"no rule writes table {table.name}; its rows are those it was bound to"
            )
        return self._asked_on_spark(kind, name, columns)

    def _acted(self, name: str, columns: Sequence[str] | None = None) -> Any:
        """Return the contents of a table, or the firings of a rule."""
        rule, table = self._catalog.rules.get(name.lower()), self._catalog.table(name)
        if self.engine == "spark":
            return self._acted_on_spark("contents" if rule is None else "firings", name, columns)
        return _columns_of(self._acted_here(rule, table), columns)

    def _acted_here(self, rule: CreateRule | None, table: TableSchema | None) -> Any:
        """Return the same over rows in this process."""
        from augury.evaluation.acting import tables

        if rule is not None:
            query, _ = self._query(rule.query)
            fired = self._acting_state().firings
            return tables.firings_table(rule.name, fired, query, self._catalog)
        assert table is not None
        acting = self._acting_now()
        if table.name not in acting.world.tables and table.store is not None:
            from augury.evaluation.acting.opened import opened

            alone = opened(self._catalog, [table.name])
            assert alone is not None
            alone.load()
            return alone.bound()[table.name.lower()]
        if table.name not in acting.world.tables:
            held = tables.contents_of(table.name, self._catalog, self._bound)
            return tables.contents_table(table, held)
        return tables.contents_table(table, self._acting_state().tables[table.name])

    def _unsaid(self, query: CheckedQuery) -> list[str]:
        """Return what was not said yet of missed and tied events in the rows of a query."""
        from augury.evaluation.notices import unmatched_rates, warnings_below
        from augury.evaluation.ties import tie_notice
        from augury.runners.local.runner import LocalRunner

        runner, found = self._run(), list[str]()
        for name, own in warnings_below(runner, query, self._queries).items():
            found += [f"query {name}: {each.message} ({each.code}); {each.hint}" for each in own]
            self._warnings += tuple(each for each in own if each not in self._warnings)
        if isinstance(runner, LocalRunner):
            found += unmatched_rates(runner.streams_read)
            tied = runner.tied(query.name).items()
            found += [tie_notice(self._queries[name.lower()][0], count) for name, count in tied]
        return self._not_said(found)

    def _not_said(self, notices: Iterable[str]) -> list[str]:
        """Return those of the notices that were not given yet; they are now."""
        unsaid = [each for each in dict.fromkeys(notices) if each not in self._said]
        self._said |= set(unsaid)
        return unsaid

    def analyze(self, queries: Sequence[str]) -> None:
        """Count on Spark the rows that queries without an equated key would move.

        Reads the bound rows of their streams, now. From then on, until a stream is bound again or
        something is declared, EXPLAIN prices the plans that move events and temporal results, and
        the cheaper one runs.
        """
        from augury.planning.refusal import PlanError

        runner = self._spark_runner("analyze")
        for name in queries:
            checked, source = self._readable(name)
            try:
                self._refuse_tested(checked.name, "analyze")
                self._sketches[checked.name.lower()] = runner.analysed(checked.name)
            except PlanError as error:
                raise error.at(source, checked.span) from error
        self._runner = None

    def pipeline(
        self,
        queries: Sequence[str],
        *,
        tells_faults: bool = False,
        tells_movement: bool = False,
    ) -> Pipeline:
        """Return one pass over Spark's rows that answers several queries; see `Pipeline`."""
        from augury.planning.refusal import PlanError

        runner = self._spark_runner("pipeline")
        checked = [self._readable(name) for name in queries]
        if not checked:
            raise AuguryError("a pipeline needs at least one query; name those it should answer")
        query, source = checked[0]
        try:
            for each, _ in checked:
                self._refuse_tested(each.name, "a pipeline")
            return runner.pipeline(
                [each.name for each, _ in checked],
                tells_faults=tells_faults,
                tells_movement=tells_movement,
            )
        except PlanError as error:
            raise error.at(source, query.span) from error

    def push(self, stream: str, rows: Any) -> list[dict[str, Any]]:
        """Let events happen: one row as a dict, or many; return the matches that are known now.

        Each match is a dict with the columns of `table`. It is reported once the watermark, the
        latest time seen minus LATENESS, has passed its last event; `finish` reports the rest. All
        queries of the session that return matches, or probabilities by time, are evaluated; where
        one cannot be, it fails, or leaves it out with a warning (`Session(partly=True)`). Rows that
        are bad or too late are put aside: see `rejected` and `late`.
        """
        if (known := self._catalog.identified.get(stream.lower())) is not None:
            raise AuguryError(
                f"stream {stream} is identified from {known.statement.readings}; push rows of "
                f"{known.statement.readings}"
            )
        if (kept := self._catalog.suppressed.get(stream.lower())) is not None:
            raise AuguryError(
                f"stream {stream} is what policy {kept.policy} keeps of {kept.stream}; push rows "
                f"of {kept.stream}"
            )
        live = self._live_runner()
        if self._catalog.policy_of(stream) is not None:
            self._decided.add(stream.lower())
        live, name = self._live_runner(), self._stream_name(stream)
        if isinstance(rows, Mapping):
            rows = (rows,)
        elif not isinstance(rows, list | tuple):
            from augury.sources.tables import plain_rows

            rows = plain_rows(stream, rows)
        found = self._expired.aside(live.push(name, rows))
        if live.has_put_aside(name):
            self._announce(live.put_aside(name))
        if live.acting is not None:
            self._announce_firings(live.acting.state)
            self._announce_passed_over(live.acting.passed_over)
        return found

    def advance(self, time: Any = None, *, stream: str | None = None) -> list[dict[str, Any]]:
        """Let time pass without an event; return the matches that are known now.

        It is as if an event of that `time` had come on every stream, or on one: the watermark goes
        on to it, less LATENESS, and rows before that are late. Without a time, only streams that
        were silent for longer than their IDLE AFTER are passed over.
        """
        live = self._live_runner()
        named = None if stream is None else self._stream_name(stream)
        return self._expired.aside(live.advance(time, named))

    def finish(self) -> list[dict[str, Any]]:
        """End all pushed streams; return the matches that were still waiting for the watermark.

        Where events of equal time were in no sequence, for want of ORDER BY, a Python warning says
        how many of each query.
        """
        live = self._live_runner()
        found = self._expired.aside(live.finish())
        for name in live.entrances:
            self._announce(live.put_aside(name), again=True)
        if live.acting is not None:
            self._announce_firings(live.acting.state, again=True)
            self._announce_passed_over(live.acting.passed_over, again=True)
        for notice in self._not_said(live.notices()):
            warnings.warn(notice, stacklevel=2)
        return found

    def checkpoint(self) -> bytes:
        """Return all that pushed events have left behind, for `restore` in another session."""
        from augury.runners.live import state as live_state

        return live_state.dump(self._live_runner())

    def restore(self, data: bytes) -> None:
        """Go on where `checkpoint` was called, in a session with the same declarations.

        Raises `StateError` for bytes of other declarations, of a later release, and damaged ones.
        """
        from augury.runners.live import state as live_state

        live = self._live_runner()
        live_state.load(live, data)
        # What a policy has decided there is decided here: nothing may bind more from now on.
        self._decided |= live.streams_pushed() & set(live.gates)

    def late(self, stream: str) -> Any:
        """Return the rows of a stream that came after the watermark, with the reason."""
        if self.engine == "spark":
            return self._spark_runner("late").late(self._stream_name(stream))
        return self._live_runner().late(self._stream_name(stream))

    def rejected(self, stream: str) -> Any:
        """Return the bad rows of a stream, each with the reason why it was left out.

        Of a rule with ON ERROR REJECT: the firings that could not be done.
        """
        if (rule := self._catalog.rules.get(stream.lower())) is not None:
            from augury.evaluation.acting.tables import rejected_table

            if self.engine == "spark":
                return self._acted_on_spark("aside", stream)
            query, _ = self._query(rule.query)
            return rejected_table(rule.name, self._acting_state().rejected, query)
        name = self._stream_name(stream)
        if name in self._catalog.identified and self.engine == "local":
            return self._known(stream).last.rejected
        if self.engine == "local" and name in self._catalog.guarded and name in self._bound:
            from augury.evaluation.suppression import rejected_rows

            return rejected_rows(self._catalog, name, self._bound)
        if self.engine == "spark" or name in self._bound or self._live is None:
            return self._run().rejected(stream)
        return self._live_runner().rejected(name)

    def _stream_name(self, name: str) -> str:
        if self._catalog.stream(name) is None:
            raise QueryError([self._unbound(name, "stream")])
        return name.lower()

    def _live_runner(self) -> LiveRunner:
        if self.engine != "local":
            raise AuguryError("events are pushed in process; make a Session(engine='local') for it")
        if self._live is not None and self._live_is_current:
            return self._live
        from augury.runners.live.runner import LiveRunner

        if self._live is None:
            self._live = LiveRunner(partly=self._partly)
        guarded = self._catalog.guarded
        self._live.tables |= {n: each for n, each in self._bound.items() if n not in guarded}
        self._live.open_streams(self._catalog)
        acting, queries = self._acting_now(), self._checked_queries()
        queries |= {name: made.query for name, made in acting.candidates.items()}
        self._live.refused = acting.refused
        if acting.candidates:
            self._live.act(self._used(acting, self._live.tables))
        self._live.open_policies(self._catalog, queries, self._bound)
        for name in queries:
            if self._catalog.is_private(name) is None:
                self._live.declare(name, self._catalog, queries)
        for forecast, _ in self._forecasts.values():
            self._live.declare_forecast(forecast, self._catalog)
        for name in self._catalog.identified:
            self._live.declare_identified(name, self._catalog)
        self._live_is_current = True
        return self._live

    def _refuse_late_rules(self, checked: Checked) -> None:
        """Raise before a rule is taken in that would concern what has seen events without it."""
        from augury.planning.acting.world import acting_of

        assert self._live is not None
        new = {query.name.lower(): query for query in checked.queries}
        self._live.refuse_late(acting_of(checked.catalog, self._checked_queries() | new))

    def _used(self, acting: Acting, bound: Mapping[str, Any]) -> Used:
        """Return what acts with all that it uses; stores are not asked yet."""
        from augury.evaluation.acting.opened import opened
        from augury.runners.live.acting import Used

        stores = opened(self._catalog, acting.world.tables)
        return Used(acting, self._catalog, self._checked_queries(), bound, stores, *self._flying)

    def _run(self) -> LocalRunner | SparkRunner:
        if self._runner is None:
            queries = self._checked_queries()
            if self.engine == "spark":
                from augury.runners.spark.runner import SparkRunner

                self._runner = SparkRunner(
                    self.spark,
                    self._catalog,
                    queries,
                    dict(self._bound),
                    shards=self._shards,
                    sketches=dict(self._sketches),
                    forecasts={name: each for name, (each, _) in self._forecasts.items()},
                )
            else:
                from augury.runners.local.runner import LocalRunner

                found = {n: made.query for n, made in self._candidates().items()}
                bound, checked = self._behind_policies(queries)
                forecasts = {name: own for name, (own, _) in self._forecasts.items()}
                self._runner = LocalRunner(
                    self._catalog, queries | found, bound, checked, forecasts=forecasts
                )
        return self._runner

    def _candidates(self) -> Mapping[str, Candidates]:
        """Return the queries that act as they are searched; none where something is refused."""
        if self._acting is None:
            from augury.planning.acting.world import acting_of

            self._acting = acting_of(self._catalog, self._checked_queries())
        return self._acting.candidates

    def _local_runner(self) -> LocalRunner:
        from augury.runners.local.runner import LocalRunner

        runner = self._run()
        assert isinstance(runner, LocalRunner)
        return runner

    def _behind_policies(
        self, queries: Mapping[str, CheckedQuery]
    ) -> tuple[dict[str, Any], dict[str, StreamRows]]:
        """Return the rows that readers may see: of streams under a policy, those that are kept."""
        if not self._catalog.policies:
            return dict(self._bound), {}
        from augury.evaluation.suppression import behind_policies, gated

        if self._suppressed is None:
            self._suppressed = gated(self._catalog, queries, self._bound)
            self._decided |= set(self._suppressed)
        return behind_policies(self._catalog, self._bound, self._suppressed)

    def _spark_runner(self, asked: str) -> SparkRunner:
        from augury.runners.local.runner import LocalRunner

        runner = self._run()
        if isinstance(runner, LocalRunner):
            raise AuguryError(f"{asked} needs Spark; make a Session(spark) or a Session() for it")
        return runner

    @property
    def spark(self) -> Any:
        """The Spark session; a local one is started when it is first needed."""
        if self.engine != "spark":
            raise AuguryError("the engine 'local' has no Spark session")
        if self._spark is None:
            from augury.runners.process.local_spark import start

            self._spark = start()
        return self._spark

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the declared streams, in order."""
        return tuple(s.name for s in self._catalog.streams.values() if s.query is None)

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries, in order."""
        return tuple(query.name for query, _ in self._queries.values())

    @property
    def forecasts(self) -> tuple[str, ...]:
        """The names of the forecasts, in order."""
        return tuple(forecast.name for forecast, _ in self._forecasts.values())

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Every warning so far, script by script."""
        return self._warnings

    def _add(self, source: Source) -> tuple[Statement, ...]:
        from augury.analysis.findings import in_text_order
        from augury.analysis.script import check
        from augury.language.parser import parse

        parsed = parse(source)
        checked = check(parsed.statements, source, self._catalog, parsed.unread)
        found = in_text_order((*parsed.diagnostics, *checked.diagnostics))
        if any(each.severity == "error" for each in found):
            raise QueryError(found)
        if checked.catalog.policies:
            self._take_policies(checked.catalog, parsed.statements, source)
        if self._live is not None and checked.catalog.rules:
            self._refuse_late_rules(checked)
        self._catalog = checked.catalog
        self._runner, self._acting, self._live_is_current = None, None, False
        if len(_explains(parsed.statements)) < len(parsed.statements):
            self._sketches = {}
        for query in checked.queries:
            name = query.name.lower()
            self._queries[name] = (query, checked.catalog.sources.get(name, source))
        for forecast in checked.forecasts:
            self._forecasts[forecast.name.lower()] = (forecast, source)
        planned = (
            each for q in checked.queries for each in _planned(*self._queries[q.name.lower()])
        )
        self._warnings += (*found, *planned)
        return parsed.statements

    def _take_policies(
        self, catalog: Catalog, statements: tuple[Statement, ...], source: Source
    ) -> None:
        """Refuse what comes too late for decisions that were made."""
        from augury.planning.policy_changes import too_late

        pushed = set() if self._live is None else self._live.streams_pushed()
        late = too_late(self._catalog, catalog, self._decided, pushed)
        if late:
            raise QueryError([each.at(statements, source) for each in late])
        if catalog.policies != self._catalog.policies:
            self._suppressed = None
            self._live = None if not pushed else self._live

    def _explained(self, statement: Explain) -> str:
        shapes: dict[str, Format] = {shape.upper(): shape for shape in get_args(Format)}
        return self.explain(statement.query, shapes[statement.format], analyze=statement.measured)

    def _query(self, name: str) -> tuple[CheckedQuery, Source]:
        found = self._queries.get(name.lower())
        if found is None:
            raise QueryError([self._unknown(name)])
        return found

    def _readable(self, name: str) -> tuple[CheckedQuery, Source]:
        """Return a query whose answers may be read."""
        found = self._query(name)
        self._refuse_private(found[0].name)
        return found

    def _refuse_private(self, name: str) -> None:
        policy = self._catalog.is_private(name)
        if policy is not None:
            message = f"query {name} is private by the policy {policy}, and cannot be read"
            place, hint = Span(0, len(name)), "read it in a session without the policy"
            raise QueryError([Diagnostic("A124", message, place, Source("<query>", name), hint)])

    def _unbound(self, name: str, needed: str = "stream or table") -> Diagnostic:
        tables = [table.name for table in self._catalog.tables.values()]
        known = [
            *(self.streams if "stream" in needed else ()),
            *(tables if "table" in needed else ()),
        ]
        return self._misnamed("A011", name, needed, known)

    def _unknown(self, name: str) -> Diagnostic:
        return self._misnamed("A029", name, "query", [*self.queries, *self.forecasts])

    def _misnamed(self, code: str, name: str, needed: str, known: Sequence[str]) -> Diagnostic:
        from augury.analysis.declarations.ledger import Ledger
        from augury.analysis.declarations.misnamed import misnamed

        otherwise = f"declared: {', '.join(known) or 'nothing yet'}"
        message, hint = misnamed(name, needed, Ledger.of(self._catalog), known, otherwise)
        return Diagnostic(code, message, Span(0, len(name)), Source("<name>", name), hint)


def _columns_of(answer: Any, columns: Sequence[str] | None) -> Any:
    """Return some columns of an answer; all, where none are named."""
    if columns is None:
        return answer
    from augury.evaluation.answers.schemas import chosen

    return answer.select(chosen("what was asked for", columns, answer.column_names))


def _warn_of_other_workers(spark: Any) -> None:
    """Say so where the Python workers of a Spark session may lack augury."""
    from augury.runners.process.worker_python import notice_of

    notice = notice_of(spark)
    if notice is not None:
        warnings.warn(notice, stacklevel=3)


def _planned(query: CheckedQuery, source: Source) -> tuple[Diagnostic, ...]:
    """Return what only planning finds out about a query that may miss events."""
    if not (query.allow and query.gaps):
        return ()
    from augury.planning.missed.unreachable import warnings_of

    return warnings_of(query, source)


def _explains(statements: tuple[Statement, ...]) -> list[Explain]:
    from augury.language.tree import Explain

    return [statement for statement in statements if isinstance(statement, Explain)]


def _explain(
    checked: CheckedQuery,
    source: Source,
    shape: Format,
    catalog: Catalog,
    known: tuple[Priced | None, list[dict[str, Any]] | None],
) -> str:
    """Return an explanation, with what is `known` of the rows: prices, and measures of a run."""
    from augury.planning.explain import explain
    from augury.planning.refusal import PlanError

    try:
        return explain(checked, shape, catalog, *known)
    except PlanError as error:
        raise error.at(source, checked.span) from error
