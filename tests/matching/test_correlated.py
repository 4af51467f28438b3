"""CORRELATED BY: the confidence of a match is a chain of conditional probabilities."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from augury.analysis.script import check_text
from augury.errors import DataError, QueryError
from augury.evaluation.evaluator import Evaluator
from oracles.model import And, Comp, Event, Query, Seq
from oracles.notation import ABD, stream, times
from oracles.worlds import matches

SCRIPT = (
    "CREATE STREAM s (id STRING, kind STRING, t LONG, p DOUBLE) ID id TIME t TYPE kind "
    "PROBABILITY p; CREATE TABLE links (earlier STRING, later STRING, p DOUBLE);"
)
DPCEP = stream(
    "a1 .6 c2 .7 b3 .5 a4 .9 d5 .8 b6 .6 d7 .8 a8 .7 b9 .5 c10 .9 a11 .6 d12 .8 b13 .6 d14 .7"
)
LINKS = {
    ("a1", "b3"): 0.6,
    ("a1", "b6"): 0.7,
    ("b3", "d7"): 0.9,
    ("a8", "b9"): 0.6,
    ("b9", "d14"): 0.8,
    ("a1", "b13"): 0.7,
    ("b6", "d14"): 0.9,
    ("b13", "d14"): 0.9,
}
QUERY = "CREATE QUERY q ON s PATTERN SEQ(A a, B b, D d) CORRELATED BY links"
INDEPENDENT = "OPTIONS (unlisted = 'independent')"


def table_of(links):
    earlier, later = [a for a, _ in links], [b for _, b in links]
    return pa.table(
        {
            "earlier": pa.array(earlier, pa.string()),
            "later": pa.array(later, pa.string()),
            "p": pa.array(list(links.values()), pa.float64()),
        }
    )


def runner(text, events, links):
    checked = check_text(f"{SCRIPT} {text};")
    errors = [d.render() for d in checked.diagnostics if d.severity == "error"]
    assert not errors, errors
    rows = [{"id": e.id, "kind": e.type, "t": e.ts, "p": e.p} for e in events]
    bound = {"s": pa.Table.from_pylist(rows)}
    if links is not None:
        bound["links"] = links if isinstance(links, pa.Table) else table_of(links)
    return Evaluator(checked.catalog, {q.name: q for q in checked.queries}, bound)


def answered(text, events, links):
    return {
        frozenset((item["component"], (item["event_id"],)) for item in row["events"]): row[
            "confidence"
        ]
        for row in runner(text, events, links).table("q").to_pylist()
    }


def test_example_1_2_correlated_events_use_the_table():
    found = times(answered(f"{QUERY} {INDEPENDENT}", DPCEP, LINKS))
    assert found[1, 3, 7] == pytest.approx(0.324)
    assert found[1, 13, 14] == pytest.approx(0.378)
    assert len(found) == 20


def test_equation_4_1_what_lies_between_and_is_unrelated_is_passed_over():
    events = stream("a1 .5 i2 b3 .3")
    query = "CREATE QUERY q ON s PATTERN SEQ(A a, I i, B b) CORRELATED BY links"
    found = answered(f"{query} {INDEPENDENT}", events, {("a1", "b3"): 0.9})
    assert list(found.values()) == [pytest.approx(0.45)]
    # Listed after the event before it, that one counts.
    found = answered(f"{query} {INDEPENDENT}", events, {("a1", "b3"): 0.9, ("i2", "b3"): 0.4})
    assert list(found.values()) == [pytest.approx(0.2)]
    with pytest.raises(DataError, match="no probability of event i2 after a1"):
        answered(query, events, {("a1", "b3"): 0.9})


def test_a_pair_that_the_table_lacks_is_refused_by_name():
    with pytest.raises(DataError, match="no probability of event d5 after b3"):
        answered(QUERY, DPCEP, LINKS)


def test_the_threshold_judges_the_chain_and_not_the_events_alone():
    events = stream("a1 .6 b2 .1")
    query = "CREATE QUERY q ON s PATTERN SEQ(A a, B b) CORRELATED BY links HAVING CONFIDENCE >= 0.5"
    assert list(answered(query, events, {("a1", "b2"): 0.9}).values()) == [pytest.approx(0.54)]
    assert answered(query, events, {("a1", "b2"): 0.8}) == {}


def test_a_count_of_correlated_matches_adds_their_chains():
    rows = runner(f"{QUERY} RETURN COUNT {INDEPENDENT}", DPCEP, LINKS).table("q").to_pylist()
    query = Query(ABD, correlated=LINKS, unlisted_independent=True)
    found = matches(query, DPCEP)
    assert rows[0]["count"] == 20
    assert rows[0]["expected"] == pytest.approx(sum(found.values()))


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (None, "table links has no data"),
        ({("a1", "b3"): 1.5}, "1.5 is no probability"),
        ({("a1", "b3"): None}, "None is no probability"),
        (pa.table({"earlier": ["a1"], "p": [0.5]}), "table links has no column later"),
        (
            pa.table({"earlier": ["a1", "a1"], "later": ["b3", "b3"], "p": [0.5, 0.6]}),
            "two probabilities of event 'b3' after 'a1'",
        ),
        (pa.table({"earlier": ["a1"], "later": ["b3"], "p": ["much"]}), "is no probability"),
    ],
)
def test_a_broken_table_is_refused_with_its_reason(links, message):
    with pytest.raises(DataError, match=message):
        answered(QUERY, DPCEP, links)


def test_a_table_of_other_columns_is_refused():
    text = f"CREATE TABLE pairs (a STRING, p DOUBLE); {QUERY.replace('links', 'pairs')}"
    asked = runner(text, DPCEP, LINKS)
    asked.bound["pairs"] = pa.table({"a": ["a1"], "p": [0.5]})
    with pytest.raises(DataError, match="expects three: earlier id, later id, probability"):
        asked.table("q")


def test_a_table_that_is_not_declared_is_refused():
    with pytest.raises(DataError, match="table pairs is not declared"):
        answered(QUERY.replace("links", "pairs"), DPCEP, LINKS)


def test_an_unknown_way_to_treat_unlisted_pairs_is_refused():
    with pytest.raises(DataError, match="expected one of refused, independent"):
        answered(f"{QUERY} OPTIONS (unlisted = 'maybe')", DPCEP, LINKS)


def test_matches_without_lineage_are_no_stream_and_are_answered_themselves():
    text = f"{QUERY} {INDEPENDENT}; CREATE QUERY r ON q PATTERN SEQ(q x, q y)"
    both = runner(text, DPCEP, LINKS)
    with pytest.raises(QueryError, match="whose confidences are products"):
        both.table("r")
    assert both.table("q").equals(runner(f"{QUERY} {INDEPENDENT}", DPCEP, LINKS).table("q"))


def test_matches_of_others_are_not_correlated():
    below = "CREATE QUERY low ON s PATTERN SEQ(A a, B b); "
    text = f"{below} CREATE QUERY r ON low PATTERN SEQ(low x, low y) CORRELATED BY links"
    with pytest.raises(QueryError, match="CORRELATED BY over the matches of query low"):
        runner(text, DPCEP, LINKS).table("r")


@pytest.mark.parametrize("clause", ["PATTERN SEQ(A a, NEXT(B b, D d))", "PATTERN SEQ(A a, B b)"])
def test_neighbours_and_windows_of_events_have_no_table(clause):
    within = "" if "NEXT" in clause else "WITHIN 5 EVENTS"
    checked = check_text(f"{SCRIPT} CREATE QUERY q ON s {clause} CORRELATED BY links {within};")
    assert [d.code for d in checked.diagnostics if d.severity == "error"] == ["A065"]


def random_links(rng, events):
    pairs = [(a.id, b.id) for a in events for b in events if a.ts < b.ts]
    return {pair: rng.choice((0.0, 0.2, 0.5, 0.9, 1.0)) for pair in pairs if rng.random() < 0.7}


PATTERNS = {
    "SEQ(A a, B b)": Seq((Comp("a", "A"), Comp("b", "B"))),
    "SEQ(A a, B b, A c)": Seq((Comp("a", "A"), Comp("b", "B"), Comp("c", "A"))),
    "AND(A a, B b, C c)": And((Comp("a", "A"), Comp("b", "B"), Comp("c", "C"))),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("threshold", [None, 0.3])
def test_chains_agree_with_the_oracle(pattern, threshold):
    for seed in range(30):
        rng = random.Random(f"{pattern} {seed}")
        events = [
            Event(f"e{t}", t, rng.choice("ABC"), rng.choice((0.3, 0.5, 1.0))) for t in range(8)
        ]
        links = random_links(rng, events)
        query = Query(
            PATTERNS[pattern],
            correlated=links,
            unlisted_independent=True,
            within=("time", 5),
            threshold=None if threshold is None else (threshold, False),
        )
        having = "" if threshold is None else f"HAVING CONFIDENCE >= {threshold}"
        text = f"CREATE QUERY q ON s PATTERN {pattern} CORRELATED BY links WITHIN 5 {having}"
        found = answered(f"{text} {INDEPENDENT}", events, links)
        assert found == pytest.approx(matches(query, events), abs=1e-9)
