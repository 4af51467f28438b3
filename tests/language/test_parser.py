"""Scripts to statements: clauses, dialects, and where one statement ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from augury.language.expressions import Attribute, Duration, Literal
from augury.language.tree import (
    Allow,
    Compares,
    Component,
    CreateGaps,
    Edge,
    Explain,
    External,
    Gap,
    Group,
    Having,
    Holds,
    Kleene,
    Not,
    Option,
    Repetition,
    Return,
    Subgoal,
    Subgoals,
    Variable,
    Window,
    Write,
)
from language.mutation import PARSES, VALID
from language.reading import read, read_one, read_pattern, read_query

SIGMA = "\N{GREEK SMALL LETTER SIGMA}"


@pytest.mark.parametrize("path", [*VALID, *PARSES], ids=lambda path: path.stem)
def test_valid_scripts_are_read_without_a_finding(path: Path) -> None:
    parsed = read(path.read_text(encoding="utf-8"))
    assert [diagnostic.render() for diagnostic in parsed.diagnostics] == []
    assert len(parsed.statements) > 2


def test_a_window_of_ticks_may_stand_before_an_event_pattern() -> None:
    turned = read_query("CREATE QUERY q ON s WITHIN 1 EVENT AND(A a, B b)")
    assert turned == read_query("CREATE QUERY q ON s EVENT AND(A a, B b) WITHIN 1")


def test_clauses_may_come_in_any_order() -> None:
    canonical = read_query(
        "CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE a.x = b.x USING STRICT WITHIN 5 MINUTES"
        " ALLOW 1 MISSED GROUP BY a.x HAVING CONFIDENCE > 0.5 RETURN COUNT MATCH LIMIT 9"
    )
    turned = read_query(
        "CREATE QUERY q MATCH LIMIT 9 RETURN COUNT HAVING CONFIDENCE > 0.5 GROUP BY a.x"
        " ALLOW 1 MISSED WITHIN 5 min USING STRICT WHERE a.x = b.x PATTERN SEQ(A a, B b) ON s"
    )
    assert turned == canonical


def test_each_clause_knows_its_place() -> None:
    text = "CREATE QUERY q ON s PATTERN SEQ(A a) WITHIN 5 MINUTES"
    places = dict(read_query(text).places)
    assert {word: text[at.start : at.end] for word, at in places.items()} == {
        "ON": "ON s",
        "PATTERN": "PATTERN SEQ(A a)",
        "WITHIN": "WITHIN 5 MINUTES",
    }


@pytest.mark.parametrize(
    ("clause", "field", "value"),
    [
        ("WITHIN 12 HOURS", "within", Window(Duration(12, "HOUR"))),
        ("WITHIN 45 sec", "within", Window(Duration(45, "SECOND"))),
        ("WITHIN 100 EVENTS", "within", Window(100, events=True)),
        ("WITHIN 1 EVENT", "within", Window(1, events=True)),
        ("WITHIN 1 event USING STRICT", "within", Window(1, events=True)),
        ("WITHIN 500", "within", Window(500)),
        ("EVERY 1 d", "every", Window(Duration(1, "DAY"))),
        ("ALLOW ALL MISSED", "allow", Allow(None)),
        ("ALLOW 2 MISSED OF (x, z)", "allow", Allow(2, ("x", "z"))),
        ("HAVING CONFIDENCE >= 0.8", "having", Having("CONFIDENCE", 0.8)),
        ("HAVING CONF(*) > 0.8", "having", Having("CONFIDENCE", 0.8, strict=True)),
        ("THRESHOLD 0.80", "having", Having("CONFIDENCE", 0.8)),
        ("HAVING PROBABILITY >= 1", "having", Having("PROBABILITY", 1.0)),
        ("USING SKIP TILL ANY MATCH", "strategy", "ANY"),
        ("USING SKIP TILL NEXT MATCH", "strategy", "NEXT"),
        ("USING skip-till-next-match", "strategy", "NEXT"),
        ("USING STRICT CONTIGUITY", "strategy", "STRICT"),
        ("USING PARTITION CONTIGUITY", "strategy", "PARTITION"),
        (
            "GROUP BY person, o.type",
            "group_by",
            (Attribute(None, "person"), Attribute("o", "type")),
        ),
        ("RETURN *", "returns", Return("STAR")),
        ("RETURN COUNT", "returns", Return("COUNT")),
        ("RETURN TOTAL COUNT", "returns", Return("TOTAL COUNT")),
        ("RETURN PROBABILITY BY TIME", "returns", Return("PROBABILITY BY TIME")),
        (
            "RETURN PROBABILITY BY TIME OVER 30",
            "returns",
            Return("PROBABILITY BY TIME", over=Window(30)),
        ),
        (
            "RETURN PROBABILITY BY TIME OVER 2 min",
            "returns",
            Return("PROBABILITY BY TIME", over=Window(Duration(2, "MINUTE"))),
        ),
        ("CORRELATED BY moves", "correlated_by", "moves"),
        ("SCORING AYAC", "scoring", "AYAC"),
    ],
)
def test_every_clause_of_a_query_is_read(clause: str, field: str, value: object) -> None:
    assert getattr(read_query(f"PATTERN SEQ(A a, B b) {clause}"), field) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", Component("A")),
        ("A a", Component("A", "a")),
        ("_ a", Component("_", "a")),
        ("B+ b", Component("B", "b", Repetition(1, None))),
        ("B+ b[]", Component("B", "b", Repetition(1, None))),
        ("B* b", Component("B", "b", Repetition(0, None))),
        ("B? b", Component("B", "b", Repetition(0, 1))),
        ("B{2,5} b", Component("B", "b", Repetition(2, 5))),
        ("B{3} b", Component("B", "b", Repetition(3, 3))),
        ("B{2,} b", Component("B", "b", Repetition(2, None))),
        ("B{,5} b", Component("B", "b", Repetition(0, 5))),
        ("A (p)", Component("A", filter=Attribute(None, "p"))),
        ("!A a", Not(Component("A", "a"))),
        ("\N{NOT SIGN}(A a)", Not(Component("A", "a"))),
        ("ANY(A, B)", Group("OR", (Component("A"), Component("B")))),
        ("LAST(A a)", Edge("LAST", Component("A", "a"))),
        ("!SEQ(A, B)", Not(Group("SEQ", (Component("A"), Component("B"))))),
        ("(NEXT(A, (B)))", Group("NEXT", (Component("A"), Component("B")))),
        ("SEQ(seq, next first)", Group("SEQ", (Component("seq"), Component("next", "first")))),
    ],
)
def test_every_form_of_a_pattern_is_read(text: str, expected: object) -> None:
    assert read_pattern(text) == expected


def test_gaps_are_given_or_learned() -> None:
    given = read_one(
        "CREATE GAPS g ON q (x TO y gamma(2, 5 s) REACHES 0.9, x BEFORE z UNIFORM(1, 2))"
    )
    assert given == CreateGaps(
        "g",
        "q",
        None,
        (
            Gap("x", "y", False, "GAMMA", (2, Duration(5, "SECOND")), 0.9),
            Gap("x", "z", True, "UNIFORM", (1, 2)),
        ),
    )
    assert read_one("CREATE GAPS g ON q LEARN FROM h") == CreateGaps("g", "q", "h")


def test_explain_has_a_format() -> None:
    assert read_one("EXPLAIN q FORMAT svg") == Explain("q", "SVG")
    assert read_one("EXPLAIN q") == Explain("q")


def test_write_has_a_target() -> None:
    assert read_one("WRITE q TO console") == Write("q", External("console"))
    assert read_one("write q to Kafka 'hits' OPTIONS (servers = 'a:1')") == Write(
        "q", External("kafka", "hits", (Option("servers", "a:1"),))
    )


# Dialects ----------------------------------------------------------------------------------------


def test_ayac_means_any_match_untyped_names_and_all_missed() -> None:
    query = read_query("SEQUENCE (x,!y,z) WITHIN 12 hours THRESHOLD 0.80")
    assert query.pattern == Group(
        "SEQ", (Component("_", "x"), Not(Component("_", "y")), Component("_", "z"))
    )
    assert (query.strategy, query.allow) == ("ANY", Allow(None))
    assert query.having == Having("CONFIDENCE", 0.8)


def test_what_an_ayac_query_says_itself_stands() -> None:
    query = read_query("SEQUENCE (x, y) ALLOW 1 MISSED USING STRICT")
    assert (query.strategy, query.allow) == ("STRICT", Allow(1))


def test_an_event_query_with_instance_names_returns_matches() -> None:
    query = read_query("EVENT AND (O o,(SEQ(A a, B b))) WITHIN 12 hours HAVING CONF(*) > 0.8.")
    assert query.pattern.parts[1] == Group("SEQ", (Component("A", "a"), Component("B", "b")))
    assert query.returns is None


def test_an_event_query_without_instance_names_asks_for_a_probability() -> None:
    query = read_query("EVENT AND(O, X) WHERE O.l = X.l WITHIN 12 hours; GROUP BY O.type.")
    assert query.returns == Return("PROBABILITY")
    assert query.group_by == (Attribute("O", "type"),)
    judged = read_query("EVENT AND(O, X) HAVING CONF(*) > 0.8")
    assert judged.having == Having("PROBABILITY", 0.8, strict=True)


def test_sase_puts_the_strategy_in_front_of_where() -> None:
    query = read_query("PATTERN SEQ(A a, B b) WHERE skip-till-next-match AND [x] AND a.y = 1")
    assert query.strategy == "NEXT"
    assert query == read_query(
        "PATTERN SEQ(A a, B b) WHERE [x] AND a.y = 1 USING SKIP TILL NEXT MATCH"
    )
    braced = read_query(
        "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [x] AND a.y = 1 }"
    )
    assert braced == query


def test_lahar_is_read_into_subgoals() -> None:
    query = read_query("At('joe', 'a'); At('joe', l)+<{l}, Hallway(l)>; At('joe', -)")
    joe, place = Literal("joe"), Variable("l")
    assert query.pattern == Subgoals(
        (
            Subgoal("At", (joe, Literal("a"))),
            Subgoal("At", (joe, place), kleene=Kleene(("l",), (Holds("Hallway", (place,)),))),
            Subgoal("At", (joe, Variable("_"))),
        ),
        ((), (), ()),
    )
    assert (query.strategy, query.returns) == ("NEXT", Return("PROBABILITY BY TIME"))


def test_a_sigma_outside_selects_and_one_inside_filters() -> None:
    is_b = Compares("=", Variable("y"), Literal("b"))
    first, second = Subgoal("R", (Literal("a"),)), Subgoal("R", (Variable("y"),))
    outside = read_query(f"{SIGMA}_{{y = 'b'}}(R('a'); R(y))").pattern
    assert outside == Subgoals((first, second), ((), (is_b,)))
    inside = read_query(f"R('a'); ({SIGMA}_{{y = 'b'}} R(y))").pattern
    filtered = Subgoal("R", (Variable("y"),), inner=(is_b,))
    assert inside == Subgoals((first, filtered), ((), ()))


@pytest.mark.parametrize(
    "text",
    [
        f"{SIGMA}_{{P(x), x > 1}}(R(x); S())",
        f"{SIGMA}[P(x) AND x > 1](R(x); S())",
        "SIGMA_{P(x) \N{LOGICAL AND} x > 1}((R(x); S()))",
        f"{SIGMA}_{{x > 1}}({SIGMA}_{{P(x)}}(R(x); S()))",
    ],
)
def test_sigma_has_several_spellings(text: str) -> None:
    pattern = read_query(text).pattern
    conditions = (Holds("P", (Variable("x"),)), Compares(">", Variable("x"), Literal(1)))
    assert pattern.selections == ((), conditions)


@pytest.mark.parametrize(
    ("plus", "kleene"),
    [
        ("+", Kleene(())),
        ("+<>", Kleene(())),
        ("+<{x, y}, >", Kleene(("x", "y"))),
        (
            "+\N{MATHEMATICAL LEFT ANGLE BRACKET}{x}\N{MATHEMATICAL RIGHT ANGLE BRACKET}",
            Kleene(("x",)),
        ),
        ("+<\N{EMPTY SET}, P(x)>", Kleene((), (Holds("P", (Variable("x"),)),))),
        ("+<{}, x > 3>", Kleene((), (Compares(">", Variable("x"), Literal(3)),))),
        ("+<{x}, true>", Kleene(("x",))),
    ],
)
def test_the_kleene_plus_has_several_spellings(plus: str, kleene: Kleene) -> None:
    assert read_query(f"R(); S(x, y){plus}; T(x)").pattern.goals[1].kleene == kleene


def test_clauses_may_follow_a_lahar_body() -> None:
    query = read_query(
        "CREATE QUERY q ON At AS At(p, 'a'); At(p, 'b') GROUP BY person RETURN PROBABILITY"
    )
    assert query.returns == Return("PROBABILITY")
    assert len(query.pattern.goals) == 2


# Where a statement ends --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (";;;", 0),
        ("-- nothing", 0),
        ("EXPLAIN a; EXPLAIN b", 2),
        ("EXPLAIN a; EXPLAIN b;", 2),
        ("R(x); S(x); EXPLAIN q", 2),
        ("CREATE QUERY a ON s R(x); S(x); CREATE QUERY b ON s R(x); S(x)", 2),
        ("CREATE QUERY a ON s, t AS R(x)+<{x}, P(x) AND Q(x)>; S(x); EXPLAIN a", 2),
        ("CREATE QUERY a ON s R(x); S(x) RETURN PROBABILITY; R(y); S(y)", 2),
        ("PATTERN SEQ(A a); R(x); S(x)", 2),
        ("EVENT AND(O, X) WITHIN 5 h; GROUP BY O.t.; EXPLAIN q", 2),
    ],
)
def test_a_script_is_cut_where_statements_end(text: str, count: int) -> None:
    parsed = read(text)
    assert parsed.diagnostics == ()
    assert len(parsed.statements) == count
