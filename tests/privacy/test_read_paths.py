"""An attacker reads all there is to read: it is the same whether a suppressed event came or not.

Each way to read is tried on a ward in which a private match was kept from being put together, and
on one in which the event that would have completed it never happened. What differs would tell.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from augury import AuguryError, Session
from cli.terminal import augury

SCRIPT = """
CREATE STREAM ward (id STRING, act STRING, t LONG, who STRING, room LONG, p DOUBLE)
ID id TIME t TYPE act PROBABILITY p LATENESS 1;
CREATE STREAM before (id STRING, act STRING, t LONG, who STRING, room LONG, p DOUBLE)
ID id TIME t TYPE act PROBABILITY p;
CREATE TABLE badges (who STRING, colour STRING) KEY who;
CREATE QUERY cleaned ON ward PATTERN SEQ(EXIT a, CLEAN b) WITHIN 5 RETURN a.who AS who, b.t AS t;
CREATE QUERY visits ON ward PATTERN SEQ(CLEAN a, OFFICE b) WITHIN 9 RETURN *;
CREATE QUERY any_office ON ward PATTERN OFFICE a WITHIN 9;
CREATE QUERY upper ON any_office, ward PATTERN SEQ(CLEAN c, any_office o) WITHIN 9;
CREATE QUERY stays ON ward PATTERN SEQ(EXIT a, OFFICE+ b) WITHIN 9;
CREATE QUERY many ON ward PATTERN SEQ(CLEAN a, OFFICE b) WITHIN 9 RETURN COUNT;
CREATE QUERY whether ON ward PATTERN SEQ(CLEAN a, OFFICE b) WITHIN 9 RETURN PROBABILITY;
CREATE QUERY along ON ward PATTERN SEQ(CLEAN a, OFFICE b) RETURN PROBABILITY BY TIME;
CREATE QUERY therapy ON ward PATTERN SEQ(EXIT a, OFFICE b) WITHIN 5;
CREATE FORECAST soon ON cleaned WITHIN 5 EVENTS USING MARKOV 0 LEARN ONLINE RETURN FORECAST;
CREATE RULE warn ON visits ON ERROR REJECT DO INSERT INTO badges VALUES (new.b_who, new.b_id);
CREATE POLICY discreet ON ward PUBLIC cleaned WEIGHT 2 PRIVATE therapy
USING HYBRID RATES LEARN FROM before;
CREATE STREAM published AS SUPPRESS ward USING discreet;
CREATE QUERY of_published ON published PATTERN SEQ(CLEAN a, OFFICE b) WITHIN 9;
"""
QUERIES = ("cleaned", "visits", "any_office", "upper", "stays", "of_published")
VALUES = ("many", "whether", "along", "published")
SECRET = "gregor"


def event(name: str, who: str = "ann", p: float = 1.0) -> dict[str, Any]:
    kind = {"e": "EXIT", "c": "CLEAN", "o": "OFFICE"}[name[0]]
    return {"id": name, "act": kind, "t": int(name[1:]), "who": who, "room": 7, "p": p}


# o4 would be private with e1, and goes; so would a second one. The others are far from any exit.
RAW = [event("e1"), event("c2", "bob", 0.5), event("c3"), event("o20"), event("c30"), event("o33")]
SECRETS = [event("o4", SECRET), event("o5", SECRET, 0.25)]
BEFORE = [event(f"{'eco'[k % 3]}{k}") | {"id": f"h{k}", "t": k - 100} for k in range(30)]


def ward(rows: list[dict[str, Any]]) -> Session:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    ag.bind("before", BEFORE)
    ag.bind("badges", [{"who": "zoe", "colour": "green"}])
    ag.bind("ward", rows)
    return ag


def pushing(rows: list[dict[str, Any]]) -> tuple[Session, list[Any]]:
    ag = Session(engine="local")
    ag.sql(SCRIPT.replace("CREATE FORECAST", "-- "))
    ag.bind("before", BEFORE)
    ag.bind("badges", [{"who": "zoe", "colour": "green"}])
    in_order = sorted(rows, key=lambda row: row["t"])
    return ag, [each for row in in_order for each in ag.push("ward", row)]


def table(name: str) -> Callable[[list[dict[str, Any]], Path], Any]:
    return lambda rows, folder: ward(rows).table(name).to_pylist()


def explained(name: str, how: str, *, analyze: bool = False) -> Callable[..., Any]:
    def read(rows: list[dict[str, Any]], folder: Path) -> Any:
        text = ward(rows).explain(name, how, analyze=analyze)
        if not analyze:
            return text
        # How long stages took tells nothing that can be told from noise.
        stages = json.loads(text)["measured"]
        return [{k: v for k, v in each.items() if k != "milliseconds"} for each in stages]

    return read


def pushed(rows: list[dict[str, Any]], folder: Path) -> Any:
    ag, found = pushing(rows)
    return sorted(map(repr, [*found, *ag.advance(60), *ag.finish()]))


def pushed_rules(rows: list[dict[str, Any]], folder: Path) -> Any:
    ag, _ = pushing(rows)
    ag.finish()
    return [ag.table(n).to_pylist() for n in ("badges", "warn")], ag.changes("badges").to_pylist()


def why(rows: list[dict[str, Any]], folder: Path) -> Any:
    ag = ward(rows)
    return [str(ag.why(each["match_id"])) for each in ag.table("visits").to_pylist()]


def why_not(rows: list[dict[str, Any]], folder: Path) -> Any:
    ag = ward(rows)
    return [str(ag.why_not(name, around=4)) for name in ("visits", "stays", "cleaned")]


def why_not_of_bad_rows(rows: list[dict[str, Any]], folder: Path) -> Any:
    """Ask why there is no match where the secret rows are bad ones."""
    bad = [row | {"p": 7.0} if row["who"] == SECRET else row for row in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ag = ward(bad)
        return [str(ag.why_not(name, around=4)) for name in ("visits", "stays", "cleaned")]


def why_not_of_late_rows(rows: list[dict[str, Any]], folder: Path) -> Any:
    """Ask the same of pushed rows, where the secret ones come too late."""
    ag, _ = pushing([row for row in rows if row["who"] != SECRET])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in rows:
            if row["who"] == SECRET:
                ag.push("ward", row)
        ag.finish()
    with pytest.raises(AuguryError) as error:
        ag.why_not("visits", around=4)
    return str(error.value)


def refusal(act: Callable[[Session], Any]) -> Callable[..., Any]:
    def read(rows: list[dict[str, Any]], folder: Path) -> Any:
        with pytest.raises(AuguryError) as error:
            act(ward(rows))
        return str(error.value)

    return read


def wrong_rows(rows: list[dict[str, Any]], folder: Path) -> Any:
    with pytest.raises(AuguryError) as error:
        ward([{"id": each["id"], "act": each["act"], "t": each["who"]} for each in rows]).table(
            "visits"
        )
    return str(error.value)


def put_aside(rows: list[dict[str, Any]], folder: Path) -> Any:
    """Return what is announced where the secret rows are bad ones."""
    bad = [row | {"p": 7.0} if row["who"] == SECRET else row for row in rows]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ag = ward(bad)
        ag.table("visits")
    return [str(each.message) for each in told]


def late(rows: list[dict[str, Any]], folder: Path) -> Any:
    """Return what is announced where the secret rows come too late."""
    ag, _ = pushing([row for row in rows if row["who"] != SECRET])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = [ag.push("ward", row) for row in rows if row["who"] == SECRET]
        found.append(ag.finish())
    return sorted(map(repr, (m for own in found for m in own))), [
        str(each.message) for each in told
    ]


def on_the_command_line(*arguments: str) -> Callable[..., Any]:
    def read(rows: list[dict[str, Any]], folder: Path) -> Any:
        folder.mkdir()
        for name, own in (("ward", rows), ("before", BEFORE)):
            (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in own))
        (folder / "badges.json").write_text('{"who": "zoe", "colour": "green"}\n')
        script = SCRIPT.replace("CREATE FORECAST", "-- ")
        for name in ("ward", "before", "badges"):
            made = "KEY who" if name == "badges" else "PROBABILITY p"
            place = str(folder / f"{name}.json")
            script = _with_source(script, name, made, place)
        (folder / "w.sql").write_text(script)
        done = augury(*(each.replace("SCRIPT", str(folder / "w.sql")) for each in arguments))
        text = f"{done.exit_code}\n{done.output}"
        return text.replace(str(folder), "FOLDER")

    return read


def _with_source(script: str, name: str, after: str, place: str) -> str:
    kind = "TABLE" if name == "badges" else "STREAM"
    begin = script.index(f"CREATE {kind} {name} ")
    end = script.index(";", begin)
    return f"{script[:end]} FROM json '{place}'{script[end:]}"


PATHS: dict[str, Callable[[list[dict[str, Any]], Path], Any]] = {
    **{f"table {name}": table(name) for name in (*QUERIES, *VALUES)},
    **{f"acted {name}": table(name) for name in ("badges", "warn")},
    "changes": lambda rows, folder: ward(rows).changes("badges").to_pylist(),
    "forecast": table("soon"),
    "columns": lambda rows, folder: ward(rows).table("visits", ["b_who"]).to_pylist(),
    "revisions": lambda rows, folder: ward(rows).revisions("visits").to_pylist(),
    "explain": explained("visits", "text"),
    "explain json": explained("visits", "json"),
    "explain svg": explained("visits", "svg"),
    "explain private": explained("therapy", "text"),
    "explain policy": explained("discreet", "text"),
    "explain forecast": explained("soon", "text"),
    "explain analyze": explained("visits", "json", analyze=True),
    "explain analyze of a count": explained("many", "json", analyze=True),
    "push": pushed,
    "push with rules": pushed_rules,
    "why": why,
    "why not": why_not,
    "why not of bad rows": why_not_of_bad_rows,
    "why not of late rows": why_not_of_late_rows,
    # What has expired binds what did not come: that is for before rows are read.
    "expired": refusal(lambda ag: (ag.table("visits"), ag.expired("visits"))),
    "private table": refusal(lambda ag: ag.table("therapy")),
    "private why not": refusal(lambda ag: ag.why_not("therapy")),
    "private revisions": refusal(lambda ag: ag.revisions("therapy")),
    "private analyzed": refusal(lambda ag: ag.explain("therapy", analyze=True)),
    "private expired": refusal(lambda ag: ag.expired("therapy")),
    "history": refusal(lambda ag: ag.sql("CREATE QUERY h ON before PATTERN OFFICE a WITHIN 3;")),
    "why of an id that is none": refusal(lambda ag: ag.why("0" * 32)),
    "wrong rows": wrong_rows,
    "announced bad rows": put_aside,
    "announced late rows": late,
    "run": on_the_command_line("run", "--engine", "local", "SCRIPT"),
    "command explain": on_the_command_line("explain", "SCRIPT", "visits"),
}


@pytest.mark.parametrize("path", PATHS)
def test_what_can_be_read_does_not_tell_whether_a_suppressed_event_came(
    path: str, tmp_path: Path
) -> None:
    read = PATHS[path]
    with_secrets = read([*RAW[:3], *SECRETS, *RAW[3:]], tmp_path / "one")
    without = read(RAW, tmp_path / "two")
    assert SECRET not in repr(with_secrets)
    assert with_secrets == without


def test_only_what_is_for_the_owner_tells_of_it() -> None:
    ag = ward([*RAW[:3], *SECRETS, *RAW[3:]])
    gone = [each["event_id"] for each in ag.audit("discreet").to_pylist() if not each["kept"]]
    assert gone == [each["id"] for each in SECRETS]
    assert "suppressed: 2 by never" in ag.explain("discreet", analyze=True)


def test_reading_is_not_vain() -> None:
    """The suppressed events would have been in what is read."""
    kept = ward(RAW)
    free = Session(engine="local")
    free.sql(SCRIPT.split("CREATE POLICY", maxsplit=1)[0])
    free.bind("ward", [*RAW[:3], *SECRETS, *RAW[3:]])
    free.bind("badges", [{"who": "zoe", "colour": "green"}])
    for name in ("visits", "any_office", "upper", "stays", "warn"):
        assert free.table(name).num_rows > kept.table(name).num_rows, name
