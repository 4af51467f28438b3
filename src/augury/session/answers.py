"""Answers of queries, forecasts, and streams that are made of others, over the bound rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from augury.errors import AuguryError
from augury.session.columns import some_columns
from augury.session.declared import blamed

if TYPE_CHECKING:
    from augury.analysis.checked import CheckedQuery
    from augury.analysis.declarations.catalog import PolicySchema
    from augury.evaluation.identifying import Identities
    from augury.evaluation.learning.forecast_scores import ForecastScore
    from augury.session.acted import Acted
    from augury.session.bound import BoundRows
    from augury.session.declared import Declared
    from augury.session.notices import Notices
    from augury.session.pushed import PushedRows


class Answers:
    """What is asked for by name, whatever it is."""

    def __init__(
        self,
        declared: Declared,
        bound: BoundRows,
        pushed: PushedRows,
        acted: Acted,
        notices: Notices,
    ) -> None:
        self._declared, self._bound, self._pushed = declared, bound, pushed
        self._acted, self._notices = acted, notices

    @property
    def _on_spark(self) -> bool:
        return self._bound.engine == "spark"

    @property
    def hears(self) -> bool:
        """Whether events were pushed."""
        return self._pushed.live is not None

    def table(self, name: str, columns: Sequence[str] | None) -> Any:
        """Return the rows of what bears a name; see `Session.table`."""
        catalog = self._declared.catalog
        if name.lower() in self._declared.forecasts:
            return self._forecast(name, columns)
        if catalog.rules.get(name.lower()) or catalog.table(name):
            return self._acted.table(name, columns)
        if name.lower() in {**catalog.identified, **catalog.suppressed}:
            self._declared.refuse_history(name)
            return self._made(name, columns)
        checked, source = self._declared.readable(name)
        if self._declared.is_tested(checked.name):
            return self._acted.tested(checked.name, columns)
        with blamed(source, checked):
            answer = self._matches(checked, columns)
            unsaid = self._notices_of(checked)
        self._notices.say(unsaid)
        self._notices.announce(self._bound.bad_rows())
        return answer

    def _matches(self, query: CheckedQuery, columns: Sequence[str] | None) -> Any:
        answer = self._bound.runner().table(query.name, columns)
        if not self._on_spark and query.name.lower() in self._declared.candidates:
            from augury.evaluation.stages.act import shown

            answer = shown(answer)
        return answer

    def _notices_of(self, query: CheckedQuery) -> list[str]:
        """Return what is to be said of missed and tied events in the rows of a query."""
        from augury.evaluation.notices import unmatched_rates, warnings_below
        from augury.evaluation.ties import tie_notice
        from augury.runners.local.runner import LocalRunner

        declared, runner, found = self._declared, self._bound.runner(), list[str]()
        for name, own in warnings_below(runner, query, declared.queries).items():
            found += [f"query {name}: {each.message} ({each.code}); {each.hint}" for each in own]
            declared.warnings += tuple(each for each in own if each not in declared.warnings)
        if isinstance(runner, LocalRunner):
            found += unmatched_rates(runner.streams_read)
            tied = runner.tied(query.name).items()
            found += [tie_notice(declared.queries[name.lower()][0], count) for name, count in tied]
        return found

    def _made(self, stream: str, columns: Sequence[str] | None) -> Any:
        """Return the rows of a stream that is made of another: with owners, or what was kept."""
        if self._on_spark:
            return self._bound.asked_on_spark("stream", stream, columns)
        catalog = self._declared.catalog
        is_pushed = self._pushed.owners(stream) is not None
        if stream.lower() in catalog.suppressed and not is_pushed:
            return some_columns(self._bound.local_runner().rows(stream), columns, stream)
        return some_columns(self.known(stream).last.table, columns)

    def known(self, name: str) -> Identities:
        """Return what is told of the owners of a stream; say once what had to be reset."""
        found = self._pushed.owners(name) or self._bound.local_runner().known(name)
        if found.resets:
            resets = f"{found.resets} badge reads were impossible in every world"
            self._notices.say([f"stream {name}: {resets}; their owners were put where they lead"])
        bad = found.last.rejected
        if bad.num_rows:
            first = bad.column("reason")[0].as_py()
            self._notices.announce({(name, "rejected"): (bad.num_rows, first)})
        return found

    def deciding_reads(self, name: str, event: Any) -> Any:
        """Return which badge reads decided who did an event."""
        from augury.evaluation.owners.reasons import deciding_reads

        catalog = self._declared.catalog
        how = catalog.identified.get(name.lower())
        if how is None:
            raise AuguryError(f"{name} is no stream AS IDENTIFY, so its events have no owners")
        if name.lower() in catalog.guarded:
            raise AuguryError(f"a policy stands before {name}; the reads below it are secret")
        source = how.statement.readings
        if self._on_spark or source.lower() not in self._bound.rows:
            raise AuguryError(f"bind rows of {source} in a Session(engine='local') to ask why")
        return deciding_reads(self.known(name), event)

    def _forecast(self, name: str, columns: Sequence[str] | None) -> Any:
        """Return the rows of a forecast over the bound rows."""
        forecast, source = self._declared.forecast(name)
        with blamed(source, forecast):
            if self._on_spark:
                return self._bound.asked_on_spark("forecast", name, columns)
            answer = self._bound.local_runner().forecast(forecast)
        self._notices.announce(self._bound.bad_rows())
        return some_columns(answer, columns, forecast.name)

    def score(self, name: str, rows: Any = None) -> ForecastScore:
        """Return how good a forecast is on rows of its stream that are kept apart."""
        from augury.runners.local.runner import LocalRunner
        from augury.sources.tables import arrow_table

        forecast, source = self._declared.forecast(name)
        stream = forecast.query.streams[0].name
        kept = self._declared.catalog.suppressed.get(stream.lower())
        stream = stream if kept is None else kept.stream
        given = {} if rows is None else {stream.lower(): arrow_table(stream, rows)}
        declared = self._declared
        with blamed(source, forecast):
            bound, checked = self._bound.behind_policies(given)
            queries = declared.checked_queries
            return LocalRunner(declared.catalog, queries, bound, checked).score(forecast)

    def revisions(self, name: str) -> Any:
        """Return all that was told of a stream's owners, or of matches, as it was told."""
        stream = self._declared.catalog.stream(name)
        if stream is not None and stream.is_identified:
            self._declared.refuse_history(name)
            if self._on_spark:
                return self._bound.asked_on_spark("revisions", name)
            return self.known(name).log
        checked, source = self._declared.readable(name)
        if self._declared.is_tested(checked.name):
            return self.table(name, None)
        if self._on_spark:
            from augury.planning.base_streams import owned_streams

            if owned_streams(checked, self._declared.checked_queries):
                return self._bound.asked_on_spark("revisions", name)
            return self.table(name, None)
        with blamed(source, checked):
            return self._bound.local_runner().revisions(checked.name)

    # Policies -----------------------------------------------------------------------------------

    def audit(self, name: str) -> Any:
        """Return what a policy has decided."""
        policy = self._declared.catalog.policies.get(name.lower())
        if policy is None:
            found = self._declared.catalog.policies.values()
            known = ", ".join(each.name for each in found) or "none yet"
            raise AuguryError(f"there is no policy {name}; declared: {known}")
        if self._on_spark:
            return self._bound.asked_on_spark("audit", name)
        return self.decided(policy)[1]

    def _is_pushed(self, stream: str) -> bool:
        how = self._declared.catalog.identified.get(stream)
        below = stream if how is None else how.statement.readings.lower()
        return self._pushed.live is not None and below not in self._bound.rows

    def decided(self, policy: PolicySchema) -> tuple[Any, Any]:
        """Return what decides for a policy, and what it has decided."""
        stream = policy.stream.lower()
        if self._is_pushed(stream):
            deciding = self._pushed.runner().decided(stream)
            return deciding.open(), deciding.audit()
        self._bound.runner()
        decided = (self._bound.suppressed or {}).get(stream)
        if decided is None:
            raise AuguryError(f"stream {policy.stream} has no data; bind it, or push rows")
        return decided.decider, decided.audit

    # Rows that were put aside -------------------------------------------------------------------

    def late(self, stream: str) -> Any:
        """Return the rows of a stream that came after the watermark."""
        name = self._declared.stream_name(stream)
        if self._on_spark:
            return self._bound.spark_runner("late").late(name)
        return self._pushed.runner().late(name)

    def rejected(self, name: str) -> Any:
        """Return the bad rows of a stream, or the firings of a rule that could not be done."""
        catalog = self._declared.catalog
        if (rule := catalog.rules.get(name.lower())) is not None:
            return self._acted.rejected(rule)
        stream = self._declared.stream_name(name)
        if stream in catalog.identified and not self._on_spark:
            return self.known(name).last.rejected
        is_bound = stream in self._bound.rows
        if not self._on_spark and stream in catalog.guarded and is_bound:
            from augury.evaluation.suppression import rejected_rows

            return rejected_rows(catalog, stream, self._bound.rows)
        if self._on_spark or is_bound or self._pushed.live is None:
            return self._bound.runner().rejected(name)
        return self._pushed.runner().rejected(stream)
