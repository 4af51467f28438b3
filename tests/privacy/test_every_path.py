"""The list of ways to read grows with the product: what is new here is tried, or fails.

Every method of a session, every command, option of a run, statement and thing to ask for stands in
a list below, with the paths of `test_read_paths` and of this file that try it, or with why it needs
none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from augury import Session
from augury.cli.main import cli
from augury.evaluation.asked import Kind
from augury.language.tree import Statement
from augury.notebook import run_cell
from cli.terminal import augury
from privacy.test_read_paths import (
    BEFORE,
    PATHS,
    RAW,
    SCRIPT,
    SECRET,
    SECRETS,
    on_the_command_line,
    refusal,
    ward,
)

Read = Callable[[list[dict[str, Any]], Path], Any]
OWNER = "for the owner of the raw stream"
NO_ROWS = "reads no rows"
ON_SPARK = "Spark only: tests/spark/test_policies_unread.py"


def scored(rows: list[dict[str, Any]], folder: Path) -> Any:
    """Score a forecast on rows that would be suppressed in part."""
    certain = [{**row, "p": 1.0} for row in rows]
    ag = Session(engine="local")
    ag.sql(SCRIPT.replace(" PROBABILITY p", "").replace("5 EVENTS", "1 EVENTS"))
    ag.bind("before", BEFORE)
    ag.bind("badges", [{"who": "zoe", "colour": "green"}])
    ag.bind("ward", RAW[:1])
    return repr(ag.score("soon", certain))


def written(*arguments: str) -> Read:
    """Run the script into files; return all that is in the folder but the rows that went in."""

    def read(rows: list[dict[str, Any]], folder: Path) -> Any:
        given = [each.replace("FOLDER", str(folder)) for each in arguments]
        shown = on_the_command_line("run", "--engine", "local", *given, "SCRIPT")(rows, folder)
        mine = {"ward.json", "before.json", "badges.json", "w.sql", "state.json"}
        found = {
            str(file.relative_to(folder)): _plain(file.read_text())
            for file in sorted(folder.rglob("*"))
            if file.is_file() and file.name not in mine and not file.name.endswith("augury.json")
        }
        return shown, found

    return read


def _plain(text: str) -> str:
    """Return lines of JSON without the time at which they were written."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith('{"')]
    return repr([{k: v for k, v in line.items() if k != "time"} for line in lines])


def of_cases(rows: list[dict[str, Any]], folder: Path) -> Any:
    """Expect the wrong answers of a case, and ask for a private query."""
    folder.mkdir()
    (folder / "w.sql").write_text(SCRIPT)
    case = "\n".join(f"{{{_toml(row)}}}," for row in rows)
    before = "\n".join(f"{{{_toml(row)}}}," for row in BEFORE)
    texts = [
        f'[[case]]\nname = "{name}"\n[case.rows]\nward = [\n{case}]\nbefore = [\n{before}]\n'
        f'badges = [{{who = "zoe", colour = "green"}}]\n[case.expect]\n{name} = 0\n'
        for name in ("visits", "published", "therapy")
    ]
    (folder / "w.test.toml").write_text("\n".join(texts))
    return augury("test", str(folder)).output.replace(str(folder), "FOLDER")


def _toml(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in row.items())


def scored_by_command(forecast: str) -> Read:
    """Score a forecast of the certain ward by the command, or one that there is not."""

    def read(rows: list[dict[str, Any]], folder: Path) -> Any:
        on_the_command_line("check", "SCRIPT")(rows, folder)
        script = (folder / "w.sql").read_text().replace("--  soon", "CREATE FORECAST soon")
        script = script.replace(" PROBABILITY p", "").replace("5 EVENTS", "1 EVENTS")
        (folder / "w.sql").write_text(script)
        done = augury("score", "--json", str(folder / "w.sql"), forecast)
        return done.exit_code, done.output.replace(str(folder), "FOLDER")

    return read


def differs(rows: list[dict[str, Any]], folder: Path) -> Any:
    """Compare the script with one that has another window."""
    on_the_command_line("check", "SCRIPT")(rows, folder)
    old = (folder / "w.sql").read_text()
    (folder / "new.sql").write_text(old.replace("OFFICE b) WITHIN 9", "OFFICE b) WITHIN 2"))
    done = augury("diff", "--json", str(folder / "w.sql"), str(folder / "new.sql"))
    return done.exit_code, done.output


def page(rows: list[dict[str, Any]], folder: Path) -> Any:
    shown = on_the_command_line("report", "--out", str(folder / "page.html"), "SCRIPT")
    return shown(rows, folder), (folder / "page.html").read_text().replace(str(folder), "FOLDER")


def cell(rows: list[dict[str, Any]], folder: Path) -> Any:
    ag = ward(rows)
    text = "CREATE QUERY late_ones ON ward PATTERN SEQ(CLEAN a, OFFICE b) WITHIN 30;"
    return run_cell({"ag": ag}, "", text).html


def pushed_tables(rows: list[dict[str, Any]], folder: Path) -> Any:
    ag = Session(engine="local")
    ag.sql(SCRIPT.replace("CREATE FORECAST", "-- "))
    ag.bind("before", BEFORE)
    ag.bind("badges", [{"who": "zoe", "colour": "green"}])
    ag.push("ward", RAW[0])
    found = ag.expired("cleaned")
    for row in sorted(rows, key=lambda row: row["t"])[1:]:
        ag.push("ward", row)
    return found, ag.expired("cleaned"), ag.finish(), ag.expired("cleaned")


def restored(rows: list[dict[str, Any]], folder: Path) -> Any:
    """Return what is told after a checkpoint, which has the rows that wait."""
    first, second = (Session(engine="local") for _ in range(2))
    for ag in (first, second):
        ag.sql(SCRIPT.replace("CREATE FORECAST", "-- "))
        ag.bind("before", BEFORE)
        ag.bind("badges", [{"who": "zoe", "colour": "green"}])
    told = [each for row in rows if row["t"] < 6 for each in first.push("ward", row)]
    second.restore(first.checkpoint())
    told += [each for row in rows if row["t"] >= 6 for each in second.push("ward", row)]
    return sorted(map(repr, [*told, *second.finish()]))


def warned(rows: list[dict[str, Any]], folder: Path) -> Any:
    ag = ward(rows)
    ag.table("visits")
    return ag.warnings, ag.streams, ag.queries, ag.forecasts


MORE: dict[str, Read] = {
    "display": lambda rows, folder: [ward(rows).display(n).html for n in ("visits", "published")],
    "report": lambda rows, folder: ward(rows).report(),
    "report with truth": lambda rows, folder: ward(rows).report(truth="room"),
    "score": scored,
    "gaps": lambda rows, folder: ward(rows).gaps("visits"),
    "warnings": warned,
    "cell of a notebook": cell,
    "restored": restored,
    "private display": refusal(lambda ag: ag.display("therapy")),
    "private score": refusal(lambda ag: ag.score("therapy", SECRETS)),
    "private why": refusal(lambda ag: ag.why("0" * 32, "therapy")),
    "private gaps": refusal(lambda ag: ag.gaps("therapy")),
    "raw table": refusal(lambda ag: ag.table("ward")),
    "raw revisions": refusal(lambda ag: ag.revisions("ward")),
    "raw changes": refusal(lambda ag: ag.changes("ward")),
    "raw why owner": refusal(lambda ag: ag.why_owner("ward", "o4")),
    "history table": refusal(lambda ag: ag.table("before")),
    "run --json": on_the_command_line("run", "--engine", "local", "--json", "SCRIPT"),
    "run --engine auto": on_the_command_line("run", "SCRIPT"),
    "run --table": on_the_command_line("run", "--engine", "local", "--table", "--wide", "SCRIPT"),
    "run --log": written("--log", "FOLDER/log.json"),
    "run --side-tables": written("--side-tables", "FOLDER/aside"),
    "run to files": written(*(f"--sink={n}=json:FOLDER/{n}" for n in ("visits", "published"))),
    "run private": on_the_command_line("run", "--engine", "local", "--query", "therapy", "SCRIPT"),
    "command check": on_the_command_line("check", "--json", "SCRIPT"),
    "command report": page,
    "command why": on_the_command_line("why", "SCRIPT", "0" * 32),
    "command why-not": on_the_command_line("why-not", "SCRIPT", "visits", "--around", "4"),
    "command why-not private": on_the_command_line("why-not", "SCRIPT", "therapy"),
    "command score": scored_by_command("soon"),
    "command score private": scored_by_command("hidden"),
    "command test": of_cases,
    "command diff": differs,
}
ALL = {**PATHS, **MORE}


@pytest.mark.parametrize("path", MORE)
def test_what_can_be_read_does_not_tell_whether_a_suppressed_event_came(
    path: str, tmp_path: Path
) -> None:
    with_secrets = MORE[path]([*RAW[:3], *SECRETS, *RAW[3:]], tmp_path / "one")
    without = MORE[path](RAW, tmp_path / "two")
    assert SECRET not in repr(with_secrets)
    assert with_secrets == without


# What there is, and what tries it ----------------------------------------------------------------

METHODS: dict[str, tuple[str, ...] | str] = {
    "sql": ("history",),
    "run_file": "as sql",
    "bind": "takes rows, and tells none",
    "table": ("table visits", "private table", "raw table", "history table", "columns"),
    "explain": ("explain", "explain private", "explain policy", "explain analyze"),
    "revisions": ("revisions", "private revisions", "raw revisions"),
    "changes": ("changes", "raw changes"),
    "expired": ("expired", "private expired", "run to files"),
    "gaps": ("gaps", "private gaps"),
    "score": ("score", "private score"),
    "why": ("why", "private why", "why of an id that is none"),
    "why_not": ("why not", "private why not", "why not of bad rows", "why not of late rows"),
    "why_owner": ("raw why owner",),
    "display": ("display", "private display", "cell of a notebook"),
    "report": ("report", "report with truth"),
    "push": ("push", "push with rules", "announced late rows"),
    "advance": ("push",),
    "finish": ("push",),
    "restore": ("restored",),
    "streams": ("warnings",),
    "queries": ("warnings",),
    "forecasts": ("warnings",),
    "warnings": ("warnings",),
    "audit": OWNER,
    "rejected": OWNER,
    "late": OWNER,
    "checkpoint": OWNER,
    "spark": ON_SPARK,
    "analyze": ON_SPARK,
    "pipeline": ON_SPARK,
    "engine": NO_ROWS,
}
COMMANDS: dict[str, tuple[str, ...] | str] = {
    "run": ("run", "run private"),
    "explain": ("command explain",),
    "check": ("command check",),
    "report": ("command report",),
    "why": ("command why",),
    "why-not": ("command why-not", "command why-not private"),
    "test": ("command test",),
    "diff": ("command diff",),
    "score": ("command score", "command score private"),
    "backtest": OWNER,
    "init": NO_ROWS,
    "doctor": NO_ROWS,
    "demo": NO_ROWS,
}
OPTIONS_OF_RUN: dict[str, tuple[str, ...] | str] = {
    "engine": ("run", "run --engine auto"),
    "queries": ("run private",),
    "sinks": ("run to files",),
    "side_tables": ("run --side-tables",),
    "log": ("run --log",),
    "table": ("run --table",),
    "wide": ("run --table",),
    "as_json": ("run --json",),
    "metrics": "numbers of a run, as in --json and --log: tests/cli/test_run_local.py",
    "audit": OWNER,
    "checkpoint": f"{OWNER}: tests/cli/test_run_local.py, {ON_SPARK}",
    **dict.fromkeys(("file", "sources"), "says where rows come from"),
    **dict.fromkeys(("streaming", "once", "trigger", "wall_clock"), "says when rows are read"),
    **dict.fromkeys(("master", "conf", "packages", "jars", "kafka_jars"), "says how Spark is"),
}
STATEMENTS: dict[str, tuple[str, ...] | str] = {
    "CreateQuery": ("table visits", "private table"),
    "CreateRule": ("acted warn", "push with rules"),
    "CreateForecast": ("forecast",),
    "SuppressStream": ("table published", "run to files"),
    "Explain": ("explain analyze", "private analyzed"),
    "Write": ("run to files", "run private"),
    "CreateTable": ("acted badges", "changes"),
    "CreateStore": "what rules write, as tables: tests/privacy/test_rules_beside.py",
    "CreateGaps": "binds every type: tests/privacy/test_leaks.py",
    "CreateCorrelation": "binds every type: tests/privacy/test_leaks.py",
    "InferStream": "binds every type: tests/privacy/test_leaks.py",
    "CreateModel": "reads no stream until one is inferred",
    "CreateMoves": "reads no stream until one is identified",
    "IdentifyStream": "tests/chain/test_policies_on_owners.py",
    "CreatePolicy": ("explain policy",),
    "CreateStream": "may come from no place of a policy: A126, below",
}
ASKED: dict[str, tuple[str, ...] | str] = {
    "stream": ("table published",),
    "revisions": ("revisions",),
    "audit": OWNER,
    "forecast": ("forecast",),
    "settled": ("acted warn",),
    "firings": ("acted warn",),
    "aside": "firings of rules on what is published",
    "changes": ("changes",),
    "contents": ("acted badges",),
    "written": ("acted badges", "changes"),
}


def _inventories() -> dict[str, tuple[set[str], dict[str, tuple[str, ...] | str]]]:
    own = {name for name in vars(Session) if not name.startswith("_")} | {"engine"}
    kinds = {each.__name__ for each in get_args(Statement)}
    run = {str(each.name) for each in cli.commands["run"].params}
    return {
        "methods": (own, METHODS),
        "commands": (set(cli.commands), COMMANDS),
        "options": (run, OPTIONS_OF_RUN),
        "statements": (kinds, STATEMENTS),
        "asked": (set(get_args(Kind)), ASKED),
    }


@pytest.mark.parametrize("what", _inventories())
def test_every_way_to_read_is_tried_or_told_why_not(what: str) -> None:
    there, listed = _inventories()[what]
    assert there == set(listed)
    tried = {path for paths in listed.values() if not isinstance(paths, str) for path in paths}
    assert tried <= set(ALL)


PLACES = ("json 'in/ward.json'", "json './in//ward.json'", "csv 'in'", "json 'in/w*.json'")


@pytest.mark.parametrize("place", [*PLACES, "kafka 'moves' OPTIONS (subscribe 'x')"])
def test_nothing_else_comes_from_the_place_of_a_stream_under_a_policy(place: str) -> None:
    from augury import QueryError

    ward = "CREATE STREAM {} (id STRING, act STRING, t LONG) ID id TIME t TYPE act FROM {};"
    rest = "CREATE QUERY q ON ward PATTERN A a WITHIN 9; CREATE POLICY p ON ward PRIVATE q USING"
    own = PLACES[0] if "kafka" not in place else "kafka 'moves'"
    learns = f"{ward.format('h', own)} {rest} TYPES LEARN FROM h;"
    Session(engine="local").sql(ward.format("ward", own) + learns)
    for again in (ward.format("other", place), f"CREATE TABLE other (id STRING) FROM {place};"):
        if "kafka" in place and "TABLE" in again:
            continue
        with pytest.raises(QueryError, match="A126"):
            Session(engine="local").sql(ward.format("ward", own) + again + rest + " GREEDY;")
    Session(engine="local").sql(
        ward.format("ward", own) + ward.format("other", "json 'b'") + rest + " GREEDY;"
    )
