"""Rules beside a policy: their effects are published matches, and no more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import QueryError, Session

WARD = """
CREATE STREAM ward (id STRING, act STRING, t LONG, who STRING) ID id TIME t TYPE act;
CREATE TABLE status (who STRING, at LONG, n LONG) KEY who;
CREATE QUERY shown ON ward PATTERN SEQ(A a, B b) WHERE [who] WITHIN 9
RETURN b.who AS who, b.t AS at;
CREATE QUERY seen ON ward PATTERN SEQ(B a, C b) WHERE [who] WITHIN 9
RETURN b.who AS who, b.t AS at;
CREATE QUERY hidden ON ward PATTERN SEQ(A a, C b) WHERE [who] WITHIN 9
RETURN b.who AS who, b.t AS at;
CREATE RULE mark ON OUTPUT shown DO INSERT INTO status VALUES (new.who, new.at, 1)
ON CONFLICT DO UPDATE SET at = excluded.at, n = n + 1;
CREATE RULE clear ON OUTPUT seen DO DELETE FROM status WHERE who = new.who;
"""
POLICY = "CREATE POLICY pol ON ward PUBLIC shown WEIGHT 2, seen PRIVATE hidden {} USING GREEDY;"


def rows(drawn: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"id": f"{k:02}", "act": act, "t": k, "who": who} for k, (act, who) in enumerate(drawn)]


def opened(script: str, own: list[dict[str, Any]]) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("ward", own)
    return ag


def acted(ag: Session) -> dict[str, list[dict[str, Any]]]:
    names = ("shown", "seen", "status", "mark", "clear")
    return {name: ag.table(name).to_pylist() for name in names} | {
        "changes": ag.changes("status").to_pylist()
    }


DRAWN = st.lists(st.tuples(st.sampled_from("ABCX"), st.sampled_from("uv")), max_size=14)


@given(drawn=DRAWN, weight=st.sampled_from(["NEVER", "WEIGHT 3"]))
def test_rules_do_what_they_would_over_the_kept_rows(
    drawn: list[tuple[str, str]], weight: str
) -> None:
    own = rows(drawn)
    guarded = opened(WARD + POLICY.format(weight), own)
    found = acted(guarded)
    kept = {each["event_id"] for each in guarded.audit("pol").to_pylist() if each["kept"]}
    assert found == acted(opened(WARD, [each for each in own if each["id"] in kept]))


@given(drawn=DRAWN)
def test_pushed_rows_are_acted_on_like_bound_ones(drawn: list[tuple[str, str]]) -> None:
    own, pushed = rows(drawn), Session(engine="local")
    pushed.sql(WARD + POLICY.format("NEVER"))
    for each in own:
        pushed.push("ward", each)
    pushed.finish()
    bound = opened(WARD + POLICY.format("NEVER"), own)
    assert pushed.audit("pol").equals(bound.audit("pol"))
    if own:
        assert pushed.table("status").to_pylist() == bound.table("status").to_pylist()
        assert pushed.changes("status").to_pylist() == bound.changes("status").to_pylist()


SECRET = [("A", "u"), ("C", "s3cret"), ("A", "s3cret"), ("C", "s3cret"), ("B", "v")]


def test_what_is_suppressed_reaches_no_table_and_no_firing() -> None:
    both = "CREATE RULE note ON OUTPUT late DO INSERT INTO status VALUES (new.who, new.at, 0)"
    query = "CREATE QUERY late ON ward PATTERN C c WITHIN 9 RETURN c.id AS who, c.t AS at;"
    ag = opened(
        f"{WARD}{query}{both} ON CONFLICT DO NOTHING;{POLICY.format('NEVER')}", rows(SECRET)
    )
    # The first C of s3cret follows no A of theirs and is kept; the second completes a match.
    assert [each["who"] for each in ag.table("status").to_pylist()] == ["01"]
    assert "03" not in str(ag.changes("status").to_pylist() + ag.table("note").to_pylist())


@pytest.mark.parametrize(
    "more",
    [
        "CREATE RULE leak ON OUTPUT hidden DO INSERT INTO status VALUES (new.who, new.at, 0);",
        "CREATE RULE leak ON OUTPUT Hidden DO DELETE FROM status;",
    ],
)
def test_no_rule_acts_on_a_private_query(more: str) -> None:
    with pytest.raises(QueryError, match="A124"):
        opened(WARD + more + POLICY.format("NEVER"), [])
    for first, second in ((POLICY.format("NEVER"), more), (more, POLICY.format("NEVER"))):
        ag = opened(WARD + first, [])
        with pytest.raises(QueryError, match="A124"):
            ag.sql(second)


@pytest.mark.parametrize(
    "where", ["a.who IN marked", "0 = (SELECT COUNT(*) FROM status WHERE status.who = a.who)"]
)
def test_what_rules_need_that_write_what_a_query_looks_into_is_bound(where: str) -> None:
    tables = "CREATE TABLE marked (who STRING) KEY who;"
    rule = "CREATE RULE more ON OUTPUT shown DO INSERT INTO marked VALUES (new.who);"
    query = f"CREATE QUERY asks ON ward PATTERN C a WHERE {where} WITHIN 9;"
    ag = opened(WARD + tables + rule + query + POLICY.format("WEIGHT 3"), rows(SECRET))
    text = ag.explain("pol")
    assert "it writes what a query looks into" in text
    assert "A: by" in text
    assert "B: by" in text
    raw = opened(WARD + tables + rule + query, rows(SECRET))
    found = {row["match_id"] for row in ag.table("asks").to_pylist()}
    assert found <= {row["match_id"] for row in raw.table("asks").to_pylist()}


@given(drawn=DRAWN, weight=st.sampled_from(["NEVER", "WEIGHT 3"]))
def test_what_is_published_of_queries_over_tables_is_part_of_the_truth(
    drawn: list[tuple[str, str]], weight: str
) -> None:
    query = """CREATE QUERY unmarked ON ward PATTERN SEQ(A a, X b) WHERE [who]
    AND (SELECT n FROM status WHERE who = a.who) IS NULL WITHIN 9;"""
    alone = WARD.replace("CREATE RULE clear", "CREATE RULE later")
    policy = POLICY.format(weight).replace("SEQ(A a, C b)", "")
    hidden = alone.replace("PATTERN SEQ(A a, C b)", "PATTERN SEQ(X a, X b)")
    own = rows(drawn)
    guarded, raw = opened(hidden + query + policy, own), opened(hidden + query, own)
    found = {row["match_id"] for row in guarded.table("unmarked").to_pylist()}
    assert found <= {row["match_id"] for row in raw.table("unmarked").to_pylist()}
    assert guarded.table("status").to_pylist() == raw.table("status").to_pylist()
