"""A store of tables: what is written is there whole or not at all, once, and by one writer."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from augury.errors import StoreError
from augury.stores.layout import StoredTable
from augury.stores.place import StoreAddress
from augury.stores.store import Mark, RowChange, Store
from stores.databases import asked

STATUS = StoredTable("worker_status", (("worker", "STRING"), ("status", "STRING")), ("worker",))
LOG = StoredTable("log", (("worker", "STRING"), ("n", "LONG")))
ALL = StoredTable(
    "every",
    (
        ("k", "LONG"), ("s", "STRING"), ("d", "DOUBLE"), ("b", "BOOLEAN"), ("t", "TIMESTAMP"),
        ("day", "DATE"),
    ),
    ("k",),
)  # fmt: skip


def store(url: str, *tables: StoredTable, **more: Any) -> Store:
    place = StoreAddress("ward", url, pause=lambda _: None)
    return Store(place, {each.name: each for each in tables or (STATUS, LOG)}, **more)


def opened(url: str, *tables: StoredTable, **more: Any) -> Store:
    made = store(url, *tables, **more)
    made.claim()
    return made


def put(name: str, before: Any, after: Any) -> RowChange:
    return RowChange(name, before, after)


def test_an_empty_store_has_no_rows_and_no_moment(url: str) -> None:
    made = store(url)
    assert made.load() == ({"worker_status": [], "log": []}, None)
    assert store(url).load() == made.load(), "nothing is made by reading"


def test_what_is_committed_is_there_with_its_moment(url: str) -> None:
    made = opened(url)
    changes = [
        put("worker_status", None, ("w7", "safe")),
        put("worker_status", ("w7", "safe"), ("w7", "warning")),
        put("worker_status", None, ("w8", "safe")),
        put("worker_status", ("w8", "safe"), None),
        put("log", None, ("w7", 1)),
        put("log", None, ("w7", 1)),
        put("log", ("w7", 1), ("w7", 2)),
    ]
    moment = (10, False, 0, (3,))
    assert made.commit(changes, Mark(moment, script="abc"))
    rows, position = store(url).load()
    assert rows["worker_status"] == [("w7", "warning")]
    assert sorted(rows["log"]) == [("w7", 1), ("w7", 2)]
    assert position == moment
    runs = asked(url, "SELECT table_name, moment, script, writes FROM augury_runs ORDER BY 1")
    assert runs == [("log", 10, "abc", 1), ("worker_status", 10, "abc", 1)]


def test_every_type_comes_back(url: str) -> None:
    made = opened(url, ALL)
    rows = [
        (1, "ä'\"\n", 0.1, True, 1_700_000_000_123_456, -3),
        (-(2**63), "", float("inf"), False, -62_135_596_800_000_000, 0),
        (2**63 - 1, None, None, None, None, None),
    ]
    made.commit([put("every", None, row) for row in rows], Mark((1,)))
    assert sorted(made.load()[0]["every"]) == sorted(rows)


def test_a_row_without_key_goes_once_though_another_is_the_same(url: str) -> None:
    made = opened(url)
    made.commit([put("log", None, (None, 1))] * 3, Mark((1,)))
    made.commit([put("log", (None, 1), None), put("log", (None, 1), ("x", 5))], Mark((2,)))
    assert sorted(made.load()[0]["log"], key=str) == [("x", 5), (None, 1)]


def test_a_batch_that_comes_again_changes_nothing(url: str) -> None:
    made = opened(url)
    add = [put("log", None, ("w7", 1))]
    assert made.commit(add, Mark((5,), "run", 0))
    assert not made.commit(add, Mark((5,), "run", 0))
    assert made.commit(add, Mark((9,), "run", 1))
    assert not made.commit(add, Mark((5,), "run", 0))
    assert made.commit([], Mark((9,), "run", 2)), "a batch without changes is counted, too"
    assert made.load() == ({"worker_status": [], "log": [("w7", 1)] * 2}, (9,))


def test_a_moment_that_comes_again_changes_nothing(url: str) -> None:
    made = opened(url)
    add = [put("log", None, ("w7", 1))]
    assert made.commit(add, Mark((5, False, 0, ())))
    assert not made.commit(add, Mark((5, False, 0, ())))
    assert not made.commit(add, Mark((4, True, 0, ())))
    assert made.commit(add, Mark((5, True, 0, ())))
    assert len(made.load()[0]["log"]) == 2


@pytest.mark.parametrize("step", ["before worker_status", "before log", "before the moment",
                                  "before the end"])  # fmt: skip
def test_a_commit_that_breaks_off_leaves_both_tables_or_neither(url: str, step: str) -> None:
    def break_off(at: str) -> None:
        if at == step and not done:
            raise KeyboardInterrupt

    done: list[bool] = []
    made = opened(url, between=break_off)
    changes = [put("worker_status", None, ("w7", "safe")), put("log", None, ("w7", 1))]
    with pytest.raises(KeyboardInterrupt):
        made.commit(changes, Mark((5,)))
    assert made.load() == ({"worker_status": [], "log": []}, None)
    done.append(True)
    assert made.commit(changes, Mark((5,)))
    assert made.load() == ({"worker_status": [("w7", "safe")], "log": [("w7", 1)]}, (5,))


# One writer ---------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_by_name(url: str) -> None:
    first = opened(url)
    with pytest.raises(StoreError, match=rf"table worker_status of store ward .* {first.holder}"):
        opened(url, STATUS)
    first.release()
    opened(url, STATUS)


def test_other_tables_have_another_writer(url: str) -> None:
    first, second = opened(url, STATUS), opened(url, LOG)
    assert first.commit([put("worker_status", None, ("a", "b"))], Mark((1,)))
    assert second.commit([put("log", None, ("a", 1))], Mark((1,)))


def test_a_lease_ends_and_who_had_it_writes_nothing_more(url: str) -> None:
    now = [1000.0]
    first = opened(url, holder="elsewhere:1:x", now=lambda: now[0])
    with pytest.raises(StoreError, match="elsewhere:1:x"):
        opened(url, now=lambda: now[0])
    now[0] += 61
    second = opened(url, now=lambda: now[0])
    with pytest.raises(StoreError, match=r"silent for longer than its lease"):
        first.commit([put("log", None, ("a", 1))], Mark((1,)))
    assert second.load()[0]["log"] == []
    assert second.commit([put("log", None, ("a", 1))], Mark((1,)))


def test_the_lease_of_a_process_that_has_ended_does_not_hold(url: str) -> None:
    command = [sys.executable, "-c", "import os; print(os.getpid())"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    first = opened(url, holder=f"{socket.gethostname()}:{ended}:x")
    second = opened(url)
    with pytest.raises(StoreError, match="now written by"):
        first.commit([put("log", None, ("a", 1))], Mark((1,)))
    assert second.commit([put("log", None, ("a", 1))], Mark((1,)))


def test_a_store_that_is_let_go_can_be_had(url: str) -> None:
    made = opened(url)
    del made
    opened(url)


# What is there must fit ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        ("worker VARCHAR(9) PRIMARY KEY", "a column of type STRING is missing"),
        ("worker BIGINT PRIMARY KEY, status TEXT", "column worker is a BIGINT, and a STRING"),
        ("worker TEXT, status TEXT", "its PRIMARY KEY is not worker"),
        ("worker TEXT, status TEXT, PRIMARY KEY (worker, status)", "its PRIMARY KEY is not"),
        ("worker TEXT PRIMARY KEY, status TEXT, n BIGINT NOT NULL", "its column n needs a value"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(url: str, made: str, fault: str) -> None:
    asked(url, f"CREATE TABLE worker_status ({made})")
    with pytest.raises(StoreError, match=fault):
        store(url).load()


def test_a_table_that_fits_is_used_and_its_other_columns_stay(url: str) -> None:
    asked(url, "CREATE TABLE worker_status (note TEXT, status VARCHAR(20), worker TEXT UNIQUE)")
    asked(url, "INSERT INTO worker_status VALUES ('old', 'safe', 'w7')")
    made = opened(url)
    assert made.load()[0]["worker_status"] == [("w7", "safe")]
    changes = [put("worker_status", ("w7", "safe"), ("w7", "warning"))]
    made.commit([*changes, put("worker_status", None, ("w8", "safe"))], Mark((1,)))
    rows = asked(url, "SELECT worker, status, note FROM worker_status ORDER BY worker")
    assert rows == [("w7", "warning", "old"), ("w8", "safe", None)]


# Places -------------------------------------------------------------------------------------------


def test_secrets_are_of_the_environment_and_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_STORE_RETRIES", "1")
    where = "postgresql://nurse:${WARD_PASSWORD}@127.0.0.1:1/ward"
    with pytest.raises(StoreError, match="the environment has no WARD_PASSWORD"):
        store(where).load()
    monkeypatch.setenv("WARD_PASSWORD", "h/e@llo:1")
    with pytest.raises(StoreError, match="does not answer") as raised:
        store(where).load()
    assert "h/e" not in str(raised.value)
    assert raised.value.__cause__ is None
    with pytest.raises(StoreError, match=r"nurse:\*\*\*@") as raised:
        store("postgresql://nurse:secret@127.0.0.1:1/ward").load()
    assert "secret" not in str(raised.value)


def test_a_password_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARD_PASSWORD", "h/e@llo:1")
    place = StoreAddress("ward", "postgresql://nurse:${WARD_PASSWORD}@127.0.0.1/ward")
    assert place.engine.url.password == "h/e@llo:1"
    assert "h/e" not in repr(place)


def test_a_password_behind_the_address_is_not_told() -> None:
    with pytest.raises(StoreError) as raised:
        store("postgresql://127.0.0.1:1/ward?user=nurse&password=hidden").load()
    assert "hidden" not in str(raised.value)


def test_a_store_that_does_not_answer_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AUGURY_STORE_RETRIES", "3")
    pauses: list[float] = []
    folder = tmp_path / "later"

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            folder.mkdir()

    place = StoreAddress("ward", f"sqlite:///{folder}/ward.db", pause)
    made = Store(place, {"log": LOG})
    assert made.load() == ({"log": []}, None)
    assert pauses == [0.05, 0.1]


def test_a_store_that_never_answers_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AUGURY_STORE_RETRIES", "2")
    with pytest.raises(StoreError, match=r"store ward at .* does not answer: .*unable to open"):
        store(f"sqlite:///{tmp_path}/nowhere/ward.db").load()


# Many changes -------------------------------------------------------------------------------------

rows = st.tuples(st.integers(0, 4).map(str), st.one_of(st.none(), st.sampled_from("ab")))


@given(st.lists(st.lists(st.tuples(st.booleans(), rows), max_size=6), max_size=4))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_store_holds_what_the_changes_come_to(
    tmp_path: Path, commits: list[list[tuple[bool, tuple[str, Any]]]]
) -> None:
    where = tmp_path / "law.db"
    for old in tmp_path.glob("law.db*"):
        old.unlink()
    made, held = opened(f"sqlite:///{where}", STATUS), dict[str, Any]()
    for number, commit in enumerate(commits):
        changes = []
        for keeps, (key, value) in commit:
            before = (key, held[key]) if key in held else None
            after = (key, value) if keeps else None
            if before != after:
                changes.append(put("worker_status", before, after))
            held.pop(key, None)
            if keeps:
                held[key] = value
        made.commit(changes, Mark((number,)))
        assert dict(made.load()[0]["worker_status"]) == held
    made.release()
