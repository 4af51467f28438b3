"""Sessions over one store, that crash, come back, replay and change their rules, by chance.

After every push the store is what one moment after another gives, whatever happened before.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from augury import Session
from augury.errors import StateError
from stores.databases import asked

pytestmark = pytest.mark.filterwarnings("ignore::augury.errors.RowsWarning")
SCRIPT = """
CREATE STORE ward AT '{url}';
CREATE STREAM doors (id LONG, worker STRING, action STRING, t LONG)
ID id KEY worker TIME t TYPE action;
CREATE TABLE status (worker STRING, colour STRING, n LONG) KEY worker STORE ward;
CREATE QUERY came ON doors PATTERN SEQ(ENTER e)
WHERE [worker] AND 'red' <> COALESCE((SELECT colour FROM status WHERE worker = e.worker), 'none')
WITHIN 1;
CREATE QUERY washed ON doors PATTERN SEQ(WASH w) WHERE [worker] WITHIN 1;
{paint}
CREATE RULE clean ON washed DO UPDATE status SET colour = 'white' WHERE worker = new.worker;
"""
# Painted `off`, nobody is: the rule listens, and does not fire.
PAINT = """CREATE {how}RULE paint ON came WHEN '{colour}' <> 'off'
DO INSERT INTO status VALUES (new.worker, '{colour}', 1)
ON CONFLICT DO UPDATE SET colour = '{colour}', n = n + 1;"""


class Reference:
    """One moment after another: what is earlier than the last event is settled."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[str, int]] = {}
        self.waiting: list[tuple[int, str, str]] = []

    def push(self, t: int, worker: str, action: str, colour: str) -> None:
        self.waiting.append((t, worker, action))
        self.settle(t, colour)

    def settle(self, before: int, colour: str) -> None:
        for moment in sorted({t for t, _, _ in self.waiting if t < before}):
            own = [each for each in self.waiting if each[0] == moment]
            self.waiting = [each for each in self.waiting if each[0] != moment]
            read = {w: self.rows.get(w, ("none", 0))[0] for _, w, _ in own}
            for _, worker, action in own:
                if action == "ENTER" and read[worker] != "red" and colour != "off":
                    self.rows[worker] = (colour, self.rows.get(worker, ("", 0))[1] + 1)
            for _, worker, action in own:
                if action == "WASH" and worker in self.rows:
                    self.rows[worker] = ("white", self.rows[worker][1])


class Sessions(RuleBasedStateMachine):
    """A store, and one session after another that writes it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.url = f"sqlite:///{self.folder}/ward.db"
        self.reference, self.history = Reference(), list[dict[str, Any]]()
        self.colour, self.saved = "red", None
        self.ag: Session | None = None

    def teardown(self) -> None:
        if self.ag is not None:
            self._quietly(self.ag.finish)
            self.reference.settle(2**40, self.colour)
            self.the_store_is_what_the_reference_has()
        self.ag = None
        gc.collect()
        shutil.rmtree(self.folder)

    @staticmethod
    def _quietly(what: Any, *given: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return what(*given)

    def _opened(self) -> Session:
        ag = Session(engine="local")
        ag.sql(SCRIPT.format(url=self.url, paint=PAINT.format(how="", colour=self.colour)))
        return ag

    @initialize()
    def first(self) -> None:
        self.ag = self._opened()

    @rule(step=st.integers(0, 2), worker=st.sampled_from("uv"), enters=st.booleans())
    def push(self, step: int, worker: str, enters: bool) -> None:
        last = self.history[-1]["t"] if self.history else 0
        action = "ENTER" if enters else "WASH"
        row = {"id": len(self.history), "worker": worker, "action": action, "t": last + step}
        self.history.append(row)
        assert self.ag is not None
        self._quietly(self.ag.push, "doors", row)
        self.reference.push(row["t"], worker, action, self.colour)

    @precondition(lambda self: self.history and self.history[-1]["t"] > 0)
    @rule(worker=st.sampled_from("uv"))
    def push_late(self, worker: str) -> None:
        row = {"id": -1 - len(self.history), "worker": worker, "action": "ENTER", "t": -5}
        assert self.ag is not None
        assert self._quietly(self.ag.push, "doors", row) == []

    @rule(colour=st.sampled_from(["red", "green", "off"]))
    def replace(self, colour: str) -> None:
        assert self.ag is not None
        self.colour = colour
        self.ag.sql(PAINT.format(how="OR REPLACE ", colour=colour))
        # What comes from now on is by the new rule, also after a crash.
        self._quietly(self.ag._pushed.runner)

    @rule()
    def save(self) -> None:
        assert self.ag is not None
        self.saved = (self._quietly(self.ag.checkpoint), len(self.history))

    @rule(from_checkpoint=st.booleans(), size=st.integers(1, 5))
    def crash(self, from_checkpoint: bool, size: int) -> None:
        # Nothing is finished or given back but the lease, as that of a dead process is.
        self.ag = None
        gc.collect()
        self.ag, start = self._opened(), 0
        if from_checkpoint and self.saved is not None:
            try:
                self._quietly(self.ag.restore, self.saved[0])
                start = self.saved[1]
            except StateError:
                # It was saved under another rule.
                self.ag = self._opened()
        rest = self.history[start:]
        for k in range(0, len(rest), size):
            self._quietly(self.ag.push, "doors", rest[k : k + size])

    @invariant()
    def the_store_is_what_the_reference_has(self) -> None:
        if not self.reference.rows:
            return
        rows = asked(self.url, "SELECT worker, colour, n FROM status")
        assert {w: (colour, n) for w, colour, n in rows} == self.reference.rows


TestSessions = Sessions.TestCase
TestSessions.settings = settings(
    max_examples=max(8, settings().max_examples // 10), stateful_step_count=15, deadline=None
)
