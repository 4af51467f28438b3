"""EXPLAIN in its four forms says what the plan says."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from augury.planning.explain import explain
from planning.scripts import checked, query

SHOPLIFTING = """
CREATE QUERY shoplifting ON reads
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'staff' AND z.price > x.price AND x.door IN doors
WITHIN 12 HOURS ALLOW 1 MISSED OF (x) HAVING CONFIDENCE >= 0.8
RETURN z.tag AS tag, z.at AS gone;
CREATE GAPS g ON shoplifting (x BEFORE z EXPONENTIAL(40 MINUTES) REACHES 0.95);
"""
LENIENT = SHOPLIFTING.replace(">= 0.8", ">= 0.5")

EXPECTED = """\
shoplifting: enumerated
  because the query returns matches, each with its own confidence

  SEQ(x, !y, z)
    x  SHELF of reads, x.door IN doors
    y  no COUNTER of reads
    z  EXIT of reads, z.door <> 'staff'
  skip till any match; within 12 hours; up to 1 missed; confidence >= 0.8

Plan
  scan     Spark   reads (id, tag, reader, door, price, at, seq, p)
  mask     Spark   test who can play the 3 components, drop the rest
  shuffle  Spark   hash (tag) into shards
  sort     Spark   order each part by at, seq
  source   engine  reads: check rows, number equal ones, let them go on in the order of
                   time
  match    engine  shoplifting: enumerate matches, pruned by window, threshold and
                   predicates; search the partitions to which an event came that may end
                   a match
  answer   engine  tag, gone

Automaton
  3 states, 2 transitions, 1 edge over missed events, 1 guard
  >   0  SEQ(x, z)  ── x ──▶ 1
                    ╌╌ x missed, at most 0.655 ╌╌▶ 1  (removed: below the threshold 0.8)
      1  z          ── z ──▶ 2
   *  2  done
  no y between x and z

Predicates
  to Spark       x  (`reader` = 'SHELF')
                 y  (`reader` = 'COUNTER')
                 z  ((`reader` = 'EXIT') AND (NOT (`door` = 'staff')))
  to the queues  tag equal over all components: one set of queues per key
                 x.door IN doors: tested as the event arrives
  to the search  z.price > x.price, when z is bound

Partitioning
  by key (tag): the attribute is equal over all components
  moves 64 bytes a row: (mask) 8, tag 16, at 8, seq 8, id 8, p 8, price 8
  of reads: about 20% of the rows (a guess)

State
  the events of the last 12 hours, 64 bytes each, per key

Missed events
  x: may be missed (0.1)
  y: taken as read
  z: must be seen
  no missed component can reach the threshold, so ALLOW adds no match
"""


def test_text_is_one_screen_that_says_it_all() -> None:
    text = explain(checked(SHOPLIFTING)[0])
    assert text.split("\nWarnings")[0].rstrip() + "\n" == EXPECTED


def test_json_has_the_documented_keys() -> None:
    found = json.loads(explain(checked(SHOPLIFTING)[0], "json"))
    assert list(found) == [
        "query",
        "class",
        "reasons",
        "safe_plan",
        "pattern",
        "strategy",
        "after_match",
        "within",
        "every",
        "over",
        "having",
        "allow_missed",
        "returns",
        "not_evaluated",
        "components",
        "plan",
        "stages",
        "automaton",
        "predicates",
        "partitioning",
        "moved",
        "movement",
        "state",
        "network",
        "warnings",
    ]
    assert found["within"] == {"length": 43_200_000_000, "events": False}
    assert found["automaton"]["guards"] == [{"forbids": "y", "means": "no y between x and z"}]
    assert found["partitioning"]["key"] == {"reads": ["tag"]}


@pytest.mark.parametrize(
    ("pattern", "rest"),
    [
        ("SEQ(SHELF x, EXIT z)", "USING STRICT WITHIN 1 HOUR"),
        ("SEQ(SHELF x, EXIT z)", ""),
        ("SEQ(SHELF x, EXIT z)", "RETURN PROBABILITY BY TIME"),
    ],
)
def test_json_and_text_say_the_same_of_each_operator(pattern: str, rest: str) -> None:
    asked = checked(query(pattern, rest))[0]
    text = " ".join(explain(asked).split())
    for step in json.loads(explain(asked, "json"))["plan"]:
        assert f"{step['name']} {step['runs_on']} {step['does']}" in text


def does(asked: str) -> dict[str, str]:
    found = json.loads(explain(checked(asked)[0], "json"))
    return {step["name"]: step["does"] for step in found["plan"]}


def test_a_component_of_several_streams_is_counted_once() -> None:
    more = "CREATE STREAM more (tag STRING, reader STRING, ts TIMESTAMP) TIME ts TYPE reader;"
    steps = does(more + query("SEQ(SHELF x, EXIT z)").replace("ON reads", "ON reads, more"))
    assert steps["mask"] == "test who can play the 2 components, drop the rest"
    assert steps["sort"] == "order each part by at, seq of reads; ts of more"


def test_json_documents_every_key() -> None:
    from augury.planning.explain import json as writer

    documented = writer.__doc__ or ""
    found = json.loads(explain(checked(SHOPLIFTING)[0], "json"))
    assert [key for key in found if key not in documented] == []


SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(explain(checked(text)[0], "svg"))


def test_the_picture_draws_seen_edges_solid_missed_ones_dashed_and_guards_struck() -> None:
    picture = drawn(LENIENT)
    paths = [p.get("class") for p in picture.iter(f"{SVG}path") if p.get("class")]
    in_the_legend = 1
    assert paths.count("edge seen") == 2 + in_the_legend
    assert paths.count("edge missed") == 1 + in_the_legend
    assert paths.count("strike") == 1 + in_the_legend
    assert len([c for c in picture.iter(f"{SVG}circle") if "state" in str(c.get("class"))]) == 3


def test_everything_in_the_picture_lies_inside_it() -> None:
    picture = drawn(query("SEQ(SHELF a, AND(COUNTER b, EXIT+ c), SHELF? d, EXIT e)"))
    width, height = float(picture.get("width", 0)), float(picture.get("height", 0))
    for circle in picture.iter(f"{SVG}circle"):
        assert 22 <= float(circle.get("cx", 0)) <= width - 22
        assert 22 <= float(circle.get("cy", 0)) <= height - 22
    for text in picture.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x", 0)) <= width
        assert 10 <= float(text.get("y", 0)) <= height


def test_a_picture_escapes_what_names_may_hold() -> None:
    picture = drawn(query('SEQ(SHELF `a<b`, EXIT `"&`)'))
    assert 'SEQ(a<b, "&)' in "".join(picture.itertext())


def test_an_automaton_that_is_too_large_to_draw_says_so() -> None:
    parts = ", ".join(f"_ c{k}" for k in range(8))
    assert "too many to draw" in explain(checked(query(f"AND({parts})"))[0], "svg")


def test_mermaid_draws_missed_edges_dotted() -> None:
    text = explain(checked(LENIENT)[0], "mermaid")
    assert text.splitlines() == [
        "flowchart LR",
        '    s0(("SEQ(x, z)"))',
        '    s1(("z"))',
        '    s2((("done")))',
        '    s0 -->|"x"| s1',
        '    s1 -->|"z"| s2',
        '    s0 -.->|"x missed, at most 0.655"| s1',
        '    g0["no y between x and z"]:::guard',
        "    classDef guard stroke:#dc2626,color:#dc2626,stroke-dasharray:4 3",
    ]


NETWORK = """
CREATE QUERY a ON reads PATTERN SEQ(SHELF x, EXIT z) WHERE [tag] WITHIN 1 HOUR;
CREATE QUERY b ON a, reads PATTERN SEQ(a one, reads two) WHERE one.tag = two.tag WITHIN 1 DAY;
"""


def test_the_network_of_queries_is_followed_to_its_streams() -> None:
    query_b, catalog = checked(NETWORK)
    text = explain(query_b, "text", catalog)
    assert "Network\n  b\n  ├─ a (query)\n  │  └─ reads\n  └─ reads\n" in text
    assert json.loads(explain(query_b, "json", catalog))["network"] == {
        "b": ["a", "reads"],
        "a": ["reads"],
    }


@pytest.mark.parametrize(
    ("pattern", "rest", "line"),
    [
        (
            "SEQ(!COUNTER n, EXIT z)",
            "WITHIN 1 HOUR",
            "no n before z, as far back as the window reaches",
        ),
        ("SEQ(EXIT z, !COUNTER n)", "WITHIN 1 HOUR", "no n after z, until the window has passed"),
        ("SEQ(SHELF x, !SEQ(COUNTER n, SHELF m), EXIT z)", "", "no SEQ(n, m) between x and z"),
        (
            "SEQ(SHELF x, COUNTER? y, !SHELF n, EXIT z)",
            "WITHIN 1 HOUR",
            "no n between y (or x) and z",
        ),
        (
            "SEQ(SHELF x, AND(SEQ(!COUNTER n, SHELF a), SHELF b), EXIT z)",
            "WITHIN 1 HOUR",
            "no n between x and a",
        ),
    ],
)
def test_guards_are_told_in_words(pattern: str, rest: str, line: str) -> None:
    assert f"  {line}\n" in explain(checked(query(pattern, rest))[0])


@pytest.mark.parametrize(
    ("types", "gaps", "line"),
    [
        ("SHELF x, EXIT z", "x TO z", "x: must be seen: it has no gap"),
        ("DOOR x, EXIT z", "x BEFORE z", "x: must be seen: it has no miss rate"),
        ("DOOR x, EXIT z", "x TO z", "x: must be seen: it has no gap and no miss rate"),
    ],
)
def test_what_cannot_be_missed_says_what_it_lacks(types: str, gaps: str, line: str) -> None:
    rest = "WITHIN 1 HOUR ALLOW 1 MISSED OF (x)"
    gaps = f"CREATE GAPS g ON q ({gaps} EXPONENTIAL(1 HOUR));"
    assert f"  {line}\n" in explain(checked(query(f"SEQ({types})", rest) + gaps)[0])


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ("DOOR", "x has no gap, and z has no gap and no miss rate, so they must be seen"),
        ("SHELF", "x and z have no gap, so they must be seen"),
    ],
)
def test_an_edge_over_several_that_must_be_seen_names_them_all(second: str, why: str) -> None:
    rest = "WITHIN 1 HOUR ALLOW 2 MISSED OF (x, z)"
    gaps = "CREATE GAPS g ON q (y TO w EXPONENTIAL(1 HOUR));"
    pattern = f"SEQ(SHELF x, {second} z, SHELF y, EXIT w)"
    assert f"(removed: {why})" in explain(checked(query(pattern, rest) + gaps)[0])


@pytest.mark.parametrize(
    ("gaps", "why"),
    [
        ("x BEFORE y EXPONENTIAL(9 MINUTES)", "no gap times them all from a seen component"),
        ("x BEFORE y UNIFORM(2 HOURS, 3 HOURS)", "the window is too short for it"),
    ],
)
def test_an_edge_that_can_never_be_taken_says_why(gaps: str, why: str) -> None:
    rest = "WITHIN 1 HOUR ALLOW 2 MISSED"
    pattern = "SEQ(SHELF x, COUNTER y, EXIT z)"
    text = f"CREATE GAPS g ON q ({gaps}, x TO y EXPONENTIAL(9 MINUTES));"
    assert f"(removed: {why})" in explain(checked(query(pattern, rest) + text)[0])


@pytest.mark.parametrize(
    ("pattern", "when"),
    [
        ("SEQ(SHELF a, EXIT b)", "when b is bound"),
        ("AND(SHELF a, EXIT b)", "when a and b are bound"),
        ("AND(SEQ(EXIT b, SHELF a), COUNTER c)", "when a is bound"),
        ("SEQ(EXIT a, SHELF+ b)", "when b is complete"),
    ],
)
def test_a_predicate_waits_for_what_may_come_last(pattern: str, when: str) -> None:
    rest = "WHERE a.price < b.price WITHIN 1 HOUR"
    assert f"a.price < b.price, {when}\n" in explain(checked(query(pattern, rest))[0])


def test_a_negated_component_of_any_type_is_no_event() -> None:
    assert "    n  no event of reads\n" in explain(checked(query("SEQ(SHELF x, !_ n, EXIT z)"))[0])


@pytest.mark.parametrize(
    ("uncertain", "more"),
    [
        ("PROBABILITY p", "sets of states occur"),
        ("ALTERNATIVES place PROBABILITY p", "sets of states and values of place occur"),
    ],
)
def test_the_state_of_a_chain_is_a_lower_bound(uncertain: str, more: str) -> None:
    text = f"""
    CREATE STREAM seen (person STRING, t LONG, place STRING, p DOUBLE)
    KEY person TIME t {uncertain};
    CREATE QUERY q ON seen PATTERN SEQ(_ a, _ b) WHERE [person] AND a.place = 'hall'
    AND b.place = 'lab' RETURN PROBABILITY BY TIME;
    """
    state = json.loads(explain(checked(text)[0], "json"))["state"]
    assert state == (
        "at least 3 probabilities (24 bytes) per key, however long the stream; more as " + more
    )
