"""Owners by lazy sums over worlds equal those by enumeration, after every step."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from augury.identity import wards as wards_module
from augury.identity.identifier import Identifier, dump, load
from augury.identity.telling import Strategy
from augury.identity.ward import Row, Ward, Ways
from oracles.identities import Event, Outcome, Setting, identify, known_then

PEOPLE = ("O1", "O2", "O3", "O4")
ROOMS = ("R1", "R2")


def identifier_of(setting: Setting, state_limit: int = 100_000) -> Identifier:
    ways = Ways("ENTER", "EXIT", setting.hall)
    if setting.doors is not None:
        ways = Ways.through(setting.doors, "ENTER")
    prefer = {key: float(w) for key, w in setting.prefer.items()}
    ward = Ward.of(setting.staff.items(), ways, setting.step, prefer)
    strategy = Strategy(setting.revise, float(setting.least))
    return Identifier({None: ward}, setting.within, strategy, setting.rejects, state_limit)


def rows_of(events: list[Event]) -> list[tuple[None, Row]]:
    return [(None, Row(e.id, e.time, e.person, e.type, e.place, e.origin)) for e in events]


def outcome_of(identifier: Identifier, events: list[Event]) -> Outcome:
    _, news = identifier.advance(identifier.start(), rows_of(events))
    return as_outcome(identifier, news)


def as_outcome(identifier, news) -> Outcome:
    people = identifier.wards[None].people
    told = [
        (each.as_of, each.id, each.revision, {people[k]: p for k, p in each.owners})
        for each in news.told
    ]
    return Outcome(told, [row.id for _, row, _ in news.rejected], news.resets)


def assert_equal(found: Outcome, expected: Outcome) -> None:
    assert found.rejected == expected.rejected
    assert found.resets == expected.resets
    got = {each[:3]: each[3] for each in found.told}
    want = {each[:3]: each[3] for each in expected.told}
    assert len(got) == len(found.told)
    assert got.keys() == want.keys()
    for key, owners in want.items():
        assert got[key].keys() == owners.keys(), key
        for person, p in owners.items():
            assert abs(got[key][person] - p) <= 1e-9, (key, person)


@st.composite
def halls(draw, prefer: bool = False) -> Setting:
    n = draw(st.integers(1, 4))
    staff = {p: draw(st.sampled_from((None, "H", *ROOMS))) for p in PEOPLE[:n]}
    weights = {}
    if prefer:
        pairs = st.tuples(st.sampled_from(PEOPLE[:n]), st.sampled_from((*ROOMS, "H")))
        shares = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(2), Fraction(3)])
        weights = draw(st.dictionaries(pairs, shares, min_size=1, max_size=4))
    return Setting(staff, prefer=weights, **draw(asked()))


@st.composite
def graphs(draw) -> Setting:
    n = draw(st.integers(1, 3))
    places = ("A", "B", "C")
    staff = {p: draw(st.sampled_from(places)) for p in PEOPLE[:n]}
    pairs = [("A", "B"), ("B", "C"), ("C", "A"), ("A", "A")]
    doors = draw(st.sets(st.sampled_from(pairs), min_size=1))
    return Setting(staff, None, frozenset(doors), **draw(asked()))


@st.composite
def asked(draw) -> dict:
    return {
        "step": draw(st.sampled_from([1, 1, 3])),
        "within": draw(st.sampled_from([1000, 1000, 3, 0])),
        "revise": draw(st.sampled_from(["ANY", "ANY", "CERTAIN", "BY", "NEVER"])),
        "least": Fraction(1, 4),
        "rejects": draw(st.booleans()),
    }


@st.composite
def happenings(draw, setting: Setting) -> list[Event]:
    """Walk about, mostly as people can, and lose some of the badges."""
    where = {p: setting.hall if at is None else at for p, at in setting.staff.items()}
    events, time = [], draw(st.integers(-5, 5))
    for number in range(draw(st.integers(1, 9))):
        time += draw(st.sampled_from([0, 1, 1, 2, 4]))
        person = draw(st.sampled_from(list(where)))
        kind, place, origin, to = draw(doings(setting, where[person]))
        where[person] = to
        is_read = draw(st.integers(0, 9))
        shown = person if is_read < 4 else draw(st.sampled_from(["nobody", "O1"]))
        events.append(Event(number, time, shown if is_read < 5 else None, kind, place, origin))
    return draw(st.permutations(events)) if draw(st.booleans()) else events


@st.composite
def doings(draw, setting: Setting, at):
    """Draw what somebody does: type, place, origin as told, and where that leads."""
    is_odd = draw(st.integers(0, 19)) == 0
    if draw(st.integers(0, 3)) == 0:
        return "WASH", at, None, at
    return draw((hall_moves if setting.doors is None else door_moves)(setting, at, is_odd))


@st.composite
def hall_moves(draw, setting: Setting, at, is_odd: bool):
    if is_odd:
        kind = draw(st.sampled_from(["ENTER", "EXIT", "WASH", None]))
        return kind, draw(st.sampled_from(["R1", "R3", "H", None])), None, at
    if at == setting.hall:
        room = draw(st.sampled_from(ROOMS))
        return "ENTER", room, None, room
    return "EXIT", at, None, setting.hall


@st.composite
def door_moves(draw, setting: Setting, at, is_odd: bool):
    near = [b for a, b in setting.doors if a == at] + [a for a, b in setting.doors if b == at]
    if is_odd or not near:
        place, origin = draw(st.tuples(*[st.sampled_from(["A", "B", "Z", None])] * 2))
        return "ENTER", place, origin, at
    to = draw(st.sampled_from(near))
    return "ENTER", to, draw(st.sampled_from([at, None])), to


@st.composite
def stories(draw, settings_of) -> tuple[Setting, list[Event]]:
    setting = draw(settings_of)
    return setting, draw(happenings(setting))


ALL = st.one_of(stories(halls()), stories(graphs()), stories(halls(prefer=True)))


@settings(max_examples=300, deadline=None)
@given(ALL)
def test_owners_are_those_of_all_worlds(story):
    setting, events = story
    assert_equal(outcome_of(identifier_of(setting), events), identify(setting, events))


@settings(max_examples=60, deadline=None)
@given(ALL, st.integers(0, 3))
def test_acts_given_at_once_change_nothing(story, most):
    setting, events = story
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wards_module, "MOST_OPEN", most)
        patch.setattr(wards_module, "MANY_OPEN", most // 2)
        found = outcome_of(identifier_of(setting), events)
    assert_equal(found, identify(setting, events))


@settings(max_examples=60, deadline=None)
@given(ALL)
def test_steps_and_stored_state_change_nothing(story):
    setting, events = story
    identifier = identifier_of(setting)
    ordered = sorted(events, key=lambda e: e.time)
    state, told, rejected, resets = identifier.start(), [], [], []
    for event in ordered:
        state, news = identifier.advance(state, rows_of([event]), event.time)
        state = load(dump(state))
        told, rejected = told + list(news.told), rejected + news.rejected
        resets += news.resets
    state, news = identifier.advance(state, [])
    told, rejected, resets = told + list(news.told), rejected + news.rejected, resets + news.resets
    one = identifier.advance(identifier.start(), rows_of(events))[1]
    assert told == list(one.told)
    assert [row.id for _, row, _ in rejected] == [row.id for _, row, _ in one.rejected]
    assert resets == one.resets


@settings(max_examples=100, deadline=None)
@given(ALL, st.integers(1, 3))
@example(
    (
        Setting(
            {"O1": None, "O2": None, "O3": None},
            prefer={("O1", "R1"): Fraction(0)},
            rejects=True,
        ),
        [
            Event(2, 1, None, "ENTER", "R1"),
            Event(6, 2, "O3", "WASH", "R1"),
            Event(7, 2, "O2", "WASH", "R1"),
        ],
    ),
    1,
)
@example(
    (
        Setting(
            {"O1": "B", "O2": "B"},
            hall=None,
            doors=frozenset({("A", "B"), ("B", "C"), ("C", "A")}),
        ),
        [
            Event(0, 0, "O1", "WASH", "B"),
            Event(3, 1, None, "WASH", "B"),
            Event(4, 2, "O1", "WASH", "B"),
            Event(5, 2, None, "ENTER", "C"),
        ],
    ),
    1,
)
def test_a_sampled_probability_is_as_near_as_its_bound_says(story, limit):
    setting, events = story
    identifier = identifier_of(setting, state_limit=limit)
    _, news = identifier.advance(identifier.start(), rows_of(events))
    outcome = identify(setting, events)
    people = identifier.wards[None].people
    for each in news.told:
        assert (each.method == "exact") == (each.error_bound == 0.0)
        exact = known_then(outcome, each.as_of, each.id)
        for k, p in each.owners:
            assert abs(p - exact.get(people[k], 0)) <= each.error_bound + 1e-9
