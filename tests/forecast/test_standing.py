"""Partial matches that go on as sets are told as if each had been followed by itself."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from augury import QueryError
from augury.errors import DataError
from augury.evaluation.stages.forecast import ForecastStage
from augury.evaluation.stages.forecast_state import ForecastState
from augury.forecast.standing import Standing
from forecast.asking import rows_of as worded
from forecast.asking import script
from forecast.random_cases import STRATEGIES, Maker, rows_of
from forecast.staging import Row, batch, stage_of
from forecast.test_against_futures import QUARTER, SEEDS
from forecast.test_stage import assert_same

CONSTRUCTS = ("sequence", "middle negation", "and", "or", "next", "uncertain", "ties")
THRESHOLDS = (0.0, 0.2, 0.5)


def one_by_one(stage: ForecastStage, rows: list[Row]) -> list[Row]:
    """Return what is told where every partial match is followed by itself."""
    state = stage.start()
    state.lives.read_one_by_one()
    return step(stage, state, rows)[1]


def step(
    stage: ForecastStage, state: ForecastState, rows: list[Row]
) -> tuple[ForecastState, list[Row]]:
    state, answers = stage.advance(state, batch(stage, rows), rows[-1]["t"] + 1)
    found: list[Row] = answers.found["f"].to_pylist()
    return state, found


def in_pieces(make: Any, rows: list[Row], draw: random.Random) -> list[Row]:
    """Return what is told of rows in pieces, some of which other processes read."""
    stage = make()
    state, found, first = stage.start(), list[Row](), 0
    while first < len(rows):
        last = min(first + draw.randint(1, 9), len(rows))
        while last < len(rows) and rows[last]["t"] == rows[last - 1]["t"]:
            last += 1
        state, told = step(stage, state, rows[first:last])
        found += told
        first = last
        if draw.random() < 0.5:
            data, stage = stage.dump(state), make()
            state = stage.restore({}, rows[last - 1]["t"] + 1, data)
    return found


@pytest.mark.rotating(4)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("construct", CONSTRUCTS)
@QUARTER
@given(seed=SEEDS)
def test_sets_tell_what_partial_matches_tell(construct: str, strategy: str, seed: int) -> None:
    maker = Maker(seed, construct, strategy)
    case, draw = maker.case(), maker.draw
    history = rows_of(maker.events("h", 30, "k"))
    rows = rows_of(maker.events("s", 3 if construct == "uncertain" else 14, "k"))
    if construct == "uncertain":
        # What is certain goes on as sets until something is not.
        certain = rows_of(maker.events("c", 9, "k"))
        later = [row | {"t": row["t"] + certain[-1]["t"]} for row in rows]
        rows = [row | {"p": 1.0} for row in certain] + later
    for by_time in (False, True):
        threshold = draw.choice(THRESHOLDS)
        having = f" HAVING FORECAST > {threshold} RETURN FORECAST"
        text = case.script(by_time=by_time).replace(" RETURN FORECAST", having)

        def make(text: str = text) -> ForecastStage:
            return stage_of(text, history)

        try:
            whole = one_by_one(make(), rows)
        except QueryError as error:
            if "[P003]" not in str(error):
                raise
            continue
        assert_same(step(make(), make().start(), rows)[1], whole)
        assert_same(in_pieces(make, rows, draw), whole)


WINDOWS = [
    ("SEQ(A a, B b, C c) WITHIN 12", "WITHIN 4 EVENTS"),
    ("SEQ(NEXT(A a, B b), C c) WITHIN 9", "WITHIN 12"),
    ("SEQ(A a, B b, C c) USING SKIP TILL NEXT MATCH WITHIN 20", "WITHIN 6 EVENTS"),
    ("AND(A a, SEQ(B b, C c)) WITHIN 8", "WITHIN 5"),
]


@pytest.mark.parametrize(("pattern", "horizon"), WINDOWS)
@pytest.mark.parametrize("order", [0, 2])
def test_windows_end_members_of_sets(pattern: str, horizon: str, order: int) -> None:
    draw = random.Random(f"{pattern} {order}")
    # Several have one time.
    times = sorted(draw.randrange(250) for _ in range(200))
    rows = worded(" ".join(f"{draw.choice('ABCXX')}{n}@{t}" for n, t in enumerate(times, 1)))
    clauses = f"{horizon} USING MARKOV {order} LEARN FROM history HAVING FORECAST >= 0.3"
    text = script(pattern, clauses, keyed=False, by_time=False)

    def make() -> ForecastStage:
        return stage_of(text, rows[:80])

    assert isinstance(make().start().lives.followed, Standing)
    whole = one_by_one(make(), rows)
    assert len(whole) > 20
    assert_same(step(make(), make().start(), rows)[1], whole)
    assert_same(in_pieces(make, rows, draw), whole)


def many(threshold: float) -> ForecastStage:
    """Return a forecast whose history lets one event in six complete what waits for it."""
    clauses = "WITHIN 1 EVENTS USING INDEPENDENT LEARN FROM history"
    clauses += f" HAVING FORECAST > {threshold}"
    text = script("SEQ(A a, B b, C c)", clauses, keyed=False, by_time=False)
    return stage_of(text, worded("A1@1 B2@2 C3@3 X4@4 X5@5 X6@6"))


def crowd() -> list[Row]:
    """Return a stream in which four million partial matches wait."""
    kinds = "A" * 2_000 + "B" * 2_000 + "X" * 10
    return worded(" ".join(f"{kind}{t}@{t}" for t, kind in enumerate(kinds, 1)))


def test_millions_of_partial_matches_are_some_sets() -> None:
    stage = many(0.5)
    state, told = step(stage, stage.start(), crowd())
    followed = state.lives.followed
    assert isinstance(followed, Standing)
    waiting = followed.sets.members[: followed.sets.marks[0]]
    assert max(followed.sets.count[waiting].tolist()) == 2_000 * 2_000
    assert not told
    data = stage.dump(state)
    assert len(data) < 200_000
    again = many(0.5)
    assert again.dump(again.restore({}, 4_011, data)) == data


def test_more_rows_of_one_event_than_a_limit_are_refused() -> None:
    stage = many(0.1)
    with pytest.raises(DataError, match="more partial matches at one event than 1,000,000"):
        step(stage, stage.start(), crowd())


def test_more_rows_of_one_step_than_a_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_STEP_MATCH_LIMIT", "900")
    stage, rows = many(0.1), worded(" ".join(f"{'AB'[t > 20]}{t}@{t}" for t in range(1, 25)))
    state, told = step(stage, stage.start(), rows)
    assert len(told) == 20 + 40 + 60 + 80
    few = [{**rows[-1], "id": t, "kind": "X", "t": t} for t in range(25, 40)]
    with pytest.raises(DataError, match="more than 900 rows in one step"):
        step(stage, state, few)


def test_what_was_stored_one_by_one_goes_on_as_sets() -> None:
    rows = worded(" ".join(f"{kind}{t}@{t}" for t, kind in enumerate("AABXABBCXAXB", 1)))
    stage = many(0.1)
    whole = one_by_one(stage, rows)
    state = stage.start()
    state.lives.read_one_by_one()
    state, found = step(stage, state, rows[:6])
    again = stage.restore({}, 7, stage.dump(state))
    assert isinstance(again.lives.followed, Standing)
    assert_same(found + step(stage, again, rows[6:])[1], whole)
