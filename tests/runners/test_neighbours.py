"""PREV(b.price, n) and NEXT(b.price, n) of the stream outside the match, on every runner.

What is expected is written from the definition alone: the events before (behind) one in the order
of its key, the n-th of them, NULL where there is none, or where several at once differ.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import QueryError, Session
from augury.analysis.policies.bindings import bound_by
from augury.analysis.script import check_text
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.sharding import sharding_of
from augury.matching.matcher import ALWAYS
from augury.runners.local import threads
from runners.every_runner import Runner, every_runner

Row = dict[str, Any]
STREAM = """
CREATE STREAM s (id LONG, kind STRING, tag STRING, v LONG, t LONG, seq LONG)
ID id KEY tag TIME t {order} TYPE kind;
"""
QUERY = """
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE {equated} PREV(b.v, 2) > PREV(a.v) WITHIN 12
RETURN a.id AS a, b.id AS b, PREV(a.v) AS before, NEXT(b.v, 2) AS behind;
"""
END = {"id": 10**6, "kind": "Z", "tag": "x", "v": 0, "t": 10**6, "seq": 0}


def rows_of(n: int, seed: int, span: int = 2) -> list[Row]:
    """Return random rows in the order of time, some of them at once."""
    rng, t, rows = random.Random(seed), 0, list[Row]()
    for k in range(n):
        t += rng.randrange(span)
        tag, v = rng.choice("xy"), rng.choice([1, 2, 3, None])
        seq = rng.choice([None, 0, 1])
        row = {"id": k, "kind": rng.choice("AABBC"), "tag": tag, "v": v, "t": t, "seq": seq}
        rows.append(row)
    return rows


def place(rows: list[Row], row: Row, ordered: bool) -> tuple[int, int]:
    """Return where an event stands; of those at once where one has no tie-breaker all are equal."""
    alike = [r["seq"] for r in rows if (r["tag"], r["t"]) == (row["tag"], row["t"])]
    return row["t"], row["seq"] if ordered and None not in alike else 0


def neighbour(rows: list[Row], row: Row, n: int, ordered: bool, reach: int = 12) -> int | None:
    """Return the value n places behind an event (below 0: before it), by the definition."""
    own = [(place(rows, r, ordered), r) for r in rows if r["tag"] == row["tag"]]
    here = place(rows, row, ordered)
    if n < 0:
        others = sorted((e for e in own if e[0] < here), key=lambda e: e[0], reverse=True)
    else:
        others = sorted((e for e in own if e[0] > here), key=lambda e: e[0])
    if len(others) < abs(n):
        return None
    at = others[abs(n) - 1][0]
    if n > 0 and at[0] - row["t"] > reach:
        return None
    values = {r["v"] for other, r in others if other == at}
    return values.pop() if len(values) == 1 else None


def expected(rows: list[Row], *, equated: bool, ordered: bool) -> list[tuple[Any, ...]]:
    """Return the answer of the query: every pair that fits."""
    found = []
    for a in (r for r in rows if r["kind"] == "A"):
        for b in (r for r in rows if r["kind"] == "B"):
            if equated and a["tag"] != b["tag"]:
                continue
            before, two = neighbour(rows, a, -1, ordered), neighbour(rows, b, -2, ordered)
            later = b["t"] > a["t"] or (
                ordered
                and b["t"] == a["t"]
                and None not in (a["seq"], b["seq"])
                and b["seq"] > a["seq"]
            )
            is_more = before is not None and two is not None and two > before
            if later and b["t"] - a["t"] <= 12 and is_more:
                found.append((a["id"], b["id"], before, neighbour(rows, b, 2, ordered)))
    return sorted(found, key=lambda row: row[:2])


def script_of(*, equated: bool, ordered: bool) -> str:
    stream = STREAM.format(order="ORDER BY seq" if ordered else "")
    return stream + QUERY.format(equated="[tag] AND" if equated else "")


def columns(found: list[Row]) -> list[tuple[Any, ...]]:
    told = [(row["a"], row["b"], row["before"], row["behind"]) for row in found]
    return sorted(told, key=lambda row: row[:2])


def local(script: str, rows: list[Row]) -> list[Row]:
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("s", rows)
    found: list[Row] = ag.table("q").to_pylist()
    return found


@every_runner
@pytest.mark.parametrize("equated", [True, False])
def test_every_runner_reads_the_same_neighbours(equated: bool, runner: Runner) -> None:
    rows = rows_of(120, seed=8)
    found = runner(script_of(equated=equated, ordered=True), "q", {"s": rows}, {"s": END})
    wanted = expected([*rows, END], equated=equated, ordered=True)
    assert len(wanted) > 5
    assert columns(found) == wanted


@given(seed=st.integers(0, 10**9), equated=st.booleans(), ordered=st.booleans())
def test_neighbours_are_those_of_the_definition(seed: int, equated: bool, ordered: bool) -> None:
    rows = rows_of(20, seed)
    random.Random(seed).shuffle(rows)
    found = local(script_of(equated=equated, ordered=ordered), rows)
    assert columns(found) == expected(rows, equated=equated, ordered=ordered)


def in_steps(script: str, rows: list[Row], rng: random.Random) -> Iterator[Row]:
    """Yield what an executor finds that gets rows bit by bit, and is stored in between."""
    ag = Session(engine="local")
    ag.sql(script)
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    executor = Executor(Network.of(["q"], queries, ag._declared.catalog), stores=True)
    assert sharding_of(executor.network, bounded=False).kind in ("key", "single")
    state, blocks = executor.start(), dict[int, bytes]()
    table = pa.Table.from_pylist(rows, executor.schemas["s"])
    at = 0
    while at < len(rows):
        size = rng.randrange(1, 6)
        part, at = table.slice(at, size), at + size
        horizon = rows[at]["t"] if at < len(rows) else ALWAYS
        state, answers = executor.advance(state, {"s": part}, horizon)
        yield from answers.found["q"].to_pylist() if "q" in answers.found else []
        stored = executor.stored(state)
        blocks = {n: own for n, own in blocks.items() if n not in stored.dropped} | stored.added
        if rng.random() < 0.5:
            state = executor.load(stored.head, blocks)


@given(seed=st.integers(0, 10**9), equated=st.booleans(), ordered=st.booleans())
def test_steps_that_are_stored_find_the_same(seed: int, equated: bool, ordered: bool) -> None:
    rows = rows_of(40, seed, span=5)
    found = in_steps(script_of(equated=equated, ordered=ordered), rows, random.Random(seed))
    assert columns(list(found)) == expected(rows, equated=equated, ordered=ordered)


@given(seed=st.integers(0, 10**9), cut=st.integers(0, 30))
def test_pushed_rows_are_answered_as_bound_ones(seed: int, cut: int) -> None:
    rows, script = rows_of(30, seed, span=5), script_of(equated=True, ordered=False)
    ag = Session(engine="local")
    ag.sql(script)
    found = ag.push("s", rows[:cut])
    again = Session(engine="local")
    again.sql(script)
    if cut:
        again.restore(ag.checkpoint())
    found += again.push("s", rows[cut:]) + again.finish()
    assert columns(found) == expected(rows, equated=True, ordered=False)


@pytest.mark.parametrize("returned", ["RETURN b.id AS b", "RETURN COUNT"])
def test_pushed_rows_of_one_time_know_their_neighbours(returned: str) -> None:
    rows = [
        {"id": k, "kind": kind, "tag": "x", "v": k, "t": t, "seq": 0}
        for k, (kind, t) in enumerate([("B", 1), ("A", 2), ("A", 2), ("B", 3)])
    ]
    ag = Session(engine="local")
    asked = f"SEQ(A a, B b) WHERE [tag] AND PREV(b.v) < 9 AND PREV(a.v) < 9 WITHIN 9 {returned};"
    ag.sql(STREAM.format(order="") + f"CREATE QUERY q ON s PATTERN {asked}")
    told = [*ag.push("s", rows), *ag.finish()]
    ag.bind("s", rows)
    assert told == ag.table("q").to_pylist()


def test_threads_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, script = rows_of(3000, seed=5, span=3), script_of(equated=True, ordered=False)
    alone = local(script, rows)
    for name, value in (("MANY", 10), ("FEW", 700), ("LEAST_PART", 100)):
        monkeypatch.setattr(threads, name, value)
    assert columns(local(script, rows)) == columns(alone)
    assert len(alone) > 50


def test_a_bad_row_is_no_neighbour() -> None:
    rows, bad = rows_of(20, seed=3), {**END, "tag": None, "t": 5}
    with pytest.warns(UserWarning, match="tag is null"):
        found = local(script_of(equated=True, ordered=False), [*rows[:9], bad, *rows[9:]])
    assert columns(found) == expected(rows, equated=True, ordered=False)


def ask(query: str, values: str, uncertain: str = "") -> list[tuple[Any, ...]]:
    """Return the `n` of each match, of events a, b, c... with values 1, 2, 3... at times 1, 2..."""
    p = ", p DOUBLE" if uncertain else ""
    ag = Session(engine="local")
    ag.sql(f"CREATE STREAM s (id LONG, kind STRING, v LONG, t LONG{p}) ID id TIME t TYPE kind")
    ag.sql(f"CREATE QUERY q ON s {query}")
    ag.bind("s", [{"id": k, "kind": c, "v": k, "t": k} for k, c in enumerate(values, 1)])
    return [tuple(row.values()) for row in ag.table("q").select(["n"]).to_pylist()]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        # A match is known when the event behind it is, or cannot come any more.
        ("PATTERN SEQ(B b) WITHIN 9 RETURN NEXT(b.v) AS n", [(4,), (6,), (None,)]),
        ("PATTERN B b (PREV(v) > 2) WITHIN 9 RETURN PREV(b.v) AS n", [(4,), (6,)]),
        ("PATTERN SEQ(A a, B+ b) WHERE PREV(b.v) > 1 USING SKIP TILL NEXT MATCH WITHIN 9 "
         "RETURN PREV(b[1].v) AS n", [(2,), (2,)]),
        ("PATTERN SEQ(A a, B+ b) WHERE PREV(LAST(b).v) >= 6 WITHIN 9 "
         "RETURN COUNT(b) AS n", [(n,) for n in (1, 1, 2, 2, 2, 2, 3, 3)]),
        ("PATTERN SEQ(A a, !B b, C c) WHERE PREV(b.v) > 3 WITHIN 9 RETURN c.v AS n",
         [(4,), (4,)]),
        ("PATTERN SEQ(A a, C c) WHERE PREV(c.v) = a.v + 1 WITHIN 9 RETURN c.v AS n", [(4,)]),
        ("PATTERN SEQ(A a, C c) AFTER MATCH SKIP PAST LAST EVENT WITHIN 9 "
         "RETURN PREV(a.v) AS n", [(None,)]),
        ("PATTERN SEQ(A a, C c) WHERE PREV(a.v) IS NULL WITHIN 9 RETURN NEXT(c.v) - a.v AS n",
         [(4,), (6,)]),
    ],
)  # fmt: skip
def test_they_stand_where_attributes_do(query: str, found: list[tuple[Any, ...]]) -> None:
    assert sorted(ask(query, "AABCBCB"), key=str) == sorted(found, key=str)


def test_behind_an_event_the_window_is_looked_into_and_before_it_all() -> None:
    query = "PATTERN SEQ(A a) WITHIN {} RETURN NEXT(a.v, 3) AS n"
    assert ask(query.format(3), "ABBB") == [(4,)]
    assert ask(query.format(2), "ABBB") == [(None,)]
    assert ask("PATTERN SEQ(B b (v > 4)) WITHIN 1 RETURN PREV(b.v, 4) AS n", "ABBBB") == [(1,)]


def test_queries_over_such_matches_and_counts_read_them_too() -> None:
    ag = Session(engine="local")
    ag.sql("""
        CREATE STREAM s (id LONG, kind STRING, v LONG, t LONG) ID id TIME t TYPE kind;
        CREATE QUERY low ON s PATTERN B b WHERE PREV(b.v) > 2 WITHIN 9 RETURN NEXT(b.v) AS n;
        CREATE QUERY high ON low, s PATTERN SEQ(low x, C c) WHERE PREV(c.v) >= x.n - 1 WITHIN 9;
        CREATE QUERY many ON s PATTERN SEQ(A a, B b) WHERE PREV(b.v) > 2 RETURN TOTAL COUNT;
    """)
    rows = [{"id": k, "kind": c, "v": k, "t": k} for k, c in enumerate("AABCBCB", 1)]
    ag.bind("s", rows)
    assert ag.table("low").column("n").to_pylist() == [6, None]
    assert ag.table("high").num_rows == 1
    assert ag.table("many").column("count").to_pylist() == [4]
    pushed = Session(engine="local")
    pushed.sql("""
        CREATE STREAM s (id LONG, kind STRING, v LONG, t LONG) ID id TIME t TYPE kind;
        CREATE QUERY low ON s PATTERN B b WHERE PREV(b.v) > 2 WITHIN 9 RETURN NEXT(b.v) AS n;
        CREATE QUERY high ON low, s PATTERN SEQ(low x, C c) WHERE PREV(c.v) >= x.n - 1 WITHIN 9;
    """)
    found = pushed.push("s", rows) + pushed.finish()
    assert sorted(row["query"] for row in found) == ["high", "low", "low"]


def test_rules_act_in_the_order_of_moments_though_one_query_waits() -> None:
    script = """
        CREATE STREAM s (id LONG, kind STRING, tag STRING, v LONG, t LONG)
        ID id KEY tag TIME t TYPE kind;
        CREATE TABLE state (tag STRING, said LONG, n LONG) KEY tag;
        CREATE QUERY waits ON s PATTERN A a WITHIN 9 RETURN a.tag AS tag, NEXT(a.v) AS v;
        CREATE QUERY goes ON s PATTERN B b WITHIN 9 RETURN b.tag AS tag, b.v AS v;
        CREATE RULE late ON waits DO INSERT INTO state VALUES (new.tag, new.v, 1)
        ON CONFLICT DO UPDATE SET said = new.v, n = n + 1;
        CREATE RULE soon ON goes DO INSERT INTO state VALUES (new.tag, new.v, 1)
        ON CONFLICT DO UPDATE SET said = new.v + 100, n = n * 2;
    """
    rng = random.Random(4)
    rows = [
        {"id": k, "kind": rng.choice("AB"), "tag": rng.choice("xyz"), "v": k, "t": 2 * k}
        for k in range(40)
    ]
    bound, pushed = Session(engine="local"), Session(engine="local")
    bound.sql(script)
    pushed.sql(script)
    bound.bind("s", rows)
    for row in rows:
        pushed.push("s", row)
    pushed.finish()
    told = [sorted(map(str, ag.table("state").to_pylist())) for ag in (bound, pushed)]
    assert told[0] == told[1]
    assert len(told[0]) == 3


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("PATTERN SEQ(A a, B b) WHERE PREV(b.v + 1) > 2 WITHIN 9", "takes an attribute"),
        ("PATTERN SEQ(A a, B b) WHERE PREV(b.v, 0) > 2 WITHIN 9", "takes an attribute"),
        ("PATTERN SEQ(A a, B b) WHERE PREV(b.v, a.v) > 2 WITHIN 9", "takes an attribute"),
        ("PATTERN SEQ(A a, B b) WHERE PREV(c.v) > 2 WITHIN 9", "not a component"),
        ("PATTERN SEQ(A a, B b) WHERE PREV(b.w) > 2 WITHIN 9", "does not have"),
        ("PATTERN SEQ(A a, B b) WHERE PREV(b.kind) > 2 WITHIN 9", "cannot be compared"),
        ("PATTERN SEQ(A a, B b) WHERE PREV(b.v) > 2 RETURN PROBABILITY", "how likely"),
        ("PATTERN SEQ(A a, B b) WHERE PREV(b.v) > 2 WITHIN 9 ALLOW 1 MISSED", "missed"),
    ],
)
def test_misuse_is_told(query: str, said: str) -> None:
    with pytest.raises(QueryError) as told:
        ask(query, "AB")
    assert said in str(told.value)


def test_of_uncertain_events_the_pattern_is_the_way() -> None:
    ag = Session(engine="local")
    ag.sql("""
        CREATE STREAM s (id LONG, kind STRING, v LONG, t LONG, p DOUBLE)
        ID id TIME t TYPE kind PROBABILITY p;
    """)
    with pytest.raises(QueryError, match="hangs on which of the events before b happened") as told:
        ag.sql("CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE PREV(b.v, 2) > 2 WITHIN 9;")
    assert "NEXT(_ p, _, b)" in str(told.value)
    with pytest.raises(QueryError, match="in no order"):
        ag.sql("""
            CREATE QUERY low ON s PATTERN A a WITHIN 9 RETURN a.v AS v;
            CREATE QUERY q ON low PATTERN low x WHERE PREV(x.v) > 2 WITHIN 9;
        """)


def test_without_a_window_in_time_a_stream_would_wait_for_ever() -> None:
    ag = Session(engine="local")
    ag.sql("""
        CREATE STREAM s (id LONG, kind STRING, v LONG, t LONG) ID id TIME t TYPE kind;
        CREATE QUERY q ON s PATTERN SEQ(A a, B b) WITHIN 9 EVENTS RETURN NEXT(b.v) AS n;
    """)
    ag.bind("s", [{"id": k, "kind": c, "v": k, "t": k} for k, c in enumerate("ABC")])
    assert ag.table("q").column("n").to_pylist() == [2]
    with pytest.raises(QueryError, match="without a WITHIN in time"):
        ag.push("s", {"id": 9, "kind": "A", "v": 1, "t": 9})


def test_policies_bind_every_type_and_forecasts_refuse() -> None:
    query = "CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE PREV(b.v) > 2 AND [tag] WITHIN 9;"
    stream = STREAM.format(order="")
    checked = check_text(stream + query)
    queries = {each.name: each for each in checked.queries}
    assert None in {each.type for each in bound_by(queries["q"], frozenset({"s"}), queries)}
    with pytest.raises(QueryError, match="outside the match"):
        Session(engine="local").sql(f"{stream} {query} CREATE POLICY p ON s PUBLIC q;")
    ag = Session(engine="local")
    ag.sql(f"{stream} {query} CREATE FORECAST f ON q WITHIN 5 EVENTS USING MARKOV 0 ONLINE;")
    ag.bind("s", rows_of(10, 1))
    with pytest.raises(QueryError, match="outside the match"):
        ag.table("f")
