"""The two promises, for random policies and streams in the language, over bound and pushed rows.

What is published is a subset of the true matches with equal ids and confidences; of what is NEVER
put together no match exists over the events that were kept.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from privacy.wards import SHAPE, Row

OTHERS = (
    "SEQ(A a, !C c, B b) WITHIN 6",
    "SEQ(A a, B+ b, C c) WITHIN 6",
    "SEQ(A a, B? b, C c) WITHIN 6",
    "SEQ(A a, B+ b, C c) USING SKIP TILL NEXT MATCH WITHIN 6",
    "AND(A a, B b) WITHIN 4",
    "AND(A a, B b) USING SKIP TILL NEXT MATCH WITHIN 4",
    "SEQ(A a, OR(B b, C c)) WITHIN 5",
    "SEQ(LAST(A a), B b) WITHIN 5",
    "SEQ(FIRST(A a), B b) WITHIN 5",
    "SEQ(A a, !SEQ(B b, C c), D d) WITHIN 6",
    "SEQ(A a, B b, !C c) WITHIN 5",
    "SEQ(A a, B b) USING STRICT WITHIN 5",
    "SEQ(A a, B b) WITHIN 3 EVENTS",
    "NEXT(A a, B b) WITHIN 5",
    "SEQ(A a, B b) AFTER MATCH SKIP PAST LAST EVENT WITHIN 5",
    "SEQ(A a, B b, C c) ALL EVENTS PER MATCH WITHIN 6",
    "SEQ(A a, AND(B b, C c)) WITHIN 6",
    "SEQ(A a, B{2,3} b) WHERE SUM(b.v) > 1 WITHIN 6",
    "SEQ(A a, B b, C c) WHERE [k] USING SKIP TILL NEXT MATCH WITHIN 8",
    "SEQ(A a, !C c, B b) WHERE [k] AND a.v <= b.v WITHIN 8",
)
PUBLIC = (
    "SEQ(A a, B b) WITHIN 5",
    "SEQ(B a, !D d, C c) WHERE [k] WITHIN 6",
    "AND(A a, SEQ(B b, C c)) WITHIN 5",
    "SEQ(!D d, A a, B+ b) WHERE SUM(b.v) > 1 WITHIN 5",
    *OTHERS[-2:],
)
PRIVATE = (
    "SEQ(A a, C c) WITHIN 6",
    "SEQ(B b, D d) WHERE [k] WITHIN 7",
    "SEQ(A a, B b, D d) WITHIN 8",
    "SEQ(C c, !A a, D d) WHERE c.v <= d.v WITHIN 6",
    "AND(C c, D d) WITHIN 5",
    "SEQ(A a, C{1,2} c, OR(B b, D d)) WHERE [k] WITHIN 7",
)
METHODS = (
    "GREEDY",
    "TYPES LEARN FROM h",
    "HYBRID RATES LEARN FROM h",
    "HYBRID LEARN FROM h",
    "HYBRID PERIODIC PERIOD 6 LEARN FROM h PATIENCE 0.5",
    "HYBRID RATES LEARN ONLINE",
    "TYPES LEARN ONLINE OVER 9",
    "HYBRID RATES LEARN FROM h ONLINE BY k",
)


@st.composite
def rows(draw: st.DrawFn, most: int, begin: int) -> list[Row]:
    found, time = list[Row](), begin
    for number in range(draw(st.integers(most - 4, most))):
        time += draw(st.sampled_from([0, 1, 1, 2]))
        own = {
            "id": f"e{number:02}",
            "type": draw(st.sampled_from("ABCD")),
            "t": time,
            "p": draw(st.sampled_from([1.0, 1.0, 0.5])),
            "k": draw(st.sampled_from(["x", "x", "y", None])),
            "v": draw(st.integers(0, 2)),
        }
        found.append(own)
    return found


@st.composite
def scripts(draw: st.DrawFn) -> tuple[str, str, list[str], list[str]]:
    """Return queries, a policy, the names of published queries, and of those that are NEVER."""
    others = draw(st.lists(st.sampled_from(OTHERS), max_size=2, unique=True))
    public = draw(st.lists(st.sampled_from(PUBLIC), min_size=1, max_size=2, unique=True))
    private = draw(st.lists(st.sampled_from(PRIVATE), min_size=1, max_size=2, unique=True))
    weights = [draw(st.sampled_from(["", " NEVER", " WEIGHT 3"])) for _ in private]
    names = {f"o{k}": each for k, each in enumerate(others)}
    names |= {f"q{k}": each for k, each in enumerate(public)}
    secret = {f"p{k}": each for k, each in enumerate(private)}
    queries = "".join(
        f"CREATE QUERY {name} ON s PATTERN {each};\n" for name, each in (names | secret).items()
    )
    policy = (
        f"CREATE POLICY pol ON s PUBLIC {', '.join(f'q{k} WEIGHT 2' for k in range(len(public)))}"
        f" PRIVATE {', '.join(f'p{k}{w}' for k, w in enumerate(weights))}"
        f" USING {draw(st.sampled_from(METHODS))};"
    )
    never = [f"p{k}" for k, weight in enumerate(weights) if weight != " WEIGHT 3"]
    return queries, policy, list(names), never


def opened(script: str, stream: list[Row], history: list[Row]) -> Session:
    ag = Session(engine="local")
    ag.sql(SHAPE.format("s", "", "") + SHAPE.format("h", "", "") + script)
    ag.bind("h", history)
    ag.bind("s", stream)
    return ag


def unless_refused(script: str, stream: list[Row], history: list[Row]) -> Session | None:
    """Return the session; None where it is told beforehand that nothing may be dropped."""
    try:
        return opened(script, stream, history)
    except QueryError as refused:
        errors = {each.code for each in refused.diagnostics if each.severity == "error"}
        if errors != {"A123"}:
            raise
        return None


def told(table: Any) -> dict[str, float]:
    return dict(
        zip(
            table.column("match_id").to_pylist(),
            table.column("confidence").to_pylist(),
            strict=True,
        )
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(script=scripts(), stream=rows(12, 0), history=rows(12, -40))
def test_published_matches_are_true_and_what_is_never_there_is_not(
    script: tuple[str, str, list[str], list[str]], stream: list[Row], history: list[Row]
) -> None:
    queries, policy, published, never = script
    guarded = unless_refused(queries + policy, stream, history)
    if guarded is None:
        return
    true = opened(queries, stream, history)
    for name in published:
        found, known = told(guarded.table(name)), told(true.table(name))
        assert {key: known.get(key) for key in found} == pytest.approx(found, abs=1e-12)
    log = guarded.audit("pol").to_pylist()
    kept = {each["event_id"] for each in log if each["kept"]}
    over_kept = opened(queries, [each for each in stream if each["id"] in kept], history)
    assert [name for name in never if over_kept.table(name).num_rows] == []
    for name in published:
        assert told(over_kept.table(name)) == told(guarded.table(name))


@settings(max_examples=8, deadline=None)
@given(script=scripts(), stream=rows(12, 0), history=rows(12, -40))
def test_pushed_rows_are_decided_and_told_like_bound_ones(
    script: tuple[str, str, list[str], list[str]], stream: list[Row], history: list[Row]
) -> None:
    queries, policy, published, _ = script
    bound = unless_refused(queries + policy, stream, history)
    if bound is None:
        return
    pushed = Session(engine="local")
    pushed.sql(SHAPE.format("s", "", "") + SHAPE.format("h", "", "") + queries + policy)
    pushed.bind("h", history)
    found = [each for own in stream for each in pushed.push("s", own)] + pushed.finish()
    assert pushed.audit("pol").equals(bound.audit("pol"))
    for name in published:
        ids = sorted(each["match_id"] for each in found if each["query"] == name)
        assert ids == sorted(bound.table(name).column("match_id").to_pylist())
