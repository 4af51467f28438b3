"""A page about one's own script and rows: what it tells, and what it never tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from augury import AuguryError, Session
from augury.cli.main import cli
from augury.report.gathered import answers_of

STORE = """-- Taken, and never paid for.
CREATE STREAM reads (id LONG, tag STRING, reader STRING, door STRING, at TIMESTAMP, p DOUBLE)
ID id KEY tag TIME at TYPE reader PROBABILITY p;
CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z) WHERE [tag]
WITHIN 1 HOUR RETURN z.door AS door;
CREATE QUERY lost ON reads PATTERN SEQ(SHELF x, LIFT y) WHERE [tag] WITHIN 1 HOUR;
CREATE QUERY likely ON reads PATTERN SEQ(SHELF x, EXIT z) WHERE [tag] WITHIN 1 HOUR
RETURN PROBABILITY;
"""


def read(number: int, tag: Any, reader: str, minute: int, p: float, door: str = "main") -> Any:
    at = f"2026-01-01T10:{minute:02d}:00"
    return {"id": number, "tag": tag, "reader": reader, "door": door, "at": at, "p": p}


ROWS = [
    read(1, "t1", "SHELF", 0, 0.9),
    read(2, "t1", "COUNTER", 5, 0.25),
    read(3, "t1", "EXIT", 10, 0.8),
    read(4, "t2", "SHELF", 0, 1.0),
    read(5, "t2", "EXIT", 30, 0.5),
    read(6, "t3", "EXIT", 40, 1.7),
]


def session(script: str = STORE, rows: Any = None) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("reads", ROWS if rows is None else rows)
    return ag


def text_of(page: str) -> str:
    body = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_a_page_tells_what_was_asked_what_came_and_what_was_found() -> None:
    text = text_of(session().report(title="Day one"))
    for told in (
        "Day one",
        "Taken, and never paid for.",
        "p is not a probability between 0 and 1",
        "2 matches, of which 1.0 are to be expected true",
        "0.9 \N{MULTIPLICATION SIGN} 0.8 \N{MULTIPLICATION SIGN} (1 \N{MINUS SIGN} 0.25) = 0.54",
        "tag is t1",
        "with an event LIFT of reads at",
        "Probabilities",
    ):
        assert told in text, told


def test_answers_are_held_against_a_column_of_truth() -> None:
    stolen = [row | {"stolen": row["tag"] == "t1"} for row in ROWS]
    ag = session(STORE.replace("HOUR RETURN", "HOUR HAVING CONFIDENCE >= 0.1 RETURN"), stolen)
    text = text_of(ag.report(truth="stolen"))
    assert "How many, and how many rightly" in text
    # From 0.5 on both are accused, from 0.53 on only the one that is a theft.
    assert "confidence \N{GREATER-THAN OR EQUAL TO} 0.5 2 1 50.0 % 100.0 %" in text
    assert "confidence \N{GREATER-THAN OR EQUAL TO} 0.7 0 0" in text


def test_a_column_of_truth_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AuguryError, match="there is no column stolen"):
        session().report(truth="stolen")


HOSTILE = "<script>window.taken = 1</script><img src=x onerror='window.taken = 1'>\"'&"


def hostile() -> Session:
    """Return a session with markup in every column that takes text, in names and in reasons."""
    ag = Session(engine="local")
    quoted = HOSTILE.replace("'", "''")
    ag.sql(f"""CREATE STREAM s (`{HOSTILE.replace("`", "")}` STRING, tag STRING, kind STRING,
    t LONG, p DOUBLE) KEY tag TIME t TYPE kind PROBABILITY p;
    CREATE QUERY q ON s PATTERN SEQ(_ a, _ b) WHERE [tag] AND a.kind <> '{quoted}x' WITHIN 10
    RETURN a.kind AS kind, b.tag AS own;""")
    common = {HOSTILE: HOSTILE, "tag": HOSTILE, "kind": HOSTILE}
    rows = [common | {"t": t, "p": p} for t, p in ((1, 0.5), (3, 0.8), (4, 7.0))]
    ag.bind("s", rows)
    return ag


def test_values_are_text_and_never_markup() -> None:
    page = hostile().report(title=HOSTILE)
    assert "&lt;script&gt;window.taken" in page
    assert "<script>window.taken" not in page
    assert "<img src=x" not in page
    # What stands in an attribute does not end it.
    assert not re.search(r'data-tip="[^"]*<', page)


def test_what_a_policy_keeps_back_is_not_in_the_page() -> None:
    ag = Session(engine="local")
    ag.sql("""CREATE STREAM seen (id LONG, who STRING, kind STRING, t LONG) ID id KEY who TIME t
    TYPE kind;
    CREATE QUERY clean ON seen PATTERN SEQ(EXIT a, WASH b) WHERE [who] WITHIN 10;
    CREATE QUERY therapy ON seen PATTERN SEQ(EXIT a, COUCH b) WHERE [who] WITHIN 10;
    CREATE POLICY discreet ON seen PUBLIC clean PRIVATE therapy USING GREEDY;
    CREATE STREAM published AS SUPPRESS seen USING discreet;""")
    kinds = [("EXIT", 1), ("COUCH", 3), ("WASH", 5)]
    rows = [{"id": 77000 + k, "who": "ann", "kind": n, "t": t} for k, (n, t) in enumerate(kinds)]
    ag.bind("seen", [*rows, {"id": 77009, "who": None, "kind": "WASH", "t": 7}])
    page = ag.report()
    assert "77000" in page
    for secret in ("77001", "COUCH", "therapy", "77009", "who is null"):
        assert secret not in page, secret


def test_what_there_is_to_be_found_is_counted_in_rows_that_were_kept() -> None:
    ag = Session(engine="local")
    ag.sql("""CREATE STREAM seen (id LONG, who STRING, kind STRING, t LONG, truth BOOLEAN)
    ID id KEY who TIME t TYPE kind;
    CREATE QUERY clean ON seen PATTERN SEQ(EXIT a, WASH b) WHERE [who] WITHIN 10;
    CREATE QUERY therapy ON seen PATTERN SEQ(EXIT a, COUCH b) WHERE [who] WITHIN 10;
    CREATE POLICY discreet ON seen PUBLIC clean PRIVATE therapy USING GREEDY;""")
    rows = [
        {"id": 1, "who": "ann", "kind": "EXIT", "t": 1, "truth": True},
        {"id": 2, "who": "ann", "kind": "WASH", "t": 2, "truth": True},
        {"id": 3, "who": "bob", "kind": "EXIT", "t": 3, "truth": False},
        {"id": 4, "who": "bob", "kind": "COUCH", "t": 4, "truth": True},
    ]
    ag.bind("seen", rows)
    (clean,) = answers_of(ag, "truth")
    assert clean.truth is not None
    assert (clean.truth.column, clean.truth.relevant) == ("truth", 1)


def test_rules_and_forecasts_stand_beside_the_queries() -> None:
    script = (
        STORE
        + """CREATE TABLE alarms (tag STRING, n LONG) KEY tag;
    CREATE RULE warn ON theft DO INSERT INTO alarms VALUES (new.tag, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;"""
    )
    text = text_of(session(script).report())
    assert "Rule warn" in text
    assert "Table alarms" in text


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    (tmp_path / "store.sql").write_text(STORE)
    lines = ["id,tag,reader,door,at,p", "1,t1,SHELF,main,2026-01-01T10:00:00,0.9"]
    (tmp_path / "reads.csv").write_text("\n".join(lines))
    page = tmp_path / "out" / "page.html"
    command = ["report", str(tmp_path / "store.sql"), str(tmp_path / "reads.csv"), "--out"]
    done = CliRunner().invoke(cli, [*command, str(page)])
    assert done.exit_code == 0, done.output
    assert "<title>store" in page.read_text()
    assert CliRunner().invoke(cli, [*command, str(page), "--truth", "x"]).exit_code == 1


def test_what_is_certain_has_no_slider_and_words_stand_below_words() -> None:
    sure = [row | {"p": 1.0} for row in ROWS if row["reader"] != "COUNTER"]
    page = session(rows=sure).report()
    assert 'id="cut"' not in page
    assert "sure enough" not in text_of(page)
    assert 'id="cut"' in session().report()
    doubted = session(rows=[*ROWS, {**ROWS[0], "id": None}]).report()
    assert '<th scope="col" class="words">reason</th>' in doubted
    assert '<th scope="col">rows</th>' in doubted
