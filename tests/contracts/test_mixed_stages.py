"""Random scripts that mix stages: bound rows, pushed ones and stored steps of shards agree.

What a script has is drawn: conditions, selections and windows, queries over queries, counts and
probabilities, conditions on neighbours, rules and a policy. What the language refuses is drawn
again.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from augury import QueryError, Session
from augury.evaluation.asked import Asked
from augury.evaluation.network import Network
from augury.evaluation.sharding import sharding_of
from augury.runners.endless import refuse_endless
from contracts.live_cases import LATENESS
from contracts.test_stage_shards import acting_network, answers_of, network_of, told

COLUMNS = "(id LONG, tag STRING, kind STRING, t LONG, v LONG, p DOUBLE)"
DONE = "CREATE TABLE done (tag STRING, n LONG) KEY tag;"
PATTERNS = (
    *("SEQ(A a, B b)", "SEQ(A a, !C n, B b)", "SEQ(A a, B+ b, C c)", "AND(A a, B b)"),
    *("SEQ(A a, B b, !C n)", "SEQ(A a, OR(B b, C c))", "SEQ(A a, B? b, C c)", "NEXT(A a, B b)"),
    *("SEQ(A a, (SEQ(B b, C c)){1,2} g)", "SEQ(A a, !SEQ(B n, C m), A b)", "A a"),
)
ABOVE = (
    "SEQ({0} a, C c)",
    "SEQ(A b, !{0} n, C c)",
    "AND({0} a, C c)",
    "SEQ({0} a, {0} b)",
    "{0} a",
)
SELECTIONS = (
    *("", "", "USING SKIP TILL NEXT MATCH", "USING STRICT", "USING PARTITION CONTIGUITY"),
    "AFTER MATCH SKIP TO NEXT EVENT",
)
RETURNS = (
    *(("RETURN a.tag AS tag, a.v AS v",) * 4),
    *("RETURN COUNT", "RETURN TOTAL COUNT", "EVERY 2 RETURN PROBABILITY", "RETURN PROBABILITY"),
    "RETURN PROBABILITY BY TIME OVER 2",
)
CONDITIONS = ("PREV(a.v) < 3", "NEXT(a.v) < 3", "NOT (a.tag IN done)", "a.v < 3")
Row = dict[str, Any]


def drawn_query(rng: random.Random, name: str, lower: list[str]) -> str:
    """Return a query over the stream, or over one of those that are there."""
    on, pattern = "s", rng.choice(PATTERNS)
    if lower and rng.random() < 0.4:
        below = rng.choice(lower)
        pattern = rng.choice(ABOVE).format(below)
        on = f"{below}, s" if "C" in pattern else below
    where = ["[tag]"] * (rng.random() < 0.6)
    where += [rng.choice(CONDITIONS)] * (rng.random() < 0.4)
    condition = f"WHERE {' AND '.join(where)}" if where else ""
    within = f"WITHIN {rng.randint(2, 9)}{' EVENTS' * (rng.random() < 0.15)}"
    returned, using = rng.choice(RETURNS), rng.choice(SELECTIONS)
    return f"CREATE QUERY {name} ON {on} PATTERN {pattern} {condition} {using} {within} {returned};"


def is_fine(script: str) -> bool:
    """Whether the language takes a script."""
    try:
        Session(engine="local").sql(script)
    except QueryError:
        return False
    return True


def drawn_script(rng: random.Random) -> str:
    """Return a script of some queries, and what acts or decides beside them."""
    certain = rng.random() < 0.5
    key, p = rng.choice(["KEY tag", ""]), "" if certain else "PROBABILITY p"
    script = f"CREATE STREAM s {COLUMNS} ID id {key} TIME t TYPE kind {p} LATENESS {LATENESS}; "
    script += DONE
    lower = list[str]()
    while len(lower) < 3:
        name = f"q{len(lower)}"
        query = drawn_query(rng, name, lower)
        if is_fine(script + query):
            script, lower = script + query, [*lower, name]
    others = (
        "CREATE RULE ru ON OUTPUT {0} REFERENCING NEW AS hit DO UPSERT INTO done VALUES "
        "(hit.tag, hit.v);",
        "CREATE POLICY pol ON s PUBLIC {1} WEIGHT 3 PRIVATE {0} WEIGHT 2 USING GREEDY;",
    )
    for each in others:
        chosen = each.format(*rng.sample(lower, 2))
        if rng.random() < 0.5 and is_fine(script + chosen):
            script += chosen
    return script


def drawn_rows(rng: random.Random, n: int) -> list[Row]:
    """Return rows in the order of time, some at once; certain ones where nobody reads p."""
    t, rows = 0, list[Row]()
    for k in range(n):
        t += rng.choice([0, 0, 1, 1, 2, 3])
        row = {"id": k, "tag": rng.choice("xy"), "kind": rng.choice("AABBCD"), "t": t}
        rows.append(row | {"v": rng.randint(0, 3), "p": rng.choice([0.25, 0.5, 1.0])})
    return rows


def session(script: str, rows: list[Row] | None) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    if rows is not None:
        ag.bind("s", rows)
    return ag


# Answers ------------------------------------------------------------------------------------------


def answer(rows: Iterable[Row]) -> dict[str, Any]:
    """Return rows by what names them, the last of each; of probabilities, what may be."""
    found: dict[str, Any] = {}
    for row in rows:
        own = {name: value for name, value in row.items() if name not in ("query", "expected")}
        if "count" in own:
            if own.pop("count"):
                found[repr(own)] = row["count"], round(row["expected"], 9)
        elif "probability" in own:
            if round(own.pop("probability"), 9):
                found[repr(own)] = round(row["probability"], 9)
        else:
            own["confidence"] = round(own["confidence"], 9)
            own["events"] = sorted(map(repr, own["events"]))
            found[own["match_id"]] = own
    return found


def bound_answers(script: str, rows: list[Row]) -> dict[str, dict[str, Any]]:
    ag, found = session(script, rows), dict[str, dict[str, Any]]()
    for name in ag.queries:
        try:
            found[name] = answer(ag.table(name).to_pylist())
        except QueryError:
            # What is private, or not evaluated; an error that only rows could tell is a finding.
            continue
    return found


def pushed_answers(script: str, rows: list[Row], rng: random.Random) -> dict[str, dict[str, Any]]:
    """Return what is pushed in an order that LATENESS allows, with checkpoints in between."""
    ag, found = session(script, None), list[Row]()
    try:
        for row in sorted(rows, key=lambda row: row["t"] + rng.random() * LATENESS * 0.99):
            found += ag.push("s", row)
            if rng.random() < 0.15:
                stored, ag = ag.checkpoint(), session(script, None)
                ag.restore(stored)
        found += ag.finish()
    except QueryError:
        return {}
    by_query = {name: [row for row in found if row["query"] == name] for name in ag.queries}
    return {name: answer(own) for name, own in by_query.items()}


def parts_of(ag: Session, bound: Mapping[str, Any]) -> Iterator[tuple[Network, dict[str, str]]]:
    """Yield networks of what is cut alike, with the keys of their answers by query."""
    acting = ag._declared.acting.candidates
    if acting:
        network = acting_network(ag, dict(bound))
        yield network, {each.name: each.key for each in network.asked if each.kind == "settled"}
    found: dict[Any, list[str]] = {}
    for name in (name for name in ag.queries if name not in acting):
        cut = sharding_of(network_of(ag, [name], [], dict(bound)), bounded=False)
        found.setdefault(cut, []).append(name)
    for names in found.values():
        asked = [Asked("audit", each) for each in ag._declared.catalog.policies]
        yield network_of(ag, names, asked, dict(bound)), {name: name for name in names}


def stepped_answers(script: str, rows: list[Row], size: int) -> dict[str, dict[str, Any]]:
    """Return what shards tell that are stored after every step, and loaded after some."""
    found, ag = dict[str, dict[str, Any]](), session(script, None)
    bound = {"s": rows, "done": []}
    with suppress(QueryError):
        for network, keys in parts_of(ag, bound):
            refuse_endless(network)
            shards = 3 if sharding_of(network, bounded=False).kind == "key" else 1
            answers = answers_of(network, bound, shards, size)
            found |= {name: answer(told_in_order(answers, key)) for name, key in keys.items()}
    return found


def told_in_order(answers: list[Any], key: str) -> list[Row]:
    """Return the rows of one name; of totals, the largest come last."""
    return sorted(told(answers, key), key=lambda row: row.get("count", 0))


@pytest.mark.rotating(4)
@pytest.mark.parametrize("seed", range(40))
def test_stages_that_are_mixed_answer_the_same_however_rows_come(seed: int) -> None:
    rng = random.Random(seed)
    script, rows = drawn_script(rng), drawn_rows(rng, 20)
    expected = bound_answers(script, rows)
    for found in (
        pushed_answers(script, rows, rng),
        stepped_answers(script, rows, rng.choice([1, 3, 100])),
    ):
        assert found == {name: expected.get(name, {}) for name in found}, script
