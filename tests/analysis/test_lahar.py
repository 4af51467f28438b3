"""Lahar's spelling means the same query as ours."""

# ruff: noqa: RUF001 - sigma is Lahar's sign of selection

from __future__ import annotations

from dataclasses import dataclass

import pytest

from analysis.checking import PLACES, codes, query
from augury.analysis.checked import CheckedQuery, Shape
from augury.analysis.expressions.walk import renamed

STREAMS = (
    PLACES
    + """
CREATE STREAM Carries (person STRING, object STRING, place STRING, t LONG, p DOUBLE)
KEY (person, object) TIME t ALTERNATIVES place PROBABILITY p;
CREATE STREAM R (x STRING, t LONG, p DOUBLE) KEY x TIME t PROBABILITY p;
CREATE STREAM S (x STRING, t LONG, p DOUBLE) KEY x TIME t PROBABILITY p;
"""
)


@dataclass(frozen=True)
class Meaning:
    """What a query means, whatever its components are called."""

    played: tuple[object, ...]
    shape: Shape
    conjuncts: frozenset[object]
    equalities: object
    clauses: tuple[object, ...]


def meaning(q: CheckedQuery) -> Meaning:
    conjuncts = set()
    for c in q.conjuncts:
        expression = c.expression
        for component in q.components:
            expression = renamed(expression, component.name, f"#{component.index}")
        conjuncts.add((expression, c.components, c.after, c.derived))
    played = tuple((c.played_by, c.negated, c.minimum, c.maximum) for c in q.components)
    clauses = (q.strategy, q.returns, q.within, q.verdict.kind, [s.name for s in q.streams])
    return Meaning(played, q.shape, frozenset(conjuncts), q.equalities, tuple(map(str, clauses)))


PAIRS = {
    "constants": (
        "R('a'); R('b')",
        "ON R PATTERN SEQ(R a, R b) WHERE a.x = 'a' AND b.x = 'b'",
    ),
    "selection after the choice": (
        "σ[y = 'b'](R('a'); R(y))",
        "ON R PATTERN SEQ(R a, R b) WHERE a.x = 'a' AFTER WHERE b.x = 'b'",
    ),
    "selection inside a subgoal": (
        "At('joe', '220'); (σ[Hallway(l)] At('joe', l)); At('joe', '220')",
        "ON At PATTERN SEQ(At o, At c, At b) WHERE o.person = 'joe' AND o.place = '220'"
        " AND c.person = 'joe' AND b.person = 'joe' AND b.place = '220' AND c.place IN Hallway",
    ),
    "kleene plus": (
        "At('joe', 'a'); At('joe', l)+<{}, Hallway(l)>; At('joe', 'c')",
        "ON At PATTERN SEQ(At a, At+ b, At c) WHERE a.person = 'joe' AND a.place = 'a'"
        " AND b.person = 'joe' AND c.person = 'joe' AND c.place = 'c'"
        " AFTER WHERE b.place IN Hallway",
    ),
    "shared variable": (
        "σ[Person(x)](At(x, 'a'); At(x, l)+<{x}, Hallway(l)>; At(x, 'c'))",
        "ON At PATTERN SEQ(At a, At+ b, At c) WHERE [person] AND a.place = 'a' AND c.place = 'c'"
        " AFTER WHERE b.place IN Hallway AND a.person IN Person",
    ),
    "variable shared by a kleene plus alone": (
        "R('a'); S(x)+<{x}>",
        "ON R, S PATTERN SEQ(R r, S+ s) WHERE r.x = 'a' AND s[i].x = s[1].x",
    ),
    "anything": (
        "Carries(x, y, _); Carries(x, y, _); At(x, _)",
        "ON Carries, At PATTERN SEQ(Carries a, Carries b, At c)"
        " WHERE [person] AND a.object = b.object",
    ),
}


@pytest.mark.parametrize(("lahar", "ours"), PAIRS.values(), ids=PAIRS)
def test_both_spellings_mean_the_same(lahar: str, ours: str) -> None:
    rest = " APPROXIMATE (0.1, 0.1)"
    theirs = query(f"CREATE QUERY q AS {lahar}{rest};", STREAMS)
    clauses = f"USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME{rest}"
    own = query(f"CREATE QUERY q {ours} {clauses};", STREAMS)
    assert meaning(theirs) == meaning(own)


def test_subgoals_have_made_up_names() -> None:
    q = query("CREATE QUERY q AS R('a'); R('b');", STREAMS)
    assert [(c.name, c.named) for c in q.components] == [("r_1", False), ("r_2", False)]


def test_positions_leave_out_time_probability_order_and_id() -> None:
    streams = (
        "CREATE STREAM E (id LONG, who STRING, n LONG, what STRING, t LONG, p "
        "DOUBLE) ID id KEY who TIME t ORDER BY n PROBABILITY p;"
    )
    assert codes("CREATE QUERY q AS E('joe', 'eats');", streams) == []
    assert codes("CREATE QUERY q AS E(1, 'joe', 'eats');", streams) == ["A073"]


def test_a_streams_name_is_found_without_regard_to_case() -> None:
    assert codes("CREATE QUERY q AS AT('joe', 'a');", STREAMS) == []


def test_a_kleene_plus_exports_only_what_it_shares() -> None:
    assert codes("CREATE QUERY q AS At(p, l)+<{p}>; At(p, l);", STREAMS) == ["A074"]


def test_a_variable_is_bound_by_a_subgoal_up_to_where_it_is_tested() -> None:
    assert codes("CREATE QUERY q AS (σ[Hallway(l)] (At('joe', 'a'))); At('joe', l);", STREAMS) == [
        "A074"
    ]
