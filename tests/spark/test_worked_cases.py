"""The worked cases of forecasts and rules come out on Spark, in batch and in a stream.

All that a script is asked for is one job; cases of forecasts stand together in a script, each with
streams of its own. (Policies are in test_stages.py, owners in test_identities.py.)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import DataError, Session
from augury.evaluation.asked import Asked
from augury.runners.process.failures import OF_SPARK, explained
from augury.runners.request import request_of
from augury.runners.spark.combined import combined
from chain.test_revised_rules import FIRINGS
from chain.test_revised_rules import WORKED as REVISED
from forecast.asking import rows_of as events_of
from forecast.asking import script as forecast_script
from forecast.test_examples import EXACT, check_by_time, check_matches
from forecast.worked import CASES as FORECASTS
from forecast.worked import Case as Forecast
from identity.cases import Case as Owners
from identity.test_examples import SCRIPT as WARD
from rules.acting import matches_of
from rules.cases import CASES as RULES
from rules.cases import Case as Rules
from rules.test_examples import rows_of as rows_of_rules
from rules.test_uncertain_tables import EVENTS, N16, OF_BEHAVIOUR
from spark.test_stages import LAST, Rows, Tables, batch, frame

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:.*stream known", "ignore:without KEY"),
]
PARTS = 3
BOTH = pytest.mark.parametrize("arrives", [False, True], ids=["batch", "stream"])


def given(
    spark: Any, script: str, rows: Tables, asked: Sequence[str], arriving: Path | None
) -> dict[str, Rows]:
    """Return what one job gives for what is asked; with a folder, the streams' rows arrive there.

    Of a table these are the changes, and, of rows that have an end, under `contents` what it holds.
    """
    ag = batch(spark, script, {name: own for name, own in rows.items() if own})
    if arriving is not None:
        for name in streams_of(ag) & rows.keys():
            ag.bind(name, in_parts(spark, frame(spark, ag, name, rows[name]), arriving / name))
    catalog, queries = ag._declared.catalog, ag._declared.checked_queries
    streaming = arriving is not None
    request = request_of(catalog, queries, asked, streaming=streaming)
    tables = [] if streaming else [name for name in asked if catalog.table(name)]
    contents = {f"contents {name}": Asked("contents", name.lower()) for name in tables}
    request = replace(request, asked={**request.asked, **contents})
    answers = combined(ag._bound.spark_runner("a case"), request).answers
    found: dict[str, Rows] = {request.place(name)[1]: [] for name in (*asked, *contents)}

    def take(part: Any, _: int = 0) -> None:
        for row in part.where("kind = 'match'").collect():
            table = pa.ipc.open_stream(bytes(row.payload)).read_all()
            found[row.name.lower()] += table.to_pylist()

    if arriving is None:
        take(answers)
    else:
        writer = answers.writeStream.trigger(availableNow=True).foreachBatch(take)
        writer.option("checkpointLocation", str(arriving / "state")).start().awaitTermination()
    return {name: found[request.place(name)[1]] for name in (*asked, *contents)}


def streams_of(ag: Session) -> set[str]:
    """Return the streams of a session that rows come to; what teaches is there already."""
    return {name for name in ag.streams if not name.startswith("history")}


def in_parts(spark: Any, rows: Any, folder: Path) -> Any:
    """Return rows as a stream of some micro-batches."""
    table = rows.toArrow()
    size = table.num_rows // PARTS + 1
    folder.mkdir()
    for k in range(PARTS):
        pq.write_table(table.slice(k * size, size), folder / f"{k}.parquet")
        os.utime(folder / f"{k}.parquet", (10**9 + k, 10**9 + k))
    reader = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def before_the_end(rows: Iterable[dict[str, Any]]) -> Rows:
    """Return the rows that are not of the event that lets all others be known."""
    return [row for row in rows if row["ts"] != LAST]


# Forecasts ----------------------------------------------------------------------------------------

GROUPS = 6


@pytest.mark.rotating(6)
@pytest.mark.parametrize("group", range(GROUPS))
def test_forecasts_come_out_on_spark(spark: Any, tmp_path: Path, group: int) -> None:
    cases = dict(enumerate(FORECASTS[group::GROUPS]))
    script, rows, asked = "", dict[str, Rows](), list[str]()
    for k, case in cases.items():
        script += declared(case, k)
        end = events_of(f"Z9999{'/z' if '/' in case.stream else ''}@{LAST}")
        rows |= {f"s{k}": events_of(case.stream) + end, f"history{k}": events_of(case.history)}
        asked += [f"f{k}", f"g{k}"] if case in EXACT else [f"f{k}"]
    for arriving in (None, tmp_path):
        found = given(spark, script, rows, asked, arriving)
        for k, case in cases.items():
            check_matches(case, before_the_end(found[f"f{k}"]))
            if case in EXACT:
                check_by_time(case, before_the_end(found[f"g{k}"]))


def declared(case: Forecast, number: int) -> str:
    """Return a case's declarations, with forecasts of matches and, where it is exact, by time."""
    keyed, named = "/" in case.stream, str(number)
    text = forecast_script(case.pattern, case.forecast, keyed=keyed, by_time=False, number=named)
    if case not in EXACT:
        return text
    whole = forecast_script(case.pattern, case.forecast, keyed=keyed, by_time=True, number=named)
    return text + whole[whole.index("CREATE FORECAST") :].replace(
        f"FORECAST f{number}", f"FORECAST g{number}"
    )


# Rules --------------------------------------------------------------------------------------------


def rows_with_end(case: Rules) -> Tables:
    """Return the rows of a case by stream, each with one that lets all others be known."""
    found: Tables = {}
    for stream, row in rows_of_rules(case):
        found.setdefault(stream, []).append(row)
    end = {"id": 9999, "worker": "nobody", "action": "NONE", "t": LAST, "seq": 0, "p": 1.0}
    return {name: [*own, end] for name, own in found.items()}


def tables_of(case: Rules) -> Tables:
    """Return what the tables of a case hold at the start."""
    ag = Session(engine="local")
    ag.sql(case.script)
    columns = {
        name: [c.name for c in ag._declared.catalog.tables[name].columns] for name in case.before
    }
    return {
        name: [dict(zip(columns[name], row, strict=True)) for row in rows]
        for name, rows in case.before.items()
    }


@pytest.mark.rotating(16)
@BOTH
@pytest.mark.parametrize("case", RULES, ids=lambda case: case.name.split()[0])
def test_rules_come_out_on_spark(spark: Any, tmp_path: Path, case: Rules, arrives: bool) -> None:
    rules = dict.fromkeys(name for name, *_ in case.firings)
    asked = list(dict.fromkeys([*case.matches, *rules, *case.changes, *case.after]))
    rows, arriving = rows_with_end(case) | tables_of(case), tmp_path if arrives else None
    if case.error is not None:
        moment, reason = case.error
        with pytest.raises(OF_SPARK) as problem:
            given(spark, case.script, rows, asked, arriving)
        told = explained(problem.value)
        assert isinstance(told, DataError)
        assert f"at {moment}: " in str(told)
        assert reason in str(told)
        return
    found = given(spark, case.script, rows, asked, arriving)
    for query, expected in case.matches.items():
        own = matches_of(found[query])
        if query == "spree":
            # The events of a query over a query are matches, whose names are hashes.
            assert [(set(made), sure) for made, sure in own] == [({"u", "v"}, 1.0)]
        else:
            assert own == sorted([(made, sure) for made, _, sure in expected], key=str)
    for rule in rules:
        fired = [(r["ts"], round(r["confidence"], 9), len(r["changes"])) for r in found[rule]]
        assert sorted(fired) == sorted(
            tuple(rest) for name, _, *rest in case.firings if name == rule
        )
    for table, changes in case.changes.items():
        own = [(r["ts"], r["operation"], *list(r.values())[4:]) for r in found[table]]
        shown = [(ts, how, *(after or before or ())) for ts, how, before, after, _ in changes]
        assert sorted(own, key=str) == sorted(shown, key=str)
    if not arrives:
        for table, held in case.after.items():
            own = [tuple(row.values()) for row in found[f"contents {table}"]]
            assert sorted(own, key=str) == sorted(held, key=str)


@pytest.mark.rotating(10)
@BOTH
@pytest.mark.parametrize("case", REVISED, ids=lambda case: case.title.split()[0])
def test_a_rule_fires_on_spark_at_the_first_telling_that_passes(
    spark: Any, tmp_path: Path, case: Owners, arrives: bool
) -> None:
    least, expected = FIRINGS[case.title]
    script = (
        WARD.format(ways="EXIT 'EXIT', HALL 'H'", asked=case.asked)
        + f"""
        CREATE TABLE alarms (id STRING, at LONG) KEY id;
        CREATE QUERY q ON known {case.query} RETURN e.person AS who;
        CREATE RULE warn ON q WHEN new.confidence >= {least}
        DO INSERT INTO alarms VALUES (new.match_id, new.ts);
    """
    )
    end = {"id": 9999, "person": "nobody", "action": "NONE", "room": "H", "t": LAST}
    rows = {"staff": case.staff, "doors": [*case.rows, end]}
    found = given(spark, script, rows, ["warn", "alarms"], tmp_path if arrives else None)
    fired = sorted((row["ts"], round(row["confidence"], 9)) for row in found["warn"])
    assert fired == sorted((at, round(float(p), 9)) for at, p in expected)
    assert sorted(row["at"] for row in found["alarms"]) == sorted(at for at, _ in expected)


@pytest.mark.rotating(3, 1)
def test_worlds_of_a_table_come_out_in_batch(spark: Any) -> None:
    rows = [dict(zip(OF_BEHAVIOUR, each, strict=True)) for each in EVENTS]
    tables = {"worker_status": [{"worker": "w7", "status": "safe"}]}
    ag = batch(spark, N16, {"behaviour": rows, **tables})
    for name in ("unwashed", "masked", "again", "warn"):
        (row,) = ag.table(name).toArrow().to_pylist()
        assert row["confidence"] == pytest.approx(0.45), name
    held = sorted(tuple(row.values()) for row in ag.table("worker_status").toArrow().to_pylist())
    assert held == [("w7", "safe", pytest.approx(0.55)), ("w7", "warning", pytest.approx(0.45))]
