"""The class of a query, by Lahar's definitions and Algorithm 1, in both spellings."""

# ruff: noqa: RUF001 - sigma is Lahar's sign of selection

from __future__ import annotations

import pytest

from analysis.checking import PLACES, READS, query
from augury.analysis.checked import Verdict

STREAMS = (
    PLACES
    + """
CREATE STREAM Carries (person STRING, object STRING, place STRING, t LONG, p DOUBLE)
KEY (person, object) TIME t ALTERNATIVES place PROBABILITY p;
CREATE STREAM R (x STRING, t LONG, p DOUBLE) KEY x TIME t PROBABILITY p;
CREATE STREAM S (x STRING, t LONG, p DOUBLE) KEY x TIME t PROBABILITY p;
CREATE STREAM T (k STRING, y STRING, t LONG, p DOUBLE) KEY (k, y) TIME t PROBABILITY p;
CREATE STREAM U (x STRING, t LONG, p DOUBLE) KEY x TIME t PROBABILITY p;
CREATE STREAM N (t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE TABLE Laptop (o STRING);
CREATE TABLE Office (o STRING);
CREATE TABLE LectureRoom (o STRING);
CREATE TABLE Theta (x STRING, y STRING);
"""
)
SAMPLED = " APPROXIMATE (0.01, 0.05)"


def lahar(goals: str) -> Verdict:
    return query(f"CREATE QUERY q AS {goals}{SAMPLED};", STREAMS).verdict


def ours(text: str, streams: str = STREAMS) -> Verdict:
    clauses = f"USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME{SAMPLED}"
    return query(f"CREATE QUERY q ON {text} {clauses};", streams).verdict


JOE = "At('joe', 'a'); At('joe', l)+<{}, Hallway(l)>; At('joe', 'c')"
HALL = "σ[Person(x)](At(x, 'a'); At(x, l2)+<{x}, Hallway(l2)>; At(x, 'c'))"
TALK = (
    "σ[Person(x), Laptop(y), Office(z), LectureRoom(u)](Carries(x, y, z); "
    "Carries(x, y, _)+<{x, y}>; At(x, u))"
)


@pytest.mark.parametrize(
    ("goals", "kind"),
    [
        (JOE, "regular"),
        (HALL, "extended regular"),
        (TALK, "safe"),
        ("At(p, l1); At(p, l2); At(q, l3)", "hard"),
        ("R(x); S(x); T('a', y)", "safe"),
        ("σ[Theta(x, y)](R(x); S(y))", "hard"),
        ("N(); S(x)+<{x}>", "hard"),
        ("N(); S(x); U(x)", "hard"),
        ("R(x); N(); U(x)", "hard"),
        ("R('a'); R('b')", "regular"),
        ("σ[y = 'b'](R('a'); R(y))", "regular"),
    ],
)
def test_lahars_queries_have_their_classes(goals: str, kind: str) -> None:
    assert lahar(goals).kind == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("At PATTERN SEQ(At a, At+ b, At c) WHERE [person] AND a.person = 'joe'", "regular"),
        ("At PATTERN SEQ(At a, At+ b, At c) WHERE [person]", "extended regular"),
        (
            (
                "Carries, At PATTERN SEQ(Carries a, Carries+ b, At c) WHERE [person] AND "
                "a.object = b.object"
            ),
            "safe",
        ),
        ("At PATTERN SEQ(At a, At b, At c) WHERE a.person = b.person", "hard"),
        ("R, S, T PATTERN SEQ(R r, S s, T t) WHERE r.x = s.x AND t.k = 'a'", "safe"),
        ("R, S PATTERN SEQ(R r, S s) AFTER WHERE (r.x, s.x) IN Theta", "hard"),
        ("N, S PATTERN SEQ(N n, S+ s) WHERE s[i].x = s[1].x", "hard"),
        ("N, S, U PATTERN SEQ(N n, S s, U u) WHERE s.x = u.x", "hard"),
        ("R, N, U PATTERN SEQ(R r, N n, U u) WHERE r.x = u.x", "hard"),
    ],
)
def test_our_spelling_has_the_same_classes(text: str, kind: str) -> None:
    assert ours(text).kind == kind


def test_the_safe_plan_of_lahars_figure_is_printed() -> None:
    plan = "seq(π₋ₓ(reg⟨x⟩(R(x); S(x))), T('a', y))"
    assert lahar("R(x); S(x); T('a', y)").plan == plan
    assert ours("R, S, T PATTERN SEQ(R r, S s, T t) WHERE r.x = s.x AND t.k = 'a'").plan == plan


def test_the_plan_of_the_talk_projects_the_laptop_before_the_lecture_room() -> None:
    assert lahar(TALK).plan == (
        "π₋ₓ(σ⟨LectureRoom(u)⟩(seq("
        "π₋⟨y⟩(reg⟨x, y⟩(Carries(x, y, z); Carries(x, y, _)+⟨{x, y}⟩)), At(x, u))))"
    )


def test_only_safe_queries_have_a_plan() -> None:
    assert [lahar(goals).plan for goals in (JOE, HALL, "N(); S(x); U(x)")] == [None, None, None]


def test_where_definition_and_algorithm_disagree_the_algorithm_says_why() -> None:
    reasons = lahar("At(p, l1); At(p, l2); At(q, l3)").reasons
    assert "one event can match both At(p, l1) and At(q, l3)" in reasons


def test_a_talk_without_the_object_in_the_key_is_hard() -> None:
    streams = STREAMS.replace("KEY (person, object)", "KEY person")
    text = (
        "Carries, At PATTERN SEQ(Carries a, Carries+ b, At c) WHERE [person] AND "
        "a.object = b.object"
    )
    assert ours(text, streams).kind == "hard"


def test_markov_links_change_nothing() -> None:
    linked = STREAMS.replace(
        "ALTERNATIVES place PROBABILITY p;", "ALTERNATIVES place PROBABILITY p MARKOV moves;"
    )
    for text in ("At PATTERN SEQ(At a, At b) WHERE [person]", "At PATTERN SEQ(At a, At b)"):
        assert ours(text, linked) == ours(text)


def test_a_group_counts_as_a_constant() -> None:
    text = (
        "CREATE QUERY q ON R, N, U PATTERN SEQ(R r, N n, U u) WHERE r.x = u.x "
        "USING SKIP TILL NEXT MATCH GROUP BY x RETURN PROBABILITY BY TIME;"
    )
    assert query(text, STREAMS).verdict.kind == "regular"


def test_a_group_that_is_in_the_key_of_all_components_is_still_one_chain_for_each_key() -> None:
    text = (
        "CREATE QUERY q ON At PATTERN SEQ(At a, At b) WHERE [person] USING SKIP TILL NEXT MATCH"
        " GROUP BY person RETURN PROBABILITY BY TIME;"
    )
    assert query(text, STREAMS).verdict.kind == "extended regular"


def test_alternatives_of_one_object_may_be_shared() -> None:
    verdict = lahar("At('joe', 'a'); At('joe', l)+<{l}, Hallway(l)>; At('joe', 'c')")
    assert verdict.kind == "regular"
    assert "l is shared, but only between alternatives of one object" in verdict.reasons[0]
    assert lahar("At(p, l); At(q, l)").kind == "hard"


# Negation, contiguity, windows ----------------------------------------------------------------


def test_a_negation_that_shares_the_key_keeps_values_independent() -> None:
    assert ours("R, S, U PATTERN SEQ(R r, !S s, U u) WHERE [x]").kind == "extended regular"
    assert ours("R, S, U PATTERN SEQ(R r, !S s, U u) WHERE r.x = u.x").kind == "hard"
    assert ours("R, S, U PATTERN SEQ(R r, !S s, U u)").kind == "regular"


def test_strict_contiguity_ties_all_values_together() -> None:
    text = (
        "CREATE QUERY q ON R, S PATTERN SEQ(R r, S s) WHERE [x] USING {} RETURN "
        "PROBABILITY BY TIME APPROXIMATE (0.1, 0.1);"
    )
    assert query(text.format("STRICT"), STREAMS).verdict.kind == "hard"
    assert query(text.format("PARTITION CONTIGUITY"), STREAMS).verdict.kind == "extended regular"


def test_a_window_of_events_ties_all_values_together() -> None:
    assert ours("R, S PATTERN SEQ(R r, S s) WHERE [x] WITHIN 10 EVENTS").kind == "hard"
    assert ours("R, S PATTERN SEQ(R r, S s) WHERE [x] WITHIN 10").kind == "extended regular"


def test_comparing_unfoldings_is_not_local() -> None:
    assert ours("T PATTERN SEQ(T a, T+ b) WHERE b[i].y > b[i-1].y").kind == "hard"
    assert ours("T PATTERN SEQ(T a, T+ b) WHERE COUNT(b) > 2").kind == "hard"


# Joins within a window (type and rank queries) ------------------------------------------------

JOINS = """
CREATE STREAM o (location STRING, kind STRING, at TIMESTAMP, p DOUBLE) TIME at PROBABILITY p;
CREATE STREAM x (location STRING, kind STRING, at TIMESTAMP, p DOUBLE) TIME at PROBABILITY p;
CREATE STREAM y (kind STRING, at TIMESTAMP, p DOUBLE) TIME at PROBABILITY p;
"""


def join(text: str) -> Verdict:
    return query(
        f"CREATE QUERY q {text} WITHIN 12 HOURS RETURN PROBABILITY{SAMPLED};", JOINS
    ).verdict


def test_a_join_on_one_attribute_is_safe() -> None:
    verdict = join("ON o, x PATTERN AND(o, x) WHERE o.location = x.location GROUP BY o.kind")
    assert verdict.kind == "safe"
    assert verdict.plan == "π₋⟨location⟩(join(π⟨location, kind⟩(o), π⟨location⟩(x)))"


def test_a_join_whose_variables_nest_is_safe() -> None:
    text = "ON o, x, y PATTERN AND(o, x, y) WHERE o.location = x.location"
    assert join(text).plan == ("join(π₋⟨location⟩(join(π⟨location⟩(o), π⟨location⟩(x))), π⟨⟩(y))")


def test_a_join_whose_variables_cross_is_hard() -> None:
    text = "ON o, x, y PATTERN AND(o, x, y) WHERE o.location = x.location AND x.kind = y.kind"
    assert join(text).kind == "hard"


def test_a_join_by_an_inequality_is_safe() -> None:
    verdict = join("ON o, x PATTERN AND(o, x) WHERE o.location < x.location")
    assert verdict.kind == "safe"
    assert verdict.plan == "least(π⟨⟩(o), π⟨⟩(x))"


def test_a_join_by_inequalities_in_a_circle_is_hard() -> None:
    text = "ON o, x PATTERN AND(o, x) WHERE o.location < x.location AND o.kind > x.kind"
    assert join(text).kind == "hard"


def test_a_join_by_difference_is_hard() -> None:
    assert join("ON o, x PATTERN AND(o, x) WHERE o.location <> x.location").kind == "hard"


def test_a_join_of_a_stream_with_itself_is_no_product() -> None:
    assert join("ON o PATTERN AND(o a, o b) WHERE a.kind < b.kind").kind == "hard"


def test_events_of_an_uncertain_query_are_not_independent() -> None:
    text = (
        "CREATE QUERY p ON reads PATTERN SEQ(A a, B b) WITHIN 1 HOUR;"
        "CREATE QUERY q ON p PATTERN SEQ(p a, p b) WITHIN 1 HOUR RETURN PROBABILITY" + SAMPLED + ";"
    )
    assert query(text).verdict.kind == "hard"


# Queries that return matches ------------------------------------------------------------------


def test_matches_of_uncertain_streams_are_enumerated() -> None:
    text = "CREATE QUERY q ON reads PATTERN SEQ(A a, B b) WITHIN 1 HOUR"
    assert query(text + ";").verdict.kind == "enumerated"
    assert query(text + " RETURN COUNT;").verdict.kind == "enumerated"


CERTAIN = READS.replace(" PROBABILITY p", "")
SHOP = "CREATE QUERY q ON reads PATTERN SEQ(A x, !B y, C z) WITHIN 1 HOUR "


def test_certain_streams_make_a_query_deterministic() -> None:
    assert query(SHOP + ";", CERTAIN).verdict.kind == "deterministic"
    assert query(SHOP + "RETURN PROBABILITY;", CERTAIN).verdict.kind == "deterministic"


def test_what_may_be_missed_makes_a_query_uncertain() -> None:
    assert query(SHOP + "ALLOW 1 MISSED;", CERTAIN).verdict.kind == "enumerated"
    rated = SHOP + "MISS RATE (y 0.1);"
    assert query(rated, CERTAIN).verdict.kind == "deterministic"
    timed = rated + "CREATE GAPS g ON q (x TO y EXPONENTIAL(1 HOUR));"
    assert query(timed, CERTAIN).verdict.kind == "enumerated"
