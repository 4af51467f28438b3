"""Random scripts of rules, replaced, crashed, replayed and restarted by chance.

Tables lie in a store or in the run's own state. Whatever happens, they hold what one moment after
another gives, and each match is told once, by the push that lets it be known.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
import warnings
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from dataclasses import replace as changed
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from augury import Session
from augury.errors import DataError, StateError
from oracles.rules import Event, Outcome, Script, begun, gone_on, rule_text, text_of
from rules.acting import contents_of
from rules.test_reference import KINDS, WORKERS, acts, asks, names_of, rows_of, scripts
from stores.databases import asked
from stores.test_pushed import stored

pytestmark = pytest.mark.filterwarnings("ignore::augury.errors.RowsWarning")
Told = tuple[str, tuple[int, ...]]


@dataclass
class Reference:
    """What one moment after another gives of the events so far, by the script as it is now."""

    script: Script
    events: list[Event] = field(default_factory=list)
    outcome: Outcome = field(init=False)
    names: dict[Any, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.outcome = begun(self.script)

    @property
    def acting(self) -> set[str]:
        """The queries that tables or rules have to do with; on the first is one that never acts."""
        asking = {query.name for query in self.script.queries if query.ask is not None}
        return asking | {each.query for each in self.script.rules} | {self.script.queries[0].name}

    @property
    def known(self) -> float:
        """Before which time all is known: the least of the streams that anything acts on."""
        read = {q.stream for q in self.script.queries if q.name in self.acting}
        return min(max((e.t for e in self.events if e.stream == k), default=-inf) for k in read)

    def take(self, events: list[Event]) -> list[Told]:
        """Settle what some events let be known; return what is told of it."""
        self.events += events
        return self.settle(self.known)

    def settle(self, before: float) -> list[Told]:
        """Settle all moments before a time; return which matches stand."""
        so_far = len(self.outcome.passed)
        self.outcome = gone_on(self.outcome, self.script, self.events, self._name, before)
        return [each for each in self.outcome.passed[so_far:] if each[0] in self.acting]

    def _name(self, query: str, ids: Any) -> str:
        if (query, ids) not in self.names:
            self.names = names_of(self.script, self.events)
        return self.names[query, ids]


class RandomScripts(RuleBasedStateMachine):
    """One session after another over random rules."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.url = f"sqlite:///{self.folder}/ward.db"
        self.history: list[Event] = []
        self.saved: tuple[bytes, Reference] | None = None
        self.untold: list[Told] = []
        self.tells = True

    @initialize(script=scripts(), in_store=st.booleans())
    def first(self, script: Script, in_store: bool) -> None:
        self.in_store, self.start = in_store, script
        self.reference = Reference(script)
        if in_store:
            asked(self.url, "CREATE TABLE status (worker TEXT PRIMARY KEY, colour TEXT)")
            asked(self.url, "CREATE TABLE log (worker TEXT)")
            for worker, colour in script.status:
                shown = "NULL" if colour is None else repr(colour)
                asked(self.url, f"INSERT INTO status VALUES ('{worker}', {shown})")
        self.ag: Session | None = self._opened()

    def teardown(self) -> None:
        if getattr(self, "ag", None) is not None:
            self._expect(self.reference.settle(inf), self.ag.finish)
            self.tables_hold_what_the_reference_has()
        self._let_go()
        shutil.rmtree(self.folder)

    def _let_go(self) -> None:
        self.ag = None
        gc.collect()

    def _opened(self) -> Session:
        ag, text = Session(engine="local"), text_of(self.reference.script)
        ag.sql(stored(text, self.url) if self.in_store else text)
        if self.start.status and not self.in_store:
            own = [dict(zip(("worker", "colour"), row, strict=True)) for row in self.start.status]
            ag.bind("status", own)
        self._quietly(ag._pushed.runner)
        return ag

    def _expect(self, passed: list[Told], work: Any, *given: Any) -> None:
        """Do some work; it tells what passed, or stops where the reference stops."""
        self.untold += passed
        stopped = self.reference.outcome.stopped
        if stopped is not None:
            with pytest.raises(DataError, match=f"at {stopped}: "):
                self._quietly(work, *given)
            return
        rows = self._quietly(work, *given)
        told = [
            (row["query"], tuple(int(each["event_id"]) for each in row["events"]))
            for row in rows
            if row["query"] in self.reference.acting
        ]
        if self.tells:
            assert sorted(told) == sorted(self.untold)
        self.untold, self.tells = [], True

    @staticmethod
    def _quietly(what: Any, *given: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return what(*given)

    def _last(self, stream: int | None = None) -> int:
        own = [event.t for event in self.history if stream in (None, event.stream)]
        return max(own, default=0)

    @rule(
        stream=st.integers(0, 1), kind=st.sampled_from(KINDS), worker=st.sampled_from(WORKERS),
        step=st.integers(0, 2), seq=st.integers(0, 2), p=st.sampled_from([1.0, 0.5, 0.8]),
    )  # fmt: skip
    def push(self, stream: int, kind: str, worker: str, step: int, seq: int, p: float) -> None:
        assert self.ag is not None
        sure = p if self.start.uncertain else 1.0
        row = (stream, len(self.history), kind, worker, self._last() + step, seq, sure)
        self.history.append(event := Event(*row))
        self._expect(self.reference.take([event]), self.ag.push, *rows_of([event])[0])

    @precondition(lambda self: self.history and self.reference.outcome.stopped is None)
    @rule(number=st.integers(0, 100), back=st.integers(0, 3), kind=st.sampled_from(KINDS))
    def push_what_is_late_or_known(self, number: int, back: int, kind: str) -> None:
        """Push what changes nothing: it is older than its stream, or came before."""
        assert self.ag is not None
        event = self.history[number % len(self.history)]
        if back:
            late = {"id": 1000 + number, "kind": kind, "t": self._last(event.stream) - back}
            event = changed(event, **late)
        rows = self._quietly(self.ag.push, *rows_of([event])[0])
        assert [row for row in rows if row["query"] in self.reference.acting] == []

    @rule(
        number=st.integers(0, 2), does=st.lists(acts, min_size=1, max_size=2).map(tuple),
        ask=st.none() | asks, rejects=st.booleans(),
    )  # fmt: skip
    def replace(self, number: int, does: Any, ask: Any, rejects: bool) -> None:
        assert self.ag is not None
        script = self.reference.script
        k = number % len(script.rules)
        new = changed(script.rules[k], acts=does, ask=ask, rejects=rejects)
        rules = (*script.rules[:k], new, *script.rules[k + 1 :])
        self.reference.script = changed(script, rules=rules)
        self.ag.sql(rule_text(new, "CREATE OR REPLACE"))
        # What comes from now on is by the new rule, also after a crash.
        self._quietly(self.ag._pushed.runner)

    @precondition(lambda self: self.reference.outcome.stopped is None)
    @rule()
    def save(self) -> None:
        assert self.ag is not None
        self.saved = (self._quietly(self.ag.checkpoint), deepcopy(self.reference))

    @rule(from_checkpoint=st.booleans(), size=st.integers(1, 5))
    def crash(self, from_checkpoint: bool, size: int) -> None:
        """Nothing is finished or given back but the lease, as that of a dead process is."""
        self._let_go()
        self.ag, begins = self._opened(), Reference(self.reference.script)
        begins.outcome = begun(self.start)
        if from_checkpoint and self.saved is not None:
            with suppress(StateError):
                self._quietly(self.ag.restore, self.saved[0])
                begins = deepcopy(self.saved[1])
            if not begins.events:
                # It was saved under another rule, or before the first event.
                self._let_go()
                self.ag = self._opened()
        rest = self.history[len(begins.events) :]
        if not self.in_store:
            # What rules did is gone with the run, and is done again by those of now.
            begins.take(rest)
            self.reference = begins
        self.reference.settle(self.reference.known)
        stopped = self.reference.outcome.stopped
        for _, own in groupby(rest, lambda event: event.stream):
            events = list(own)
            for k in range(0, len(events), size):
                rows = rows_of(events[k : k + size])
                try:
                    self._quietly(self.ag.push, rows[0][0], [row for _, row in rows])
                except DataError as error:
                    if stopped is None or f"at {stopped}: " not in str(error):
                        raise
        # Of a run that has stopped it is not known what was told by the one before.
        self.untold, self.tells = [], stopped is None

    @invariant()
    def tables_hold_what_the_reference_has(self) -> None:
        if self.ag is None:
            return
        for table, rows in self.reference.outcome.tables.items():
            if self.in_store:
                found = asked(self.url, f"SELECT * FROM {table}")
            else:
                found = contents_of(self.ag, table)
            assert sorted(found, key=str) == sorted(map(tuple, rows), key=str), table


TestRandomScripts = RandomScripts.TestCase
TestRandomScripts.settings = settings(
    max_examples=max(8, settings().max_examples // 10), stateful_step_count=20, deadline=None
)
