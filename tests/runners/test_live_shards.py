"""States that live in a process: gone on with by their token, by others through it, or not at all.

The shard here counts the rows that came: two steps with one state, or one with none, would show.
"""

from __future__ import annotations

import multiprocessing as mp
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from augury.evaluation.answers.answers import Answers
from augury.evaluation.row_blocks import Stored
from augury.runners.spark.live_shards import LiveShards, Outcome, StateAddress, Step
from augury.runners.spark.tasks import Blob

NAME = "run", 7


@dataclass
class Count:
    """How many steps there were; it is changed in place."""

    steps: int = 0
    horizon: int = 0
    is_empty: bool = False


@dataclass(frozen=True)
class Counter:
    """A shard that counts steps, and fails or ends when it is told to."""

    fails_at: int = 0
    ends_at: int = 0
    schemas: dict[str, Any] = field(default_factory=dict)

    @property
    def network(self) -> Any:
        return type("Network", (), {"bases": {}})

    def advance(self, state: Count, batch: Any, horizon: int) -> tuple[Count, Answers]:
        state.steps += 1
        if state.steps == self.fails_at:
            raise ValueError("the step failed")
        state.is_empty = state.steps == self.ends_at
        return state, Answers({}, {})

    def due(self, state: Count) -> int | None:
        return state.steps

    def stored(self, state: Count) -> Stored:
        return Stored(str(state.steps).encode())


def begun(live: LiveShards, shard: Counter | None = None) -> Outcome:
    return live.begin(NAME, shard or Counter(), Count(), Step([], 1))


def steps_of(outcome: Outcome | None) -> int | None:
    return None if outcome is None or outcome.stored is None else int(outcome.stored.head)


def test_a_state_goes_on_under_a_new_token_each_step() -> None:
    live = LiveShards()
    first = begun(live)
    second = live.go_on(NAME, first.place, Step([], 2))
    assert second is not None
    assert (steps_of(first), steps_of(second), second.due) == (1, 2, 2)
    assert second.place.token != first.place.token


def test_a_step_that_comes_again_does_not_see_what_the_first_has_changed() -> None:
    live = LiveShards()
    first = begun(live)
    assert steps_of(live.go_on(NAME, first.place, Step([], 2))) == 2
    assert live.go_on(NAME, first.place, Step([], 2)) is None


def test_a_state_whose_step_failed_is_gone() -> None:
    live = LiveShards()
    first = begun(live, Counter(fails_at=2))
    with pytest.raises(ValueError, match="the step failed"):
        live.go_on(NAME, first.place, Step([], 2))
    assert live.go_on(NAME, first.place, Step([], 2)) is None


def test_a_state_that_is_empty_is_neither_held_nor_stored() -> None:
    live = LiveShards()
    outcome = begun(live, Counter(ends_at=1))
    assert outcome.stored is None
    assert live.held == {}


def test_states_of_ended_runs_are_let_go() -> None:
    live = LiveShards()
    first = begun(live)
    live.forget(before=time.monotonic() + 1)
    assert live.go_on(NAME, first.place, Step([], 2)) is None


def _hold(connection: Any) -> None:
    live = LiveShards()
    connection.send([begun(live).place, live.begin(("run", 8), Counter(2), Count(), Step([], 1))])
    connection.recv()


@pytest.mark.skipif(sys.platform != "linux", reason="workers of other systems load instead")
def test_another_process_makes_the_step_with_the_state_that_it_holds() -> None:
    context = mp.get_context("spawn")
    here, there = context.Pipe()
    holder = context.Process(target=_hold, args=(there,), daemon=True)
    holder.start()
    place, failing = here.recv()
    live = LiveShards()
    blob = Blob("s", "other", 0, 1, bytes(10**6))
    outcome = live.go_on(NAME, place, Step([blob], 2))
    assert outcome is not None
    assert steps_of(outcome) == 2
    assert outcome.place.holder == place.holder
    assert live.held == {}
    # A repeated attempt, another token, a step that fails, and a holder that is gone: loaded.
    assert live.go_on(NAME, place, Step([], 2)) is None
    assert live.go_on(NAME, StateAddress(place.holder, b"other"), Step([], 2)) is None
    assert live.go_on(("run", 8), failing.place, Step([], 2)) is None
    holder.kill()
    holder.join()
    assert live.go_on(NAME, outcome.place, Step([], 3)) is None
