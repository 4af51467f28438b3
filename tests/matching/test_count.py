"""RETURN COUNT is the number of matches and the sum of their confidences, listed or not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from augury.analysis.script import check_text
from augury.errors import DataError
from augury.evaluation import enumeration as evaluation
from augury.evaluation.evaluator import Evaluator
from augury.matching import counting
from matching.as_text import bindings, script
from matching.random_cases import CONSTRUCTS, random_case
from oracles.worlds import network

STREAM = (
    "CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, p DOUBLE, v LONG) "
    "ID id KEY tag TIME t TYPE kind PROBABILITY p;"
)


def rows(text, tags="x", values="0"):
    """Read `a1 .6 b3`: type, time, and the probability if below 1; tags and values in turn."""
    events = []
    for word in text.split():
        if word[0] == ".":
            events[-1]["p"] = float(word)
        else:
            events.append({"kind": word[0].upper(), "t": int(word[1:]), "p": 1.0})
    for k, event in enumerate(events):
        event |= {"id": k, "tag": tags[k % len(tags)], "v": int(values[k % len(values)])}
    return pa.Table.from_pylist(events)


def counted(query, table):
    checked = check_text(f"{STREAM} CREATE QUERY q ON s {query} RETURN COUNT;")
    assert not [d for d in checked.diagnostics if d.severity == "error"]
    runner = Evaluator(checked.catalog, {"q": checked.queries[0]}, {"s": table})
    return runner.table("q").to_pylist()


DPCEP = rows(
    "a1 .6 c2 .7 b3 .5 a4 .9 d5 .8 b6 .6 d7 .8 a8 .7 b9 .5 c10 .9 a11 .6 d12 .8 b13 .6 d14 .7"
)


def test_the_count_of_example_1_2_is_its_twenty_matches():
    (row,) = counted("PATTERN SEQ(A a, B b, D d)", DPCEP)
    assert row["query"] == "q"
    assert row["count"] == 20
    assert row["expected"] == pytest.approx(5.826)


def test_certain_events_are_expected_as_often_as_they_are_counted():
    (row,) = counted("PATTERN SEQ(A a, B b, D d)", rows("a1 b3 a4 b6 d9"))
    assert (row["count"], row["expected"]) == (3, 3.0)


def test_a_query_without_keys_counts_zero_where_nothing_matches():
    (row,) = counted("PATTERN SEQ(D a, A b)", rows("a1 b2"))
    assert (row["count"], row["expected"]) == (0, 0.0)


def test_each_key_with_matches_has_a_row():
    table = rows("a1 .5 a2 a3 b4 b5 .5 b6", tags="xyz")
    found = counted("PATTERN SEQ(A a, B b) WHERE [tag]", table)
    assert [(r["tag"], r["count"], r["expected"]) for r in found] == [
        ("x", 1, 0.5),
        ("y", 1, 0.5),
        ("z", 1, 1.0),
    ]


def test_a_million_millions_of_matches_are_counted_without_listing_them():
    table = rows(" ".join(f"{'abcdefg'[k % 7]}{k}" for k in range(2100)))
    pattern = "SEQ(A a, B b, C c, D d, E e, F f, G g)"
    (row,) = counted(f"PATTERN {pattern}", table)
    # A path picks rounds in which each component takes its event, none earlier than the one before.
    assert row["count"] == 46_515_922_124_400  # 306 over 7
    assert row["expected"] == row["count"]


def test_a_threshold_counts_the_matches_that_pass_it():
    (row,) = counted("PATTERN SEQ(A a, B b, D d) HAVING CONFIDENCE >= 0.3", DPCEP)
    assert row["count"] == 6


def test_more_matches_than_a_long_can_hold_are_refused():
    table = rows(" ".join(f"a{k}" for k in range(80)))
    with pytest.raises(DataError, match="more matches begin with one event than a LONG can count"):
        counted("PATTERN SEQ(A+ a) WITHIN 100", table)


@pytest.mark.parametrize(
    ("query", "countable"),
    [
        ("PATTERN SEQ(A a, B b, C c)", True),
        ("PATTERN SEQ(A a, !B b, C c)", True),
        ("PATTERN SEQ(A a, NEXT(B b, C c))", True),
        ("PATTERN SEQ(A a, B+ b, C c) WITHIN 9", True),
        ("PATTERN SEQ(A a, B b, C c) WHERE a.v < b.v AND b.v < c.v", True),
        ("PATTERN SEQ(A a, B b, C c) WHERE a.v < c.v", False),
        ("PATTERN SEQ(A a, B b, C c) HAVING CONFIDENCE > 0.1", False),
        ("PATTERN SEQ(A a, B b, !C c) WITHIN 9", False),
        ("PATTERN SEQ(A a, B b) USING SKIP TILL NEXT MATCH", False),
        ("PATTERN SEQ(A a, B b) WITHIN 9 EVENTS", False),
    ],
)
def test_only_steps_that_look_back_one_event_are_counted_by_sums(monkeypatch, query, countable):
    asked = []
    original = counting.is_countable

    def judge(pattern, events):
        asked.append(original(pattern, events))
        return asked[-1]

    monkeypatch.setattr(evaluation, "is_countable", judge)
    counted(query, rows("a1 .5 b2 .5 c3 .5"))
    assert asked == [countable]


SUMMED = ("seq", "negation_in_the_middle", "repetition", "conjunction", "disjunction", "neighbours")
LISTED = ("negation_at_an_end", "nesting", "conditions", "keys", "alternatives", "ties", "windows")


@pytest.mark.parametrize("construct", [*SUMMED, *LISTED])
def test_counts_agree_with_the_possible_worlds(construct):
    assert construct in CONSTRUCTS
    for seed in range(25):
        case = random_case(construct, "any", seed)
        text = script(case)
        if "RETURN" in text.split("CREATE QUERY")[-1]:
            continue
        checked = check_text(text[: text.rindex(";")] + " RETURN COUNT;")
        if any(d.severity == "error" for d in checked.diagnostics):
            continue
        queries = {q.name.lower(): q for q in checked.queries}
        table = Evaluator(checked.catalog, queries, bindings(case)).table(case.queries[-1].name)
        found = network(case.queries, case.events)[case.queries[-1].name]
        assert sum(table.column("count").to_pylist()) == len(found), seed
        expected = sum(table.column("expected").to_pylist())
        assert expected == pytest.approx(sum(found.values()), abs=1e-9), seed
