"""Forecasts cannot be told from the enumeration of all pasts and all futures.

A case is a random pattern, model, history and stream (`random_cases`); its number is drawn by
hypothesis, so a failure names construct, strategy and seed.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from forecast.random_cases import CONSTRUCTS, KINDS, STRATEGIES, Case, Maker, rows_of
from oracles.forecasts import (
    Answer,
    Ask,
    Part,
    confirmed,
    expiring,
    forecast,
    unwindowed,
    with_poisson,
)
from oracles.model import Comp, Event, Query, Seq

SEEDS = st.integers(min_value=0, max_value=10**9)
# A smaller seed is no simpler case, so there is nothing to shrink.
QUICK = settings(phases=(Phase.explicit, Phase.generate))
# Each construct has four strategies: together the profile's number of cases.
QUARTER = settings(QUICK, max_examples=max(5, settings().max_examples // 4))
# 200 of each construct where runs are thorough, and a quarter of what is asked for beyond.
FIFTY = settings(
    QUICK, max_examples=max(min(settings().max_examples, 50), settings().max_examples // 4)
)
CLOSE = 1e-9


def rows(case: Case, *, by_time: bool) -> list[dict[str, Any]] | None:
    """Return what is told after the last events; None where the forecast is not evaluated."""
    ag = Session(engine="local")
    ag.sql(case.script(by_time=by_time))
    ag.bind("history", rows_of(case.history))
    ag.bind("s", rows_of(case.stream))
    try:
        with warnings.catch_warnings():
            # Small histories often lack a component, and then say so.
            warnings.simplefilter("ignore")
            found: list[dict[str, Any]] = ag.table("f").to_pylist()
    except QueryError as error:
        if "[P003]" not in str(error):
            raise
        return None
    last = max(case.stream, key=lambda e: e.ts)
    told = [row for row in found if row["ts"] == last.ts]
    return [row for row in told if row.get("k", last.attrs["k"]) == last.attrs["k"]]


def told(case: Case) -> str:
    events = "\n".join(f"  {e}" for e in (*case.history, *case.stream))
    return f"{case.script(by_time=False)}\n{events}"


def judge(case: Case) -> bool:
    """Compare both answers with the oracle's; return whether the forecast is evaluated."""
    partial, whole = rows(case, by_time=False), rows(case, by_time=True)
    if partial is None or whole is None:
        return False
    expected = forecast(case.ask, case.history, case.stream)
    assert_whole(whole, expected, case)
    assert_partial(partial, expected, case)
    return True


def assert_whole(found: list[dict[str, Any]], expected: Answer, case: Case) -> None:
    (row,) = found
    if expected.whole is None:
        assert row["forecast"] is None, told(case)
        return
    assert row["forecast"] == pytest.approx(expected.whole[0], abs=CLOSE), told(case)
    if expected.whole[1] is not None:
        assert row["expected"] == pytest.approx(expected.whole[1], abs=CLOSE), told(case)


def part_of(row: dict[str, Any]) -> Part:
    """Return what a row has bound, as the oracle has it."""
    bound: dict[str, tuple[str, ...]] = {}
    for event in row["events"]:
        taken = bound.get(event["component"], ())
        bound[event["component"]] = (*taken, event["event_id"])
    return frozenset(bound.items())


def assert_partial(found: list[dict[str, Any]], expected: Answer, case: Case) -> None:
    own: dict[Any, tuple[float, ...]] = {}
    for row in found:
        key = part_of(row)
        assert key not in own, told(case)
        own[key] = (row["confidence"], row["forecast"], row["expected"])
    wanted = {k: v for k, v in expected.partial.items() if v[1] > CLOSE}
    assert {k for k, v in own.items() if v[1] > CLOSE} == set(wanted), told(case)
    for key, values in wanted.items():
        assert own[key] == pytest.approx(values, abs=CLOSE), (key, told(case))


def test_counts_of_a_value_follow_contexts_that_were_counted_for_another() -> None:
    # What followed B was counted for q alone; B and what followed it have a follower of p.
    history = events("h", "Xp Aq Bp Bq Cq Xp Ap")
    query = Query(Seq((Comp("a", "B"), Comp("b", "A"))))
    ask = Ask(query, 3, KINDS, order=2, by="g")
    assert judge(Case(ask, history, events("s", "Xp Bp"), keyed=False))


def events(name: str, text: str) -> tuple[Event, ...]:
    """Return events of a type and a value of g each, one tick after the other."""
    return tuple(
        Event(f"{name}{t}", t, word[0], attrs={"k": "k", "g": word[1]})
        for t, word in enumerate(text.split(), 1)
    )


def test_what_was_counted_long_ago_weighs_nothing() -> None:
    # After a thousand half lives only the last event counts, and nothing overflows on the way.
    half_lives = (0, 1, 450, 900, 2000, 2001)
    stream = tuple(
        Event(f"s{t}", t, kind, attrs={"k": "k", "g": "p"})
        for t, kind in zip(half_lives, "AABABA", strict=True)
    )
    query = Query(Seq((Comp("a", "A"), Comp("b", "B"))))
    ask = Ask(query, 2, KINDS, learns="online", half_life=1, smoothing=0.5)
    assert judge(Case(ask, stream[:2], stream, keyed=False))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("construct", CONSTRUCTS)
@FIFTY
@given(seed=SEEDS)
def test_a_forecast_is_the_weight_of_its_futures(construct: str, strategy: str, seed: int) -> None:
    judge(Maker(seed, construct, strategy).case())


# Poisson arrivals ---------------------------------------------------------------------------------

# Events that may come: beyond these, arrivals are too few to be seen.
MOST = 4
# What they leave out, and what the sums of both sides are off by.
TINY = 1e-10
FEWER = settings(QUICK, max_examples=max(5, settings().max_examples // 5))


@pytest.mark.parametrize("strategy", ["any", "next", "strict"])
@FEWER
@given(seed=SEEDS)
def test_partial_matches_with_poisson_arrivals_are_weighed_by_erlang(
    strategy: str, seed: int
) -> None:
    case = poisson_case(seed, strategy)
    rest = rows(case, by_time=False)
    assert rest is not None
    found = {part_of(row): (row["forecast"], row["expected"]) for row in rest}
    gap, now = gap_of(case), max(e.ts for e in case.stream)
    # The chance to complete with the k-th event: what a horizon of k has more than one of k - 1.
    longer = [
        forecast(
            replace(unwindowed(case.ask), length=k, unit="events"), case.history, case.stream
        ).partial
        for k in range(1, MOST + 1)
    ]
    for part in longer[-1]:
        within = [0.0, *(each.get(part, (0.0, 0.0, None))[1] for each in longer)]
        first = [b - a for a, b in pairwise(within)]
        start = min(e.ts for e in case.stream for _, ids in part if e.id in ids)
        window = case.ask.query.within
        left = math.inf if window is None else start + window[1] - now
        chance, mean = with_poisson(case.ask, gap, left, first) if left >= 0 else (0.0, None)
        own, until = found.get(part, (0.0, None))
        assert own == pytest.approx(chance, abs=TINY, rel=0), told(case)
        assert own * (until or 0.0) == pytest.approx(chance * (mean or 0.0), abs=TINY, rel=0)
    assert set(found) <= set(longer[-1]), told(case)


@pytest.mark.parametrize("strategy", ["any", "next", "strict"])
@FEWER
@given(seed=SEEDS)
def test_the_whole_with_poisson_arrivals_expires_part_by_part(strategy: str, seed: int) -> None:
    case = poisson_case(seed, strategy, whole=True)
    found = rows(case, by_time=True)
    assert found is not None
    expected = expiring(case.ask, case.history, case.stream, MOST)
    (row,) = found
    assert expected is not None
    moments = expected[0], expected[0] * (expected[1] or 0.0)
    own = row["forecast"], row["forecast"] * (row["expected"] or 0.0)
    assert own == pytest.approx(moments, abs=TINY, rel=0), told(case)


@pytest.mark.parametrize("strategy", ["any", "next", "strict"])
@FEWER
@given(seed=SEEDS)
def test_a_negation_at_the_end_is_waited_for_until_the_window_ends(
    strategy: str, seed: int
) -> None:
    maker = Maker(seed, "trailing negation", strategy)
    case, draw = maker.case(), maker.draw
    query = replace(case.ask.query, within=("time", draw.randint(3, 9)))
    unit: Any = draw.choice(("events", "time"))
    ask = replace(case.ask, query=query, unit=unit, length=draw.randint(1, 3))
    slow = tuple(replace(e, ts=e.ts * 400) for e in case.history)
    case = replace(case, ask=ask, history=slow)
    rest = rows(case, by_time=False)
    assert rest is not None
    found = {part_of(row): (row["forecast"], row["expected"]) for row in rest}
    wanted = confirmed(ask, slow, case.stream, 3)
    assert {part for part, own in wanted.items() if own[0] > TINY} <= found.keys(), told(case)
    for part, own in found.items():
        forecast, mean = wanted.get(part, (0.0, None))
        assert own[0] == pytest.approx(forecast, abs=1e-7, rel=1e-4), told(case)
        assert own[1] == pytest.approx(mean, rel=1e-2), told(case)


def poisson_case(seed: int, strategy: str, *, whole: bool = False) -> Case:
    """Return a case with rare arrivals, so that few events have to be enumerated."""
    maker = Maker(seed, "steady", strategy)
    case, draw = maker.case(), maker.draw
    slow = tuple(replace(e, ts=e.ts * 400) for e in case.history)
    window = ("time", draw.randint(2, 6)) if whole or draw.random() < 0.7 else None
    query = replace(case.ask.query, within=window)
    ask = replace(case.ask, query=query, steady=False, unit="time", length=draw.randint(1, 4))
    if whole:
        ask = replace(ask, length=draw.randint(1, query.within[1] if query.within else 4))
    elif window is not None and draw.random() < 0.5:
        ask = replace(ask, unit="events", length=draw.randint(1, 3))
    return replace(case, ask=ask, history=slow)


def gap_of(case: Case) -> float:
    """Return the mean gap of a history of one partition."""
    times = [e.ts for e in case.history]
    return (times[-1] - times[0]) / (len(times) - 1)
