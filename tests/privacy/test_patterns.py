"""Patterns of any shape are weighed by the words of the language: worlds, futures, matches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from augury.errors import DataError
from augury.evaluation.stages.suppress import SuppressStage
from augury.planning.policy_plan import plan_policy
from augury.privacy import pattern as inside
from augury.privacy.policy import Decider
from oracles.futures import (
    pattern_text,
    private,
    worth_by_rates,
    worth_in_cycles,
    worth_now,
)
from oracles.model import And, Comp, Event, Not, Or, Query, Rounds, Seq
from oracles.worlds import matches

SHAPE = (
    "CREATE STREAM {} (id LONG, type STRING, t LONG, p DOUBLE, k STRING, v LONG) "
    "ID id TIME t TYPE type PROBABILITY p;\n"
)
KINDS = "ABC"


class _Names:
    """Names of components, each once."""

    def __init__(self) -> None:
        self.count = 0

    def comp(self, kind: str, low: int = 1, high: int | None = 1) -> Comp:
        self.count += 1
        return Comp(f"x{self.count}", kind, low, high)


@st.composite
def shapes(draw: st.DrawFn, *, negated: bool) -> Any:
    new, kinds_of = _Names(), st.sampled_from(KINDS)
    repeats = st.sampled_from(
        [(1, 1), (1, 1), (1, 1), (1, None), (0, 1), (0, None), (1, 2), (2, 2)]
    )

    def leaf() -> Comp:
        return new.comp(draw(kinds_of), *draw(repeats))

    def part(depth: int) -> Any:
        kinds = ["leaf", "leaf", "AND", "OR", "SEQ", "rounds"]
        how = draw(st.sampled_from(kinds)) if depth else "leaf"
        if how == "rounds":
            inner = Seq((new.comp(draw(kinds_of)), new.comp(draw(kinds_of))))
            new.count += 1
            return Rounds(
                inner, *draw(st.sampled_from([(1, None), (0, 1), (1, 2)])), f"g{new.count}"
            )
        if how == "leaf":
            return leaf()
        parts = [part(depth - 1) for _ in range(2)]
        if how == "SEQ":
            return Seq(tuple(gaps(parts)))
        return (And if how == "AND" else Or)(tuple(parts))

    def gaps(parts: list[Any]) -> list[Any]:
        found = list(parts)
        if negated and draw(st.booleans()):
            found.insert(
                draw(st.integers(0, len(found))), Not(new.comp(draw(st.sampled_from("BCD"))))
            )
        return found

    return Seq(tuple(gaps([part(2), part(1)]))) if draw(st.booleans()) else part(2)


@st.composite
def queries(draw: st.DrawFn, name: str, *, public: bool, most: int) -> Query:
    pattern = draw(shapes(negated=public))
    strategy = draw(st.sampled_from(["any", "any", "next"])) if public else "any"
    equate = ("k",) if draw(st.integers(0, 3)) == 0 else ()
    window = ("time", draw(st.integers(2, most)))
    return Query(pattern, name, equate=equate, strategy=strategy, within=window)


@st.composite
def events(draw: st.DrawFn, most: int, begin: int, uncertain: int = 2) -> list[Event]:
    found, time = list[Event](), begin
    for number in range(most):
        time += draw(st.sampled_from([0, 1, 1, 1, 2]))
        p = (
            draw(st.sampled_from([0.5, 0.25]))
            if number < uncertain and draw(st.booleans())
            else 1.0
        )
        kind = draw(st.sampled_from("AABBCCD"))
        attrs = {"k": draw(st.sampled_from("xxy")), "v": draw(st.integers(0, 1))}
        found.append(Event(begin + 100 + number, time, kind, p, attrs))
    return found


def text_of(query: Query, where: str = "") -> str:
    where = "WHERE [k] " if query.equate else f"WHERE {where} " if where else ""
    skips = "USING SKIP TILL NEXT MATCH " if query.strategy == "next" else ""
    assert query.within is not None
    return (
        f"CREATE QUERY {query.name} ON s PATTERN {pattern_text(query.pattern)} "
        f"{where}{skips}WITHIN {query.within[1]};\n"
    )


def policy_of(
    public: Query, hidden: Query, using: str, cost: str = "WEIGHT 1", where: str = ""
) -> SuppressStage | None:
    """Return the stage of a policy; None where it is refused."""
    ag = Session(engine="local")
    script = SHAPE.format("s") + SHAPE.format("h") + text_of(public, where) + text_of(hidden)
    script += f"CREATE POLICY pol ON s PUBLIC {public.name} PRIVATE {hidden.name} {cost} {using};"
    try:
        ag.sql(script)
    except QueryError as refused:
        errors = {each.code for each in refused.diagnostics if each.severity == "error"}
        # What is no query, what is not weighed as yet, and what cannot be promised.
        if all(code < "A120" or code in ("A121", "A123") for code in errors):
            return None
        raise
    catalog = ag._declared.catalog
    plan = plan_policy(catalog.policies["pol"], ag._declared.checked_queries, catalog, {})
    return SuppressStage(plan, catalog.streams["s"])


def as_inside(event: Event) -> inside.Event:
    face = inside.Face(event.p, dict(event.attrs))
    return inside.Event(event.ts, None, event.id, event.type, (face,))


def decided(stage: SuppressStage, history: Sequence[Event], own: Sequence[Event]) -> Any:
    decider = Decider(stage.plan.policy, map(as_inside, history))
    kept: list[Event] = []
    for event in own:
        found = decider.decide(as_inside(event))
        yield decider, list(kept), event, found
        kept += [event] if found.kept else []


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_what_an_event_finishes_is_counted_in_patterns_of_any_shape(data: st.DataObject) -> None:
    public = data.draw(queries("q", public=True, most=6))
    hidden = data.draw(queries("p", public=False, most=6))
    stage = policy_of(public, hidden, "USING GREEDY", "WEIGHT 1")
    if stage is None:
        return
    for _, kept, event, found in decided(stage, (), data.draw(events(6, 0))):
        assert close(found.gain, worth_now(public, kept, event)), event
        assert close(-found.penalty, worth_now(private(hidden), kept, event)), event


def _v(name: str, *at: Any) -> Any:
    return ("attr", name, "v", *at)


A, B, C = Comp("a", "A"), Comp("b", "B"), Comp("c", "C")
SOME = Comp("b", "B", 1, None)
BAN = Not(Comp("d", "D"))
CONDITIONS = {
    "b[i].v >= b[i-1].v": (Seq((A, SOME, C)), (">=", _v("b", "i"), _v("b", "i-1"))),
    "b[i].v <= b[1].v": (Seq((A, SOME, C)), ("<=", _v("b", "i"), _v("b", 1))),
    "b.v <= a.v": (And((A, SOME)), ("<=", _v("b"), _v("a"))),
    "LAST(b).v < c.v": (Seq((SOME, C)), ("<", _v("b", "last"), _v("c"))),
    "COUNT(b) >= 2": (Seq((A, SOME)), (">=", ("count", "b"), ("lit", 2))),
    "SUM(b.v) > a.v": (Seq((A, SOME, C)), (">", ("agg", "SUM", "b", "v"), _v("a"))),
    "a.v <= b.v": (And((A, B)), ("<=", _v("a"), _v("b"))),
    "b.v < c.v": (Seq((A, Comp("b", "B", 0, 1), C)), ("<", _v("b"), _v("c"))),
    "d.v > b.v": (Seq((And((A, B)), BAN, C)), (">", _v("d"), _v("b"))),
    "d.v >= a.v": (Seq((BAN, A, Or((B, C)))), (">=", _v("d"), _v("a"))),
    "a.v <= c.v": (Seq((Or((A, B)), C, BAN)), ("<=", _v("a"), _v("c"))),
}


@pytest.mark.parametrize("where", CONDITIONS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_conditions_over_several_events_are_tested_as_matches_grow(
    where: str, data: st.DataObject
) -> None:
    pattern, condition = CONDITIONS[where]
    skips = data.draw(st.sampled_from(["any", "next"]))
    public = Query(pattern, "q", where=(condition,), strategy=skips, within=("time", 5))
    hidden = Query(Seq((A, C)), "p", within=("time", 2))
    stage = policy_of(public, hidden, "USING GREEDY", where=where)
    assert stage is not None
    for _, kept, event, found in decided(stage, (), data.draw(events(6, 0, uncertain=1))):
        assert close(found.gain, worth_now(public, kept, event)), event
    learns = "USING HYBRID PERIODIC PERIOD 6 LEARN FROM h PATIENCE 1"
    stage, past = policy_of(public, hidden, learns, where=where), data.draw(events(6, -12, 1))
    assert stage is not None
    for decider, kept, event, found in decided(stage, past, data.draw(events(4, 0, uncertain=1))):
        gain = worth_in_cycles(public, kept, event, past, 6, set(decider.level.dropped))
        assert gain is None or close(found.gain, gain), event


@pytest.mark.parametrize(("last", "gain"), [(4, 0.0), (5, 0.75), (6, 1.0)])
def test_what_is_banned_before_a_match_is_so_within_a_window_of_its_end(
    last: int, gain: float
) -> None:
    ban, rest = Not(Comp("c", "C")), (Comp("a", "A"), Comp("b", "B"))
    public = Query(Seq((ban, *rest)), "q", within=("time", 4))
    hidden = Query(Seq((Comp("a", "A"), Comp("d", "D"))), "p", within=("time", 4))
    stage = policy_of(public, hidden, "USING GREEDY")
    assert stage is not None
    own = [Event(0, 0, "C"), Event(1, 1, "C", 0.25), Event(2, 3, "A"), Event(3, last, "B")]
    own = [replace(event, attrs={"k": "x", "v": 0}) for event in own]
    *_, (_, kept, event, found) = decided(stage, (), own)
    assert found.gain == worth_now(public, kept, event) == gain


def history(kinds: str, gap: int) -> list[Event]:
    """Return one event every so often, with v in turn."""
    return [
        Event(number, -10_000 + number * gap, kind, attrs={"k": "x", "v": number % 2})
        for number, kind in enumerate(kinds)
    ]


def rates_of(past: Sequence[Event], dropped: set[str]) -> dict[tuple[str, int], float]:
    first, last, n = past[0].ts, past[-1].ts, len(past)
    length = (last - first) * n / (n - 1)
    found: dict[tuple[str, int], float] = {}
    for event in past:
        if event.type not in dropped and event.type is not None:
            kind = event.type, event.attrs["v"]
            found[kind] = found.get(kind, 0.0) + 1 / length
    return found


def judge_rates(public: Query, hidden: Query, own: Sequence[Event]) -> None:
    """Compare what is expected of the last event with what all futures are worth."""
    using = "USING HYBRID RATES LEARN FROM h PATIENCE 1"
    stage = policy_of(public, hidden, using, "WEIGHT 1")
    if stage is None:
        return
    past = [replace(e, attrs={**e.attrs, "v": 0}) for e in history("ABCD", 100)]
    *_, (decider, kept, event, found) = decided(stage, past, own)
    rates = rates_of(past, decider.level.dropped)
    gain = worth_by_rates(public, kept, event, rates, 3)
    cost = worth_by_rates(private(hidden), kept, event, rates, 3)
    # A future of four events has a chance of 3e-8, and some dozens of matches.
    assert math.isclose(found.gain, gain, rel_tol=1e-6, abs_tol=1e-6)
    assert math.isclose(-found.penalty, cost, rel_tol=1e-6, abs_tol=1e-6)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(data=st.data())
def test_what_is_expected_by_rates_is_that_of_all_futures(data: st.DataObject) -> None:
    public = replace(data.draw(queries("q", public=True, most=3)), equate=())
    hidden = replace(data.draw(queries("p", public=False, most=3)), equate=())
    judge_rates(public, hidden, data.draw(events(4, 0, uncertain=1)))


def test_what_leaves_the_window_now_harms_no_later_match() -> None:
    public = plain("q", Not(Comp("z", "B")), Comp("x", "C"), Comp("y", "A"))
    hidden = plain("p", Comp("x", "A"), Comp("y", "A"))
    own = [
        Event(id=k, ts=t, type=kind, p=1.0, attrs={"k": "x", "v": 0}, stream="s")
        for k, (t, kind) in enumerate([(0, "B"), (2, "C")])
    ]
    judge_rates(public, hidden, own)


def plain(name: str, *parts: Comp | Not) -> Query:
    """Return a sequence within two ticks."""
    return Query(Seq(parts), name=name, streams=("s",), within=("time", 2), strategy="any")


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_expected_in_cycles_is_counted_in_their_stretches(data: st.DataObject) -> None:
    public = data.draw(queries("q", public=True, most=4))
    hidden = data.draw(queries("p", public=False, most=4))
    period = data.draw(st.integers(5, 7))
    using = f"USING HYBRID PERIODIC PERIOD {period} LEARN FROM h PATIENCE 1"
    stage = policy_of(public, hidden, using, "WEIGHT 1")
    if stage is None:
        return
    past = data.draw(events(7, -13, uncertain=1))
    for decider, kept, event, found in decided(stage, past, data.draw(events(4, 0, uncertain=1))):
        dropped = set(decider.level.dropped)
        gain = worth_in_cycles(public, kept, event, past, period, dropped)
        cost = worth_in_cycles(private(hidden), kept, event, past, period, dropped)
        if gain is not None:
            assert close(found.gain, gain), event
        if cost is not None:
            assert close(-found.penalty, cost), event


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_both_promises_hold_for_patterns_of_any_shape(data: st.DataObject) -> None:
    public = data.draw(queries("q", public=True, most=8))
    hidden = data.draw(queries("p", public=False, most=8))
    using = data.draw(
        st.sampled_from(["GREEDY", "TYPES LEARN FROM h", "HYBRID RATES LEARN FROM h"])
    )
    stage = policy_of(public, hidden, f"USING {using}", "NEVER")
    if stage is None:
        return
    raw = data.draw(events(8, 0))
    steps = list(decided(stage, data.draw(events(6, -40)), raw))
    kept = [event for _, _, event, found in steps if found.kept]
    true, shown = matches(public, raw), matches(public, kept)
    assert shown.keys() <= true.keys()
    assert all(close(shown[each], true[each]) for each in shown)
    # What may have happened counts, however unlikely.
    possible = [replace(event, p=1.0) for event in kept]
    assert not matches(private(hidden), possible)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_threads_that_were_stored_go_on_as_if_they_were_not(data: st.DataObject) -> None:
    import json

    public = data.draw(queries("q", public=True, most=6))
    hidden = data.draw(queries("p", public=False, most=6))
    stage = policy_of(public, hidden, "USING HYBRID RATES LEARN FROM h", "WEIGHT 1")
    if stage is None:
        return
    policy, own = stage.plan.policy, list(map(as_inside, data.draw(events(8, 0))))
    decider = Decider(policy, map(as_inside, data.draw(events(6, -40))))
    cut = data.draw(st.integers(0, len(own)))
    for each in own[:cut]:
        decider.decide(each)
    other = Decider.load(policy, json.loads(json.dumps(decider.dump())))
    assert list(map(decider.decide, own[cut:])) == list(map(other.decide, own[cut:]))


def test_more_beginnings_than_the_limit_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_POLICY_BEGINNING_LIMIT", "100")
    # Every subset of the Bs has a sum of its own.
    public = Query(Seq((A, SOME, C)), "q", within=("time", 50))
    stage = policy_of(
        public, Query(C, "p", within=("time", 1)), "USING GREEDY", where="SUM(b.v) > 3"
    )
    assert stage is not None
    own = [Event(0, 0, "A", attrs={"k": "x", "v": 1})]
    own += [Event(t, t, "B", attrs={"k": "x", "v": 1}) for t in range(1, 12)]
    with pytest.raises(DataError, match="policy_beginning_limit"):
        list(decided(stage, (), own))
