"""The oracle of Lahar's own definition: its printed examples, and its agreement with the worlds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.model import Comp, Event, Markov, Query, Seq
from oracles.probabilities import Goal, Var, holds_at, probability_by_time, probability_ever
from oracles.worlds import probability_by_time as by_worlds

PLACES = ("a", "b", "h")


def at(person: str, place: str, t: int, p: float = 1.0) -> Event:
    attrs = {"person": person, "place": place}
    return Event((person, t, place), t, None, p, attrs, key=(person,), group=(person, t))


def test_a_filter_inside_chooses_among_candidates_and_one_outside_judges_the_chosen() -> None:
    world = [at("r", "a", 1), at("r", "c", 2), at("r", "b", 3)]
    inside = [Goal("s", {"place": "a"}), Goal("s", {"place": "b"})]
    outside = [
        Goal("s", {"place": "a"}),
        Goal("s", {"place": Var("y")}, after=lambda b: b["y"] == "b"),
    ]
    assert (holds_at(inside, world), holds_at(outside, world)) == ({3}, set())


def test_three_events_of_three_quarters_in_sequence() -> None:
    events = [at("joe", place, t, 0.75) for t, place in enumerate("abh", 1)]
    goals = [Goal("s", {"place": place}) for place in "abh"]
    assert probability_ever(goals, events) == pytest.approx(0.421875)


def test_a_room_kept_with_probability_six_tenths() -> None:
    events = [at("joe", "room", t, 0.15) for t in (1, 2)]
    stays = Goal("s", {"place": "room"})
    step = [stays, Goal("s", {"place": Var("l")}, after=lambda b: b["l"] == "room")]
    chain = Markov("s", ("place",), {(("joe",), 1, ("room",), ("room",)): 0.6})
    assert probability_by_time(step, events)[2] == pytest.approx(0.0225)
    assert probability_by_time(step, events, [chain])[2] == pytest.approx(0.09)


def test_all_events_of_the_earliest_time_are_successors() -> None:
    world = [at("joe", "a", 1), at("joe", "b", 2), at("sue", "h", 2)]
    goals = [
        Goal("s", {"place": "a"}),
        Goal("s", {"place": Var("l")}, after=lambda b: b["l"] == "h"),
    ]
    assert holds_at(goals, world) == {2}


def test_a_kleene_plus_that_shares_its_variable_stays_in_one_place() -> None:
    world = [at("joe", place, t) for t, place in enumerate("abhb", 1)]
    free = [
        Goal("s", {"place": "a"}),
        Goal("s", {"place": Var("l")}, shared=frozenset()),
        Goal("s", {"place": "b"}, filter=lambda _: True),
    ]
    tied = [free[0], Goal("s", {"place": Var("l")}, shared=frozenset({"l"})), free[2]]
    assert holds_at(free, world) == {4}
    assert holds_at(tied, world) == {4}


def _component(k: int, place: str | None, plus: bool) -> Comp:
    own = ("=", ("attr", f"c{k}", "place"), ("lit", place)) if place else None
    return Comp(f"c{k}", None, 1, None if plus else 1, own)


@given(st.data())
def test_both_oracles_give_a_sequence_the_same_probability(data: st.DataObject) -> None:
    drawn = st.tuples(st.sampled_from((*PLACES, None)), st.booleans())
    goals = data.draw(st.lists(drawn, min_size=1, max_size=3))
    judged = data.draw(st.lists(st.sampled_from(PLACES), min_size=len(goals), max_size=len(goals)))
    chances = st.sampled_from((0.0, 0.25, 0.5))
    rows = st.lists(st.tuples(*[chances] * 2), min_size=1, max_size=4)
    drawn_rows = data.draw(rows)
    events = [
        at("joe", place, t, p)
        for t, ps in enumerate(drawn_rows, 1)
        for place, p in zip(PLACES, ps, strict=False)
    ]
    ours = [
        Goal(
            "s",
            # Each variable has its own name: one name twice would ask for one place twice.
            {"place": place} if place else {"place": Var(f"l{k}")},
            after=(lambda b, n=f"l{k}", v=value: b[n] != v) if place is None else (lambda _: True),
            shared=frozenset() if plus else None,
        )
        for k, ((place, plus), value) in enumerate(zip(goals, judged, strict=True))
    ]
    parts = tuple(_component(k, place, plus) for k, (place, plus) in enumerate(goals))
    after = tuple(
        ("<>", ("attr", f"c{k}", "place"), ("lit", value))
        for k, ((place, _), value) in enumerate(zip(goals, judged, strict=True))
        if place is None
    )
    pattern = Seq(parts) if len(parts) > 1 else parts[0]
    query = Query(pattern, strategy="next", after_where=after, probability="by time")
    theirs = by_worlds(query, events)
    for time, value in probability_by_time(ours, events).items():
        assert theirs.get(((), time), 0.0) == pytest.approx(value, abs=1e-12)
