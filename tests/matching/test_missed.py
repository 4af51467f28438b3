"""Missed components: the engine against integrals over the model, and the printed figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import QueryError, Session
from oracles import missed as oracle

STREAM = """
CREATE STREAM s (id STRING, kind STRING, tag STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p MISS RATE BY kind ('X' 0.2, 'Y' 0.1, 'Z' 0.3, 'N' 0.4);
"""
RATES = {"x": 0.2, "y": 0.1, "z": 0.3, "n": 0.4}
WINDOW = 100


def event(name: str, t: int, p: float = 1.0, tag: str = "a") -> dict[str, Any]:
    return {"id": f"{name}{t}{tag}", "kind": name.upper(), "tag": tag, "t": t, "p": p}


def session(query: str, gaps: str, rows: list[dict[str, Any]], stream: str = STREAM) -> Session:
    ag = Session(engine="local")
    given_gaps = f"CREATE GAPS g ON q ({gaps});" if gaps else ""
    ag.sql(f"{stream} CREATE QUERY q ON s {query}; {given_gaps}")
    ag.bind("s", rows)
    return ag


def shown(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {
        " ".join(f"{e['component']}={e['event_id'] or '?'}" for e in row["events"]): row[
            "confidence"
        ]
        for row in rows
    }


def ask(query: str, gaps: str, rows: list[dict[str, Any]], stream: str = STREAM) -> dict:
    return shown(session(query, gaps, rows, stream).table("q").to_pylist())


# The printed figures ----------------------------------------------------------------------------

PLAIN = """
CREATE STREAM s (id STRING, kind STRING, tag STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p MISS RATE 0.1;
"""
PRINTED = {
    "missed": ("X x, Y y, Z z", (0.060920, 0.146633, 0.389837), (0.039347, 0.063212, 0.086466)),
    "negated": ("X x, !N n, Z z", (0.939080, 0.853367, 0.610163), (0.939080, 0.853367, 0.610163)),
    "two missed": (
        "X x, Y y, W w, Z z",
        (0.001414, 0.006487, 0.035285),
        (0.000774, 0.001998, 0.003738),
    ),
    "negated, missed": (
        "X x, !N n, Y y, Z z",
        (0.059064, 0.135882, 0.313850),
        (0.036950, 0.053943, 0.052759),
    ),
    "missed, negated": (
        "X x, Y y, !N n, Z z",
        (0.047552, 0.090319, 0.160786),
        (0.036950, 0.053943, 0.052759),
    ),
}
PRINTED_GAPS = {
    "missed": "x TO y EXPONENTIAL(1000)",
    "negated": "x TO n EXPONENTIAL(1000)",
    "two missed": "x TO y EXPONENTIAL(1000), y TO w EXPONENTIAL(1000)",
    "negated, missed": "x TO n EXPONENTIAL(1000), x TO y EXPONENTIAL(1000)",
    "missed, negated": "x TO y EXPONENTIAL(1000), y TO n EXPONENTIAL(1000)",
}


@pytest.mark.parametrize("case", PRINTED)
@pytest.mark.parametrize("scoring", ["LAW", "AYAC"])
def test_confidences_are_as_printed(case: str, scoring: str) -> None:
    pattern, law, paper = PRINTED[case]
    allow = "ALLOW ALL MISSED" if case != "negated" else ""
    query = f"PATTERN SEQ({pattern}) WHERE [tag] WITHIN 9000 {allow} SCORING {scoring}"
    for length, expected in zip((500, 1000, 2000), law if scoring == "LAW" else paper, strict=True):
        found = ask(query, PRINTED_GAPS[case], [event("x", 0), event("z", length)], PLAIN)
        assert list(found.values()) == pytest.approx([expected], abs=5e-7)


def test_a_missed_first_component_is_as_printed() -> None:
    query = "PATTERN SEQ(X x, Z z) WHERE [tag] WITHIN 1000 ALLOW 1 MISSED"
    gaps = "x BEFORE z EXPONENTIAL(1000) REACHES 0.8"
    assert ask(query, gaps, [event("z", 5)], PLAIN) == pytest.approx(
        {"x=? z=z5a": 0.092810}, abs=5e-7
    )


def test_the_printed_shoplifting_event_follows_one_tag() -> None:
    ag = Session(engine="local")
    ag.sql("""
    CREATE STREAM receptors (id STRING, receptor STRING, at TIMESTAMP)
    KEY id TIME at MISS RATE 0.1;
    CREATE QUERY shoplifting ON receptors
    SEQUENCE (x,!y,z) WHERE (x.receptor['A'] = 'A') AND
    (y.receptor['B'] = 'B') AND (z.receptor['C'] = 'C') AND (x.id[y.id] = y.id[x.id]) AND
    (y.id[z.id] = z.id[y.id]) WITHIN 12 hours THRESHOLD 0.80;
    """)
    reads = [("k", "A", 9), ("m", "A", 10), ("k", "C", 11), ("n", "A", 11), ("n", "B", 12),
             ("n", "C", 13)]  # fmt: skip
    ag.bind(
        "receptors",
        [
            {"id": tag, "receptor": reader, "at": f"2026-01-01T{hour:02}:00:00+00:00"}
            for tag, reader, hour in reads
        ],
    )
    assert ag.table("shoplifting").column("id").to_pylist() == ["k"]


# The model ------------------------------------------------------------------------------------

E, G, L, U = (
    oracle.exponential(30),
    oracle.erlang(40, 2),
    oracle.lognormal(25, 0.6),
    oracle.uniform(5, 60),
)
# Pattern, ALLOW, gaps as written, and the models of (component, origin) as the oracle has them.
CASES: dict[str, tuple[str, str, str, dict[str, tuple[oracle.Law, float]]]] = {
    "x y z": (
        "X x, Y y, Z z",
        "ALLOW 2 MISSED",
        "x BEFORE y EXPONENTIAL(30) REACHES 0.9, x TO y GAMMA(40, 2), y TO z LOGNORMAL(25, 0.6)",
        {"x": (E, 0.9), "y": (G, 1.0), "z": (L, 1.0)},
    ),
    "x !n y z": (
        "X x, !N n, Y y, Z z",
        "ALLOW 1 MISSED",
        "x BEFORE y EXPONENTIAL(30), x TO n UNIFORM(5, 60) REACHES 0.7, x TO y GAMMA(40, 2),"
        "y TO z EXPONENTIAL(30) REACHES 0.8",
        {"x": (E, 1.0), "n": (U, 0.7), "y": (G, 1.0), "z": (E, 0.8)},
    ),
    "x y !n z": (
        "X x, Y y, !N n, Z z",
        "ALLOW 1 MISSED OF (y, z)",
        "x TO y LOGNORMAL(25, 0.6), y TO n EXPONENTIAL(30), y TO z UNIFORM(5, 60)",
        {"y": (L, 1.0), "n": (E, 1.0), "z": (U, 1.0)},
    ),
    "!n x y": (
        "!N n, X x, Y y",
        "",
        "n BEFORE x EXPONENTIAL(30) REACHES 0.5",
        {"n": (E, 0.5)},
    ),
    "!n x, y missed": (
        "!N n, X x, Y y",
        "ALLOW 1 MISSED OF (y)",
        "n BEFORE x EXPONENTIAL(30) REACHES 0.5, x TO y GAMMA(40, 2)",
        {"n": (E, 0.5), "y": (G, 1.0)},
    ),
    "x y !n": (
        "X x, Y y, !N n",
        "ALLOW 1 MISSED OF (y)",
        "x TO y UNIFORM(5, 60) REACHES 0.9, y TO n GAMMA(40, 2)",
        {"y": (U, 0.9), "n": (G, 1.0)},
    ),
}


def expected_matches(case: str, rows: list[dict[str, Any]]) -> dict[str, float]:
    """Every way to bind the seen components, with products of chances and the oracle's scores."""
    pattern, allow, _, laws = CASES[case]
    parts = [part.split() for part in pattern.split(", ")]
    names = [(name, "!" in kind) for kind, name in parts]
    positive = [name for name, negated in names if not negated]
    most = int(allow.split()[1]) if allow else 0
    missable = [n for n in positive if n in laws]
    found: dict[str, float] = {}
    for size in range(most + 1):
        for missed in combinations(missable, size):
            seen = [name for name in positive if name not in missed]
            if not seen or set(positive[:2]) <= set(missed):
                continue
            for match in bindings(seen, rows):
                confidence = weight(names, missed, match, rows, laws)
                if confidence > 0.0:
                    label = " ".join(
                        f"{n}={match[n]['id'] if n in match else '?'}" for n in positive
                    )
                    found[label] = confidence
    return found


def bindings(seen: list[str], rows: list[dict[str, Any]]) -> Iterator[dict[str, dict[str, Any]]]:
    for chosen in product(*([r for r in rows if r["kind"] == n.upper()] for n in seen)):
        times = [r["t"] for r in chosen]
        ordered = all(a < b for a, b in pairwise(times))
        if ordered and times[-1] - times[0] <= WINDOW:
            yield dict(zip(seen, chosen, strict=True))


def weight(names, missed, match, rows, laws) -> float:
    times = [r["t"] for r in match.values()]
    left = WINDOW - (times[-1] - times[0])
    confidence = math.prod(r["p"] for r in match.values())
    absent: dict[str, float] = {}
    runs: list[tuple[str | None, list[tuple[str, bool]], str | None]] = [(None, [], None)]
    for name, negated in names:
        if name in match:
            runs[-1] = (*runs[-1][:2], name)
            runs.append((name, [], None))
        else:
            runs[-1][1].append((name, negated))
    ends = []
    for before, hidden, after in runs:
        low = match[before]["t"] if before else times[-1] - WINDOW - 1
        high = match[after]["t"] if after else times[0] + WINDOW + 1
        kinds = {name.upper() for name, _ in hidden}
        absent |= {r["id"]: 1 - r["p"] for r in rows if r["kind"] in kinds and low < r["t"] < high}
        unseen = [
            oracle.Unseen(laws[name][0], RATES[name], laws[name][1], negated)
            for name, negated in hidden
            if name in laws
        ]
        if not unseen:
            continue
        if before and after:
            confidence *= oracle.between(unseen, high - low)
        else:
            ends.append((before, unseen))
    confidence *= math.prod(absent.values())
    if len(ends) == 2 and not ends[0][1][0].negated:
        return confidence * oracle.both_ends(ends[0][1][0], ends[1][1], left)
    if len(ends) == 2 and not all(part.negated for part in ends[1][1]):
        return confidence * oracle.leading_and_last(ends[0][1][0], ends[1][1], left)
    for before, unseen in ends:
        if before or unseen[0].negated:
            confidence *= oracle.between(unseen, left) if left else float(unseen[0].negated)
        else:
            confidence *= oracle.before(unseen[0], unseen[1:], left) if left else 0.0
    return confidence


EVENTS = st.lists(
    st.tuples(st.sampled_from("xyzn"), st.sampled_from((1.0, 1.0, 0.6, 0.3))),
    min_size=1,
    max_size=5,
)


@given(case=st.sampled_from(sorted(CASES)), drawn=EVENTS, data=st.data())
def test_the_engine_agrees_with_the_model(case: str, drawn, data: st.DataObject) -> None:
    gaps = data.draw(st.lists(st.integers(1, 70), min_size=len(drawn), max_size=len(drawn)))
    times = [sum(gaps[: k + 1]) for k in range(len(gaps))]
    rows = [event(name, t, p) for (name, p), t in zip(drawn, times, strict=True)]
    pattern, allow, written, _ = CASES[case]
    query = f"PATTERN SEQ({pattern}) WHERE [tag] WITHIN {WINDOW} {allow}"
    found = ask(query, written, rows)
    assert found == pytest.approx(expected_matches(case, rows), abs=1e-6)


# Laws -----------------------------------------------------------------------------------------

SHOP = "PATTERN SEQ(X x, Y y, Z z) WHERE [tag] WITHIN 100"
SHOP_GAPS = "x BEFORE y EXPONENTIAL(30), x TO y EXPONENTIAL(30), y TO z EXPONENTIAL(30)"
READS = [event("x", 0), event("y", 5, 0.5), event("z", 9), event("x", 20), event("z", 60, 0.7)]


def test_a_miss_rate_of_zero_gives_plain_matching() -> None:
    never = STREAM.replace("0.2", "0").replace("0.1", "0").replace("0.3", "0").replace("0.4", "0")
    plain = ask(SHOP, "", READS)
    assert ask(f"{SHOP} ALLOW ALL MISSED", SHOP_GAPS, READS, never) == plain
    assert len(plain) == 2


def test_lowering_the_threshold_only_adds_matches() -> None:
    found = [
        set(ask(f"{SHOP} ALLOW 1 MISSED HAVING CONFIDENCE >= {t}", SHOP_GAPS, READS).items())
        for t in (0.5, 0.1, 0.0)
    ]
    assert found[0] < found[1] < found[2]


def test_what_was_read_was_not_missed() -> None:
    assert "x=x0a y=? z=z9a" in ask(f"{SHOP} ALLOW 1 MISSED OF (y)", SHOP_GAPS, READS)
    sure = [event("x", 0), event("y", 5), event("z", 9)]
    assert list(ask(f"{SHOP} ALLOW 1 MISSED OF (y)", SHOP_GAPS, sure)) == ["x=x0a y=y5a z=z9a"]


def test_pushed_events_give_the_same_matches() -> None:
    query = f"{SHOP} ALLOW 2 MISSED"
    ag = session(query, SHOP_GAPS, READS)
    bound = sorted(ag.table("q").to_pylist(), key=lambda row: row["match_id"])
    live = session(query, SHOP_GAPS, READS)
    pushed = [match for row in READS for match in live.push("s", row)] + live.finish()
    assert sorted(pushed, key=lambda row: row["match_id"]) == bound
    assert {row["n_missed"] for row in bound} == {0, 1, 2}


def test_a_missed_last_component_is_reported_when_its_window_has_passed() -> None:
    ag = session("PATTERN SEQ(X x, Z z) WHERE [tag] WITHIN 50 ALLOW 1 MISSED OF (z)",
                 "x TO z EXPONENTIAL(30)", [])  # fmt: skip
    assert ag.push("s", event("x", 0)) == []
    assert ag.push("s", event("x", 50, tag="b")) == []
    (match,) = ag.push("s", event("x", 51, tag="b"))
    came = 1 - math.exp(-50 / 30)
    assert match["confidence"] == pytest.approx(0.3 * came / (1 - 0.7 * came), abs=1e-8)
    assert [e["missed"] for e in match["events"]] == [False, True]


def test_a_missed_component_says_when_it_probably_happened() -> None:
    (row,) = session(f"{SHOP} ALLOW 1 MISSED OF (y)", SHOP_GAPS,
                     [event("x", 10), event("z", 90)]).table("q").to_pylist()  # fmt: skip
    x, y, z = row["events"]
    assert (y["component"], y["missed"], y["event_id"], y["ts"]) == ("y", True, None, None)
    low, high = (-30 * math.log(1 - share * (1 - math.exp(-80 / 30))) for share in (0.05, 0.95))
    assert y["earliest"] == pytest.approx(10 + low, abs=1.5)
    assert y["latest"] == pytest.approx(10 + high, abs=1.5)
    assert y["probability"] == row["confidence"]
    assert not x["missed"]
    assert z["earliest"] is None


def test_when_it_probably_happened_does_not_depend_on_how_far_ticks_are() -> None:
    found = []
    for far in (0, 2**60):
        ag = session(f"{SHOP} ALLOW 1 MISSED OF (y)", SHOP_GAPS,
                     [event("x", far + 10), event("z", far + 90)])  # fmt: skip
        ((_, y, _),) = ag.table("q").column("events").to_pylist()
        found.append((y["earliest"] - far, y["latest"] - far))
    assert found[0] == found[1]


def test_alternatives_of_one_event_and_a_missed_one_go_together() -> None:
    stream = STREAM.replace("TYPE kind PROBABILITY p", "TYPE kind ALTERNATIVES kind PROBABILITY p")
    rows = [
        {"id": "a", "kind": "X", "tag": "a", "t": 0, "p": 0.6},
        {"id": "a", "kind": "Y", "tag": "a", "t": 0, "p": 0.4},
        {"id": "b", "kind": "Z", "tag": "a", "t": 30, "p": 1.0},
    ]
    found = session(f"{SHOP} ALLOW 1 MISSED OF (y)", SHOP_GAPS, rows, stream).table("q")
    came = 1 - math.exp(-1)
    assert found.column("confidence").to_pylist() == pytest.approx(
        [0.6 * 0.1 * came / (1 - 0.9 * came)], abs=1e-8
    )


def test_a_condition_with_a_default_is_applied_to_a_missed_component() -> None:
    rows = [event("x", 0), event("z", 30)]
    query = f"{SHOP} ALLOW 1 MISSED OF (y)".replace("[tag]", "[tag] AND y.p[{}] < z.p")
    assert len(ask(query.format("0.5"), SHOP_GAPS, rows)) == 1
    assert len(ask(query.format("1.5"), SHOP_GAPS, rows)) == 0


def test_a_bound_on_the_time_of_a_missed_component_bounds_the_integral() -> None:
    rows = [event("x", 0), event("z", 60)]
    query = f"{SHOP} ALLOW 1 MISSED OF (y)".replace("[tag]", "[tag] AND y.t - x.t <= 15")
    (confidence,) = ask(query, SHOP_GAPS, rows).values()
    came = 1 - math.exp(-2)
    assert confidence == pytest.approx(0.1 * (1 - math.exp(-0.5)) / (1 - 0.9 * came), abs=1e-8)


@pytest.mark.parametrize(
    ("bound", "share"),
    [
        ("y.t - x.t < 10", 0.0),
        ("y.t - x.t <= 10", 0.5),
        ("y.t - x.t < 30", 0.5),
        ("y.t - x.t > 10", 0.5),
        ("y.t - x.t >= 10", 1.0),
        ("y.t - x.t = 30", 0.5),
        ("z.t - y.t < 40", 0.0),
        ("z.t - y.t <= 40", 0.5),
        ("z.t - y.t > 40", 0.5),
        ("z.t - y.t >= 40", 1.0),
        ("z.t - y.t < 60", 0.5),
        ("z.t - y.t <= 60", 1.0),
    ],
)
def test_a_bound_at_a_length_of_an_empirical_gap_takes_it_in_or_not_as_it_says(
    bound: str, share: float
) -> None:
    rows = [event("x", 0), event("z", 70)]
    query = f"{SHOP} ALLOW 1 MISSED OF (y)".replace("[tag]", f"[tag] AND {bound}")
    found = list(ask(query, "x TO y EMPIRICAL(10, 30)", rows).values())
    assert found == pytest.approx([share] if share else [], abs=1e-8)


@pytest.mark.parametrize("bound", ["n.t - x.t < 5", "z.t - n.t < 10", "n.t > 1000"])
def test_a_condition_on_the_time_of_an_unread_negation_is_refused(bound: str) -> None:
    query = f"PATTERN SEQ(X x, !N n, Z z) WHERE [tag] AND {bound} WITHIN 100"
    with pytest.raises(QueryError, match=r"P003.*the time of n, .* may have happened unread"):
        ask(query, "x TO n EXPONENTIAL(30)", [event("x", 0), event("z", 50)])
    assert list(ask(query, "", [event("x", 0), event("z", 50)]).values()) == [1.0]


def test_a_query_over_a_query_counts_a_shared_stretch_once() -> None:
    ag = Session(engine="local")
    ag.sql(f"""{STREAM}
    CREATE QUERY q ON s PATTERN SEQ(X x, !N n, Z z) WHERE [tag] WITHIN 100 RETURN z.tag AS tag;
    CREATE GAPS g ON q (x TO n EXPONENTIAL(30));
    CREATE QUERY twice ON q, s PATTERN SEQ(q a, Y y) WHERE [tag] WITHIN 100;
    """)
    ag.bind("s", [event("x", 0), event("z", 30), event("y", 40, 0.5)])
    came = 1 - math.exp(-1)
    assert ag.table("twice").column("confidence").to_pylist() == pytest.approx(
        [0.5 * (1 - came) / (1 - 0.6 * came)], abs=1e-8
    )


@pytest.mark.parametrize(
    "clauses",
    [
        "PATTERN SEQ(X x, Y y, Z z) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 9 ALLOW 1 MISSED",
        "PATTERN SEQ(X x, Y y, Z z) WHERE [tag] WITHIN 9 EVENTS ALLOW 1 MISSED",
    ],
    ids=["next match", "window of events"],
)
def test_what_is_not_evaluated_is_refused(clauses: str) -> None:
    with pytest.raises(QueryError, match="P003"):
        ask(clauses, SHOP_GAPS, READS)
