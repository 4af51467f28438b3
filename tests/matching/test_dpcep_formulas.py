"""SCORING DPCEP: the formulas of the paper, as printed, in place of the law."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from itertools import product

import pytest

from augury import Session
from augury.analysis.script import check_text
from matching.test_correlated import table_of

SCRIPT = """
CREATE STREAM o (id STRING, place STRING, kind STRING, t LONG, p DOUBLE) ID id TIME t PROBABILITY p;
CREATE STREAM x (id STRING, place STRING, kind STRING, t LONG, p DOUBLE) ID id TIME t PROBABILITY p;
CREATE TABLE links (earlier STRING, later STRING, p DOUBLE);
CREATE QUERY pairs ON o, x PATTERN SEQ(o, x) WHERE o.place = x.place WITHIN 4;
CREATE QUERY twice ON pairs PATTERN AND(pairs a, pairs b) WHERE a.start_ts < b.start_ts WITHIN 6
SCORING DPCEP;
"""
BOUND = """
CREATE QUERY typed ON o, x PATTERN AND(o, x) WHERE o.place = x.place
SCORING DPCEP RETURN PROBABILITY;
CREATE QUERY ordered ON o, x PATTERN SEQ(o, x) WHERE o.place = x.place WITHIN 4 EVERY 2
SCORING DPCEP RETURN PROBABILITY;
CREATE QUERY ranked ON o, x PATTERN AND(o, x) WHERE o.place = x.place AND x.kind <> 'b'
GROUP BY o.kind SCORING DPCEP RETURN PROBABILITY;
CREATE QUERY linked ON pairs PATTERN AND(pairs a, pairs b) WHERE a.start_ts < b.start_ts WITHIN 6
CORRELATED BY links SCORING DPCEP OPTIONS (unlisted = 'independent');
CREATE QUERY thrice ON twice PATTERN AND(twice c, twice d) WHERE c.start_ts < d.start_ts WITHIN 9
HAVING CONFIDENCE >= 0.05 SCORING DPCEP;
"""


def row(name, at, place, kind, p):
    return {"id": name, "place": place, "kind": kind, "t": at, "p": p}


FIGURE_9 = {
    "o": [row("o1", 1, "L1", "truck", 0.8), row("o2", 2, "L1", "car", 0.5)],
    "x": [row("x1", 3, "L1", "a", 0.7), row("x2", 4, "L1", "a", 0.8), row("x3", 5, "L2", "a", 0.9)],
}


def session(streams, links=None):
    ag = Session(engine="local")
    ag.sql(SCRIPT + BOUND)
    for name, rows in streams.items():
        ag.bind(name, rows)
    ag.bind("links", table_of(links or {("none", "none"): 0.5}))
    return ag


def some(chances):
    return 1.0 - math.prod(1.0 - p for p in chances)


def test_figures_9_to_11():
    ag = session(FIGURE_9)
    (typed,) = ag.table("typed").to_pylist()
    assert typed["probability"] == pytest.approx(0.8946)
    ranked = {r["kind"]: r["probability"] for r in ag.table("ranked").to_pylist()}
    assert ranked == pytest.approx({"truck": 0.752, "car": 0.47})


def random_streams(rng):
    return {
        name: [
            row(f"{name}{k}", at, rng.choice("LM"), rng.choice("ab"), rng.choice((0.3, 0.5, 1.0)))
            for k, at in enumerate(sorted(rng.sample(range(12), 6)))
        ]
        for name in ("o", "x")
    }


@pytest.mark.parametrize("seed", range(12))
def test_type_and_rank_queries_are_the_printed_products(seed):
    streams = random_streams(random.Random(seed))
    ag = session(streams)
    (typed,) = ag.table("typed").to_pylist()
    own = [some(r["p"] for r in rows) for rows in streams.values()]
    assert typed["probability"] == pytest.approx(math.prod(own))
    for found in ag.table("ordered").to_pylist():
        window = range(found["ts"], found["ts"] + 4)
        own = [some(r["p"] for r in rows if r["t"] in window) for rows in streams.values()]
        assert found["probability"] == pytest.approx(math.prod(own))
    joined = defaultdict(list)
    for kind, place in product("ab", "LM"):
        left = some(r["p"] for r in streams["o"] if (r["kind"], r["place"]) == (kind, place))
        right = some(r["p"] for r in streams["x"] if (r["kind"], r["place"]) == ("a", place))
        joined[kind].append(left * right)
    expected = {kind: some(chances) for kind, chances in joined.items() if any(chances)}
    found = {r["kind"]: r["probability"] for r in ag.table("ranked").to_pylist()}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(12))
def test_matches_of_matches_are_products_of_their_events(seed):
    rng = random.Random(seed)
    streams = random_streams(rng)
    ag = session(streams)
    confidence = {r["match_id"]: r["confidence"] for r in ag.table("pairs").to_pylist()}
    twice = ag.table("twice").to_pylist()
    for match in twice:
        expected = math.prod(confidence[e["event_id"]] for e in match["events"])
        assert match["confidence"] == pytest.approx(expected)
    again = {r["match_id"]: r["confidence"] for r in twice}
    for match in ag.table("thrice").to_pylist():
        expected = math.prod(again[e["event_id"]] for e in match["events"])
        assert match["confidence"] == pytest.approx(expected)
        assert expected >= 0.05 - 1e-9
    pairs = [tuple(e["event_id"] for e in m["events"]) for m in twice]
    links = {pair: rng.choice((0.2, 0.6)) for pair in pairs if rng.random() < 0.5}
    for match in session(streams, links or None).table("linked").to_pylist():
        first, then = (e["event_id"] for e in match["events"])
        expected = confidence[first] * links.get((first, then), confidence[then])
        assert match["confidence"] == pytest.approx(expected)


def test_pushed_matches_are_the_same():
    streams = random_streams(random.Random(0))
    expected = session(streams).table("twice").to_pylist()
    ag, found = Session(engine="local"), []
    ag.sql(SCRIPT)
    both = [(name, k) for name, rows in streams.items() for k in range(len(rows))]
    for name, k in sorted(both, key=lambda each: streams[each[0]][each[1]]["t"]):
        found += ag.push(name, [streams[name][k]])
    found += ag.finish()
    pushed = {r["match_id"]: r["confidence"] for r in found if r["query"] == "twice"}
    assert pushed == pytest.approx({r["match_id"]: r["confidence"] for r in expected})
    assert pushed


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("PATTERN SEQ(o, !x, o b)", "says nothing of the absence of x"),
        ("PATTERN SEQ(o, x) USING SKIP TILL NEXT MATCH", "needs every combination"),
        ("PATTERN SEQ(o, x) AFTER MATCH SKIP PAST LAST EVENT", "AFTER MATCH SKIP"),
        ("PATTERN SEQ(o, x) RETURN PROBABILITY BY TIME", "none BY TIME"),
        ("PATTERN OR(o, x) RETURN PROBABILITY", "AND and SEQ of single types"),
        ("PATTERN AND(o, x) WHERE o.t < x.t GROUP BY o.kind RETURN PROBABILITY", "WHERE equates"),
    ],
)
def test_what_the_paper_has_no_formula_for_is_refused(query, said):
    checked = check_text(f"{SCRIPT} CREATE QUERY q ON o, x {query} SCORING DPCEP;")
    errors = [d for d in checked.diagnostics if d.severity == "error"]
    assert [d.code for d in errors] == ["A064"]
    assert said in errors[0].render()
