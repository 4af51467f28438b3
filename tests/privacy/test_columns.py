"""Decisions over columns are those that are made prefix by prefix: kept, gain, penalty, rule."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import Session
from augury.evaluation.policies import chains, decider, online
from augury.evaluation.policies.decider import ColumnDecider
from augury.evaluation.stages.suppress import SuppressStage, events_of
from augury.evaluation.stream_rows import StreamRows
from augury.planning.policy_plan import plan_policy
from augury.privacy.policy import Decider
from privacy.wards import Row

SHAPE = (
    "CREATE STREAM {} (id STRING, type STRING, t LONG, p DOUBLE, k STRING, j LONG, v LONG{}) "
    "ID id TIME t{} TYPE type {} PROBABILITY p;"
)
METHODS = (
    "GREEDY",
    "TYPES LEARN FROM h",
    "HYBRID RATES LEARN FROM h",
    "HYBRID RATES ESTIMATES WANG LEARN FROM h",
    "HYBRID RATES LEARN FROM h BY k",
    "HYBRID PERIODIC PERIOD 7 LEARN FROM h",
    "HYBRID PERIODIC PERIOD 5 LEARN FROM h BY k",
    "HYBRID LEARN FROM h",
    "HYBRID RATES LEARN ONLINE",
    "HYBRID RATES LEARN FROM h ONLINE",
    "TYPES LEARN ONLINE",
)
PATIENCES = ("PATIENCE 1", "PATIENCE 0.25", "")


@st.composite
def queries(draw: st.DrawFn, *, public: bool) -> str:
    kinds = draw(st.lists(st.sampled_from("ABC"), min_size=1, max_size=4))
    parts = [f"{kind} x{k}" for k, kind in enumerate(kinds)]
    tests = draw(st.sampled_from([[], ["[k]"], ["[k]"], ["[k, j]"]]))
    tests = [*tests, *(f"x{k}.v >= 1" for k in range(len(kinds)) if draw(st.integers(0, 3)) == 0)]
    skips = ""
    if public:
        if draw(st.booleans()):
            gap = draw(st.integers(1, len(parts)))
            for number in range(draw(st.integers(1, 2))):
                parts.insert(gap, f"!{draw(st.sampled_from('ABCD'))} n{number}")
                tests += [f"n{number}.v >= 1"] if draw(st.booleans()) else []
        skips = draw(st.sampled_from(["", "", " USING SKIP TILL NEXT MATCH"]))
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    return f"PATTERN SEQ({', '.join(parts)}){where}{skips} WITHIN {draw(st.integers(2, 9))}"


@st.composite
def rows(draw: st.DrawFn, most: int, begin: int, shape: str) -> list[Row]:
    found, time = list[Row](), begin
    for number in range(draw(st.sampled_from([0, most // 2, most, most]))):
        time += draw(st.sampled_from([0, 1, 1, 2, 4]))
        kind = draw(st.sampled_from("AABBCCD"))
        tie = draw(st.sampled_from([None, 1, 1, 2]))
        chances = draw(st.sampled_from([[1.0], [1.0], [0.5], [0.0], [0.5, 0.25]]))
        for p in chances if shape == "faces" else chances[:1]:
            own: Row = {"id": f"{number:02}", "type": kind, "t": time, "p": p}
            own |= {
                "k": draw(st.sampled_from(["x", "x", "y", None])),
                "j": draw(st.integers(0, 1)),
                "v": draw(st.integers(0, 2)),
                "seq": tie,
            }
            found.append(own)
    return found


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str]:
    """Return a script, and how its events look."""
    public = [draw(queries(public=True)) for _ in range(draw(st.integers(1, 2)))]
    private = [draw(queries(public=False)) for _ in range(draw(st.integers(1, 2)))]
    weights = st.sampled_from([" WEIGHT 0", " WEIGHT 1", " WEIGHT 2.5", " WEIGHT 7"])
    costs = [draw(st.one_of(weights, st.just(" NEVER"))) for _ in private]
    shape = draw(st.sampled_from(["plain", "tie", "faces"]))
    extra = {"plain": ("", "", ""), "tie": (", seq LONG", " ORDER BY seq", "")}
    own = extra.get(shape, ("", "", "ALTERNATIVES k, j, v"))
    text = SHAPE.format("s", *own) + SHAPE.format("h", *own)
    names = [(f"q{n}", each) for n, each in enumerate(public)]
    names += [(f"p{n}", each) for n, each in enumerate(private)]
    text += "".join(f"CREATE QUERY {name} ON s {each};\n" for name, each in names)
    gains = ", ".join(f"q{n}{draw(weights)}" for n in range(len(public)))
    text += (
        f"CREATE POLICY pol ON s PUBLIC {gains}"
        f" PRIVATE {', '.join(f'p{n}{cost}' for n, cost in enumerate(costs))}"
        f" USING {draw(st.sampled_from(METHODS))} {draw(st.sampled_from(PATIENCES))};"
    )
    return text, shape


def stage_of(script: str) -> SuppressStage | None:
    """Return the stage of a policy; None where it cannot promise NEVER."""
    from augury import QueryError

    ag = Session(engine="local")
    try:
        ag.sql(script)
    except QueryError as refused:
        errors = {each.code for each in refused.diagnostics if each.severity == "error"}
        if errors != {"A123"}:
            raise
        return None
    catalog = ag._declared.catalog
    plan = plan_policy(catalog.policies["pol"], ag._declared.checked_queries, catalog, {})
    return SuppressStage(plan, catalog.streams["s"])


def stream(stage: SuppressStage, own: list[Row]) -> StreamRows:
    kinds = {"STRING": pa.string(), "LONG": pa.int64(), "DOUBLE": pa.float64()}
    schema = pa.schema([(c.name, kinds[c.type.value]) for c in stage.stream.columns])
    table = pa.Table.from_pylist(own, schema)
    return StreamRows(stage.stream, table, table.slice(0, 0))


def close(one: Any, other: Any) -> bool:
    if one is None or other is None or one == other:
        return one is other or one == other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def alike(one: Row, other: Row) -> bool:
    numbers = ("gain", "penalty")
    return all(close(one[name], other[name]) for name in numbers) and all(
        one[name] == other[name] for name in one if name not in numbers
    )


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_columns_decide_as_prefixes_do(data: st.DataObject) -> None:
    script, shape = data.draw(cases())
    stage = stage_of(script)
    if stage is None or stage.plan.summable is None:
        return
    before, after = data.draw(rows(14, -60, shape)), data.draw(rows(14, 0, shape))
    if before and after and data.draw(st.booleans()):
        # The history ends where the rows begin.
        later = after[0]["t"] - before[-1]["t"]
        before = [row | {"t": row["t"] + later} for row in before]
    past, own = stream(stage, before), stream(stage, after)
    fast = stage.start(past)
    assert isinstance(fast, ColumnDecider)
    slow = Decider(stage.plan.policy, [event for event, _ in events_of(past, stage.plan.columns)])
    assert fast.patience == slow.patience
    if stage.plan.policy.method != "GREEDY":
        assert fast.level.dropped == slow.level.dropped
        assert close(fast.level.utility, slow.level.utility)
    assert fast.period == slow.period
    _, found = stage.advance(fast, own)
    _, expected = stage.advance(slow, own)
    pairs = zip(found.audit.to_pylist(), expected.audit.to_pylist(), strict=True)
    assert [pair for pair in pairs if not alike(*pair)] == []
    assert found.keeps.tolist() == expected.keeps.tolist()


@pytest.mark.parametrize("method", ["GREEDY", "HYBRID RATES LEARN ONLINE"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_little_room_and_many_keys_change_nothing(method: str, data: st.DataObject) -> None:
    stage = stage_of(
        SHAPE.format("s", "", "", "")
        + """CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) WHERE [j] WITHIN 9;
        CREATE QUERY p ON s PATTERN SEQ(A a, C c) WHERE [j] WITHIN 9;
        CREATE QUERY r ON s PATTERN SEQ(B b, C c) WITHIN 7;
        CREATE POLICY pol ON s PUBLIC q WEIGHT 3 PRIVATE p WEIGHT 2, r WEIGHT 1 USING """
        + f"{method};"
    )
    assert stage is not None
    own = [row | {"j": data.draw(st.integers(0, 40))} for row in data.draw(rows(60, 0, "plain"))]
    cut = data.draw(st.integers(0, len(own)))
    # What is cut lies before all that comes after it.
    while 0 < cut < len(own) and own[cut]["t"] == own[cut - 1]["t"]:
        cut -= 1
    with pytest.MonkeyPatch.context() as small:
        small.setattr(chains, "FEW_SLOTS", 1)
        small.setattr(chains, "FEW_PLACES", 1)
        small.setattr(decider, "MANY_KEYS", 1)
        small.setattr(online, "STRETCH", 3)
        state, first = stage.advance(stage.start(), stream(stage, own[:cut]))
        state, second = stage.advance(stage.load(stage.dump(state)), stream(stage, own[cut:]))
    slow = Decider(stage.plan.policy)
    _, expected = stage.advance(slow, stream(stage, own))
    found = first.audit.to_pylist() + second.audit.to_pylist()
    pairs = zip(found, expected.audit.to_pylist(), strict=True)
    assert [pair for pair in pairs if not alike(*pair)] == []
