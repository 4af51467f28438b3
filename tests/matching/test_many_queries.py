"""Queries that share a pass answer exactly as they do alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from augury.analysis.script import check_text
from augury.evaluation import evaluator as local
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.shared_passes import shareable
from augury.matching.shared_prefixes import StandingQueries, Step
from matching.as_text import Case, bindings, script
from matching.random_cases import random_case

CONSTRUCTS = ("seq", "neighbours", "keys", "conditions", "ties", "alternatives", "thresholds")
STRATEGIES = ("any", "next", "strict", "partition")


def together(construct, seed):
    """Return one case with the queries of several, over the events of the first."""
    cases = [random_case(construct, s, 7 * seed + k) for k, s in enumerate(STRATEGIES)]
    cases += [random_case(construct, s, 991 * seed + k) for k, s in enumerate(STRATEGIES)]
    first = max(cases, key=lambda case: len(case.events))
    same = [
        c for c in cases if (c.key, c.streams, c.ties) == (first.key, first.streams, first.ties)
    ]
    queries = [replace(c.queries[-1], name=f"q{k}") for k, c in enumerate(2 * same)]
    return replace(first, queries=tuple(queries))


def runner_of(case: Case):
    checked = check_text(script(case))
    faulty = [d for d in checked.diagnostics if d.severity == "error"]
    queries = {q.name.lower(): q for q in checked.queries}
    return None if faulty else Evaluator(checked.catalog, queries, bindings(case))


def rows(table):
    return sorted(table.to_pylist(), key=lambda row: row["match_id"])


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_queries_answer_together_as_alone(construct, monkeypatch):
    shared = []
    original = shareable

    def counted(plans):
        shared.append(original(list(plans)))
        return shared[-1]

    monkeypatch.setattr(local, "shareable", counted)
    for seed in range(12):
        case = together(construct, seed)
        runner = runner_of(case)
        if runner is None:
            continue
        found = runner.run_all()
        for query in case.queries:
            alone = runner_of(case)
            assert rows(found[query.name]) == rows(alone.table(query.name)), (seed, query.name)
    assert sum(len(group) for groups in shared for group in groups) >= 10


def test_the_order_of_asking_changes_no_answer():
    case = together("neighbours", 3)
    forward, backward = runner_of(case), runner_of(case)
    names = [query.name for query in case.queries]
    one, other = forward.run_all(names), backward.run_all(reversed(names))
    assert {name: rows(one[name]) for name in names} == {name: rows(other[name]) for name in names}


def test_equal_beginnings_are_stored_once():
    standing = StandingQueries()
    standing.add([Step("a", False), Step("b", True), Step("c", False)], 10)
    standing.add([Step("a", False), Step("b", True), Step("d", False)], 20)
    standing.add([Step("a", False), Step("b", False)], None)
    assert len(standing.known) == 5
    assert list(standing.predicates) == ["a", "b", "c", "d"]


def stretches(steps, window, kinds, times, certain=True):
    """Return the stretches of a stream of one-letter events that can hold a match."""
    from augury.records import Events

    n = len(kinds)
    zeros = np.zeros(n, np.int64)
    events = Events(
        time=np.array(times, np.int64),
        tie=zeros,
        stream=zeros,
        key=zeros,
        partition=zeros,
        mask=zeros,
        p=np.full(n, 1.0 if certain else 0.5),
        group=zeros - 1,
        row=np.arange(n),
        values=np.zeros((0, n), np.int64),
        nulls=np.zeros((0, n), np.bool_),
    )
    standing = StandingQueries()
    standing.add(steps, window)
    facts = [np.array([kind == name for kind in kinds]) for name in standing.predicates]
    found = standing.ranges(events, np.arange(n), facts)
    return list(zip(found.first.tolist(), found.last.tolist(), strict=True))


def test_only_stretches_that_can_hold_a_match_are_searched():
    steps = [Step("a", False), Step("b", False)]
    assert stretches(steps, 2, "axxbxaxb", range(8)) == [(5, 7)]
    assert stretches(steps, None, "axxbxaxb", range(8)) == [(0, 7)]
    assert stretches(steps, 1, "axxbxaxb", range(8)) == []


def test_a_neighbour_is_lost_behind_a_certain_event_and_not_behind_an_uncertain_one():
    steps = [Step("a", False), Step("b", True)]
    assert stretches(steps, 9, "axb", range(3)) == []
    assert stretches(steps, 9, "axb", range(3), certain=False) == [(0, 2)]
    assert stretches(steps, 9, "ab", range(2)) == [(0, 1)]


def test_one_event_is_not_two_steps():
    assert stretches([Step("a", False), Step("a", False)], 9, "xax", range(3)) == []


def test_an_event_at_the_same_time_breaks_no_neighbours():
    steps = [Step("a", False), Step("b", True)]
    assert stretches(steps, 9, "axb", [1, 2, 2]) == [(0, 2)]
