"""Worked examples of policies: what must come out, as numbers.

Letters are types, numbers are times; every policy has PATIENCE 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from augury import QueryError, Session
from augury.privacy.expectation import expected, expected_wang
from augury.privacy.pattern import Event, Face
from privacy.plain import matches_in, plain_pattern
from privacy.wards import Row, history, row, session

THESIS = [row(f"{'abcde'[k % 5]}{2 * k}") for k in range(50)]
PLAIN = history("ABCABCABCC")
KEYED = history("ABCABCABCC", keys="kkklllmmmk")
VALUED = history("ABCABCABCC", values="0101010101")
FOUR = history("ABCDABCDAB")
TWENTY = history("ABCAABCXXXABXXXCXXXX")
CYCLES = [row(f"{kind}{8 * n + at}") for n in range(5) for at, kind in enumerate("abab", 1)]


@dataclass(frozen=True)
class Case:
    """A script, its history, and what is bound, dropped by type (with the utility), and decided."""

    script: str
    history: list[Row]
    bound: list[str]
    types: tuple[list[str], float] | None
    decisions: str
    tie: bool = False

    @property
    def rows(self) -> list[list[str]]:
        lines = self.decisions.strip().splitlines()
        return [[cell.strip() for cell in line.split("|")] for line in lines]

    @property
    def stream(self) -> list[Row]:
        return [row(cells[0], number) for number, cells in enumerate(self.rows, 1)]


CASES = {
    "the_thesis_without_a10": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(B a, C b, D c) WITHIN 10;
CREATE QUERY q2 ON s PATTERN SEQ(A a, B b) WITHIN 10;
CREATE QUERY q3 ON s PATTERN SEQ(D a, E b) WITHIN 10;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b, E c) WITHIN 10;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 5, q2 WEIGHT 20, q3 WEIGHT 20
PRIVATE p1 WEIGHT 10
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        THESIS,
        [],
        (["C"], 4.0),
        """
a0 | yes | 20 | 0 | weights
b2 | yes | 20 | 0 | weights
c4 | no | 4 | -6 | weights
d6 | yes | 20 | 0 | weights
e8 | yes | 20 | 0 | weights
b12 | yes | 0 | 0 | weights
c14 | yes | 4 | 0 | weights
d16 | yes | 25 | 0 | weights
e18 | yes | 20 | 0 | weights
""",
    ),
    "the_thesis_with_three_bs": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(B a, C b, D c) WITHIN 10;
CREATE QUERY q2 ON s PATTERN SEQ(A a, B b) WITHIN 10;
CREATE QUERY q3 ON s PATTERN SEQ(D a, E b) WITHIN 10;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b, E c) WITHIN 10;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 5, q2 WEIGHT 20, q3 WEIGHT 20
PRIVATE p1 WEIGHT 10
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        THESIS,
        [],
        (["C"], 4.0),
        """
a0 | yes | 20 | 0 | weights
b2 | yes | 20 | 0 | weights
c4 | no | 4 | -6 | weights
d6 | yes | 20 | 0 | weights
e8 | yes | 20 | 0 | weights
a10 | yes | 20 | 0 | weights
b11 | yes | 20 | 0 | weights
b12 | yes | 20 | 0 | weights
b13 | yes | 20 | 0 | weights
c14 | yes | 12 | -6 | weights
""",
    ),
    # Z is what sanitizes: S would be the stream.
    "figure_4_1_greedy": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(X a, Z b) WITHIN 2;
CREATE QUERY q2 ON s PATTERN SEQ(W a, E b) WITHIN 2;
CREATE QUERY p1 ON s PATTERN SEQ(X a, E b) WITHIN 5;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 1, q2 WEIGHT 1
PRIVATE p1 NEVER
USING GREEDY PATIENCE 1;""",
        [],
        [],
        None,
        """
x2 | yes | 0 | 0 | weights
z4 | yes | 1 | 0 | weights
w5 | yes | 0 | 0 | weights
e6 | no | 1 | -inf | never
""",
    ),
    "a_type_bound_by_negation": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, !C b, B c) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 30
PRIVATE p1 WEIGHT 9
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        PLAIN,
        ["C"],
        ([], 5.4),
        """
a0 | yes | 17.957328 | -14.4 | weights
c1 | yes | 0 | -9 | bound
b2 | yes | 0 | 0 | weights
b4 | yes | 0 | 0 | weights
a5 | yes | 17.957328 | -14.4 | weights
b6 | yes | 30 | 0 | weights
c7 | yes | 0 | -9 | bound
""",
    ),
    "a_type_bound_by_next_match": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) USING SKIP TILL NEXT MATCH WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 9
PRIVATE p1 WEIGHT 4
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        PLAIN,
        ["B"],
        ([], 0.7),
        """
a0 | yes | 6.289252 | -4.8 | weights
b1 | yes | 9 | -4 | bound
b2 | yes | 0 | -4 | bound
a3 | yes | 6.289252 | -4.8 | weights
a4 | yes | 6.289252 | -4.8 | weights
b9 | yes | 0 | 0 | bound
""",
    ),
    "never_with_a_bound_last_type": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 6;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b, E c) WITHIN 6;
CREATE QUERY o1 ON s PATTERN SEQ(B a, !E b, D c) WITHIN 6;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 20
PRIVATE p1 NEVER
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        PLAIN,
        ["E"],
        (["C"], 10.0),
        """
a0 | yes | 36 | 0 | weights
b1 | yes | 20 | 0 | weights
c2 | no | 0 | -inf | never
e3 | yes | 0 | 0 | bound
c8 | yes | 0 | 0 | weights
e9 | yes | 0 | 0 | bound
""",
    ),
    "equal_times": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 1
PRIVATE p1 NEVER
USING GREEDY PATIENCE 1;""",
        [],
        [],
        None,
        """
a5 | yes | 0 | 0 | weights
b5 | yes | 0 | 0 | weights
b6 | no | 1 | -inf | never
""",
    ),
    "equal_times_with_a_tie_breaker": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 1
PRIVATE p1 NEVER
USING GREEDY PATIENCE 1;""",
        [],
        [],
        None,
        """
a5 | yes | 0 | 0 | weights
b5 | no | 1 | -inf | never
b6 | no | 1 | -inf | never
""",
        tie=True,
    ),
    "uncertain_events": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WITHIN 4;
CREATE QUERY p2 ON s PATTERN SEQ(B a, C b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 10
PRIVATE p1 WEIGHT 7, p2 WEIGHT 7
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        PLAIN,
        [],
        (["C"], 5.0),
        """
a0 p=0.5 | yes | 6 | 0 | weights
b1 | yes | 5 | 0 | weights
b2 p=0.8 | yes | 4 | 0 | weights
c3 | no | 0 | -16.1 | weights
a4 p=0.25 | yes | 3 | 0 | weights
c5 p=0.5 | no | 0 | -7.175 | weights
""",
    ),
    "never_looks_at_possibility": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 10
PRIVATE p1 NEVER
USING GREEDY PATIENCE 1;""",
        [],
        [],
        None,
        """
a0 p=0.01 | yes | 0 | 0 | weights
b1 p=0.01 | no | 0.001 | -inf | never
""",
    ),
    "equated_keys": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WHERE [k] WITHIN 6;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WHERE [k] WITHIN 6;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 10
PRIVATE p1 WEIGHT 2
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        KEYED,
        [],
        (["C"], 3.0),
        """
a0 (k=k) | yes | 6 | 0 | weights
b1 (k=l) | yes | 0 | 0 | weights
b2 (k=k) | yes | 10 | 0 | weights
c3 (k=l) | yes | 0 | 0 | weights
c4 (k=k) | no | 0 | -2 | weights
""",
    ),
    "weights_of_zero": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WITHIN 4;
CREATE QUERY p2 ON s PATTERN SEQ(B a, C b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 0
PRIVATE p1 WEIGHT 0, p2 WEIGHT 3
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        PLAIN,
        [],
        (["B"], 0.0),
        """
a0 | yes | 0 | 0 | weights
b1 | no | 0 | -4.8 | weights
c2 | yes | 0 | 0 | weights
c9 | yes | 0 | 0 | weights
""",
    ),
    "a_tie": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, C b) WITHIN 4;
CREATE QUERY q2 ON s PATTERN SEQ(B a, C b) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, B b, C c) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 0.1, q2 WEIGHT 0.2
PRIVATE p1 WEIGHT 0.3
USING GREEDY PATIENCE 1;""",
        [],
        [],
        None,
        """
a0 | yes | 0 | 0 | weights
b1 | yes | 0 | 0 | weights
c2 | yes | 0.3 | -0.3 | weights
""",
    ),
    "the_tie_from_the_other_side": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, C b) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WITHIN 4;
CREATE QUERY p2 ON s PATTERN SEQ(B a, C b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 0.3
PRIVATE p1 WEIGHT 0.1, p2 WEIGHT 0.2
USING GREEDY PATIENCE 1;""",
        [],
        [],
        None,
        """
a0 | yes | 0 | 0 | weights
b1 | yes | 0 | 0 | weights
c2 | yes | 0.3 | -0.3 | weights
""",
    ),
    "periodic": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 6;
CREATE QUERY p1 ON s PATTERN SEQ(B a, A b) WITHIN 6;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 4
PRIVATE p1 WEIGHT 6
USING HYBRID PERIODIC PERIOD 8 LEARN FROM h PATIENCE 1;""",
        CYCLES,
        [],
        ([], 0.162857),
        """
a41 | yes | 8 | 0 | weights
b42 | no | 4 | -6 | weights
a43 | yes | 4 | 0 | weights
b44 | yes | 8 | -6 | weights
a49 | yes | 8 | -6 | weights
b50 | no | 4 | -6 | weights
""",
    ),
    "periodic_stream_by_rates": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 6;
CREATE QUERY p1 ON s PATTERN SEQ(B a, A b) WITHIN 6;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 4
PRIVATE p1 WEIGHT 6
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        CYCLES,
        [],
        ([], 0.162857),
        """
a41 | yes | 6.514286 | 0 | weights
b42 | no | 4 | -9.771429 | weights
a43 | yes | 6.514286 | 0 | weights
b44 | no | 8 | -9.771429 | weights
a49 | yes | 6.514286 | 0 | weights
b50 | no | 4 | -9.771429 | weights
""",
    ),
    "types_and_never": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WITHIN 4;
CREATE QUERY p2 ON s PATTERN SEQ(C a, E b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 3
PRIVATE p1 WEIGHT 2, p2 NEVER
USING TYPES LEARN FROM h PATIENCE 1;""",
        PLAIN,
        [],
        (["C"], 1.5),
        """
a0 | yes | NULL | NULL | types
b1 | yes | NULL | NULL | types
c2 | no | NULL | NULL | types
e3 | yes | NULL | NULL | types
""",
    ),
    "type_level_ties": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(C a, D b) WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 3
PRIVATE p1 WEIGHT 2
USING TYPES LEARN FROM h PATIENCE 1;""",
        FOUR,
        [],
        (["C"], 0.9),
        """
a0 | yes | NULL | NULL | types
b1 | yes | NULL | NULL | types
c2 | no | NULL | NULL | types
d3 | yes | NULL | NULL | types
""",
    ),
    "exact_estimates": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b, C c) WITHIN 6;
CREATE QUERY p1 ON s PATTERN SEQ(A a, B b) WITHIN 6;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 5
PRIVATE p1 WEIGHT 4
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        TWENTY,
        [],
        ([], 0.5),
        """
a0 | no | 2.025 | -3.6 | weights
b1 | yes | 0 | 0 | weights
""",
    ),
    "estimates_wang": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b, C c) WITHIN 6;
CREATE QUERY p1 ON s PATTERN SEQ(A a, B b) WITHIN 6;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 5
PRIVATE p1 WEIGHT 4
USING HYBRID RATES ESTIMATES WANG LEARN FROM h PATIENCE 1;""",
        TWENTY,
        [],
        ([], 0.5),
        """
a0 | no | 0.9 | -3.6 | weights
b1 | yes | 0 | 0 | weights
""",
    ),
    "predicates": Case(
        """CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WHERE b.v >= 1 WITHIN 4;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b) WHERE a.v <= b.v WITHIN 4;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 10
PRIVATE p1 WEIGHT 5
USING HYBRID RATES LEARN FROM h PATIENCE 1;""",
        VALUED,
        [],
        (["C"], 3.0),
        """
a0 (v=1) | yes | 8 | 0 | weights
b1 (v=0) | yes | 0 | 0 | weights
b2 (v=1) | yes | 10 | 0 | weights
c3 (v=1) | no | 0 | -5 | weights
""",
    ),
}


def asked(case: Case) -> Session:
    ag = session(case.script, tie=case.tie)
    ag.bind("h", case.history)
    return ag


def is_as_printed(found: dict[str, object], cells: list[str]) -> bool:
    _, kept, gain, penalty, rule = cells
    return (
        (kept == "yes") is found["kept"]
        and rule == found["rule"]
        and is_number(found["gain"], gain)
        and is_number(found["penalty"], penalty)
    )


def is_number(found: object, printed: str) -> bool:
    if printed == "NULL" or found is None:
        return printed == "NULL" and found is None
    assert isinstance(found, float)
    return found == float(printed) or math.isclose(found, float(printed), abs_tol=6e-7)


@pytest.mark.parametrize("name", CASES)
def test_an_example_is_decided_as_printed(name: str) -> None:
    case = CASES[name]
    ag = asked(case)
    ag.bind("s", case.stream)
    found = ag.audit("pol").to_pylist()
    wrong = [
        (cells, each)
        for cells, each in zip(case.rows, found, strict=True)
        if not is_as_printed(each, cells)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", CASES)
def test_pushed_rows_are_decided_like_bound_ones(name: str) -> None:
    case = CASES[name]
    ag, bound = asked(case), asked(case)
    bound.bind("s", case.stream)
    for each in case.stream:
        ag.push("s", each)
    ag.finish()
    assert ag.audit("pol").equals(bound.audit("pol"))


@pytest.mark.parametrize("name", CASES)
def test_the_bound_types_and_the_type_level_of_an_example(name: str) -> None:
    from augury.evaluation.suppression import gated
    from augury.sources.tables import arrow_table

    case = CASES[name]
    ag = asked(case)
    policy = ag._declared.catalog.policies["pol"]
    assert sorted(policy.bound_types or ()) == case.bound
    queries = {each: query for each, (query, _) in ag._declared.queries.items()}
    bound = {"s": arrow_table("s", case.stream), "h": arrow_table("h", case.history)}
    decider = gated(ag._declared.catalog, queries, bound)["s"].decider
    if case.types is not None:
        dropped, utility = case.types
        assert sorted(decider.level.dropped) == dropped
        assert math.isclose(decider.level.utility / decider.tally.length, utility, abs_tol=6e-7)


def test_never_is_refused_where_nothing_may_be_dropped() -> None:
    with pytest.raises(QueryError, match="nothing of it may be dropped"):
        session("""
CREATE QUERY q1 ON s PATTERN SEQ(A a, B b) WITHIN 6;
CREATE QUERY p1 ON s PATTERN SEQ(A a, C b, E c) WITHIN 6;
CREATE QUERY o1 ON s PATTERN SEQ(B a, !E b, D c) WITHIN 6;
CREATE QUERY o2 ON s PATTERN SEQ(B a, !A b, D c) WITHIN 6;
CREATE QUERY o3 ON s PATTERN SEQ(B a, !C b, D c) WITHIN 6;
CREATE POLICY pol ON s PUBLIC q1 WEIGHT 20
PRIVATE p1 NEVER
USING HYBRID RATES LEARN FROM h;
""")


BINDING = {
    "PATTERN SEQ(A a, B b) WITHIN 2 EVENTS": None,
    "PATTERN NEXT(A a, B b) WITHIN 2": None,
    "PATTERN SEQ(A a, B b) USING STRICT WITHIN 2": None,
    "PATTERN SEQ(A a, B b) USING PARTITION CONTIGUITY WITHIN 2": None,
    "PATTERN SEQ(A a, B+ b, C c) WITHIN 2": set(),
    "PATTERN SEQ(A a, B* b, C{1,3} c) WITHIN 2": set(),
    "PATTERN SEQ(A a, B+ b, C c) USING SKIP TILL NEXT MATCH WITHIN 2": {"B", "C"},
    "PATTERN SEQ(A+ a, B b) USING SKIP TILL NEXT MATCH WITHIN 2": {"A", "B"},
    "PATTERN SEQ(LAST(A a), B b) WITHIN 2": {"A"},
    "PATTERN SEQ(FIRST(A a), B b) WITHIN 2": {"A"},
    "PATTERN SEQ(A a, !SEQ(C c, D d), B b) WITHIN 2": {"C", "D"},
    "PATTERN AND(A a, B b) WITHIN 2 RETURN PROBABILITY": set(),
}


@pytest.mark.parametrize("pattern", BINDING)
def test_a_published_query_binds_what_could_make_a_match_appear(pattern: str) -> None:
    ag = session(f"""
CREATE QUERY p1 ON s PATTERN SEQ(X a, Y b) WITHIN 6;
CREATE QUERY o1 ON s {pattern};
CREATE POLICY pol ON s PRIVATE p1 WEIGHT 1 USING GREEDY;
""")
    bound = ag._declared.catalog.policies["pol"].bound_types
    assert bound == (None if BINDING[pattern] is None else frozenset(BINDING[pattern] or ()))


def test_what_a_negated_derived_event_is_made_of_is_bound() -> None:
    ag = session("""
CREATE QUERY p1 ON s PATTERN SEQ(X a, Y b) WITHIN 6;
CREATE QUERY lower ON s PATTERN SEQ(A a, B b) WITHIN 3;
CREATE QUERY upper ON s, lower PATTERN SEQ(C c, !lower l, D d) WITHIN 6;
CREATE POLICY pol ON s PRIVATE p1 WEIGHT 1 USING GREEDY;
""")
    policy = ag._declared.catalog.policies["pol"]
    assert policy.bound_types == {"A", "B"}
    assert {each.by for each in policy.bound} == {"upper"}


# The formulas of the thesis ---------------------------------------------------------------------


def test_the_estimate_of_the_thesis_and_the_exact_one() -> None:
    assert expected_wang("AB", (1.0, 1.0), 2.0) == pytest.approx(1.5)
    assert expected((1.0, 1.0), (0.0, 0.0, 0.0), 2.0) == pytest.approx(2.0)
    assert expected_wang("CE", (0.1, 0.1), 3.0) == 0.0
    assert expected((0.1, 0.1), (0.0, 0.0, 0.0), 3.0) == pytest.approx(0.045)


@pytest.mark.parametrize(
    ("steps", "cycle", "counts"),
    [("AB", "ABAB", (3, 10, 21)), ("AB", "BBAA", (0, 4, 12)), ("ABCD", "ABCD", (1, 5, 15))],
)
def test_equation_4_9_is_counting(steps: str, cycle: str, counts: tuple[int, ...]) -> None:
    for cycles, count in enumerate(counts, 1):
        events = [
            Event(t, None, t, kind, (Face(1.0, {}),)) for t, kind in enumerate(cycle * cycles)
        ]
        assert matches_in(plain_pattern("q", steps, 1000), events) == count
