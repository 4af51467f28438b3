"""Firings are told to webhooks as surely as they are written, whatever breaks in between."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from augury import QueryError, Session
from augury.errors import RowsWarning, StoreError
from augury.evaluation.acting.letters import letters_of, with_letters
from augury.evaluation.acting.stores import Stores
from augury.evaluation.acting.written import written
from augury.stores.postman import AT_A_TIME
from stores.hooks import SECRET, hook

SCRIPT = """
CREATE STORE ward AT 'sqlite:///{file}';
CREATE STREAM doors (id LONG, worker STRING, t LONG) ID id KEY worker TIME t;
CREATE TABLE seen (worker STRING, n LONG) KEY worker STORE ward;
CREATE QUERY came ON doors PATTERN SEQ(doors e) WHERE [worker] WITHIN 1;
CREATE RULE note ON came
DO INSERT INTO seen VALUES (new.worker, 1) ON CONFLICT DO UPDATE SET n = n + 1;
"""
HOOK = "WRITE note TO webhook '{url}' OPTIONS (secret = '${{WARD_SECRET}}');"
ROWS = [{"id": k, "worker": "ann", "t": k} for k in range(1, 6)]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARD_SECRET", SECRET)
    monkeypatch.setenv("AUGURY_WEBHOOK_TIMEOUT_SECONDS", "1")
    monkeypatch.setattr("augury.stores.postman.FIRST_PAUSE", 0.01)


def opened(folder: Path, url: str, text: str = HOOK) -> Session:
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(file=folder / "ward.db") + text.format(url=url))
    return ag


def left(folder: Path) -> list[Any]:
    with sqlite3.connect(folder / "ward.db") as connection:
        return connection.execute("SELECT refused FROM augury_outbox").fetchall()


@pytest.mark.parametrize(
    "behaviours",
    [
        (),
        (503, 500),
        ("hangs",),
        ("forgets", "takes", "forgets"),
        (429, "forgets"),
        (301, 302, 303),
        ("babbles", "takes", "babbles"),
    ],
)
def test_what_fired_is_told_once_each_and_in_order(
    tmp_path: Path, behaviours: tuple[str | int, ...]
) -> None:
    with hook(*behaviours) as heard:
        ag = opened(tmp_path, heard.url)
        for row in ROWS:
            ag.push("doors", row)
        ag.finish()
        assert heard.rows("rule", "worker", "ts") == [("note", "ann", k) for k in range(1, 6)]
        assert [*heard.log] == ag.table("note").column("firing_id").to_pylist()
        assert heard.repeats == sum(each == "forgets" for each in behaviours)
        assert not heard.forged
        assert left(tmp_path) == []
        opened(tmp_path, heard.url).push("doors", ROWS)
        assert len(heard.log) == len(ROWS)


def test_what_a_run_cannot_bring_the_next_one_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGURY_WEBHOOK_RETRIES", "1")
    with hook(*[503] * 60) as heard:
        ag = opened(tmp_path, heard.url)
        ag.push("doors", ROWS)
        with pytest.warns(RowsWarning, match="503"):
            ag.finish()
        assert heard.log == {}
        heard.behaviours.clear()
        again = opened(tmp_path, heard.url)
        again.push("doors", {"id": 9, "worker": "ann", "t": 9})
        again.finish()
        assert [ts for (ts,) in heard.rows("ts")] == [1, 2, 3, 4, 5, 9]


def test_a_letter_that_is_refused_for_good_is_kept_and_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    with hook(410) as heard:
        ag = opened(tmp_path, heard.url)
        ag.push("doors", ROWS)
        ag.finish()
        assert [ts for (ts,) in heard.rows("ts")] == [2, 3, 4, 5]
        assert left(tmp_path) == [("410 Gone",)]


def test_a_letter_that_is_refused_after_it_was_not_taken_ends_the_run(tmp_path: Path) -> None:
    with hook(503, 410) as heard:
        ag = opened(tmp_path, heard.url)
        ag.push("doors", ROWS[0])
        ag.finish()
        assert left(tmp_path) == [("410 Gone",)]


def test_letters_of_a_webhook_that_is_none_any_more_are_in_nobodys_way(tmp_path: Path) -> None:
    with hook() as heard:
        ag = opened(tmp_path, heard.url)
        ag.push("doors", ROWS[0])
        ag.finish()
        with sqlite3.connect(tmp_path / "ward.db") as connection:
            old = [(f"f{k}", "http://gone/", 0, k, "{}") for k in range(2 * AT_A_TIME)]
            added = "INSERT INTO augury_outbox VALUES (?, ?, ?, ?, ?, NULL)"
            connection.executemany(added, old)
        again = opened(tmp_path, heard.url)
        again.push("doors", ROWS)
        again.finish()
        assert [ts for (ts,) in heard.rows("ts")] == [1, 2, 3, 4, 5]
        assert len(left(tmp_path)) == 2 * AT_A_TIME


def test_a_webhook_that_does_not_answer_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("augury.stores.postman.AT_A_TIME", 2)
    monkeypatch.setenv("AUGURY_WEBHOOK_RETRIES", "1")
    with hook(*[503] * 60) as dead, hook() as heard:
        both = HOOK + HOOK.replace("{url}", heard.url)
        ag = opened(tmp_path, dead.url, both)
        ag.push("doors", ROWS)
        with pytest.warns(RowsWarning, match="503"):
            ag.finish()
        assert [ts for (ts,) in heard.rows("ts")] == [1, 2, 3, 4, 5]


def test_letters_are_there_if_and_only_if_the_rows_are(tmp_path: Path) -> None:
    with hook() as heard:
        ag = opened(tmp_path, heard.url)
        ag.push("doors", ROWS[0])
        (store,) = ag._pushed.live.acting.stores.stores.values()

        def between(step: str) -> None:
            if step == "before the moment":
                raise KeyboardInterrupt

        store.between = between
        with pytest.raises(KeyboardInterrupt):
            ag.push("doors", ROWS[1:])
        store.release()
        assert heard.log == {}
        with sqlite3.connect(tmp_path / "ward.db") as connection:
            tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        assert not {"seen", "augury_outbox"} & {name for (name,) in tables}


def test_letters_that_travel_with_a_batch_are_committed_once(tmp_path: Path) -> None:
    with hook() as heard:
        bound = opened(tmp_path, heard.url)
        bound.bind("doors", ROWS)
        declared = bound._declared
        firings = bound._acted.state().firings
        rows = with_letters(
            written(firings, ["seen"]),
            letters_of(firings, declared.catalog, declared.checked_queries),
        )
        for _ in range(2):
            stores = Stores.of(declared.catalog, ["seen"])
            stores.claim()
            stores.load()
            stores.commit_rows(rows, 6, "run", 0)
            stores.commit_rows(pa.concat_tables([rows, rows]), 6, "run", 0)
            stores.release()
        assert len(heard.requests) == 5
        assert stores.reached == {"ward": (6,)}
        with sqlite3.connect(tmp_path / "ward.db") as connection:
            assert connection.execute("SELECT * FROM seen").fetchall() == [("ann", 5)]
            found = connection.execute("SELECT run, batch, moment FROM augury_runs").fetchall()
            assert found == [("run", 0, 6)]


def test_a_secret_that_is_not_there_is_said_before_anything_fires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WARD_SECRET")
    ag = opened(tmp_path, "http://127.0.0.1:9/")
    with pytest.raises(StoreError, match="WARD_SECRET"):
        ag.push("doors", ROWS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("WRITE came TO webhook 'http://h/';", "is no rule"),
        ("WRITE note TO webhook 'ftp://h/';", "no address"),
        ("WRITE note TO webhook 'http://h/' OPTIONS (secret = 'abc');", "in the script"),
        ("WRITE note TO webhook 'http://h/' OPTIONS (topic = 'abc');", "no option topic"),
        (
            "CREATE TABLE own (w STRING) KEY w;"
            "CREATE RULE r ON came DO DELETE FROM own; WRITE r TO webhook 'http://h/';",
            "no table in a STORE",
        ),
        ("WRITE note TO webhook 'http://h/'; WRITE note TO webhook 'http://h/';", "already"),
    ],
)
def test_a_webhook_that_cannot_be_told_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        opened(tmp_path, "", text)
