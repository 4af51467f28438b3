"""The worked cases of identities come out on Spark, in batch and in a stream, as wards of one run.

Cases that were asked alike stand together: each is a ward, with ids and people of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from identity.cases import CASES, Case
from identity.test_examples import matches, tellings
from spark.test_stages import (
    WARDS,
    Rows,
    Tables,
    batch,
    collected,
    listed,
    local,
    streaming,
    ward_rows,
)

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
SCRIPT = """
CREATE TABLE staff (unit STRING, person STRING, room STRING);
CREATE TABLE passages (a STRING, b STRING);
CREATE TABLE weights (person STRING, room STRING, w DOUBLE);
CREATE STREAM doors (id LONG, unit STRING, person STRING, action STRING, room STRING, origin STRING,
t LONG) ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', {ways}, STEP 1,
BY unit);
CREATE STREAM known AS IDENTIFY doors USING ward {asked};
"""
# Ids of a ward are above this, times its number; a row of no ward lets all be known.
EACH, LAST = 1000, 10**6


@dataclass(frozen=True)
class Together:
    """Cases with one script; of `query` its matches are asked for, otherwise the owners."""

    cases: tuple[Case, ...]
    query: str

    @property
    def script(self) -> str:
        first = self.cases[0]
        ways = "EXIT 'EXIT', HALL 'H'"
        if first.doors:
            ways = "DOORS passages (a, b), FROM_PLACE origin"
        if first.weights:
            ways += ", PREFER weights (person, room, w)"
        script = SCRIPT.format(ways=ways, asked=first.asked)
        if not self.query:
            return script
        names = [n for n in "xe" if any(f" {n}{end}" in self.query for end in ",)")]
        returned = ", ".join(f"{name}.person AS {name}" for name in names)
        asked = self.query.replace("WHERE ", "WHERE [unit] AND ")
        return f"{script}CREATE QUERY q ON known {asked} RETURN {returned};"

    @property
    def rows(self) -> Tables:
        staff, doors = list[dict[str, Any]](), list[dict[str, Any]]()
        for k, case in enumerate(self.cases):
            staff += [row | {"unit": str(k)} for row in case.staff]
            doors += [row | {"unit": str(k), "id": EACH * k + row["id"]} for row in case.rows]
        doors.sort(key=lambda row: row["t"])
        doors.append(doors[-1] | {"unit": "none", "id": EACH**2, "t": LAST})
        first = self.cases[0]
        # Tables that the model does not read have a row, too.
        passages = first.doors or [{"a": "H", "b": "R1"}]
        weights = first.weights or [{"person": "O1", "room": "R1", "w": 1.0}]
        return {"staff": staff, "passages": passages, "weights": weights, "doors": doors}

    def is_as_worked_out(self, rows: Rows) -> None:
        """Compare what was told with the cases, ward by ward."""
        for k, case in enumerate(self.cases):
            own = [row for row in rows if row["unit"] == str(k)]
            if not self.query:
                plain = [row | {"id": row["id"] - EACH * k} for row in own]
                assert tellings(plain) == case.tellings, case.title
                continue
            owner_of = {}
            for row in own:
                for each in row["events"]:
                    each["event_id"] = str(int(each["event_id"]) - EACH * k)
                owner_of[row["match_id"]] = [row[each["component"]] for each in row["events"]]
            assert matches(own, owner_of) == case.match_tellings, case.title


def _together() -> list[Together]:
    found: dict[Any, list[Case]] = {}
    for case in CASES:
        alike = case.asked, str(case.doors), str(case.weights)
        found.setdefault((*alike, ""), []).append(case)
        if case.query:
            found.setdefault((*alike, case.query), []).append(case)
    return [Together(tuple(own), query) for (*_, query), own in found.items()]


def _named(together: Together) -> str:
    number = together.cases[0].title.split()[0]
    return f"{'matches' if together.query else 'owners'} of {number} and those like it"


@pytest.mark.rotating(6)
@pytest.mark.parametrize("together", _together(), ids=_named)
def test_worked_cases_come_out_in_batch_and_in_a_stream(
    spark: Any, tmp_path: Path, together: Together
) -> None:
    asked = "q" if together.query else "known"
    bounded = batch(spark, together.script, together.rows)
    together.is_as_worked_out(listed(bounded.revisions(asked)))
    arriving = streaming(spark, together.script, together.rows, "doors", tmp_path)
    together.is_as_worked_out(collected(arriving.revisions(asked), tmp_path / "told"))


BEYOND = """
CREATE QUERY visit ON known
PATTERN SEQ(ENTER x, !EXIT s, EXIT e) WHERE [unit] AND [person] WITHIN 20
RETURN x.id AS x, e.id AS e;
"""


def test_what_is_sampled_is_the_same_in_batch_and_in_a_stream(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGURY_IDENTITY_STATE_LIMIT", "2")
    # Workers have the variables of the driver as it began, and these.
    monkeypatch.setitem(spark.sparkContext.environment, "AUGURY_IDENTITY_STATE_LIMIT", "2")
    rows, script = ward_rows(), WARDS + BEYOND
    expected = told_of(listed(local(script, rows).revisions("visit")))
    assert any("sampled" in each for each in expected)
    assert told_of(listed(batch(spark, script, rows).revisions("visit"))) == expected
    arriving = streaming(spark, script, rows, "doors", tmp_path)
    assert told_of(collected(arriving.revisions("visit"), tmp_path / "told")) == expected


def told_of(rows: Rows) -> list[tuple[Any, ...]]:
    names = ("match_id", "revision", "method")
    numbers = ("confidence", "error_bound")
    return sorted(
        (*(row[name] for name in names), *(round(row[name], 9) for name in numbers)) for row in rows
    )
