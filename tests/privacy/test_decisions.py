"""Decisions of policies are those of the oracle: gains, penalties, rules, the type level."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.privacy.pattern import Event, Face, Forbidden, Pattern, Step
from augury.privacy.policy import NEVER, Decider, Policy, Weighted
from oracles.policies import Oracle, Row, Sequence, expected_matches, is_unbroken, runs
from privacy.plain import matches_in, plain_pattern

TYPES = "ABC"


# The same sequence for both ---------------------------------------------------------------------


def step(wanted: tuple[str, int | None], *, keyed: bool) -> Step:
    kind, least = wanted
    return Step(
        kind,
        lambda row: (least is None or row["v"] >= least) and not (keyed and row["k"] is None),
    )


def pattern(sequence: Sequence) -> Pattern:
    def rises(i: int, j: int) -> Any:
        return lambda held: held[i]["v"] <= held[j]["v"]

    count = len(sequence.steps)
    same = (lambda held, own: held[0]["k"] == own["k"],) if sequence.keyed else ()
    return Pattern(
        sequence.name,
        tuple(step(each, keyed=sequence.keyed) for each in sequence.steps),
        sequence.window,
        tuple(tuple(rises(i, j) for i, j in sequence.rising if j == at) for at in range(count)),
        tuple(
            tuple(Forbidden(step(each, keyed=sequence.keyed), same) for each in gap)
            for gap in sequence.forbidden
        ),
        sequence.takes_next,
        ("k",) if sequence.keyed else (),
    )


def event(faces: list[Row]) -> Event:
    first = faces[0]
    tie = first.get("seq")
    made = tuple(Face(face["p"], {"v": face["v"], "k": face["k"]}) for face in faces)
    return Event(
        first["t"], None if tie is None else (False, False, tie), first["id"], first["type"], made
    )


# Random cases -----------------------------------------------------------------------------------


@st.composite
def streams(draw: st.DrawFn, most: int, uncertain: int, begin: int) -> list[list[Row]]:
    gaps = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3]), min_size=most - 2, max_size=most))
    times = [begin + at for at in accumulate(gaps)]
    rows: list[list[Row]] = []
    for number, time in enumerate(times):
        shared = {"t": time, "id": number, "type": draw(st.sampled_from(TYPES))}
        count = draw(st.sampled_from([1, 1, 1, 2])) if uncertain else 1
        chances = [1.0]
        if uncertain and draw(st.booleans()):
            uncertain -= 1
            chances = draw(st.sampled_from([[0.5], [0.25], [0.9], [0.0]]))
            chances = [0.5, 0.3] if count == 2 else chances
        faces = [
            {"p": p, "v": draw(st.integers(0, 2)), "k": draw(st.sampled_from("xxy"))}
            for p in chances
        ]
        rows.append([shared | face for face in faces])
    return rows


@st.composite
def sequences(draw: st.DrawFn, name: str, *, public: bool) -> Sequence:
    count = draw(st.sampled_from([2, 2, 3, 1]))
    wanted = st.tuples(st.sampled_from(TYPES), st.sampled_from([None, None, None, 1]))
    steps = tuple(draw(wanted) for _ in range(count))
    forbidden: list[tuple[tuple[str, int | None], ...]] = [() for _ in range(count + 1)]
    if public and draw(st.booleans()):
        gap = draw(st.integers(1, count))
        forbidden[gap] = tuple(draw(st.lists(wanted, min_size=1, max_size=2)))
    rising = ((0, count - 1),) if count > 1 and draw(st.integers(0, 3)) == 0 else ()
    takes_next = public and draw(st.integers(0, 2)) == 0
    keyed = draw(st.integers(0, 2)) == 0
    window = draw(st.integers(3, 9))
    return Sequence(name, steps, window, tuple(forbidden), takes_next, keyed, rising)


def binds(sequence: Sequence) -> set[str]:
    bound = {kind for gap in sequence.forbidden for kind, _ in gap}
    return bound | ({kind for kind, _ in sequence.steps[1:]} if sequence.takes_next else set())


@st.composite
def policies(draw: st.DrawFn, method: str) -> Oracle:
    weights = st.sampled_from([0.0, 1.0, 3.0, 10.0])
    public = [
        (draw(sequences(f"q{k}", public=True)), draw(weights))
        for k in range(draw(st.integers(1, 2)))
    ]
    bound = {kind for each, _ in public for kind in binds(each)}
    private = []
    for k in range(draw(st.integers(1, 2))):
        own = draw(sequences(f"p{k}", public=False))
        never = bool(own.types - bound) and draw(st.booleans())
        private.append((own, math.inf if never else draw(weights)))
    history = [] if method == "GREEDY" else draw(streams(8, 2, -30))
    period = draw(st.integers(5, 9)) if method == "PERIODIC" else None
    return Oracle(public, private, bound, method, history, period)


def core(oracle: Oracle) -> Policy:
    return Policy(
        tuple(Weighted(pattern(each), w) for each, w in oracle.public),
        tuple(Weighted(pattern(each), NEVER if w == math.inf else w) for each, w in oracle.private),
        frozenset(oracle.bound),
        oracle.method,  # type: ignore[arg-type]
        oracle.period,
        patience=oracle.patience,
        by="k" if oracle.by else None,
    )


def close(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= 1e-9 * max(1.0, abs(one), abs(other))


# The laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GREEDY", "RATES", "PERIODIC"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_decisions_gains_and_penalties_are_those_of_the_oracle(
    method: str, data: st.DataObject
) -> None:
    oracle = data.draw(policies(method))
    decider = Decider(core(oracle), map(event, oracle.history))
    dropped = set() if method == "GREEDY" else oracle.dropped()
    assert decider.level.dropped == dropped
    kept: list[list[Row]] = []
    for faces in data.draw(streams(7, 2, 0)):
        found = decider.decide(event(faces))
        keeps, gain, penalty, rule = oracle.decide(kept, faces, dropped)
        assert found.gain is not None
        assert found.penalty is not None
        assert close(found.gain, gain)
        assert close(found.penalty, penalty)
        assert (found.kept, found.rule) == (keeps, rule)
        kept += [faces] if keeps else []


@pytest.mark.parametrize("over", [None, 8])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_learned_online_is_of_all_that_went_by(
    over: int | None, data: st.DataObject
) -> None:
    start = data.draw(policies("RATES"))
    start = replace(start, history=data.draw(st.sampled_from([[], start.history])))
    start = replace(start, by=data.draw(st.booleans()))
    decider = Decider(replace(core(start), online=True, over=over), map(event, start.history))
    raw, kept = list(start.history), list[list[Row]]()
    dropped, solved_at = start.dropped(), len(raw)
    for faces in data.draw(streams(6, 2, 0)):
        now = replace(
            start, history=[f for f in raw if not over or f[0]["t"] > faces[0]["t"] - over]
        )
        if len(raw) > solved_at and len(raw) >= 1.1 * solved_at:
            dropped, solved_at = now.dropped(), len(raw)
        keeps, gain, penalty, rule = now.decide(kept, faces, dropped)
        found = decider.decide(event(faces))
        assert found.gain is not None
        assert found.penalty is not None
        assert close(found.gain, gain)
        assert close(found.penalty, penalty)
        assert (found.kept, found.rule) == (keeps, rule)
        kept += [faces] if keeps else []
        raw.append(faces)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_patience_is_the_best_on_the_history(data: st.DataObject) -> None:
    oracle = data.draw(policies("RATES"))
    # Certain events, so that the worlds of a history are one.
    certain = [[faces[0] | {"p": 1.0}] for faces in oracle.history]
    oracle = replace(oracle, history=certain)
    found = Decider(replace(core(oracle), patience=None), map(event, certain)).patience
    assert found == oracle.learned_patience()


def test_without_a_history_patience_is_one() -> None:
    policy = Policy((), (Weighted(plain_pattern("p", "AB", 5), 1.0),), online=True)
    assert Decider(policy).patience == 1.0


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_what_is_kept_has_true_matches_only_and_no_match_that_must_never_be(
    data: st.DataObject,
) -> None:
    method = data.draw(st.sampled_from(["GREEDY", "RATES", "PERIODIC", "TYPES"]))
    oracle = data.draw(policies(method))
    online = data.draw(st.booleans())
    policy = core(oracle)
    policy = Policy(**{**vars(policy), "online": online, "patience": None})
    decider = Decider(policy, map(event, oracle.history))
    raw = data.draw(streams(8, 0, 0))
    kept = [faces for faces in raw if decider.decide(event(faces)).kept]
    for sequence, _ in oracle.public:
        assert matches(sequence, kept) <= matches(sequence, raw)
    for sequence, weight in oracle.private:
        assert weight != math.inf or not matches(sequence, kept)


def matches(sequence: Sequence, rows: list[list[Row]]) -> set[tuple[int, ...]]:
    world = [faces[0] for faces in rows]
    return {
        tuple(row["id"] for row in chosen)
        for chosen in runs(sequence, world, len(sequence.steps))
        if is_unbroken(sequence, chosen, world, to_end=True)
    }


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_decider_that_was_stored_goes_on_as_if_it_was_not(data: st.DataObject) -> None:
    import json

    method = data.draw(st.sampled_from(["GREEDY", "RATES", "PERIODIC", "TYPES", "HYBRID"]))
    oracle = data.draw(policies(method))
    over = data.draw(st.sampled_from([None, 15]))
    online = data.draw(st.booleans())
    policy = Policy(**{**vars(core(oracle)), "online": online, "over": over if online else None})
    decider = Decider(policy, map(event, oracle.history))
    raw = list(map(event, data.draw(streams(8, 2, 0))))
    cut = data.draw(st.integers(0, len(raw)))
    for each in raw[:cut]:
        decider.decide(each)
    other = Decider.load(policy, json.loads(json.dumps(decider.dump())))
    assert [decider.decide(each) for each in raw[cut:]] == [
        other.decide(each) for each in raw[cut:]
    ]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_expected_matches_of_a_history_are_those_of_all_its_worlds(data: st.DataObject) -> None:
    sequence = data.draw(sequences("q", public=True))
    rows = data.draw(streams(9, 3, 0))
    assert close(matches_in(pattern(sequence), map(event, rows)), expected_matches(sequence, rows))


def test_an_event_that_is_forbidden_and_would_be_taken_counts_once() -> None:
    sequence = Sequence("q", (("B", None), ("C", None)), 9, ((), (("C", None),), ()), True)
    rows = [
        [{"t": t, "id": t, "type": kind, "p": p, "v": 0, "k": "x"}]
        for t, (kind, p) in enumerate((("B", 1.0), ("C", 0.5), ("C", 1.0)))
    ]
    assert matches_in(pattern(sequence), map(event, rows)) == pytest.approx(1.0)
    assert expected_matches(sequence, rows) == pytest.approx(1.0)


def test_what_is_forbidden_breaks_strictly_between_its_neighbours() -> None:
    sequence = Sequence("q", (("A", None), ("B", None)), 9, ((), (("C", None),), ()))
    rows = [
        [{"t": t, "id": f"{kind}{t}", "type": kind, "p": 1.0, "v": 0, "k": "x"}]
        for kind, t in (("A", 1), ("C", 1), ("C", 3), ("B", 3), ("B", 4))
    ]
    # The Cs stand beside a1 and b3, not between them; the second one parts a1 from b4.
    assert matches_in(pattern(sequence), map(event, rows)) == 1.0
    assert expected_matches(sequence, rows) == 1.0
