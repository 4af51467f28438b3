"""Rules over pushed events whose tables lie in a store: what is told is there, once, for good."""

from __future__ import annotations

import gc
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from augury import Session
from augury.errors import AuguryError, DataError, RowsWarning, StoreError
from rules.acting import bind, pushed
from rules.cases import CASES, Case
from rules.test_examples import check_effects, check_matches, rows_of
from stores.databases import asked

pytestmark = pytest.mark.usefixtures("far")
FINE = [case for case in CASES if case.error is None]
N10 = next(case for case in CASES if case.name.startswith("N10 "))
N14 = next(case for case in CASES if case.name.startswith("N14 "))


def stored(script: str, url: str) -> str:
    """Return a script whose tables lie in a store."""
    made = re.sub(r"(CREATE TABLE [^;]*);", r"\1 STORE ward;", script)
    return f"CREATE STORE ward AT '{url}';\n{made}"


def opened(case: Case, url: str) -> Session:
    ag = Session(engine="local")
    ag.sql(stored(case.script, url))
    return ag


def filled(case: Case, url: str) -> None:
    """Put the rows of a case into the store, in tables that somebody else has made."""
    ag = opened(case, url)
    kinds = {"STRING": "TEXT", "LONG": "BIGINT"}
    for name, rows in case.before.items():
        table = ag._declared.catalog.tables[name]
        columns = ", ".join(f"{c.name} {kinds[c.type.value]}" for c in table.columns)
        key = f", PRIMARY KEY ({', '.join(table.key)})" if table.key else ""
        asked(url, f"CREATE TABLE {name} ({columns}{key})")
        for row in rows:
            shown = ", ".join("NULL" if v is None else repr(v) for v in row)
            asked(url, f"INSERT INTO {name} VALUES ({shown})")


def there(case: Case, url: str) -> dict[str, list[Any]]:
    return {name: sorted(asked(url, f"SELECT * FROM {name}"), key=str) for name in case.after}


def expected(case: Case) -> dict[str, list[Any]]:
    return {name: sorted(rows, key=str) for name, rows in case.after.items()}


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("case", FINE, ids=lambda c: c.name.split()[0])
def test_a_case_comes_out_and_a_second_run_changes_nothing(
    case: Case, size: int, tmp_path: Path
) -> None:
    check_case(case, size, f"sqlite:///{tmp_path}/ward.db")


@pytest.mark.parametrize("case", [N10, CASES[0]], ids=lambda c: c.name.split()[0])
def test_a_case_comes_out_in_either_store(case: Case, url: str) -> None:
    check_case(case, 1, url)


def check_case(case: Case, size: int, url: str) -> None:
    filled(case, url)
    ag = opened(case, url)
    found = pushed(ag, rows_of(case), [size] * 100)
    for query in case.matches:
        check_matches(case, query, [row for row in found if row["query"] == query])
    check_effects(case, ag)
    assert there(case, url) == expected(case)
    again = opened(case, url)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", RowsWarning)
        pushed(again, rows_of(case))
    assert there(case, url) == expected(case)
    if any(case.changes.values()):
        assert any("settled by an earlier run" in str(each.message) for each in told)
        assert sum(again.table(rule).num_rows for rule in {f[0] for f in case.firings}) <= len(
            [
                f
                for f in case.firings
                if f[2] >= max(c[0] for cs in case.changes.values() for c in cs)
            ]
        )


def test_bound_rows_read_the_store_and_write_nothing(url: str) -> None:
    filled(N10, url)
    ag = bind(opened(N10, url), rows_of(N10))
    check_effects(N10, ag)
    assert there(N10, url) == {name: sorted(rows) for name, rows in N10.before.items()}


def test_bound_rows_go_on_after_what_was_pushed(url: str) -> None:
    filled(N10, url)
    pushed(opened(N10, url), rows_of(N10))
    ag = bind(opened(N10, url), rows_of(N10))
    with pytest.warns(RowsWarning, match="2 matches were settled by an earlier run"):
        assert ag.table("warn").num_rows == 0
    assert ag.table("counts").to_pylist() == [{"worker": "w7", "n": 2}]
    assert ag.table("unwashed").num_rows == 0


def test_a_table_of_a_store_can_be_asked_for_and_not_bound(url: str) -> None:
    filled(N10, url)
    ag = opened(N10, url)
    with pytest.raises(AuguryError, match="lies in a STORE"):
        ag.bind("worker_status", [{"worker": "w7", "status": "safe"}])
    alone = Session(engine="local")
    alone.sql(stored("CREATE TABLE worker_status (worker STRING, status STRING) KEY worker;", url))
    assert alone.table("worker_status").to_pylist() == [{"worker": "w7", "status": "safe"}]


def test_a_checkpoint_older_than_the_store_fires_nothing_again(url: str) -> None:
    filled(N10, url)
    first, rows = opened(N10, url), rows_of(N10)
    for row in rows[:2]:
        first.push(*row)
    saved = first.checkpoint()
    first.push(*rows[2])
    first.finish()
    second = opened(N10, url)
    second.restore(saved)
    second.push(*rows[2])
    second.finish()
    assert there(N10, url) == expected(N10)
    assert second.table("counts").to_pylist() == [{"worker": "w7", "n": 2}]


def test_a_store_older_than_the_checkpoint_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ward.db"
    filled(N10, url)
    first = opened(N10, url)
    pushed(first, rows_of(N10))
    saved = first.checkpoint()
    for old in tmp_path.glob("ward.db*"):
        old.unlink()
    filled(N10, url)
    with pytest.raises(StoreError, match="an older copy"):
        opened(N10, url).restore(saved)


def test_two_sessions_do_not_write_one_table(url: str) -> None:
    filled(N10, url)
    first, second = opened(N10, url), opened(N10, url)
    first.push(*rows_of(N10)[0])
    with pytest.raises(StoreError, match="is written by"):
        second.push(*rows_of(N10)[0])
    first.finish()
    second.push(*rows_of(N10)[0])


def test_what_cannot_be_written_is_not_told_and_comes_with_the_next_push(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGURY_STORE_RETRIES", "1")
    url = f"sqlite:///{tmp_path}/ward.db"
    filled(N10, url)
    ag, rows = opened(N10, url), rows_of(N10)
    for row in rows:
        ag.push(*row)
    assert ag._pushed.live is not None
    assert ag._pushed.live.acting is not None
    assert ag._pushed.live.acting.stores is not None
    store = ag._pushed.live.acting.stores.stores["ward"]

    def break_off(_: str) -> None:
        raise StoreError("the line is dead")

    store.between = break_off
    with pytest.raises(StoreError, match="dead"):
        ag.push("behaviour", rows[0][1] | {"id": 99, "t": 50, "seq": 50})
    assert there(N10, url)["counts"] == []
    store.between = lambda _: None
    found = ag.push("behaviour", rows[0][1] | {"id": 100, "t": 51, "seq": 51})
    assert [row["query"] for row in found] == ["unwashed", "unwashed"]
    assert there(N10, url)["counts"] == [("w7", 2)]


def test_a_moment_that_cannot_be_done_leaves_all_before_it_written(url: str) -> None:
    filled(N14, url)
    ag = opened(N14, url)
    with pytest.raises(DataError, match="is there already"):
        pushed(ag, rows_of(N14), [100])
    assert there(N14, url) == expected(N14)


def test_what_was_settled_before_a_rule_was_replaced_is_not_settled_by_the_new_one(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/ward.db"
    filled(N14, url)
    rule = (
        "CREATE OR REPLACE RULE note ON OUTPUT came REFERENCING NEW AS hit FOR EACH EVENT\n"
        "WHEN {when} BEGIN UPDATE worker_status SET status = hit.match_id WHERE worker = hit.who;"
        "INSERT INTO alarms VALUES (hit.match_id, hit.who, hit.ts); END;"
    )
    first, rows = opened(N14, url), [row for _, row in rows_of(N14)]
    first.sql(rule.format(when="hit.ts > 1000"))
    first.push("behaviour", rows)
    first.push("behaviour", rows[0] | {"id": 8, "t": 7_000, "seq": 8, "action": "EXIT"})
    first.sql(rule.format(when="hit.ts > 0"))
    first.push("behaviour", rows[0] | {"id": 9, "t": 8_000, "seq": 9})
    del first
    gc.collect()
    second = opened(N14, url)
    second.sql(rule.format(when="hit.ts > 0"))
    again = rows[0] | {"id": 9, "t": 8_000, "seq": 9}
    second.push("behaviour", [*rows, again, again | {"id": 10, "t": 9_000, "seq": 10}])
    assert [at for _, _, at in there(N14, url)["alarms"]] == [8_000]


def test_a_replaced_rule_goes_on_where_the_old_one_failed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ward.db"
    filled(N14, url)
    ag, rows = opened(N14, url), rows_of(N14)
    ag.push(*rows[0])
    ag.push(*rows[1])
    later = rows[0][1] | {"id": 9, "t": 20, "seq": 9, "action": "EXIT"}
    with pytest.raises(DataError, match="is there already"):
        ag.push("behaviour", later)
    ag.sql(
        "CREATE OR REPLACE RULE note ON OUTPUT came REFERENCING NEW AS hit FOR EACH EVENT\n"
        "BEGIN UPDATE worker_status SET status = 'again' WHERE worker = hit.who; END;"
    )
    found = ag.push("behaviour", later | {"id": 10, "t": 21, "seq": 10})
    assert [row["end_ts"] for row in found] == [9]
    assert there(N14, url)["worker_status"] == [("w7", "again")]
