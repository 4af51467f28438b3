"""`augury run --engine local`: files, folders and standard input in this process, without Java."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import Result

import augury as library
from cli.terminal import augury
from stores.hooks import hook

READS = """\
CREATE STREAM reads (id LONG, tag STRING, reader STRING, at TIMESTAMP, p DOUBLE)
ID id KEY tag TIME at TYPE reader PROBABILITY p LATENESS 1 MINUTE;
CREATE QUERY theft ON reads
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag]
WITHIN 10 MINUTES
RETURN z.tag AS item;
"""
START = datetime(2026, 1, 1, tzinfo=UTC)
SEEN = [
    (1, "a", "SHELF", 0, 0.5),
    (2, "a", "COUNTER", 60, 0.25),
    (3, "a", "EXIT", 120, 1.0),
    (4, "b", "SHELF", 130, 1.0),
    (5, "b", "EXIT", 200, 0.5),
    (6, "c", "SHELF", 90_000, 1.0),
]


def rows() -> list[dict[str, Any]]:
    names = ("id", "tag", "reader", "at", "p")
    found = [dict(zip(names, each, strict=True)) for each in SEEN]
    return [row | {"at": START + timedelta(seconds=row["at"])} for row in found]


def lines() -> list[str]:
    return [json.dumps(row, default=datetime.isoformat) for row in rows()]


def expected() -> dict[str, float]:
    session = library.Session(engine="local")
    session.sql(READS)
    session.bind("reads", rows())
    found = session.table("theft").to_pylist()
    return {row["match_id"]: row["confidence"] for row in found}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a script and a folder of reads, one of which is no JSON."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "store.sql").write_text(READS)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "reads.json").write_text("\n".join([*lines(), "{oops"]) + "\n")
    return tmp_path


def run(*arguments: str, stdin: str = "") -> Result:
    return augury("run", "store.sql", "--engine", "local", *arguments, stdin=stdin)


def events(shown: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shown.stdout.splitlines()]


def written(folder: str, form: str) -> dict[str, float]:
    found = dict[str, float]()
    for file in sorted(Path(folder).glob("batch=*/*")):
        if form == "parquet":
            own = pq.read_table(file).to_pylist()
        elif form == "json":
            own = [json.loads(line) for line in file.read_text().splitlines()]
        else:
            names, *texts = file.read_text().splitlines()
            own = [dict(zip(names.split(","), text.split(",")[:7], strict=False)) for text in texts]
        assert found.keys().isdisjoint({row["match_id"] for row in own})
        found |= {row["match_id"]: float(row["confidence"]) for row in own}
    return found


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_a_bounded_run_writes_what_a_session_finds(home: Path, form: str) -> None:
    shown = run("--source", "reads=json:in", "--sink", f"theft={form}:hits")
    assert shown.exit_code == 0, shown.output
    assert written("hits", form) == pytest.approx(expected())
    (bad,) = pq.read_table("augury-checkpoints/store-batch-side-tables/rejected/reads").to_pylist()
    assert (bad["raw"], bad["reason"]) == ("{oops", "the text is not a JSON object")
    assert shown.output.startswith("1 row of reads rejected: see ")


def test_a_bounded_run_that_is_repeated_replaces_its_answers(home: Path) -> None:
    assert run("--source", "reads=json:in", "--sink", "theft=json:hits").exit_code == 0
    (home / "in" / "reads.json").write_text("\n".join(lines()[:3]) + "\n")
    assert run("--source", "reads=json:in", "--sink", "theft=json:hits").exit_code == 0
    assert len(written("hits", "json")) == 1
    aside = home / "augury-checkpoints" / "store-batch-side-tables" / "rejected" / "reads"
    assert list(aside.glob("batch=*")) == []


def test_partial_matches_that_ran_out_of_time_are_written_by_their_name(home: Path) -> None:
    (home / "store.sql").write_text(READS + "WRITE theft_without_z TO json 'lost/';")
    shown = run("--source", "reads=json:in")
    assert shown.exit_code == 0, shown.output
    session = library.Session(engine="local")
    session.sql(READS)
    session.bind("reads", rows())
    lost = session.expired("theft").to_pylist()
    assert len(lost) == 2
    assert written("lost", "json") == pytest.approx({m["match_id"]: m["confidence"] for m in lost})


def test_rows_that_come_by_standard_input_are_answered_as_they_come(home: Path) -> None:
    shown = run("--source", "reads=jsonl:-", "--json", stdin="\n".join(lines()) + "\n")
    assert shown.exit_code == 0, shown.output
    found = events(shown)
    assert {e["row"]["match_id"] for e in found if e["event"] == "match"} == set(expected())
    assert found[-1] == {"event": "end", "matches": 2, "late": 0, "rejected": 0}


def test_standard_output_takes_csv(home: Path) -> None:
    shown = run("--source", "reads=json:in", "--sink", "theft=csv:-")
    assert [line.split(",")[0] for line in shown.stdout.splitlines()] == ["query", "theft", "theft"]


@pytest.mark.parametrize(
    ("flag", "given", "sentence"),
    [
        ("--sink", "theft=parquet:-", "theft cannot be written to standard output as parquet"),
        ("--source", "reads=parquet:-", "reads cannot be read from standard input as parquet"),
    ],
)
def test_what_is_no_text_does_not_go_through_a_pipe(
    home: Path, flag: str, given: str, sentence: str
) -> None:
    shown = run("--source", "reads=json:in", flag, given)
    told = " ".join(shown.output.split())
    assert shown.exit_code == 2
    assert sentence in told
    assert "jsonl:-" in told
    (home / "store.sql").write_text(READS + "WRITE theft TO parquet '-';")
    assert "as parquet" in run("--source", "reads=json:in").output


@pytest.mark.parametrize(
    "given", [("--sink", "theft=csv:-", "--source", "reads=json:in"), ("--source", "reads=jsonl:-")]
)
def test_spark_has_no_pipes(home: Path, given: tuple[str, ...]) -> None:
    shown = augury("run", "store.sql", "--engine", "spark", *given)
    assert shown.exit_code == 2
    assert "no standard input and output" in shown.output


def test_a_script_without_a_name_keeps_nothing_unless_it_is_asked_to(home: Path) -> None:
    given = ("run", "-", "--engine", "local", "--source", "reads=json:in", "--once")
    for threshold in ("0.2", "0.3"):
        changed = READS.replace("RETURN", f"HAVING CONFIDENCE >= {threshold} RETURN")
        for _ in range(2):
            shown = augury(*given, stdin=changed)
            assert shown.exit_code == 0, shown.output
            assert len(events(shown)) == 2
    assert not list(Path("augury-checkpoints").glob("stdin*/augury.json"))
    kept = (*given, "--checkpoint", "kept")
    assert [len(events(augury(*kept, stdin=READS))) for _ in range(2)] == [2, 0]


def test_a_streaming_run_goes_on_with_what_arrives(home: Path) -> None:
    (home / "in" / "reads.json").write_text("\n".join(lines()[:3]) + "\n")
    given = ("--source", "reads=json:in", "--once", "--sink", "theft=json:hits", "--json")
    assert run(*given).exit_code == 0
    (home / "in" / "more.json").write_text("\n".join([*lines()[3:], lines()[0]]) + "\n")
    second = run(*given)
    assert second.exit_code == 0, second.output
    assert written("hits", "json") == pytest.approx(expected())
    assert [e["events"] for e in events(second) if e["event"] == "progress"] == [4]
    assert events(second)[-1] == {"event": "end", "matches": 2, "late": 1, "rejected": 0}


def test_a_run_that_ended_before_a_batch_was_kept_makes_it_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from augury.runners.local.saved import Saved

    given = ("--source", "reads=json:in", "--once", "--sink", "theft=json:hits")
    with monkeypatch.context() as patched:
        patched.setattr(Saved, "keep", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        assert run(*given).exit_code == 130
    assert written("hits", "json") == pytest.approx(expected())
    assert run(*given).exit_code == 0
    assert written("hits", "json") == pytest.approx(expected())


def test_nobody_but_its_owner_can_enter_a_checkpoint(home: Path) -> None:
    assert run("--source", "reads=json:in", "--once", "--checkpoint", "a/ck").exit_code == 0
    assert (home / "a" / "ck" / "state.json").is_file()
    assert (home / "a" / "ck").stat().st_mode & 0o777 == 0o700


def test_a_checkpoint_of_other_queries_is_refused(home: Path) -> None:
    assert run("--source", "reads=json:in", "--once").exit_code == 0
    (home / "store.sql").write_text(READS.replace("10 MINUTES", "5 MINUTES"))
    shown = run("--source", "reads=json:in", "--once")
    assert shown.exit_code == 1
    assert "belongs to other streams or queries: theft was added, removed" in shown.output


def test_rows_that_are_too_many_to_be_read_whole_are_read_block_by_block(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from augury.sources import local_files

    monkeypatch.setenv("AUGURY_WHOLE_INPUT_BYTES", "1")
    monkeypatch.setattr(local_files, "BLOCK", 100)
    first, second, *others = lines()
    (home / "in" / "reads.json").write_text("\n".join([second, first, *others, "{oops"]) + "\n")
    shown = run("--source", "reads=json:in", "--json")
    found = [e["row"] for e in events(shown) if e["event"] == "match"]
    assert {row["match_id"]: row["confidence"] for row in found} == pytest.approx(expected())
    assert sum(each["event"] == "progress" for each in events(shown)) > 5
    assert events(shown)[-1] == {"event": "end", "matches": 2, "late": 0, "rejected": 1}


def test_block_by_block_a_file_without_a_header_is_read_in_the_order_of_time(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from augury.sources import local_files

    monkeypatch.setenv("AUGURY_WHOLE_INPUT_BYTES", "1")
    monkeypatch.setattr(local_files, "BLOCK", 60)
    own = [",".join(map(str, row.values())).replace("+00:00", "Z") for row in rows()]
    (home / "reads.csv").write_text("\n".join(reversed(own)) + "\n")
    script = READS.replace("LATENESS", "FROM csv 'reads.csv' OPTIONS (header = 'false') LATENESS")
    (home / "store.sql").write_text(script)
    found = [e["row"] for e in events(run("--json")) if e["event"] == "match"]
    assert {row["match_id"]: row["confidence"] for row in found} == pytest.approx(expected())


def test_standard_input_is_read_once_however_much_lies_beside_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGURY_WHOLE_INPUT_BYTES", "1")
    others = "CREATE STREAM others (id LONG, at TIMESTAMP) ID id TIME at;"
    paired = "CREATE QUERY paired ON reads, others PATTERN SEQ(SHELF x, others y) WITHIN 2 DAYS;"
    (home / "store.sql").write_text(f"{READS}{others}{paired}")
    (home / "others.csv").write_text("id,at\n1,2026-01-01T12:00:00Z\n")
    given = ("--batch", "--source", "reads=jsonl:-", "--source", "others=csv:others.csv")
    shown = run(*given, "--json", stdin="\n".join(lines()) + "\n")
    found = [e["query"] for e in events(shown) if e["event"] == "match"]
    assert sorted(found) == ["paired", "paired", "theft", "theft"]


@pytest.mark.parametrize("text", ["", "id,tag,reader,at,p\n"])
def test_a_file_without_rows_has_no_answers_and_is_told(home: Path, text: str) -> None:
    (home / "reads.csv").write_text(text)
    shown = run("--source", "reads=csv:reads.csv")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "warning: reads has no rows: there are none in reads.csv\n" in shown.stderr


def test_fields_are_parted_by_what_the_script_says(home: Path) -> None:
    text = "\n".join("\t".join(map(str, each)) for each in [("id", "tag", "reader", "at", "p")])
    (home / "reads.csv").write_text(text + "\n1\ta\tSHELF\t2026-01-01T00:00:00\t1\n")
    done = run("--source", "reads=csv:reads.csv")
    assert done.exit_code == 1
    assert r"if \t parts the fields, say so, as in OPTIONS (sep = '\t')" in done.stderr
    place = r"FROM csv 'reads.csv' OPTIONS (sep = '\t');"
    (home / "store.sql").write_text(READS.replace("LATENESS 1 MINUTE;", place))
    assert run().exit_code == 0


def test_a_place_that_cannot_be_written_is_a_sentence(home: Path) -> None:
    (home / "full").write_text("no folder")
    done = run("--source", "reads=json:in", "--sink", "theft=csv:full/found")
    assert done.exit_code == 1
    assert "error: full" in done.stderr
    assert "augury broke" not in done.stderr


def test_a_field_of_any_length_is_a_field(home: Path) -> None:
    own = [",".join(map(str, row.values())).replace("+00:00", "Z") for row in rows()]
    long = f"7,{'x' * 5_000_000},SHELF,2026-01-01T00:05:00Z,1.0"
    (home / "reads.csv").write_text("\n".join(["id,tag,reader,at,p", *own, long]) + "\n")
    shown = run("--source", "reads=csv:reads.csv", "--json")
    found = [e["row"] for e in events(shown) if e["event"] == "match"]
    assert {row["match_id"]: row["confidence"] for row in found} == pytest.approx(expected())
    assert events(shown)[-1]["rejected"] == 0


def test_a_run_that_rejects_every_row_exits_with_1(home: Path) -> None:
    (home / "in" / "reads.json").write_text("{oops\n{again\n")
    shown = run("--source", "reads=json:in")
    assert shown.exit_code == 1
    assert "every row was rejected, of 2 rows that came; the first: the text is" in shown.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "stream reads has no FROM"),
        (("--source", "reads=json:nowhere"), "which does not exist; create the folder"),
        (("--source", "reads=kafka:a@b:1"), "is read from kafka, which Spark reads; use --engine"),
        (("--source", "reads=json:in", "--master", "local"), "--master is for Spark"),
    ],
)
def test_what_this_engine_cannot_do_is_said(
    home: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    shown = run(*arguments)
    assert shown.exit_code in (1, 2)
    assert sentence in " ".join(shown.output.split())


def test_who_names_no_engine_is_told_which_it_is(home: Path) -> None:
    shown = augury("run", "store.sql", "--source", "reads=json:in")
    assert shown.stderr.startswith("engine: local, because 523 bytes of rows fit\n")
    assert len(shown.stdout.splitlines()) == 2


# What else can be asked ---------------------------------------------------------------------------

RULES = READS.replace("LATENESS 1 MINUTE", "FROM json 'in'").replace("RETURN z.tag AS item", "") + (
    "CREATE STORE ward AT 'sqlite:///ward.db';\n"
    "CREATE TABLE wanted (tag STRING, n LONG) KEY tag STORE ward;\n"
    "CREATE RULE note ON theft WHEN new.confidence > 0.4\n"
    "DO INSERT INTO wanted VALUES (new.tag, 1);\n"
)


def test_rules_act_and_write_their_stores_once(home: Path) -> None:
    (home / "store.sql").write_text(RULES)
    first = run("--json")
    assert first.exit_code == 0, first.output
    assert [e["query"] for e in events(first) if e["event"] == "match"] == ["theft"] * 2 + ["note"]
    before = _stored()
    assert before == [("b", 1)]
    second = run("--json")
    assert second.exit_code == 0, second.output
    # What it finds is told again; rules that were settled do nothing.
    assert [e["query"] for e in events(second) if e["event"] == "match"] == ["theft"] * 2
    assert _stored() == before


def test_firings_are_told_to_a_webhook_once(home: Path) -> None:
    with hook(503, "forgets") as heard:
        (home / "store.sql").write_text(RULES + f"WRITE note TO webhook '{heard.url}';")
        for _ in range(2):
            result = run("--json")
            assert result.exit_code == 0, result.output
        assert heard.rows("rule", "tag") == [("note", "b")]
        assert len(heard.requests) == 3


def test_a_run_behind_a_policy_does_not_tell_how_many_rows_there_were(home: Path) -> None:
    behind = READS + (
        "CREATE QUERY paid ON reads PATTERN SEQ(COUNTER y, SHELF x) WHERE [tag] WITHIN 1 MINUTE;\n"
        "CREATE POLICY p ON reads PUBLIC theft PRIVATE paid USING GREEDY;\n"
    )
    (home / "store.sql").write_text(behind)
    shown = run("--source", "reads=json:in", "--once", "--json")
    assert shown.exit_code == 0, shown.output
    told = [each for each in events(shown) if each["event"] == "progress"]
    hidden = ("events", "events_per_second", "watermark", "state_rows", "state_bytes")
    assert told
    assert {each[name] for each in told for name in hidden} == {None}


def test_tables_in_worlds_are_written_as_they_are_at_the_end(home: Path) -> None:
    rules = RULES.replace("KEY tag STORE ward", "KEY tag UNCERTAIN")
    script = rules + "WRITE wanted TO json 'seen';"
    (home / "store.sql").write_text(script)
    told = run()
    assert told.exit_code == 0, told.output
    session = library.Session(engine="local")
    session.sql(rules.replace("FROM json 'in'", ""))
    session.bind("reads", rows())
    (path,) = home.glob("seen/batch=*/*.json")
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert found == session.table("wanted").to_pylist() != []
    streamed = run("--stream", "--once", "--checkpoint", "state")
    assert streamed.exit_code == 2
    assert "is UNCERTAIN" in streamed.output


def test_rules_act_as_rows_arrive(home: Path) -> None:
    (home / "store.sql").write_text(RULES)
    (home / "in" / "reads.json").write_text("\n".join(lines()[:4]) + "\n")
    assert run("--once").exit_code == 0
    (home / "in" / "more.json").write_text("\n".join(lines()[4:]) + "\n")
    assert run("--once").exit_code == 0
    assert _stored() == [("b", 1)]


@pytest.mark.parametrize("kept", [0, 1])
def test_a_batch_that_is_made_again_with_more_rows_is_written_whole(
    home: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    from augury.runners.local.saved import Saved

    (home / "store.sql").write_text(
        RULES.replace("KEY tag STORE", "STORE")
        + "CREATE TABLE counts (reader STRING, n LONG) KEY reader STORE ward;\n"
        "CREATE RULE count ON theft DO INSERT INTO counts VALUES ('EXIT', 1)\n"
        "ON CONFLICT DO UPDATE SET n = n + 1;\n"
    )
    parts = [lines()[:4], lines()[4:]][: kept + 1] if kept else [lines()]
    for number, part in enumerate(parts):
        (home / "in" / f"{number}.json").write_text("\n".join(part) + "\n")
        (home / "in" / "reads.json").unlink(missing_ok=True)
        if number < kept:
            assert run("--once").exit_code == 0
    with monkeypatch.context() as patched:
        patched.setattr(Saved, "keep", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        assert run("--once").exit_code == 130
    assert _stored() == [("b", 1)]
    later = [rows()[3], rows()[4], rows()[5]]
    for k, row in enumerate(later):
        row |= {"id": 100 + k, "tag": f"{row['tag']}2", "at": row["at"] + timedelta(days=2)}
    text = [json.dumps(row, default=datetime.isoformat) for row in later]
    (home / "in" / "later.json").write_text("\n".join(text) + "\n")
    assert run("--once").exit_code == 0
    assert _stored() == [("b", 1), ("b2", 1)]
    with sqlite3.connect("ward.db") as store:
        assert store.execute("SELECT n FROM counts").fetchall() == [(3,)]


def _stored() -> list[tuple[str, int]]:
    with sqlite3.connect("ward.db") as store:
        return store.execute("SELECT tag, n FROM wanted").fetchall()


POLICY = """\
CREATE STREAM s (k STRING, t LONG) TIME t TYPE k FROM csv 's.csv';
CREATE QUERY shown ON s PATTERN SEQ(A a, B b) WITHIN 9;
CREATE QUERY hidden ON s PATTERN SEQ(A a, C c) WITHIN 9;
CREATE POLICY discreet ON s PUBLIC shown PRIVATE hidden USING GREEDY;
CREATE STREAM kept AS SUPPRESS s USING discreet;
WRITE kept TO json 'kept'; WRITE shown TO console;
"""


@pytest.mark.parametrize("more", [(), ("--once",)])
def test_a_policy_is_in_force_and_its_log_goes_where_it_is_asked_for(
    home: Path, more: tuple[str, ...]
) -> None:
    (home / "store.sql").write_text(POLICY.replace("'s.csv'", "'s'"))
    (home / "s").mkdir()
    (home / "s" / "s.csv").write_text("k,t\nA,1\nB,2\nC,3\nD,99\n,\n")
    shown = run("--audit", "log.jsonl", *more)
    assert shown.exit_code == 0, shown.output
    (file,) = (home / "kept").glob("batch=*/*")
    assert "C" not in [json.loads(line)["k"] for line in file.read_text().splitlines()]
    log = [json.loads(line) for line in (home / "log.jsonl").read_text().splitlines()]
    assert [row["type"] for row in log if not row["kept"]] == ["C"]
    assert (home / "log.jsonl").stat().st_mode & 0o777 == 0o600
    assert "rejected" not in shown.output
    assert len(shown.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("script", "place", "sentence"),
    [
        (READS, "log.jsonl", "the script has none; leave it out"),
        (POLICY, "nowhere/log.jsonl", "there is no folder nowhere; make it"),
        (POLICY, "in", "--audit in is a folder; name a file"),
    ],
)
def test_a_log_that_cannot_be_written_is_refused_before_anything_runs(
    home: Path, script: str, place: str, sentence: str
) -> None:
    (home / "store.sql").write_text(script)
    shown = run("--source", "reads=json:in", "--audit", place) if script == READS else None
    shown = shown or run("--audit", place)
    assert shown.exit_code == 2
    assert sentence in " ".join(shown.output.split())
    assert not Path("augury-checkpoints").exists()


OWNERS = """\
CREATE TABLE staff (person STRING, room STRING) FROM csv 'staff.csv';
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, at TIMESTAMP)
ID id TIME at TYPE action FROM csv 'doors.csv';
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT',
                         HALL 'H', STEP 1 SECOND);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 60 MINUTES REVISE ANY;
"""


def test_owners_are_told(home: Path) -> None:
    (home / "store.sql").write_text(OWNERS)
    (home / "staff.csv").write_text("person,room\nann,\nbob,\n")
    (home / "doors.csv").write_text(
        "id,person,action,room,at\n1,ann,ENTER,r1,2026-01-01T10:00:00\n2,,EXIT,r1,2026-01-01T10:05:00\n"
    )
    shown = run()
    assert shown.exit_code == 0, shown.output
    found = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [(row["id"], row["person"], row["p"]) for row in found] == [
        (1, "ann", 1.0),
        (2, "ann", 1.0),
    ]


FORECAST = """\
CREATE STREAM s (k STRING, t LONG) TIME t TYPE k FROM csv 's.csv';
CREATE STREAM past (k STRING, t LONG) TIME t TYPE k FROM csv 'past.csv';
CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WITHIN 9;
CREATE FORECAST soon ON ab WITHIN 3 EVENTS USING MARKOV 0 LEARN FROM past;
"""


def test_forecasts_are_made(home: Path) -> None:
    (home / "store.sql").write_text(FORECAST)
    (home / "s.csv").write_text("k,t\nA,1\nC,2\nA,3\n")
    (home / "past.csv").write_text("k,t\nA,1\nB,2\nA,3\nC,4\n")
    shown = run("--query", "soon")
    assert shown.exit_code == 0, shown.output
    session = library.Session(engine="local")
    session.sql(FORECAST)
    for name in ("s", "past"):
        session.bind(name, pyarrow.csv.read_csv(home / f"{name}.csv"))
    found = [json.loads(line)["forecast"] for line in shown.stdout.splitlines()]
    assert found == session.table("soon").column("forecast").to_pylist() != []
