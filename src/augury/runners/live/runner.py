"""The live runner: events pushed one at a time, matches back as soon as they are known.

Each stream has an entrance that keeps its watermark and puts aside what is bad or late; each query
takes what comes in, and reports as far as the least watermark of its streams allows. So a match
comes back with the first event that is later than its last by more than LATENESS, not before: until
then an event may come that breaks it, or makes a better one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.errors import AuguryError, DataError, ModelError, warn
from augury.evaluation.encoding import declaration_of, rows_of_table
from augury.evaluation.identifying import Identities
from augury.evaluation.learning.learned_gaps import learned
from augury.evaluation.stages.suppress import SuppressStage
from augury.evaluation.suppression import kept_owners, table_rows, taught
from augury.evaluation.ties import tie_notice, tie_rule
from augury.language.printer import to_text
from augury.matching.matcher import ALWAYS
from augury.planning.acting.refusals import refuse_worlds
from augury.planning.acting.world import Acting
from augury.planning.base_streams import below
from augury.planning.evaluated import (
    reads_owners,
    refuse_endless_skips,
    refuse_inferred,
    refuse_late_steps,
    refuse_unfollowed,
    refuse_unrevised,
)
from augury.planning.graph import stage_of
from augury.planning.match_plan import plan_match
from augury.planning.policy_plan import plan_policy
from augury.planning.refusal import NOT_EVALUATED, PlanError
from augury.planning.streamable import refuse_unstreamable
from augury.runners.live.acting import LiveActing, Used
from augury.runners.live.forecast import LiveForecast
from augury.runners.live.gate import LiveGate
from augury.runners.live.identify import LiveIdentified
from augury.runners.live.query import LiveQuery
from augury.runners.live.silence import Silence
from augury.runners.live.steps import LiveSteps, needs_steps
from augury.sources.intake import Intake

Row = Mapping[str, Any]
Found = list[dict[str, Any]]
Live = LiveQuery | LiveSteps | LiveForecast | LiveIdentified


class LiveRunner:
    """Evaluates the queries of a catalog over pushed rows; `tables` are the bound relations."""

    def __init__(
        self, tables: Mapping[str, pa.Table] | None = None, *, partly: bool = False
    ) -> None:
        self.tables, self.partly = dict(tables or {}), partly
        self.forecasts: Mapping[str, CheckedForecast] = {}
        self.entrances: dict[str, Intake] = {}
        self.queries: dict[str, Live] = {}
        self.texts: dict[str, str] = {}
        self.rule_texts: dict[str, str] = {}
        self.gates: dict[str, LiveGate] = {}
        # Rows that policies alone may read: the streams, and what was bound of them.
        self.secret: frozenset[str] = frozenset()
        self.histories: dict[str, pa.Table] = {}
        self._left_out: set[str] = set()
        self._readers: dict[str, list[tuple[str, str, list[Intake]]]] = {}
        self.acting: LiveActing | None = None
        self.refused: Mapping[str, PlanError] = {}
        self._reads: dict[str, list[Intake]] = {}
        self.silence = Silence()

    def open_streams(self, catalog: Catalog) -> None:
        """Give an entrance to every stream that has none yet."""
        for stream, schema in catalog.streams.items():
            if stream not in self.entrances:
                self.entrances[stream] = Intake(declaration_of(schema), schema.lateness)
                self.silence.expect(stream, schema.idle)

    def act(self, used: Used) -> None:
        """Let rules act from now on; what they concern was declared before, or is new."""
        refuse_worlds(used.acting)
        self.refuse_late(used.acting)
        if self.acting is None:
            self.acting = LiveActing(used)
        else:
            self.acting.declare(used)
        rules = used.catalog.rules.items()
        self.rule_texts = {name: to_text(rule) for name, rule in rules}

    def refuse_late(self, acting: Acting) -> None:
        """Raise where something that has seen events would have to act or be tested only now."""
        for name in acting.candidates:
            if name in self.queries and (self.acting is None or name not in self._acting_names):
                raise AuguryError(
                    f"query {name} has seen events, and cannot act or be tested from now on; "
                    "declare rules, and subqueries, before the first push"
                )

    @property
    def _acting_names(self) -> Mapping[str, object]:
        return {} if self.acting is None else self.acting.acting.candidates

    def declare(self, name: str, catalog: Catalog, queries: Mapping[str, CheckedQuery]) -> None:
        """Take in a query, unless it is known; it sees what is pushed from now on."""
        if name not in self.queries and name not in self._left_out:
            self._add(name, queries[name], catalog, queries)

    def open_policies(
        self,
        catalog: Catalog,
        queries: Mapping[str, CheckedQuery],
        bound: Mapping[str, pa.Table],
    ) -> None:
        """Put a gate before every stream under a policy, unless rows went through it already.

        `bound` has the histories, which nothing else sees.
        """
        self.secret = catalog.guarded
        self.histories = {name: bound[name] for name in self.secret if name in bound}
        for policy in catalog.policies.values():
            stream = policy.stream.lower()
            known = self.gates.get(stream)
            if stream not in catalog.identified and (known is None or not known.is_used):
                plan = plan_policy(policy, queries, catalog, table_rows(catalog, bound))
                aliases = (n for n, e in catalog.suppressed.items() if e.policy == policy.name)
                stage = SuppressStage(plan, catalog.streams[stream])
                teach = partial(taught, catalog=catalog, bound=bound)
                self.gates[stream] = LiveGate(stage, teach, [stream, *aliases])

    @property
    def owners_kept(self) -> dict[str, LiveIdentified]:
        """The streams of owners that stand under a policy, by lower-case name."""
        found = self.queries.items()
        return {n: q for n, q in found if isinstance(q, LiveIdentified) and q.policy is not None}

    def decided(self, stream: str) -> LiveGate | LiveIdentified:
        """Return what decides about the rows of a stream, with its log."""
        return self.gates[stream] if stream in self.gates else self.owners_kept[stream]

    def refuse_used(self, name: str) -> None:
        """Raise where a policy has decided about rows: what is bound now would come too late."""
        gates: list[LiveGate | LiveIdentified] = [*self.gates.values()]
        if any(each.is_used for each in [*gates, *self.owners_kept.values()]):
            raise AuguryError(
                f"a policy has decided about pushed rows; bind {name} before them, or in another "
                "session"
            )

    def streams_pushed(self) -> set[str]:
        """Return the streams of which rows have come."""
        return {name for name, each in self.entrances.items() if each.has_taken}

    def push(self, stream: str, rows: Iterable[Row]) -> Found:
        """Take in rows of one stream, in the order they came; return the new matches."""
        self.refuse_stopped()
        self.silence.hear(stream)
        if stream in self.gates:
            return self._push_through(self.gates[stream], list(rows))
        entrance, readers = self.entrances[stream], self._readers.get(stream, ())
        for row in rows:
            if not isinstance(row, Mapping):
                is_secret = stream in self.secret
                shown = "no dict of columns" if is_secret else f"{row!r}; push dicts of columns"
                raise DataError(f"a row of {entrance.declared.name} is {shown}")
            arrival = entrance.take(row)
            if arrival is not None:
                held = False
                for base, name, _ in readers:
                    held |= self.queries[name].accept(base, arrival)
                if held:
                    entrance.hold(arrival)
        self._pass_over_silent_ones()
        found: Found = []
        for _, name, entrances in readers:
            horizon = min([each.watermark for each in entrances])
            found += self._told(name, self.queries[name].advance(horizon))
        return found + self._settled()

    def advance(self, time: Any = None, stream: str | None = None) -> Found:
        """Let time pass without an event, of one stream or of all; return the new matches."""
        self.refuse_stopped()
        for name in [] if time is None else [stream] if stream else list(self.entrances):
            entrance = self.entrances[name]
            self._pass(name, entrance.moment(time) - entrance.lateness)
        self._pass_over_silent_ones()
        found: Found = []
        for name, query in self.queries.items():
            horizon = min([each.watermark for each in self._reads[name]])
            found += self._told(name, query.advance(horizon))
        return found + self._settled()

    def _pass(self, stream: str, watermark: int) -> None:
        """Let a stream's time pass; a policy decides about what was waiting for that."""
        gate = self.gates.get(stream)
        if gate is not None and watermark > self.entrances[stream].watermark:
            gate.open()
            self._accept(gate, watermark)
        self.entrances[stream].pass_to(watermark)

    def _pass_over_silent_ones(self) -> None:
        """Let the time of streams that have been silent for long go on with those beside them."""
        silent = self.silence.streams()
        quiet = [self.entrances[name] for name in silent]
        for name in silent:
            marks = []
            for _, query, _ in self._readers.get(name, ()):
                beside = self._reads[query]
                awake = [each.watermark for each in beside if each not in quiet]
                marks.append(min(awake) if awake else max(each.watermark for each in beside))
            if marks:
                self._pass(name, max(marks))

    def _told(self, name: str, found: Found) -> Found:
        """Return what is told of a query now; matches that act wait for their moments."""
        if self.acting is None or name not in self._acting_names:
            return found
        return self.acting.take(name, found)

    def _settled(self) -> Found:
        if self.acting is None:
            return []
        return self.acting.settle(
            (name, self._told_until(name, min([each.watermark for each in self._reads[name]])))
            for name in self._acting_names
        )

    def _told_until(self, name: str, horizon: int) -> int:
        """Return up to when a query has told all there is."""
        live = self.queries[name]
        return live.told_until(horizon) if isinstance(live, LiveSteps) else horizon

    def refuse_stopped(self) -> None:
        """Raise where a policy could not decide: rows that it left undecided would be missing."""
        deciding: list[LiveGate | LiveIdentified | LiveSteps] = [*self.gates.values()]
        deciding += self.owners_kept.values()
        deciding += [each for each in self.queries.values() if isinstance(each, LiveSteps)]
        for each in deciding:
            if each.has_stopped:
                raise DataError(
                    f"the policy {each.policy_name} could not decide about rows that were "
                    "pushed before; push them again, mended, in a new session"
                )

    def _push_through(self, gate: LiveGate, rows: list[Row]) -> Found:
        """Take in rows of a stream under a policy; what is kept goes on."""
        entrance = self.entrances[gate.names[0]]
        gate.open()
        # Before the first is taken: it would move the watermark, and then wait.
        if not all(isinstance(row, Mapping) for row in rows):
            raise DataError(f"a row of {entrance.declared.name} is no dict of columns")
        for row in rows:
            arrival = entrance.take(row)
            if arrival is not None:
                # Whether it is kept or not, its id must not come again.
                entrance.hold(arrival)
                gate.hold(arrival)
        self._pass_over_silent_ones()
        return self._let_through(gate, entrance.watermark)

    def _let_through(self, gate: LiveGate, horizon: int) -> Found:
        self._accept(gate, horizon)
        found: Found = []
        for name in gate.names:
            for _, reader, entrances in self._readers.get(name, ()):
                horizon = min(each.watermark for each in entrances)
                found += self._told(reader, self.queries[reader].advance(horizon))
        return found + self._settled()

    def _accept(self, gate: LiveGate, horizon: int) -> None:
        """Decide about rows before a time, and let readers have what is kept."""
        kept = gate.passed(horizon)
        for name in gate.names:
            self.entrances[name].watermark = max(self.entrances[name].watermark, horizon)
            for stream, reader, _ in self._readers.get(name, ()):
                for arrival in kept:
                    self.queries[reader].accept(stream, arrival)

    def finish(self) -> Found:
        """End all streams; return the matches that were still open."""
        self.refuse_stopped()
        found: Found = []
        for entrance in self.entrances.values():
            entrance.watermark = ALWAYS
        for gate in self.gates.values():
            self._accept(gate, ALWAYS)
        for name, query in self.queries.items():
            found += self._told(name, query.finish())
        found += self._settled()
        if self.acting is not None:
            self.acting.close()
        return found

    def has_put_aside(self, stream: str) -> bool:
        """Whether rows of a stream were bad or late."""
        entrance = self.entrances[stream]
        return bool(entrance.rejected or entrance.late or self._unidentified(stream))

    def put_aside(self, stream: str) -> dict[tuple[str, str], tuple[int, str]]:
        """Return how many rows were put aside, by stream and kind, and why the first of them."""
        entrance = self.entrances[stream]
        name = entrance.declared.name.removeprefix("stream ")
        kinds = {"rejected": entrance.rejected, "late": entrance.late}
        found = {(name, kind): (len(rows), rows[0][1]) for kind, rows in kinds.items() if rows}
        return found | self._unidentified(stream)

    def _unidentified(self, stream: str) -> dict[tuple[str, str], tuple[int, str]]:
        """Return how many rows of a stream no world allows, by the streams that identify it."""
        reading = (self.queries[name] for _, name, _ in self._readers.get(stream, ()))
        return {
            (each.stage.own.name, "rejected"): each.rejected
            for each in reading
            if isinstance(each, LiveIdentified) and each.rejected[0]
        }

    def notices(self) -> list[str]:
        """Return what is to be said of the events so far: how many are tied, by query."""
        return [
            tie_notice(each.query, each.tied)
            for each in self.queries.values()
            if not isinstance(each, LiveIdentified) and each.tied
        ]

    def identified(self, name: str) -> Identities | None:
        """Return what was told so far of the owners of a stream; None where it is not pushed."""
        found = self.queries.get(name.lower())
        return found.known if isinstance(found, LiveIdentified) else None

    def late(self, stream: str) -> pa.Table:
        """Return the rows of a stream that came too late, with the reason."""
        return self.entrances[stream].tables()[0]

    def rejected(self, stream: str) -> pa.Table:
        """Return the bad rows of a stream, with the reason."""
        return self.entrances[stream].tables()[1]

    def _add(
        self,
        name: str,
        query: CheckedQuery,
        catalog: Catalog,
        queries: Mapping[str, CheckedQuery],
    ) -> None:
        try:
            if name in self.refused:
                raise self.refused[name]
            live, bases = self._planned(query, catalog, queries)
        except PlanError as error:
            if name in self._acting_names:
                # Without it, what rules do would be another.
                raise
            advice = f"; {error.hint}" if error.hint else ""
            reads = [own for own in self.forecasts.values() if own.query.name == query.name]
            self._leave_out(
                name,
                f"query {query.name} cannot be evaluated, and push leaves it out: "
                f"{error.message} ({error.code}){advice}",
                # It is declared to be forecast, and forecast it is.
                warns=any(own.future.kind == "MODEL" for own in reads),
            )
            return
        self._read(name, live, to_text(catalog.queries[name]), bases)

    def declare_forecast(self, forecast: CheckedForecast, catalog: Catalog) -> None:
        """Take in a forecast, unless it is known; it sees what is pushed from now on."""
        name = forecast.name.lower()
        if name in self.queries or name in self._left_out:
            return
        try:
            rows = _table_rows(catalog, self.tables)
            acts = name in self._acting_names
            if acts:
                refuse_late_steps("a rule", name, self.forecasts)
            live = LiveForecast(forecast, catalog, self.tables, rows, acts=acts)
            live.aside = {base: self.entrances[base].rejected for base in live.rows}
        except PlanError as error:
            if name in self._acting_names:
                raise
            advice = f"; {error.hint}" if error.hint else ""
            self._leave_out(name, f"push leaves it out: {error.message} ({error.code}){advice}")
            return
        self._read(name, live, to_text(catalog.forecasts[name]), live.bases)

    def declare_identified(
        self, name: str, catalog: Catalog, queries: Mapping[str, CheckedQuery]
    ) -> None:
        """Take in a stream whose events get owners, unless it is known.

        Those that a policy learns from are bound: nobody is told of them.
        """
        if name in self.queries or name in self._left_out:
            return
        how = catalog.identified[name].statement
        if how.readings.lower() in self.histories:
            return
        try:
            policy = catalog.policy_of(name)
            stage = None
            if policy is not None:
                bound = self.tables | self.histories
                plan = plan_policy(policy, queries, catalog, table_rows(catalog, bound))
                own = SuppressStage(plan, catalog.streams[name])
                stage = partial(kept_owners, own, catalog, bound)
            live = LiveIdentified(name, catalog, self.tables, stage)
        except (DataError, ModelError) as error:
            self._leave_out(name, f"push leaves stream {how.name} out: {error}")
            return
        text = to_text(how) + to_text(catalog.moves[how.model.lower()].statement)
        self._read(name, live, text, live.bases)

    def _read(self, name: str, live: Live, text: str, bases: list[str]) -> None:
        """Let what is pushed to some streams reach a query or a forecast."""
        self.queries[name], self.texts[name] = live, text
        entrances = [self.entrances[base.lower()] for base in bases]
        self._reads[name] = entrances
        for base, entrance in zip(bases, entrances, strict=True):
            entrance.recent.memory = max(entrance.recent.memory, live.memory)
            self._readers.setdefault(base.lower(), []).append((base, name, entrances))

    def _planned(
        self, query: CheckedQuery, catalog: Catalog, queries: Mapping[str, CheckedQuery]
    ) -> tuple[Live, list[str]]:
        """Return how a query is evaluated, and the names of the streams it reads in the end."""
        lower = below(query, queries)
        refuse_unfollowed(lower)
        for each in lower.values():
            for stream in each.streams:
                refuse_late_steps(f"query {each.name}", stream.name, self.forecasts)
        if any(map(reads_owners, lower.values())):
            refuse_unrevised(query)
            return self._in_steps(query, catalog, queries)
        if stage_of(query, catalog).is_likely:
            refuse_unstreamable(query, catalog)
            return self._in_steps(query, catalog, queries)
        refuse_inferred(query, catalog)
        refuse_endless_skips(query)
        plan = plan_match(learned(query, catalog, self.tables), catalog)
        reads_forecasts = any(s.name.lower() in catalog.forecast_streams for s in query.streams)
        if needs_steps(plan) or reads_forecasts:
            return self._in_steps(query, catalog, queries)
        rows = _table_rows(catalog, self.tables)
        ties = tie_rule(plan.query, catalog)
        return LiveQuery(plan, rows, ties), [stream.name for stream in query.streams]

    def _in_steps(
        self, query: CheckedQuery, catalog: Catalog, queries: Mapping[str, CheckedQuery]
    ) -> tuple[Live, list[str]]:
        """Return a query that the executor evaluates, as rows have their turn."""
        tables = self.tables | self.histories
        steps = LiveSteps(query, catalog, queries, tables, self.forecasts)
        steps.aside = {name: self.entrances[name].rejected for name in steps.rows}
        return steps, steps.bases

    def _leave_out(self, name: str, reason: str, *, warns: bool = False) -> None:
        if not (self.partly or warns):
            # Who does not hear of a query would take it for one that never matches.
            hint = "take it out of the session, or go on without it: Session(partly=True)"
            said = reason.replace(", and push leaves it out", " by push")
            raise PlanError(NOT_EVALUATED, said.replace("push leaves it out: ", ""), hint)
        # One query must not stop the others. The warning points at the call of `push`.
        self._left_out.add(name)
        warn(reason)


def _table_rows(
    catalog: Catalog, tables: Mapping[str, pa.Table]
) -> dict[str, list[tuple[Any, ...]]]:
    rows = {}
    for name, schema in catalog.tables.items():
        if name in tables:
            rows[name] = rows_of_table(schema, tables[name])
    return rows
