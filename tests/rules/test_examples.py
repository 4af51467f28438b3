"""The worked cases come out exactly: matches, reads, firings, changes and contents."""

from __future__ import annotations

from typing import Any

import pytest

from augury import Session
from augury.errors import DataError
from rules.acting import (
    bind,
    changes_of,
    contents_of,
    matches_of,
    pushed,
    reads_of,
    session,
)
from rules.cases import CASES, Case

FINE = [case for case in CASES if case.error is None]
STOPPED = [case for case in CASES if case.error is not None]


def rows_of(case: Case) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for text in case.events:
        words = text.split()
        stream = words.pop(0) if words[0] in ("doors", "taps") else "behaviour"
        row: dict[str, Any] = dict.fromkeys(("worker", "room", "seq"), None) | {"p": 1.0}
        for name, word in zip(case.columns.split(), words, strict=True):
            row[name] = _value(name, word)
        found.append((stream, row))
    return found


def _value(name: str, word: str) -> Any:
    if word == "NULL":
        return None
    return int(word) if name in ("id", "t", "seq") else float(word) if name == "p" else word


def bounded(case: Case) -> Session:
    return bind(session(case.script, case.before), rows_of(case))


def expected_matches(case: Case, query: str) -> list[Any]:
    return sorted([(made, sure) for made, _, sure in case.matches[query]], key=str)


def check_matches(case: Case, query: str, rows: list[dict[str, Any]]) -> None:
    found = matches_of(rows)
    if query == "spree":
        # The events of a query over a query are matches, whose names are hashes.
        assert [(set(made), sure) for made, sure in found] == [({"u", "v"}, 1.0)]
    else:
        assert found == expected_matches(case, query)


def check_effects(case: Case, ag: Session) -> None:
    for rule in dict.fromkeys(name for name, *_ in case.firings):
        found = ag.table(rule).to_pylist()
        told = [(r["ts"], round(r["confidence"], 9), len(r["changes"])) for r in found]
        assert told == [tuple(rest) for name, _, *rest in case.firings if name == rule]
    for table, rows in case.after.items():
        assert contents_of(ag, table) == rows
    for table, changes in case.changes.items():
        check_changes(case, ag, table, changes)


def check_changes(case: Case, ag: Session, table: str, changes: list[Any]) -> None:
    found = ag.changes(table).to_pylist()
    assert [(r["ts"], r["operation"]) for r in found] == [(c[0], c[1]) for c in changes]
    shown = [tuple(row.values())[4:] for row in found]
    assert shown == [after if after is not None else before for _, _, before, after, _ in changes]
    for rule in {by for *_, by in changes}:
        own = [c for c in changes_of(ag, rule) if c[1] == table]
        expected = [(t, table, how, before, after) for t, how, before, after, by in changes
                    if by == rule]  # fmt: skip
        assert own == expected


@pytest.mark.parametrize("case", FINE, ids=lambda c: c.name.split()[0])
def test_a_case_comes_out_over_bound_rows(case: Case) -> None:
    ag = bounded(case)
    for query in case.matches:
        check_matches(case, query, ag.table(query).to_pylist())
    check_effects(case, ag)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name.split()[0])
def test_every_read_is_as_of_its_moment(case: Case) -> None:
    assert sorted(reads_of(bounded(case)), key=str) == sorted(case.reads, key=str)


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("case", FINE, ids=lambda c: c.name.split()[0])
def test_a_case_comes_out_pushed(case: Case, size: int) -> None:
    ag = session(case.script, case.before)
    found = pushed(ag, rows_of(case), [size] * 100)
    for query in case.matches:
        check_matches(case, query, [row for row in found if row["query"] == query])
    check_effects(case, ag)


@pytest.mark.parametrize("case", STOPPED, ids=lambda c: c.name.split()[0])
def test_a_moment_that_cannot_be_done_stops_the_run_and_all_before_it_stands(case: Case) -> None:
    assert case.error is not None
    moment, reason = case.error
    with pytest.raises(DataError, match=rf"at {moment}: .*"):
        bounded(case).table(next(iter(case.after)))
    ag = session(case.script, case.before)
    with pytest.raises(DataError) as raised:
        pushed(ag, rows_of(case))
    assert reason in str(raised.value)
    check_effects(case, ag)
    with pytest.raises(DataError):
        ag.finish()


def test_the_later_of_two_rules_at_one_moment_wins() -> None:
    case = next(case for case in CASES if case.name.startswith("N1 "))
    head, warn, escalate = case.script.partition("CREATE RULE warn")[0], "", ""
    warn = case.script[len(head) : case.script.index("CREATE RULE escalate")]
    escalate = case.script[case.script.index("CREATE RULE escalate") :]
    ag = bind(session(head + escalate + warn, case.before), rows_of(case))
    assert contents_of(ag, "worker_status") == [("w7", "warning")]


@pytest.mark.parametrize(("action", "t"), [("SANITIZE", 15), ("MASK", 16)])
def test_an_event_at_the_end_of_the_window_still_counts(action: str, t: int) -> None:
    case = next(case for case in CASES if case.name.startswith("N3 "))
    rows = rows_of(case)
    rows[2][1].update(action=action, t=t)
    rows[3][1].update(t=17)
    assert bind(session(case.script, case.before), rows).table("dirty").num_rows == 0


def test_rows_that_come_again_fire_nothing_again() -> None:
    case = next(case for case in CASES if case.name.startswith("N10 "))
    ag = session(case.script, case.before)
    for _ in range(2):
        for stream, row in rows_of(case):
            ag.push(stream, row)
    ag.finish()
    assert ag.table("warn").num_rows == 2
    assert contents_of(ag, "counts") == [("w7", 2)]


def test_a_session_goes_on_from_a_checkpoint() -> None:
    case = next(case for case in CASES if case.name.startswith("N10 "))
    first, second = session(case.script, case.before), session(case.script, case.before)
    rows = rows_of(case)
    for stream, row in rows[:2]:
        first.push(stream, row)
    second.restore(first.checkpoint())
    second.push(*rows[2])
    third = session(case.script, case.before)
    third.restore(second.checkpoint())
    third.finish()
    assert third.table("warn").num_rows == 2
    assert contents_of(third, "counts") == [("w7", 2)]


def test_with_taps_declared_first_a_tap_reads_before_the_door_writes() -> None:
    case = next(case for case in CASES if case.name.startswith("N11 "))
    doors = case.script[: case.script.index("CREATE STREAM taps")]
    taps = case.script[len(doors) : case.script.index("CREATE TABLE")]
    script = taps + doors + case.script[case.script.index("CREATE TABLE") :]
    rows = [row for row in rows_of(case) if row[1]["t"] == 10]
    assert bind(session(script, case.before), rows).table("washed").num_rows == 0
