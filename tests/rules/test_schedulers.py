"""Schedulers: who waits for whom, by a simulated clock and in any order; the answers are equal."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import AuguryError, Session
from augury.errors import DataError
from augury.rules.flights import Flights, in_order
from augury.rules.locks import Lock, Scheduler, waits_for
from oracles.rules import Event, Script, text_of
from rules.acting import many, pushed
from rules.cases import CASES, Case
from rules.test_examples import FINE, check_effects, check_matches, rows_of
from rules.test_reference import cases, expected_of
from rules.test_reference import check_effects as check_against
from rules.test_reference import rows_of as reference_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::augury.errors.RowsWarning"),
    pytest.mark.usefixtures("far"),
]
SCHEDULERS: list[Scheduler] = ["sei", "s2pl", "lwm"]
GRAINS = ["row", "table"]
S, X = Lock("t", None, writes=False), Lock("t", None, writes=True)
# T1 = exit², T2 = enter¹⁰, T3 = exit¹⁵, T4 at 18 (thesis, Examples 3.4 and 3.5).
FOUR = [frozenset({S}), frozenset({S, X}), frozenset({S}), frozenset({S, X})]


def clocked(
    scheduler: Scheduler, locks: Sequence[frozenset[Lock]], lasts: Sequence[int]
) -> list[tuple[int, int]]:
    """Return when each moment begins and ends, with threads enough: a simulated clock."""
    spans: list[tuple[int, int]] = []
    for waits, length in zip(waits_for(scheduler, locks), lasts, strict=True):
        begin = max((spans[earlier][1] for earlier in waits), default=0)
        spans.append((begin, begin + length))
    return spans


@pytest.mark.parametrize(
    ("scheduler", "spans"),
    [
        ("sei", [(0, 1), (1, 3), (3, 4), (4, 6)]),
        ("s2pl", [(0, 1), (1, 3), (3, 4), (4, 6)]),
        ("lwm", [(0, 1), (0, 2), (2, 3), (2, 4)]),
    ],
)
def test_locks_and_times_of_the_thesis(scheduler: Scheduler, spans: list[Any]) -> None:
    assert clocked(scheduler, FOUR, [1, 2, 1, 2]) == spans


@pytest.mark.parametrize(
    ("scheduler", "spans"),
    [
        ("sei", [(0, 5), (5, 7), (7, 8), (8, 10)]),
        ("s2pl", [(0, 5), (5, 7), (7, 8), (8, 10)]),
        ("lwm", [(0, 5), (0, 2), (2, 3), (2, 4)]),
    ],
)
def test_a_slow_reader_keeps_no_later_writer_waiting(scheduler: Any, spans: list[Any]) -> None:
    assert clocked(scheduler, FOUR, [5, 2, 1, 2]) == spans


locks = st.frozensets(
    st.builds(
        Lock, st.sampled_from("tu"), st.none() | st.sampled_from([(1,), (2,)]), st.booleans()
    ),
    max_size=3,
)


def meet(one: Lock, other: Lock) -> bool:
    same = one.key is None or other.key is None or one.key == other.key
    return one.table == other.table and same


@given(st.lists(locks, max_size=8), st.lists(st.integers(1, 9), min_size=8, max_size=8))
@settings(max_examples=200)
def test_nobody_reads_too_early_nobody_waits_for_a_later_one_and_all_end(
    many: list[frozenset[Lock]], lasts: list[int]
) -> None:
    lasts = lasts[: len(many)]
    spans = {each: clocked(each, many, lasts) for each in SCHEDULERS}
    for later, own in enumerate(many):
        for earlier in range(later):
            pairs = [(a, b) for a in many[earlier] for b in own if meet(a, b)]
            # What it reads or writes was written by then; S2PL: and read.
            if any(a.writes for a, _ in pairs):
                assert spans["lwm"][later][0] >= spans["lwm"][earlier][1]
            if any(a.writes or b.writes for a, b in pairs):
                assert spans["s2pl"][later][0] >= spans["s2pl"][earlier][1]
            assert spans["sei"][later][0] >= spans["sei"][earlier][1]
    for scheduler in SCHEDULERS:
        assert all(max(w, default=-1) < k for k, w in enumerate(waits_for(scheduler, many)))
    ends = {each: max((end for _, end in spans[each]), default=0) for each in SCHEDULERS}
    assert ends["lwm"] <= ends["s2pl"] <= ends["sei"] == sum(lasts)


def test_work_is_done_side_by_side_once_each_and_after_what_it_waits_for() -> None:
    waits = waits_for("lwm", [frozenset({Lock("t", (k % 7,), k % 3 == 0)}) for k in range(200)])
    ended: list[int] = []

    def work(number: int) -> bool:
        assert waits[number] <= set(ended)
        ended.append(number)
        return True

    with ThreadPoolExecutor(16) as pool:
        in_order(waits, work, pool)
    assert sorted(ended) == list(range(200))


def test_what_one_may_not_do_is_raised_when_all_have_ended() -> None:
    ended = list[int]()

    def work(number: int) -> bool:
        if number == 3:
            raise DataError("no")
        ended.append(number)
        return number != 1

    with ThreadPoolExecutor(4) as pool:
        with pytest.raises(DataError, match="no"):
            in_order([frozenset()] * 3 + [frozenset({0})], work, pool, 2)
        in_order([frozenset(), frozenset(), frozenset({1}), frozenset({0})], lambda n: n != 1, pool)
    assert ended == [0, 1, 2]


# The worked cases ---------------------------------------------------------------------------------


def flying(case: Case, scheduler: Any, grain: Any) -> Session:
    ag = Session(engine="local", scheduler=scheduler, locks=grain)
    ag.sql(case.script)
    for name, rows in case.before.items():
        columns = [c.name for c in ag._declared.catalog.tables[name].columns]
        if rows:
            ag.bind(name, [dict(zip(columns, row, strict=True)) for row in rows])
    return ag


@pytest.mark.parametrize("grain", GRAINS)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("case", FINE, ids=lambda c: c.name.split()[0])
def test_a_case_comes_out_under_every_scheduler(case: Case, scheduler: str, grain: str) -> None:
    for size in (1, 100):
        ag = flying(case, scheduler, grain)
        found = pushed(ag, rows_of(case), [size] * 100)
        for query in case.matches:
            check_matches(case, query, [row for row in found if row["query"] == query])
        check_effects(case, ag)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_moment_that_cannot_be_done_leaves_later_ones_undone(scheduler: str) -> None:
    case = next(case for case in CASES if case.name.startswith("N14 "))
    ag = flying(case, scheduler, "row")
    first = rows_of(case)[0][1]
    other = first | {"id": 7, "worker": "w9", "t": 10, "seq": 7}
    last = first | {"id": 8, "worker": "w9", "t": 30, "seq": 8, "action": "EXIT"}
    with pytest.raises(DataError, match=r"at 9: .*is there already"):
        ag.push("behaviour", [*(row for _, row in rows_of(case)), other, last])
    check_effects(case, ag)


def test_schedulers_have_names() -> None:
    with pytest.raises(AuguryError, match="expected 'lwm', 's2pl' or 'sei'"):
        Session(engine="local", scheduler="fifo")  # type: ignore[arg-type]


# Random scripts, in any order that the locks allow ------------------------------------------------


def any_order(chance: random.Random) -> Callable[..., None]:
    """Return a way to do work in one thread: whatever may go next, goes."""

    def fly(waits: Sequence[frozenset[int]], work: Callable[[int], bool]) -> None:
        ended, left = set[int](), set(range(len(waits)))
        while ready := sorted(n for n in left if waits[n] <= ended):
            number = chance.choice(ready)
            left.discard(number)
            if work(number):
                ended.add(number)

    return fly


@given(
    cases(), st.sampled_from(SCHEDULERS), st.sampled_from(GRAINS), st.integers(0, 2**32), st.data()
)
@settings(max_examples=many(100), deadline=None)
def test_no_order_that_locks_allow_changes_anything(
    case: tuple[Script, list[Event]], scheduler: Any, grain: Any, seed: int, data: Any
) -> None:
    script, events = case
    expected, names = expected_of(script, events)
    rows = sorted(reference_rows(events), key=lambda row: row[1]["t"])
    ag = Session(engine="local", scheduler=scheduler, locks=grain)
    ag.sql(text_of(script))
    columns = ("worker", "colour")
    if script.status:
        ag.bind("status", [dict(zip(columns, row, strict=True)) for row in script.status])
    acting = ag._pushed.runner().acting
    assert acting is not None
    assert acting.flights is not None
    if data.draw(st.booleans()):
        fly = any_order(random.Random(seed))
        contents = acting.state.tables
        # Every read by key asks, as if the table were elsewhere.
        reads = {
            name: lambda key, own=own: own.held.get(own.places.get(key, -1))
            for name, own in contents.items()
            if own.key
        }
        acting.flights = replace(acting.flights, fly=fly, reads=reads)
    cuts = data.draw(st.lists(st.integers(1, 9), max_size=9))
    if expected.stopped is not None:
        with pytest.raises(DataError, match=f"at {expected.stopped}: "):
            pushed(ag, rows, cuts)
    else:
        found = pushed(ag, rows, cuts)
        told = sorted((row["query"], row["match_id"]) for row in found)
        assert told == sorted((name, names[name, ids]) for name, ids in expected.passed)
    check_against(ag, script, expected, names)


def test_the_default_in_flight_is_lwm_by_rows() -> None:
    assert Flights.scheduler == "lwm"
