"""`augury score`: how good a forecast is, on rows that it never saw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from augury import Session
from cli.terminal import augury

STREAM = "(status STRING, t LONG) TIME t TYPE status"
SCRIPT = f"""
CREATE STREAM logins {STREAM} FROM kafka 'logins' OPTIONS (subscribe 'x');
CREATE STREAM may {STREAM};
CREATE QUERY intrusion ON logins PATTERN SEQ(DENIED a, DENIED b, OK c) USING STRICT;
CREATE FORECAST break_in ON intrusion WITHIN 3 EVENTS USING MARKOV 1 LEARN FROM may;
CREATE FORECAST going ON intrusion WITHIN 3 EVENTS USING MARKOV 1 LEARN ONLINE;
"""
BEFORE = "OK DENIED DENIED OK OK DENIED OK OK DENIED DENIED DENIED OK OK"
AFTER = "OK DENIED DENIED OK OK DENIED OK DENIED OK DENIED DENIED DENIED OK OK DENIED DENIED"


def rows(statuses: str) -> list[dict[str, object]]:
    return [{"status": status, "t": t} for t, status in enumerate(statuses.split())]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "w.sql").write_text(SCRIPT)
    for name, statuses in (("taught", BEFORE), ("kept_apart", AFTER)):
        lines = [f"{row['status']},{row['t']}\n" for row in rows(statuses)]
        (tmp_path / f"{name}.csv").write_text("status,t\n" + "".join(lines))
    return tmp_path


def test_it_is_the_score_of_the_session(folder: Path) -> None:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    ag.bind("may", rows(BEFORE))
    expected = ag.score("break_in", rows(AFTER))
    named = ("--history", str(folder / "taught.csv"), "--rows", str(folder / "kept_apart.csv"))
    done = augury("score", str(folder / "w.sql"), "break_in", *named, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["judged"] == expected.judged > 5
    assert told["unjudged"] == expected.unjudged > 0
    for name in ("log_loss", "base_log_loss", "brier", "base_brier", "skill", "base_rate"):
        assert told[name] == pytest.approx(getattr(expected, name)), name
    assert sum(each["count"] for each in told["reliability"]) == expected.judged
    # What is bound judges, too.
    ag.bind("logins", rows(AFTER))
    assert ag.score("break_in") == expected

    shown = augury("score", str(folder / "w.sql"), "break_in", *named).output.splitlines()
    assert shown[0].startswith(
        f"forecast break_in: {expected.judged} rows judged, {expected.unjudged} left"
    )
    assert "better than always saying so" in shown[1]
    losses = next(line for line in shown if line.startswith("log loss")).split()[2:]
    assert losses == [f"{expected.log_loss:.4f}", f"{expected.base_log_loss:.4f}"]


def test_what_is_wrong_is_said(folder: Path) -> None:
    script, kept = str(folder / "w.sql"), str(folder / "kept_apart.csv")
    for arguments, said in (
        (("gone", "--rows", kept), "there is no forecast gone; declared: break_in, going"),
        (("going", "--history", kept, "--rows", kept), "going learns from no history"),
        (("break_in", "--rows", kept), "may"),
        (("break_in", "--rows", str(folder / "none.csv")), "there is no file"),
        (("break_in",), "logins is read FROM kafka"),
    ):
        done = augury("score", script, *arguments)
        assert done.exit_code == 1, done.output
        assert said in done.output
