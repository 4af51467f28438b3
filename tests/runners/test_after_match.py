"""AFTER MATCH SKIP, MATCH_NUMBER() and ALL EVENTS PER MATCH on every runner, and in every cut."""

from __future__ import annotations

import random
from typing import Any

import pytest

from augury import DataError, QueryError, Session
from augury.analysis.policies.bindings import bound_by
from augury.analysis.script import check_text
from augury.planning.never_covered import without_skip
from augury.runners.local import runner, threads
from runners.every_runner import Runner, every_runner

STREAM = (
    "CREATE STREAM s (id LONG, kind STRING, tag STRING, t LONG) ID id KEY tag TIME t TYPE kind;"
)
QUERY = """
CREATE QUERY q ON s PATTERN SEQ(A a, B+ b, C c) WHERE [tag]
USING SKIP TILL NEXT MATCH {skip} WITHIN 20
RETURN {returns};
"""
PAST = "AFTER MATCH SKIP PAST LAST EVENT"
SKIPS = (PAST, "AFTER MATCH SKIP TO NEXT EVENT", "AFTER MATCH SKIP TO LAST b")


def rows_of(n: int, seed: int = 1) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {"id": k, "kind": rng.choice("AABBC"), "tag": rng.choice("xy"), "t": k} for k in range(n)
    ]


def taken(matches: list[dict[str, Any]], skip: str) -> list[tuple[str, ...]]:
    """Return what is taken of all matches, one of each start, by the definition."""
    found, until = [], {"x": -1, "y": -1}
    for match in sorted(matches, key=lambda m: m["start_ts"]):
        events = [(e["component"], e["ts"]) for e in match["events"]]
        if match["start_ts"] <= until[match["tag"]]:
            continue
        found.append(tuple(e["event_id"] for e in match["events"]))
        ends = {
            PAST: match["end_ts"],
            SKIPS[1]: match["start_ts"],
            SKIPS[2]: max(t for c, t in events if c == "b") - 1,
        }
        until[match["tag"]] = ends[skip]
    return sorted(found)


def local(script: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("s", rows)
    found: list[dict[str, Any]] = ag.table("q").to_pylist()
    return found


@every_runner
@pytest.mark.parametrize("skip", SKIPS)
def test_every_runner_takes_the_same(skip: str, runner: Runner) -> None:
    rows = rows_of(200)
    plain = local(STREAM + QUERY.format(skip="", returns="a.t AS began"), rows)
    script = STREAM + QUERY.format(skip=skip, returns="MATCH_NUMBER() AS n")
    end = {"s": {"id": 10**6, "kind": "Z", "tag": "x", "t": 10**6}}
    found = runner(script, "q", {"s": rows}, end)
    assert sorted(tuple(e["event_id"] for e in m["events"]) for m in found) == taken(plain, skip)
    for tag in "xy":
        own = sorted((m["start_ts"], m["n"]) for m in found if m["tag"] == tag)
        assert [n for _, n in own] == list(range(1, len(own) + 1))


@every_runner
def test_every_event_has_a_row(runner: Runner) -> None:
    rows = rows_of(60)
    whole = local(STREAM + QUERY.format(skip=PAST, returns="a.t AS began"), rows)
    script = STREAM + QUERY.format(skip=PAST, returns="a.t AS began, kind ALL EVENTS PER MATCH")
    end = {"s": {"id": 10**6, "kind": "Z", "tag": "x", "t": 10**6}}
    found = runner(script, "q", {"s": rows}, end)
    wanted = [
        (m["match_id"], m["began"], e["component"], e["event_id"], e["component"].upper())
        for m in whole
        for e in m["events"]
    ]
    names = ("match_id", "began", "component", "event_id", "kind")
    assert sorted(tuple(row[name] for name in names) for row in found) == sorted(wanted)
    assert {row["item"] for row in found if row["component"] == "a"} == {1}
    assert max(row["item"] for row in found if row["component"] == "b") > 1
    assert "events" not in found[0]


@pytest.mark.parametrize("skip", SKIPS)
def test_threads_take_the_same(skip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(3000)
    script = STREAM + QUERY.format(skip=skip, returns="MATCH_NUMBER() AS n")
    alone = local(script, rows)
    for name, value in (("MANY", 10), ("FEW", 700), ("LEAST_PART", 100)):
        monkeypatch.setattr(threads, name, value)
    together = local(script, rows)

    def order(row: dict[str, Any]) -> str:
        return str(row["match_id"])

    assert sorted(together, key=order) == sorted(alone, key=order)


RUNS = {
    "SEQ(A a, B+ b, C c)": True,
    "SEQ(A a, OR(B b, C c))": True,
    "SEQ(OR(A a, B b), C+ c)": True,
    "SEQ(A a, B* b, A c)": False,
    "SEQ(A+ a, B b)": False,
    "AND(A a, B b)": False,
    "SEQ(A a, _ b)": False,
    "(SEQ(A a, B b))+ g": False,
}


@pytest.mark.parametrize("pattern", RUNS)
@pytest.mark.parametrize("strategy", ["STRICT", "PARTITION CONTIGUITY"])
@pytest.mark.parametrize("apart", [1, 2])
@pytest.mark.rotating(3)
def test_what_cannot_cover_is_not_asked_what_it_covers(
    pattern: str, strategy: str, apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With `apart` 2, every other event is at once with the one before it.
    rows = [row | {"t": row["t"] // apart} for row in rows_of(2000)]
    query = f"CREATE QUERY q ON s PATTERN {pattern} WHERE [tag] USING {strategy}"
    script = f"{STREAM} {query} {PAST} WITHIN 20;"
    for name, value in (("MANY", 10), ("FEW", 700), ("LEAST_PART", 100)):
        monkeypatch.setattr(threads, name, value)
    tried = []

    def spied(asked: Any) -> Any:
        found = without_skip(asked)
        tried.append(found is not None)
        return found

    monkeypatch.setattr(runner, "without_skip", spied)
    found = {m["match_id"] for m in local(script, rows)}
    # STRICT runs over all rows, and no key cuts them.
    assert tried == ([RUNS[pattern]] if strategy != "STRICT" else [])
    monkeypatch.setattr(runner, "without_skip", lambda _: None)
    assert found == {m["match_id"] for m in local(script, rows)}
    assert found


@pytest.mark.parametrize("cut", [3, 17, 40])
def test_what_was_taken_is_stored(cut: int) -> None:
    rows = rows_of(60)
    script = STREAM + QUERY.format(skip=PAST, returns="MATCH_NUMBER() AS n")
    ag = Session(engine="local")
    ag.sql(script)
    found = ag.push("s", rows[:cut])
    again = Session(engine="local")
    again.sql(script)
    again.restore(ag.checkpoint())
    found += again.push("s", rows[cut:]) + again.finish()
    assert sorted(m["match_id"] for m in found) == sorted(
        m["match_id"] for m in local(script, rows)
    )
    numbers = sorted((m["tag"], m["n"]) for m in found)
    assert numbers == sorted((m["tag"], m["n"]) for m in local(script, rows))


UNCERTAIN = STREAM.replace("t LONG)", "t LONG, p DOUBLE)").replace(
    "TYPE kind", "TYPE kind PROBABILITY p"
)


def test_push_says_what_it_leaves_out_and_why() -> None:
    ag = Session(engine="local")
    ag.sql(UNCERTAIN + QUERY.format(skip=PAST, returns="a.t AS began"))
    with pytest.raises(QueryError, match="AFTER MATCH, in every world of uncertain events"):
        ag.push("s", {"id": 1, "kind": "A", "tag": "x", "t": 1, "p": 0.5})


def test_too_many_uncertain_events_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_LINEAGE_LIMIT", "5")
    rows = [{**row, "p": 0.5} for row in rows_of(40)]
    with pytest.raises(DataError, match="lineage_limit"):
        local(UNCERTAIN + QUERY.format(skip=PAST, returns="a.t AS began"), rows)


def test_a_query_reads_what_was_taken_where_all_is_certain() -> None:
    script = STREAM + QUERY.format(skip=PAST, returns="a.t AS began").replace(
        "QUERY q", "QUERY low"
    )
    ag = Session(engine="local")
    ag.sql(script + "CREATE QUERY q ON low PATTERN SEQ(low one, low two) WITHIN 100;")
    ag.bind("s", rows_of(80))
    pairs, taken_ones = ag.table("q").num_rows, ag.table("low").num_rows
    spans = [(m["start_ts"], m["end_ts"]) for m in ag.table("low").to_pylist()]
    assert taken_ones > 2
    assert pairs == sum(a[1] < b[1] and b[1] - a[1] <= 100 for a in spans for b in spans)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("PATTERN SEQ(A a, B b) AFTER MATCH SKIP TO FIRST a WITHIN 9", "every match begins"),
        ("PATTERN SEQ(A a, B? b, C c) AFTER MATCH SKIP TO LAST b WITHIN 9", "may lack"),
        ("PATTERN SEQ(A a, !B b, C c) AFTER MATCH SKIP TO FIRST b WITHIN 9", "negated"),
        ("PATTERN SEQ(A a, B b) AFTER MATCH SKIP TO FIRST x WITHIN 9", "not a component"),
        ("PATTERN SEQ(A a, B b) AFTER MATCH SKIP PAST LAST EVENT WITHIN 9 RETURN COUNT", "COUNT"),
        ("PATTERN SEQ(A a, B b) WITHIN 9 RETURN MATCH_NUMBER()", "one after the other"),
        ("PATTERN SEQ(A a, B b) WHERE MATCH_NUMBER() = 1 WITHIN 9", "column of its own"),
        ("PATTERN SEQ(A a, B b) WITHIN 9 RETURN PROBABILITY ALL EVENTS PER MATCH", "none"),
    ],
)
def test_misuse_is_told(query: str, said: str) -> None:
    ag = Session(engine="local")
    with pytest.raises(QueryError) as told:
        ag.sql(f"{STREAM} CREATE QUERY q ON s {query};")
    assert said in str(told.value)


def test_a_number_needs_certain_events() -> None:
    ag = Session(engine="local")
    with pytest.raises(QueryError, match="world to world"):
        ag.sql(UNCERTAIN + QUERY.format(skip=PAST, returns="MATCH_NUMBER() AS n"))


TAKEN = QUERY.format(skip=PAST, returns="a.t AS began")


def test_a_forecast_of_what_is_taken_is_refused() -> None:
    ag = Session(engine="local")
    ag.sql(STREAM + TAKEN + "CREATE FORECAST f ON q WITHIN 5 EVENTS USING MARKOV 0 ONLINE;")
    ag.bind("s", rows_of(10))
    with pytest.raises(QueryError, match="AFTER MATCH SKIP"):
        ag.table("f")


def test_a_rule_acts_on_each_match_that_is_taken() -> None:
    ag = Session(engine="local")
    table = "CREATE TABLE log (tag STRING, n LONG) KEY tag;"
    rule = """CREATE RULE r ON q DO INSERT INTO log VALUES (new.tag, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;"""
    ag.sql(STREAM + TAKEN + table + rule)
    ag.bind("s", rows_of(40))
    found = [row["tag"] for row in ag.table("q").to_pylist()]
    told = {row["tag"]: row["n"] for row in ag.table("log").to_pylist()}
    assert told == {tag: found.count(tag) for tag in set(found)}
    assert sum(told.values()) > 2


def test_a_policy_binds_every_type_beside_what_is_taken_and_does_not_weigh_it() -> None:
    other = "CREATE QUERY other ON s PATTERN SEQ(A x, C z) WHERE [tag] WITHIN 5;"
    checked = check_text(f"{STREAM} {TAKEN} {other}")
    queries = {query.name: query for query in checked.queries}
    bound = {each.type for each in bound_by(queries["q"], frozenset({"s"}), queries)}
    assert None in bound
    assert not {each.type for each in bound_by(queries["other"], frozenset({"s"}), queries)}
    with pytest.raises(QueryError, match="one after the other"):
        Session(engine="local").sql(f"{STREAM} {TAKEN} {other} CREATE POLICY p ON s PUBLIC q;")
