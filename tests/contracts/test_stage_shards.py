"""Policies and owners run in the executor: cut into shards and steps, stored and loaded, the same.

What a session says of bound rows is what must come out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from augury.evaluation.asked import Asked
from augury.evaluation.encoding import declaration_of
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.packing import SHARD, Packer
from augury.evaluation.sharding import sharding_of
from augury.evaluation.stages.act import ActStage
from augury.evaluation.stages.forecasting import taught as taught_forecasts
from augury.matching.matcher import ALWAYS
from augury.planning.acting.world import acting_of
from augury.runners.spark.live_shards import Step, advanced
from augury.runners.spark.tasks import Answer, Blob, BoundedTask, blobs_of, listed
from augury.sources.rows import conform
from augury.sources.tables import arrow_table
from contracts.test_shards import Store, micro_batches, shard_numbers
from forecast.asking import rows_of as rows_of_forecasts
from forecast.asking import script as forecast_script
from forecast.worked import CASES as FORECASTS
from forecast.worked import Case as ForecastCase
from identity.cases import CASES as OWNERS
from identity.test_examples import bound_session_of
from privacy.test_examples import CASES as DECIDED
from privacy.test_examples import asked as policy_session
from privacy.test_state import HISTORY, HOWS, ROWS, rows_of, taught
from rules.acting import bind
from rules.acting import session as rule_session
from rules.cases import Case as RuleCase
from rules.test_examples import FINE
from rules.test_examples import rows_of as rows_of_rules
from rules.test_uncertain_tables import EVENTS, OF_BEHAVIOUR, worked

PUBLISHED = "CREATE STREAM published AS SUPPRESS s USING pol;"
Bound = dict[str, Any]


def network_of(ag: Session, names: Iterable[str], asked: Iterable[Asked], bound: Bound) -> Network:
    """Return the network of a session's queries, and of what else is asked for."""
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    forecasts = {name: each for name, (each, _) in ag._declared.forecasts.items()}
    network = replace(Network.of(names, queries, ag._declared.catalog), forecasts=forecasts)
    network = network.only(names, asked)
    read = network.tables_read
    return replace(
        network, tables={n: arrow_table(n, rows) for n, rows in bound.items() if n in read}
    )


def packed(network: Network, bound: Bound, shards: int) -> dict[int, list[Blob]]:
    """Return the rows, one to a blob, by shard."""
    sharding, found = sharding_of(network, bounded=False), dict[int, list[Blob]]()
    for name, stream in network.bases.items():
        kinds = {column.name: column.type.value for column in stream.columns}
        rows = conform(arrow_table(name, bound[name], kinds), declaration_of(stream))
        cut = dict(sharding.columns).get(name, ())
        numbers = shard_numbers(rows, cut, shards if sharding.kind == "key" else 1)
        rows = rows.append_column(SHARD, pa.array(numbers, pa.int64()))
        packer = Packer(stream, Executor(network).schemas[name])
        for k in range(rows.num_rows):
            blobs = blobs_of(packer(rows.slice(k, 1).to_batches()))
            found.setdefault(numbers[k], []).extend(blobs)
    return found


def streamed(network: Network, blobs: list[Blob], size: int, seed: int) -> list[Answer]:
    """Return what a shard reports that is stored after every step, and loaded after some."""
    shard, rng, store = Executor(network, stores=True), random.Random(seed), Store()
    state, seen, answers = shard.start(), -(2**62), list[Answer]()
    for batch in micro_batches(blobs, size, rng):
        state, found = advanced(shard, state, Step(batch, seen))
        store.put(shard.stored(state))
        if rng.random() < 0.5:
            state = shard.load(store.head, store.blocks)
        answers += found
        seen = max(seen, *(blob.first - 2 for blob in batch))
    return answers + advanced(shard, state, Step([], ALWAYS))[1]


def told(answers: Iterable[Answer], key: str) -> list[dict[str, Any]]:
    """Return the rows of one name, in a set order."""
    payloads = [payload for kind, name, _, payload in answers if (kind, name) == ("match", key)]
    rows = [row for own in payloads for row in pa.ipc.open_stream(own).read_all().to_pylist()]
    return ordered(rows)


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=repr)


def answers_of(network: Network, bound: Bound, shards: int, size: int) -> list[Answer]:
    parts = packed(network, bound, shards).values()
    return [answer for blobs in parts for answer in streamed(network, blobs, size, len(blobs))]


# Policies -----------------------------------------------------------------------------------------


def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without the columns that only name the session."""
    return ordered([{k: v for k, v in row.items() if k != "query"} for row in rows])


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("name", DECIDED)
def test_the_worked_decisions_come_out_in_steps(name: str, size: int) -> None:
    case = DECIDED[name]
    ag = policy_session(case)
    ag.sql(PUBLISHED)
    bound = {"s": case.stream, "h": case.history}
    asked = [Asked("audit", "pol"), Asked("stream", "published")]
    found = answers_of(network_of(ag, [], asked, bound), bound, 1, size)
    ag.bind("s", case.stream)
    assert told(found, asked[0].key) == ordered(ag.audit("pol").to_pylist())
    assert told(found, asked[1].key) == ordered(ag.table("published").to_pylist())


@given(drawn=ROWS, how=st.sampled_from(HOWS), size=st.sampled_from((1, 4)))
def test_queries_behind_a_policy_see_what_is_kept(
    drawn: list[tuple[str, int, str]], how: str, size: int
) -> None:
    rows, ag = rows_of(drawn), taught(how)
    bound = {"s": rows, "h": HISTORY}
    network = network_of(ag, ["q1", "q2"], [Asked("audit", "pol")], bound)
    found = answers_of(network, bound, 2, size)
    ag.bind("s", rows)
    for query in ("q1", "q2"):
        assert told(found, query) == ordered(ag.table(query).to_pylist())
    assert told(found, Asked("audit", "pol").key) == ordered(ag.audit("pol").to_pylist())
    # Nothing of what was suppressed is among the rows that were put aside.
    assert {kind for kind, *_ in found} <= {"match"}


# Owners -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.filterwarnings("ignore:.*impossible in every world")
@pytest.mark.parametrize("name", range(len(OWNERS)))
def test_the_worked_owners_come_out_in_steps(name: int, size: int) -> None:
    case = OWNERS[name]
    ag = bound_session_of(case)
    kinds = {"doors": case.rows, "staff": case.staff, "passages": case.doors}
    bound = {**kinds, "weights": case.weights}
    asked = [Asked("revisions", "known")]
    found = answers_of(network_of(ag, [], asked, bound), bound, 1, size)
    assert told(found, asked[0].key) == ordered(ag.revisions("known").to_pylist())


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.filterwarnings("ignore:.*impossible in every world")
@pytest.mark.parametrize("case", [c for c in OWNERS if c.query], ids=lambda case: case.title)
def test_the_worked_matches_over_owners_come_out_in_steps(case: Any, size: int) -> None:
    ag = bound_session_of(case)
    ag.sql(f"CREATE QUERY q ON known {case.query};")
    bound = {"doors": case.rows, "staff": case.staff, "passages": case.doors}
    bound["weights"] = case.weights
    asked = Asked("revisions", "q")
    found = answers_of(network_of(ag, ["q"], [asked], bound), bound, 1, size)
    assert told(found, asked.key) == ordered(ag.revisions("q").to_pylist())


# Rules --------------------------------------------------------------------------------------------


def acting_network(ag: Session, bound: Bound) -> Network:
    """Return the network of all that acts in a session, with all that can be asked of it."""
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    acting = acting_of(ag._declared.catalog, queries)
    found = {name: made.query for name, made in acting.candidates.items()}
    asked = [Asked("settled", name) for name in found]
    asked += [
        Asked(kind, name) for name in ag._declared.catalog.rules for kind in ("firings", "aside")
    ]
    asked += [Asked("changes", name.lower()) for name in acting.world.tables]
    network = Network.of(found, queries | found, ag._declared.catalog).only(found, asked)
    held = {name: rows for name, rows in bound.items() if name in ag._declared.catalog.tables}
    tables = {name: arrow_table(name, rows) for name, rows in held.items()}
    return replace(network, act=ActStage.of(ag._declared.catalog, queries, tables), tables=tables)


def acting_bound(ag: Session, case: RuleCase) -> Bound:
    rows = rows_of_rules(case)
    bound: Bound = {s: [row for name, row in rows if name == s] for s in ag.streams}
    for name, before in case.before.items():
        columns = [column.name for column in ag._declared.catalog.tables[name].columns]
        if before:
            bound[name] = [dict(zip(columns, row, strict=True)) for row in before]
    return bound


def asks_of(ag: Session) -> dict[str, Any]:
    """Return how a session is asked for what the act stage tells."""
    tables = dict.fromkeys(("settled", "firings"), ag.table)
    return {**tables, "aside": ag.rejected, "changes": ag.changes}


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("number", range(len(FINE)))
def test_the_worked_rules_act_in_steps(number: int, size: int) -> None:
    case = FINE[number]
    ag = rule_session(case.script, case.before)
    bound = acting_bound(ag, case)
    network = acting_network(ag, bound)
    found = answers_of(network, bound, 3, size)
    bind(ag, rows_of_rules(case))
    for each in network.asked:
        expected = asks_of(ag)[each.kind](each.name)
        assert told(found, each.key) == ordered(expected.to_pylist()), each


LIKELY = """
CREATE STREAM s (id LONG, who STRING, kind STRING, t LONG, p DOUBLE)
ID id KEY who TIME t TYPE kind PROBABILITY p;
CREATE TABLE seen (who STRING, n LONG) KEY who;
CREATE QUERY ever ON s PATTERN SEQ(A a, B b) WHERE [who]
GROUP BY who RETURN PROBABILITY BY TIME;
CREATE QUERY lately ON s PATTERN SEQ(A a, B b) WITHIN 4 RETURN PROBABILITY BY TIME;
CREATE QUERY told ON s PATTERN SEQ(C c)
WHERE 2 <= (SELECT n FROM seen WHERE who = c.who) WITHIN 1;
CREATE RULE one ON ever WHEN new.probability > 0.3
DO INSERT INTO seen VALUES (new.who, 1) ON CONFLICT DO UPDATE SET n = n + 1;
CREATE RULE two ON lately WHEN new.probability > 0.5
DO INSERT INTO seen VALUES ('any', 1) ON CONFLICT DO UPDATE SET n = n + 1;
CREATE RULE three ON told DO UPDATE seen SET n = 0 WHERE who = new.who;
"""


@pytest.mark.parametrize("size", [1, 3, 100])
def test_rules_hear_probabilities_in_steps(size: int) -> None:
    rng = random.Random(size)
    rows = [
        {"id": t, "who": rng.choice("uv"), "kind": rng.choice("ABC"), "t": t, "p": rng.choice(PS)}
        for t in range(1, 60)
    ]
    ag, bound = rule_session(LIKELY, {}), {"s": rows}
    network = acting_network(ag, bound)
    found = answers_of(network, bound, 3, size)
    ag.bind("s", rows)
    for each in network.asked:
        if each.name in ("ever", "lately"):
            # No table tests these rows; they are told beside all that acts.
            continue
        expected = ordered(asks_of(ag)[each.kind](each.name).to_pylist())
        assert near(told(found, each.key)) == near(expected), each
        assert expected or each.kind == "aside"


PS = (0.5, 0.9, 1.0)


def near(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without the last digits of numbers."""
    return [{k: round(v, 9) if isinstance(v, float) else v for k, v in r.items()} for r in rows]


def test_contents_are_told_at_the_end() -> None:
    case = FINE[0]
    ag = rule_session(case.script, case.before)
    bound = acting_bound(ag, case)
    asked = Asked("contents", "worker_status")
    network = acting_network(ag, bound).only(["unwashed", "masked"], [asked])
    assert sharding_of(network, bounded=True).kind == "single"
    assert told(answers_of(network, bound, 1, 2), asked.key) == [
        {"worker": "w7", "status": "warning"}
    ]


@pytest.mark.parametrize("kinds", [("settled", "firings"), ("contents",)])
def test_tables_in_worlds_are_settled_over_all_rows(kinds: tuple[str, ...]) -> None:
    ag, rows = worked(), [dict(zip(OF_BEHAVIOUR, each, strict=True)) for each in EVENTS]
    rows += [{**row, "id": row["id"] + 4, "worker": "w8"} for row in rows]
    bound: Bound = {
        "behaviour": rows,
        "worker_status": [{"worker": each, "status": "safe"} for each in ("w7", "w8", "w9")],
    }
    for name, own in bound.items():
        ag.bind(name, own)
    network = acting_network(ag, bound)
    every = [*network.asked, Asked("contents", "worker_status")]
    network = network.only(network.names, [each for each in every if each.kind in kinds])
    sharding = sharding_of(network, bounded=True)
    assert sharding.kind == ("single" if kinds == ("contents",) else "key")
    found = [
        answer
        for blobs in packed(network, bound, 3).values()
        for _, step in BoundedTask(network, sharding).steps(iter(blobs))
        for answer in listed(step)
    ]
    for each in network.asked:
        expected = ordered(ag.table(each.name).to_pylist())
        assert near(told(found, each.key)) == near(expected) != []


def test_what_reads_by_key_is_cut_by_it() -> None:
    case = FINE[0]
    ag = rule_session(case.script, case.before)
    network = acting_network(ag, acting_bound(ag, case))
    assert sharding_of(network, bounded=False).columns == (("behaviour", ("worker",)),)


# Forecasts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("case", FORECASTS, ids=lambda case: case.name.split()[0])
def test_the_worked_forecasts_come_out_in_steps(case: ForecastCase, size: int) -> None:
    keyed = "/" in case.stream
    ag = Session(engine="local")
    ag.sql(forecast_script(case.pattern, case.forecast, keyed=keyed, by_time=False))
    bound = {"s": rows_of_forecasts(case.stream), "history": rows_of_forecasts(case.history)}
    asked = Asked("forecast", "f")
    network = network_of(ag, [], [asked], bound)
    if network.tables:
        ag.bind("history", bound["history"])
    found = answers_of(replace(network, taught=taught_forecasts(network)), bound, 2, size)
    ag.bind("s", bound["s"])
    assert told(found, asked.key) == ordered(ag.table("f").to_pylist())


def random_text(seed: int, n: int) -> str:
    rng = random.Random(seed)
    return " ".join(f"{rng.choice('AABC')}{t}/{rng.choice('klm')}@{t}" for t in range(1, n))


def check_in_steps(pattern: str, learned: str, events: int, size: int, *, by_time: bool) -> None:
    """Hold that a forecast from a history comes out in steps, two shards, as it does at once."""
    ag = Session(engine="local")
    ag.sql(forecast_script(pattern, learned, keyed=True, by_time=by_time))
    bound = {"s": rows_of_forecasts(random_text(0, events))}
    bound["history"] = rows_of_forecasts(random_text(2, 80))
    asked = Asked("forecast", "f")
    network = network_of(ag, [], [asked], bound)
    found = answers_of(replace(network, taught=taught_forecasts(network)), bound, 2, size)
    ag.bind("s", bound["s"])
    ag.bind("history", bound["history"])
    assert told(found, asked.key) == ordered(ag.table("f").to_pylist()) != []


@pytest.mark.parametrize("size", [17, 25])
def test_many_partial_matches_find_room(size: int) -> None:
    pattern = "SEQ(A a, A b, B c) WHERE [k] WITHIN 30"
    learned = "WITHIN 4 EVENTS USING MARKOV 1 LEARN FROM history"
    check_in_steps(pattern, learned, 50, size, by_time=False)


@pytest.mark.parametrize("size", [3, 100])
def test_sampled_forecasts_come_out_in_steps(size: int) -> None:
    pattern = "SEQ(A a, A+ b, B c) WHERE [k] AND c.id > b[1].id + 2 WITHIN 9"
    learned = "WITHIN 2 EVENTS USING MARKOV 1 LEARN FROM history APPROXIMATE (0.1, 0.1)"
    check_in_steps(pattern, learned, 20, size, by_time=True)
