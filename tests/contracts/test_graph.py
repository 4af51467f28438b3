"""EXPLAIN names the stages that the executor enters, and no others, in their order."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from augury import Session
from augury.evaluation.answers.answers import Answers
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.stream_rows import StreamRows
from augury.sources.columns import ARROW_TYPES

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p;
CREATE STREAM w (l STRING, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE QUERY plain ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 9 RETURN a.tag AS tag;
CREATE QUERY above ON plain, s PATTERN SEQ(plain x, C c) WITHIN 20;
CREATE QUERY third ON above PATTERN SEQ(above z) WITHIN 30;
CREATE QUERY many ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 9 RETURN COUNT;
CREATE QUERY chain ON s PATTERN SEQ(A a, B b) WHERE [tag] USING SKIP TILL NEXT MATCH
RETURN PROBABILITY BY TIME;
CREATE QUERY joined ON s, w PATTERN AND(s, w) WHERE s.tag = w.l WITHIN 10 RETURN PROBABILITY;
CREATE QUERY listed ON s PATTERN AND(A a, B b) WHERE a.t < b.t WITHIN 10 RETURN PROBABILITY;
"""
QUERIES = ("plain", "above", "third", "many", "chain", "joined", "listed")
ROWS = {
    "s": [{"id": k, "tag": "xy"[k % 2], "kind": "ABC"[k % 3], "t": k, "p": 0.5} for k in range(9)],
    "w": [{"l": "x", "t": 3, "p": 0.5}],
}


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the stages that the executor enters, as it does."""
    found, run = list[str](), Executor.run

    def noted(self: Executor, rows: dict[str, StreamRows]) -> Answers:
        answers = run(self, rows)
        found.extend(answers.measured)
        return answers

    monkeypatch.setattr(Executor, "run", noted)
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_the_stages_that_are_explained_are_those_that_are_entered(
    query: str, entered: list[str]
) -> None:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    for name, rows in ROWS.items():
        ag.bind(name, rows)
    facts = json.loads(ag.explain(query, "json", analyze=True))
    assert facts["stages"] == [each["stage"] for each in facts["measured"]]
    entered.clear()
    ag.table(query)
    assert facts["stages"] == entered
    assert facts["measured"][-1]["rows_out"] == ag.table(query).num_rows


@pytest.mark.parametrize("query", QUERIES)
def test_what_travels_to_workers_has_the_graph_that_is_explained(query: str) -> None:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    queries = {name: each for name, (each, _) in ag._declared.queries.items()}
    sent = Network.of([query], queries, ag._declared.catalog)
    assert list(sent.graph.names) == json.loads(ag.explain(query, "json"))["stages"]
    assert sent.graph.of(query) == sent.graph.stages[-1]


HIDDEN = {
    "places": [{"place": "A"}, {"place": "B"}],
    "first_place": [{"place": place, "p": 0.5} for place in "AB"],
    "walks": [{"place_from": a, "place_to": b, "p": 0.5} for a in "AB" for b in "AB"],
    "heard": [{"place": place, "reader": f"r{place}", "p": 0.8} for place in "AB"],
    "readings": [{"tag": "x", "reader": "rA", "t": t} for t in range(5)],
}


def test_forecasts_that_queries_read_are_explained_as_they_are_entered(
    entered: list[str],
) -> None:
    ag = Session(engine="local")
    ag.sql(
        SCRIPT
        + """CREATE QUERY soon ON s PATTERN SEQ(A a, B b) USING SKIP TILL NEXT MATCH;
        CREATE FORECAST f ON soon WITHIN 3 EVENTS;
        CREATE QUERY alarm ON f PATTERN SEQ(f x, f y) WITHIN 9;
        CREATE TABLE places (place STRING);
        CREATE TABLE first_place (place STRING, p DOUBLE);
        CREATE TABLE walks (place_from STRING, place_to STRING, p DOUBLE);
        CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
        CREATE MODEL building HMM
            (STATES places, INITIAL first_place, TRANSITION walks, EMISSION heard);
        CREATE STREAM readings (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;
        CREATE STREAM now AS FILTER readings USING building;
        CREATE QUERY walk ON now PATTERN SEQ(now a (place = 'A'), now b (place = 'B'))
        WHERE [tag] WITHIN 3;
        CREATE FORECAST g ON walk WITHIN 2 USING MODEL building;
        CREATE QUERY likely ON g PATTERN SEQ(g x) WITHIN 9;"""
    )
    for name, rows in (ROWS | HIDDEN).items():
        ag.bind(name, rows)
    for query, made in (("alarm", ["events of forecast f"]), ("likely", ["filter now"])):
        facts = json.loads(ag.explain(query, "json", analyze=True))
        entered.clear()
        ag.table(query)
        assert set(made) < set(facts["stages"])
        assert facts["stages"] == entered == [each["stage"] for each in facts["measured"]]


def test_a_policy_is_explained_before_every_reader() -> None:
    ag = Session(engine="local")
    ag.sql(
        SCRIPT.split("CREATE QUERY above", maxsplit=1)[0]
        + """CREATE QUERY secret ON s PATTERN SEQ(A a, C c) WHERE [tag] WITHIN 9;
        CREATE POLICY guard ON s PUBLIC plain PRIVATE secret USING GREEDY;
        CREATE STREAM kept AS SUPPRESS s USING guard;
        CREATE QUERY on_kept ON kept PATTERN SEQ(A a, B b) WITHIN 9;"""
    )
    for query in ("plain", "on_kept"):
        facts = json.loads(ag.explain(query, "json"))
        assert facts["stages"] == ["source s", "suppress guard", f"match {query}"]


@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*.sql")), ids=lambda path: path.stem)
def test_every_example_prints_the_graph_that_runs(script: Path, entered: list[str]) -> None:
    ag = Session(engine="local")
    ag.run_file(script)
    for declared in (*ag._declared.catalog.streams.values(), *ag._declared.catalog.tables.values()):
        if declared.name.lower() not in ag._declared.catalog.inferred:
            kinds = [(c.name, ARROW_TYPES[c.type.value]) for c in declared.columns]
            ag.bind(declared.name, pa.schema(kinds).empty_table())
    for query in ag.queries:
        facts = json.loads(ag.explain(query, "json"))
        if facts["not_evaluated"] is not None:
            continue
        entered.clear()
        ag._bound.runner().table(query)
        # What is found are candidates, where tables decide: those are settled when all are there.
        settled = [f"act {query}"] if ag._declared.is_tested(query) else []
        assert facts["stages"] == [*entered, *settled]


def test_explain_analyze_is_a_statement() -> None:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    for name, rows in ROWS.items():
        ag.bind(name, rows)
    (shown,) = ag.sql("EXPLAIN ANALYZE plain")
    title, *rows = shown.split("Measured\n")[1].splitlines()
    assert " ".join(title.split()) == "stage rows in rows out milliseconds bytes of state"
    assert [row.split()[:4] for row in rows] == [
        ["source", "s", "9", "9"],
        ["match", "plain", "9", "2"],
    ]


ACTING = """
CREATE TABLE done (tag STRING) KEY tag;
CREATE QUERY fresh ON s PATTERN SEQ(A a, B b) WHERE [tag] AND NOT (a.tag IN done) WITHIN 9;
CREATE RULE once ON OUTPUT fresh DO INSERT INTO done VALUES (new.tag);
CREATE QUERY over ON fresh, s PATTERN SEQ(fresh x, C c) WITHIN 20;
"""


@pytest.mark.parametrize("query", ["fresh", "over"])
def test_what_tables_decide_is_a_stage_that_is_measured(query: str) -> None:
    ag = Session(engine="local")
    ag.sql(SCRIPT + ACTING)
    kinds = "AABBCC"
    rows = [
        {"id": k, "tag": "xy"[k % 2], "kind": kinds[k % 6], "t": k, "p": 1.0} for k in range(18)
    ]
    ag.bind("s", rows)
    facts = json.loads(ag.explain(query, "json", analyze=True))
    last = facts["measured"][-1]
    assert last["stage"] == f"act {query}"
    assert last["rows_in"] == facts["measured"][-2]["rows_out"] > last["rows_out"] > 0
    assert last["rows_out"] == ag.table(query).num_rows
    if query == "fresh":
        assert facts["stages"] == [each["stage"] for each in facts["measured"]]
        assert "test what reads tables, one moment after another" in ag.explain(query)
