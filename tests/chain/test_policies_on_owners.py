"""A policy on a stream of owners: first tellings decide, and what is told again goes with them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import AuguryError, DataError, QueryError, Session
from augury.errors import StateError
from augury.evaluation.asked import Asked
from augury.evaluation.encoding import declaration_of
from augury.evaluation.executor import Executor
from augury.evaluation.sharding import sharding_of
from augury.matching.matcher import ALWAYS
from augury.sources.rows import conform
from augury.sources.tables import arrow_table
from cli.terminal import augury
from contracts.test_stage_shards import answers_of, network_of
from contracts.test_stage_shards import told as told_of
from identity.test_worlds import halls, stories
from oracles.identities import Event, Setting, all_told
from oracles.model import Comp, Not, Query, Seq

pytestmark = pytest.mark.filterwarnings("ignore:.*stream known", "ignore:without KEY")
MODEL = """
CREATE TABLE staff (person STRING, room STRING);
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT',
HALL 'H', STEP {step});
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN {within} REVISE {revise};
"""
# The same rows, as first told, as a stream of its own.
DECLARED = """
CREATE STREAM known (id LONG, person STRING, action STRING, room STRING, t LONG, p DOUBLE)
ID id KEY person TIME t TYPE action ALTERNATIVES person PROBABILITY p;
"""
POLICY = """
CREATE QUERY visit ON known PATTERN SEQ(ENTER x, EXIT e) WHERE [person] AND x.room = e.room
WITHIN 9 RETURN x.person AS x, e.person AS e;
CREATE QUERY unwashed ON known PATTERN SEQ(ENTER x, !EXIT s, ENTER e) WHERE [person] WITHIN 9
RETURN x.person AS x, e.person AS e;
CREATE QUERY hidden ON known PATTERN SEQ(WASH x, EXIT e) WHERE [person] WITHIN 9;
CREATE POLICY discreet ON known PUBLIC visit WEIGHT 2 PRIVATE hidden {weight} USING GREEDY;
"""
VISIT = Query(
    Seq((Comp("x", "ENTER"), Comp("e", "EXIT"))),
    equate=("person",),
    where=(("=", ("attr", "x", "room"), ("attr", "e", "room")),),
    within=("time", 9),
)
UNWASHED = Query(
    Seq((Comp("x", "ENTER"), Not(Comp("s", "EXIT")), Comp("e", "ENTER"))),
    equate=("person",),
    within=("time", 9),
)


def session_of(setting: Setting, events: list[Event], script: str) -> Session:
    ag = Session(engine="local")
    revise = setting.revise + (f" {float(setting.least)}" if setting.revise == "BY" else "")
    ag.sql(MODEL.format(step=setting.step, within=setting.within, revise=revise) + script)
    ag.bind("staff", [{"person": p, "room": at} for p, at in setting.staff.items()])
    ag.bind("doors", [row_of(event) for event in events])
    return ag


def row_of(event: Event) -> dict[str, Any]:
    own = {"person": event.person, "action": event.type, "room": event.place}
    return {"id": event.id, **own, "t": event.time}


def told(ag: Session, query: str) -> list[tuple[Any, int, float]]:
    return [
        (
            frozenset((e["component"], ((int(e["event_id"]), row[e["component"]]),))
                      for e in row["events"]),
            row["revision"],
            round(row["confidence"], 9),
        )
        for row in ag.revisions(query).to_pylist()
    ]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    story=stories(halls()).filter(lambda story: not story[0].rejects),
    weight=st.sampled_from(["NEVER", "WEIGHT 3"]),
)
def test_what_was_kept_is_followed_and_what_was_suppressed_never_comes_back(
    story: tuple[Setting, list[Event]], weight: str
) -> None:
    setting, events = story
    ag = session_of(setting, events, POLICY.format(weight=weight))
    audit = ag.audit("discreet").to_pylist()
    kept = {int(row["event_id"]) for row in audit if row["kept"]}
    raw = session_of(setting, events, "").revisions("known").to_pylist()
    assert ag.revisions("known").to_pylist() == [row for row in raw if row["id"] in kept]
    # Decisions are those of a stream whose rows are the first tellings.
    plain = Session(engine="local")
    plain.sql(DECLARED + POLICY.format(weight=weight))
    first = [row for row in raw if row["revision"] == 0]
    names = ("id", "person", "action", "room", "t", "p")
    plain.bind("known", [{name: row[name] for name in names} for row in first])
    assert audit == plain.audit("discreet").to_pylist()
    for name, query in (("visit", VISIT), ("unwashed", UNWASHED)):
        expected = all_told(setting, events, query, waits=False, kept=kept)
        want = [(match, revision, round(float(p), 9)) for match, revision, p, _ in expected]
        assert sorted(told(ag, name), key=str) == sorted(want, key=str)


def test_what_lies_below_a_stream_under_a_policy_is_read_by_nobody() -> None:
    setting = Setting({"O1": "H"})
    reader = "CREATE QUERY raw ON doors PATTERN WASH w;"
    for script in (POLICY.format(weight="NEVER") + reader, reader + POLICY.format(weight="NEVER")):
        with pytest.raises(QueryError, match="A126"):
            session_of(setting, [], script)


WARDS = """
CREATE TABLE staff (unit STRING, person STRING, room STRING);
CREATE STREAM doors (id LONG, unit STRING, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE STREAM before (id LONG, unit STRING, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT',
HALL 'H', STEP 2, BY unit);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 12 REVISE ANY;
CREATE STREAM past AS IDENTIFY before USING ward WITHIN 12;
CREATE QUERY again ON known PATTERN SEQ(ENTER a, EXIT b) WHERE [unit] AND [person] WITHIN 9;
CREATE QUERY hidden ON known PATTERN SEQ(EXIT a, ENTER b) WHERE [unit] AND [person] WITHIN 4;
CREATE POLICY discreet ON known PUBLIC again PRIVATE hidden {weight} USING HYBRID RATES
LEARN FROM past;
CREATE STREAM kept AS SUPPRESS known USING discreet;
CREATE QUERY over ON kept PATTERN SEQ(ENTER a, EXIT b) WHERE [unit] AND [person] WITHIN 9;
"""
CHANCES = """
CREATE QUERY chance ON {} PATTERN SEQ(ENTER a, EXIT b) WHERE [person] WITHIN 9
RETURN PROBABILITY;
CREATE QUERY count ON {} PATTERN SEQ(ENTER a, EXIT b) WHERE [person] WITHIN 9 RETURN COUNT;
"""
NAMES = ("known", "kept")


def ward_rows(seed: int, count: int, first: int) -> list[dict[str, Any]]:
    """Return what two wards of three people each do; one badge in three is not read."""
    rng, rows = Random(seed), list[dict[str, Any]]()
    inside: dict[str, str | None] = {f"{unit}{k}": None for unit in "UV" for k in range(3)}
    for t in range(first, first + count):
        person = rng.choice(list(inside))
        room = inside[person]
        action, inside[person] = ("EXIT", None) if room else ("ENTER", rng.choice("RS"))
        own = {"id": t, "unit": person[0], "action": action, "t": t, "room": room or inside[person]}
        rows.append(own | {"person": person if rng.random() < 0.67 else None})
    return rows


def ward_bound(seed: int) -> dict[str, list[dict[str, Any]]]:
    staff = [{"unit": u, "person": f"{u}{k}", "room": None} for u in "UV" for k in range(3)]
    return {
        "staff": staff,
        "doors": ward_rows(seed, 40, 100),
        "before": ward_rows(seed + 1, 50, 1),
    }


def wards(bound: dict[str, list[dict[str, Any]]], weight: str, *, but: str = "") -> Session:
    ag = Session(engine="local")
    ag.sql(WARDS.format(weight=weight))
    for name, rows in bound.items():
        if name != but:
            ag.bind(name, rows)
    return ag


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted((row | rounded(row) for row in rows), key=repr)


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round(row[name], 9) for name in ("p", "confidence") if name in row}


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), weight=st.sampled_from(["NEVER", "WEIGHT 3"]))
def test_pushed_owners_are_kept_as_bound_ones_are(seed: int, weight: str) -> None:
    bound, rng = ward_bound(seed), Random(seed)
    whole, ag = wards(bound, weight), wards(bound, weight, but="doors")
    found = list[dict[str, Any]]()
    for row in bound["doors"]:
        found += ag.push("doors", row)
        if rng.random() < 0.1:
            stored = ag.checkpoint()
            ag = wards(bound, weight, but="doors")
            ag.restore(stored)
    found += ag.finish()
    assert ag.audit("discreet").equals(whole.audit("discreet"))
    for name in NAMES:
        assert ag.revisions(name).equals(whole.revisions(name).cast(ag.revisions(name).schema))
        assert in_order(ag.table(name).to_pylist()) == in_order(whole.table(name).to_pylist())
    for name in ("again", "over"):
        own = [row for row in found if row.get("query") == name]
        assert in_order(own) == in_order(whole.revisions(name).to_pylist())
    kept = {row["event_id"] for row in whole.audit("discreet").to_pylist() if row["kept"]}
    # A telling is no match: it has no query.
    assert {str(row["id"]) for row in found if "query" not in row} == kept


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1, 4, 100]))
def test_owners_are_kept_alike_in_steps_and_shards(seed: int, size: int) -> None:
    bound = ward_bound(seed)
    ag = wards(bound, "NEVER")
    asked = [Asked("audit", "discreet"), *(Asked("revisions", name) for name in NAMES)]
    for name in ("again", "over"):
        each = Asked("revisions", name)
        network = network_of(ag, [name], [each, *asked], bound)
        assert sharding_of(network, bounded=False).columns == (("doors", ("unit",)),)
        found = answers_of(network, bound, 3, size)
        assert in_order(told_of(found, each.key)) == in_order(ag.revisions(name).to_pylist())
        for own in asked[1:]:
            assert in_order(told_of(found, own.key)) == in_order(ag.revisions(own.name).to_pylist())
        assert told_of(found, asked[0].key) == in_order(ag.audit("discreet").to_pylist())
        # Nothing of what was suppressed is among the rows that were put aside.
        assert {kind for kind, *_ in found} <= {"match"}


@pytest.mark.parametrize("stream", NAMES)
def test_chances_over_owners_are_those_of_kept_events(stream: str) -> None:
    bound = ward_bound(3)
    bound["doors"] = bound["doors"][:20]
    ag = wards(bound, "NEVER")
    ag.sql(CHANCES.format(stream, stream))
    raw = Session(engine="local")
    raw.sql(WARDS[: WARDS.index("CREATE QUERY")] + CHANCES.format("known", "known"))
    for name, rows in bound.items():
        raw.bind(name, rows)
    for name in ("chance", "count"):
        network = network_of(ag, [name], [], bound)
        executor = Executor(network)
        own = network.bases["doors"]
        kinds = {column.name: column.type.value for column in own.columns}
        rows = conform(arrow_table("doors", bound["doors"], kinds), declaration_of(own))
        _, answers = executor.advance(executor.start(), {"doors": rows}, ALWAYS)
        assert answers.found[name].to_pylist() == ag.table(name).to_pylist()
        # How many events came, and what their owners do, is not told.
        assert all(each.split()[0] not in ("source", "identify") for each in answers.measured)
    assert ag.table("count").to_pylist() != raw.table("count").to_pylist()


def test_what_a_policy_has_decided_of_owners_binds_all_who_read_them_later() -> None:
    bound = ward_bound(1)
    ag = wards(bound, "NEVER", but="doors")
    ag.push("doors", bound["doors"][:20])
    late = "CREATE QUERY late ON {} PATTERN SEQ(ENTER a, EXIT b) WHERE [person] WITHIN 9;"
    for name in NAMES:
        with pytest.raises(AuguryError, match="declare it before"):
            ag.sql(late.format(name))
    with pytest.raises(QueryError, match="P009"):
        ag.sql("CREATE QUERY not ON known PATTERN SEQ(ENTER a, !EXIT x, ENTER b) WITHIN 9;")
    with pytest.raises(AuguryError, match="decided about pushed rows"):
        ag.bind("staff", [])
    ag.push("doors", bound["doors"][20:])
    stored = ag.checkpoint()
    other = Session(engine="local")
    other.sql(WARDS.format(weight="WEIGHT 3"))
    for name in ("staff", "before"):
        other.bind(name, bound[name])
    with pytest.raises(StateError):
        other.restore(stored)


def test_rows_that_are_no_rows_are_not_shown_below_a_policy() -> None:
    bound = ward_bound(1)
    ag = wards(bound, "NEVER", but="doors")
    with pytest.raises(DataError) as caught:
        ag.push("doors", [("secret", 1)])
    assert "secret" not in str(caught.value)


def test_what_rules_need_that_write_what_a_query_looks_into_is_bound() -> None:
    script = """
    CREATE TABLE status (person STRING, colour STRING) KEY person;
    CREATE QUERY out ON known PATTERN EXIT x RETURN x.person AS person;
    CREATE RULE mark ON out DO INSERT INTO status VALUES (new.person, 'out') ON CONFLICT DO NOTHING;
    CREATE QUERY back ON known PATTERN ENTER x
    WHERE (SELECT colour FROM status WHERE person = x.person) IS NULL;
    """
    setting, policy = Setting({"O1": "H"}), POLICY.format(weight="WEIGHT 3")
    text = session_of(setting, [], script + policy).explain("discreet")
    assert "EXIT: by mark, it writes what a query looks into" in text


def test_what_is_kept_of_owners_is_read_as_the_stream_under_the_policy_is() -> None:
    events = [Event(1, 1, None, "ENTER", "R1"), Event(2, 3, "O1", "EXIT", "R1")]

    def found(stream: str) -> list[tuple[Any, float]]:
        reader = f"""
        CREATE STREAM kept AS SUPPRESS known USING discreet;
        CREATE QUERY went ON {stream} PATTERN SEQ(ENTER x, EXIT e) WHERE [person] WITHIN 9;
        """
        script = POLICY.format(weight="NEVER") + reader
        ag = session_of(Setting({"O1": "H", "O2": "H"}), events, script)
        return [(row["person"], row["confidence"]) for row in ag.table("went").to_pylist()]

    assert found("kept") == found("known") == [("O1", 1.0)]


@pytest.mark.parametrize("when", ["bound", "nothing bound", "pushed"])
def test_the_history_of_a_policy_on_owners_is_told_to_nobody(when: str) -> None:
    bound = ward_bound(3)
    ag = wards(bound, "NEVER", but="" if when == "bound" else "doors")
    if when == "pushed":
        ag.push("doors", bound["doors"][:20])
    for read in (ag.table, ag.revisions, ag.display):
        with pytest.raises(QueryError, match=r"A125.*past"):
            read("past")
    with pytest.raises(QueryError, match=r"A125.*past"):
        ag.sql("WRITE past TO json 'out';")
    with pytest.raises(QueryError, match=r"A125.*past"):
        Session(engine="local").sql(WARDS.format(weight="NEVER") + "WRITE past TO json 'out';")


def test_a_run_gives_no_history(tmp_path: Path) -> None:
    bound, script = ward_bound(3), WARDS.format(weight="NEVER")
    for name, kind in (("staff", "TABLE"), ("doors", "STREAM"), ("before", "STREAM")):
        rows = "".join(json.dumps(row) + "\n" for row in bound[name])
        (tmp_path / f"{name}.json").write_text(rows)
        end = script.index(";", script.index(f"CREATE {kind} {name} "))
        script = f"{script[:end]} FROM json '{tmp_path / name}.json'{script[end:]}"
    (tmp_path / "w.sql").write_text(script)
    for asked in (("--query", "past"), ("--sink", f"past=json:{tmp_path}/out")):
        shown = augury("run", "--engine", "local", str(tmp_path / "w.sql"), *asked)
        assert shown.exit_code == 2
        assert "past, which the script lacks" in shown.output
