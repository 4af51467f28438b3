"""`augury run`: flags, what is run from where to where, batch and streaming runs of folders."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import Result

import augury as library
from cli.terminal import BROKEN, STORE, augury

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TWO = STORE + "CREATE QUERY back ON reads PATTERN SEQ(EXIT a, SHELF b) WHERE [tag] WITHIN 1 HOUR;"

# Flags and scripts, without Spark ----------------------------------------------------------------


def test_a_script_with_mistakes_is_not_run() -> None:
    shown = augury("run", "-", stdin=BROKEN)
    assert shown.exit_code == 2
    assert "error[A012]" in shown.output


def test_mistakes_are_json_where_json_is_asked_for() -> None:
    shown = augury("run", "-", "--json", stdin=BROKEN)
    document = json.loads(shown.output)
    assert shown.exit_code == 2
    assert document["event"] == "error"
    assert document["diagnostics"][0]["code"] == "A012"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--source", "reads"), "--source 'reads' says no place; expected NAME=FORMAT:PLACE"),
        (("--source", "reads=csv:"), "says no place"),
        (("--source", "reads=cvs:in/"), "has the unknown format cvs; did you mean csv?"),
        (("--source", "reds=csv:in/"), "--source names reds, which the script lacks"),
        (("--sink", "thef=console"), "did you mean theft?"),
        (("--sink", "theft=kafka"), "says no place"),
        (("--query", "nothing"), "--query names nothing, which the script lacks"),
        (("--once", "--trigger", "1 second"), "--once and --trigger exclude each other"),
        (("--once", "--batch"), "--once and --trigger are for streams"),
        (("--trigger", "soon"), "'soon' is no interval; expected one such as '2 seconds'"),
        (("--checkpoint", __file__), "is a file; give a folder"),
        (("--conf", "spark.ui.enabled"), "'spark.ui.enabled' is not KEY=VALUE"),
    ],
)
def test_a_flag_that_makes_no_sense_says_why(arguments: tuple[str, ...], sentence: str) -> None:
    shown = augury("run", "-", *arguments, stdin=STORE)
    assert shown.exit_code == 2
    assert sentence in " ".join(shown.output.split())


def test_a_script_without_queries_has_nothing_to_run() -> None:
    shown = augury("run", "-", stdin="CREATE STREAM s (t LONG) TIME t;")
    assert shown.exit_code == 2
    assert "the script has no query to run" in shown.output


NO_FLAGS: dict[str, Any] = {
    "queries": (),
    "sources": (),
    "sinks": (),
    "checkpoint": None,
    "side_tables": None,
    "streaming": None,
    "trigger": None,
    "once": False,
}


def job(text: str, **given: Any) -> Any:
    from augury.cli.job import make_job, read_flags

    return make_job(text, "store.sql", read_flags("store.sql", NO_FLAGS | given))


def test_queries_with_a_target_are_run_or_else_all() -> None:
    assert job(TWO).queries == ("theft", "back")
    assert job(TWO + "WRITE back TO console;").queries == ("back",)
    assert job(TWO + "WRITE back TO console;", queries=("THEFT",)).queries == ("theft",)


def test_a_query_without_a_target_is_printed() -> None:
    (target,) = job(STORE).targets["theft"]
    assert target.format == "console"


def test_flags_take_the_place_of_the_script_and_keep_its_options() -> None:
    text = STORE.replace(
        "TYPE reader;",
        "TYPE reader FROM kafka 'a' OPTIONS (servers = 'x:1', maxOffsetsPerTrigger = 5);",
    )
    found = job(
        text + "WRITE theft TO kafka 'b' OPTIONS (servers = 'x:1', kafka.acks = 'all');",
        sources=("reads=kafka:other@y:2",),
        sinks=("theft=kafka:c", "theft=json:hits/"),
    )
    source = found.streams["reads"].source
    assert source.path == "other"
    assert source.settings == {"maxOffsetsPerTrigger": "5", "servers": "y:2"}
    topic, folder = found.targets["theft"]
    assert (topic.path, topic.settings) == ("c", {"servers": "x:1", "kafka.acks": "all"})
    assert (folder.format, folder.path) == ("json", "hits/")


def test_a_run_is_streaming_where_a_source_is_kafka() -> None:
    assert not job(STORE).streaming
    assert job(STORE, sources=("reads=kafka:reads@x:1",)).streaming
    assert not job(STORE, sources=("reads=kafka:reads@x:1",), streaming=False).streaming
    assert job(STORE, streaming=True).streaming
    assert job(STORE, once=True).streaming


def test_streams_behind_other_queries_are_read_too() -> None:
    over = "CREATE QUERY twice ON theft PATTERN SEQ(theft a, theft b) WITHIN 1 DAY;"
    assert list(job(STORE + over, queries=("twice",)).streams) == ["reads"]


def test_state_belongs_to_places_and_queries_but_not_to_options() -> None:
    from augury.cli.job import texts_of

    one = texts_of(job(STORE, sources=("reads=kafka:a@x:1",)))
    assert one == texts_of(job(STORE + "WRITE theft TO console;", sources=("reads=kafka:a@y:2",)))
    assert one != texts_of(job(STORE, sources=("reads=kafka:b@x:1",)))
    assert one != texts_of(job(STORE.replace("12 HOURS", "1 HOUR"), sources=("reads=kafka:a@x:1",)))


def test_state_belongs_to_the_queries_that_are_run() -> None:
    from augury.cli.job import texts_of

    over = "CREATE QUERY twice ON theft PATTERN SEQ(theft a, theft b) WITHIN 1 DAY;"
    assert set(texts_of(job(TWO + over, queries=("back",)))) == {"reads", "back"}
    assert set(texts_of(job(TWO + over, queries=("twice",)))) == {"reads", "theft", "twice"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"sinks": ("theft=json:hits", "back=json:./hits/")},
            "theft and back would be written twice to json ./hits/",
        ),
        ({"sinks": ("theft=json:hits", "back=csv:hits/more")}, "no folder inside of another's"),
        (
            {"sinks": ("theft=parquet:hits", f"theft=json:file:{Path.cwd()}/hits")},
            "theft would be written twice",
        ),
        (
            {"sources": ("reads=json:in",), "sinks": ("theft=json:in/../in",)},
            "theft would be written to json in/../in, where stream reads is read",
        ),
        (
            {"sources": ("reads=kafka:a@x:1",), "sinks": ("theft=kafka:a@x:1",)},
            "where stream reads is read",
        ),
    ],
)
def test_no_place_is_used_twice(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(click.UsageError, match=re.escape(sentence)):
        job(TWO, **given)


def test_places_that_look_alike_are_apart() -> None:
    found = job(
        TWO,
        sources=("reads=kafka:a@x:1",),
        sinks=("theft=kafka:a@y:1", "back=kafka:a@y:1", "theft=json:hits", "back=json:hits-more"),
    )
    assert [len(each) for each in found.targets.values()] == [2, 2]


def test_bounded_runs_leave_the_side_tables_of_streams_alone() -> None:
    from augury.cli.job import read_flags

    flags = read_flags("a/store.sql", NO_FLAGS)
    assert flags.aside(streaming=True) == "augury-checkpoints/store-side-tables"
    assert flags.aside(streaming=False) == "augury-checkpoints/store-batch-side-tables"
    given = read_flags("store.sql", NO_FLAGS | {"side_tables": "aside/"})
    assert given.aside(streaming=True) == given.aside(streaming=False) == "aside"


# Folders, on Spark -------------------------------------------------------------------------------

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


def expected() -> dict[str, float]:
    session = library.Session(engine="local")
    session.sql(READS)
    session.bind("reads", rows())
    found = session.table("theft").to_pylist()
    return {row["match_id"]: row["confidence"] for row in found}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with a script and a folder of reads, one of which is no JSON."""
    (tmp_path / "store.sql").write_text(READS)
    (tmp_path / "in").mkdir()
    lines = [json.dumps(row, default=datetime.isoformat) for row in rows()]
    (tmp_path / "in" / "reads.json").write_text("\n".join([*lines, "{oops"]) + "\n")
    return tmp_path


def run(home: Path, *arguments: str) -> Result:
    return augury(
        "run",
        str(home / "store.sql"),
        *("--engine", "spark", "--source", f"reads=json:{home / 'in'}"),
        *("--checkpoint", str(home / "state")),
        *arguments,
    )


def written(spark: SparkSession, folder: Path, form: str = "parquet") -> dict[str, float]:
    reader: Any = spark.read.option("header", "true").format(form)
    found = reader.load(str(folder)).collect()
    assert len(found) == len({row["match_id"] for row in found})
    return {row["match_id"]: float(row["confidence"]) for row in found}


@pytest.mark.rotating(3)
@pytest.mark.spark
@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_a_bounded_run_writes_what_the_local_engine_finds(
    spark: SparkSession, home: Path, form: str
) -> None:
    shown = run(home, "--sink", f"theft={form}:{home / 'hits'}")
    assert shown.exit_code == 0, shown.output
    assert written(spark, home / "hits", form) == pytest.approx(expected())
    (bad,) = spark.read.parquet(
        str(home / "state-batch-side-tables" / "rejected" / "reads")
    ).collect()
    assert (bad["raw"], bad["reason"]) == ("{oops", "the text is not a JSON object")
    assert shown.output.startswith("1 row of reads rejected: see ")


@pytest.mark.spark
def test_a_bounded_run_that_is_repeated_replaces_its_answers(
    spark: SparkSession, home: Path
) -> None:
    assert run(home, "--sink", f"theft=parquet:{home / 'hits'}").exit_code == 0
    lines = (home / "in" / "reads.json").read_text().splitlines()
    (home / "in" / "reads.json").write_text("\n".join(lines[:3]) + "\n")
    assert run(home, "--sink", f"theft=parquet:{home / 'hits'}").exit_code == 0
    assert len(written(spark, home / "hits")) == 1
    assert list((home / "state-batch-side-tables" / "rejected" / "reads").glob("batch=*")) == []


@pytest.mark.spark
def test_answers_without_a_target_are_printed(spark: SparkSession, home: Path) -> None:
    shown = augury(
        *("run", str(home / "store.sql"), "--json", "--engine", "spark"),
        *("--source", f"reads=json:{home / 'in'}", "--checkpoint", str(home / "state")),
    )
    events = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [each["event"] for each in events] == ["start", "match", "match", "end"]
    found = {each["row"]["match_id"]: each["row"]["confidence"] for each in events[1:3]}
    assert found == pytest.approx(expected())
    assert events[-1] == {"event": "end", "matches": 2, "late": 0, "rejected": 1}


@pytest.mark.spark
def test_a_match_of_the_first_year_is_printed(spark: SparkSession, home: Path) -> None:
    text = (home / "in" / "reads.json").read_text()
    (home / "in" / "reads.json").write_text(text.replace('"2026-01-', '"0001-01-'))
    shown = run(home)
    assert shown.exit_code == 0, shown.output
    found = [json.loads(line) for line in shown.stdout.splitlines()]
    assert sorted(row["start_ts"] for row in found) == [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:02:10Z",
    ]


@pytest.mark.spark
def test_a_streaming_run_goes_on_with_files_that_arrive(spark: SparkSession, home: Path) -> None:
    lines = (home / "in" / "reads.json").read_text().splitlines()
    (home / "in" / "reads.json").write_text("\n".join(lines[:3]) + "\n")
    sink = f"theft=parquet:{home / 'hits'}"
    first = run(home, "--once", "--sink", sink, "--json")
    assert first.exit_code == 0, first.output
    (home / "in" / "more.json").write_text("\n".join(lines[3:]) + "\n")
    second = run(home, "--once", "--sink", sink, "--json")
    assert second.exit_code == 0, second.output
    assert written(spark, home / "hits") == pytest.approx(expected())
    progress = [json.loads(line) for line in second.stdout.splitlines()][1]
    assert progress["event"] == "progress"
    assert progress["events"] == 4


WARD = """\
CREATE TABLE staff (person STRING, room STRING) FROM json '{home}/staff';
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action FROM json '{home}/doors';
CREATE MODEL ward MOVES (
    OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT', HALL 'H', STEP 1
);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 60;
CREATE QUERY came ON known PATTERN SEQ(ENTER x) WITHIN 10 RETURN x.person AS who;
WRITE came TO parquet '{home}/held';
WRITE came TO parquet '{home}/told' OPTIONS (revisions = 'log');
"""
# An unread badge at 12; at 14 it shows whose it was.
DOORS = [(1, None, "ENTER", "R1", 12), (2, "O1", "EXIT", "R1", 14), (3, "O1", "ENTER", "R2", 90)]


@pytest.mark.spark
def test_a_match_that_is_told_again_in_a_batch_is_held_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    people = [{"person": person, "room": None} for person in ("O1", "O2")]
    names = ("id", "person", "action", "room", "t")
    doors = [dict(zip(names, row, strict=True)) for row in DOORS]
    for name, rows_of in (("staff", people), ("doors", doors)):
        (tmp_path / name).mkdir()
        lines = [json.dumps(row) + "\n" for row in rows_of]
        (tmp_path / name / "rows.json").write_text("".join(lines))
    script = tmp_path / "ward.sql"
    script.write_text(WARD.format(home=tmp_path))
    flags = ("--engine", "spark", "--once", "--checkpoint", str(tmp_path / "state"))
    shown = augury("run", str(script), *flags)
    assert shown.exit_code == 0, shown.output

    def rows_in(folder: str) -> list[tuple[str, int, float]]:
        found = spark.read.parquet(str(tmp_path / folder)).collect()
        return sorted((row["who"], row["revision"], row["confidence"]) for row in found)

    assert rows_in("held") == [("O1", 1, 1.0), ("O2", 1, 0.0)]
    assert rows_in("told") == [("O1", 0, 0.5), ("O1", 1, 1.0), ("O2", 0, 0.5), ("O2", 1, 0.0)]


@pytest.mark.rotating(2, 1)
@pytest.mark.spark
def test_a_checkpoint_of_other_queries_is_refused(spark: SparkSession, home: Path) -> None:
    assert run(home, "--once").exit_code == 0
    (home / "store.sql").write_text(READS.replace("10 MINUTES", "5 MINUTES"))
    shown = run(home, "--once")
    assert shown.exit_code == 1
    assert (
        "belongs to other streams or queries: theft was added, removed or changed" in shown.output
    )


@pytest.mark.rotating(2, 0)
@pytest.mark.spark
def test_a_folder_of_another_run_is_refused(spark: SparkSession, home: Path) -> None:
    sink = f"theft=parquet:{home / 'hits'}"
    assert run(home, "--sink", sink).exit_code == 0
    shown = run(home, "--once", "--sink", sink)
    assert shown.exit_code == 1
    assert "holds the answers of another run" in shown.output


@pytest.mark.spark
def test_a_folder_that_does_not_exist_is_an_error_of_the_data(
    spark: SparkSession, home: Path
) -> None:
    shown = augury(
        "run",
        str(home / "store.sql"),
        "--engine",
        "spark",
        "--source",
        f"reads=json:{home / 'nowhere'}",
    )
    assert shown.exit_code == 1
    assert "which does not exist" in shown.output


@pytest.mark.spark
def test_a_stream_without_a_source_says_how_to_give_one(spark: SparkSession, home: Path) -> None:
    shown = augury("run", str(home / "store.sql"), "--engine", "spark")
    assert shown.exit_code == 1
    assert "stream reads has no FROM" in shown.output


# Rows that are put aside -------------------------------------------------------------------------


@pytest.mark.rotating(4)
@pytest.mark.spark
@pytest.mark.parametrize("arguments", [(), ("--json",), ("--once",)])
def test_bad_rows_are_announced_with_their_number_and_a_reason(
    spark: SparkSession, home: Path, arguments: tuple[str, ...]
) -> None:
    shown = run(home, "--sink", f"theft=parquet:{home / 'hits'}", *arguments)
    assert shown.exit_code == 0, shown.output
    (said,) = [line for line in shown.stderr.splitlines() if "reads" in line]
    assert said.startswith("1 row of reads rejected: see ")
    assert said.endswith("; the first: the text is not a JSON object")


@pytest.mark.rotating(3)
@pytest.mark.spark
@pytest.mark.parametrize("arguments", [(), ("--once",)])
def test_a_run_that_rejects_every_row_exits_with_1(
    spark: SparkSession, home: Path, arguments: tuple[str, ...]
) -> None:
    (home / "in" / "reads.json").write_text("{oops\n{again\n")
    shown = run(home, "--sink", f"theft=parquet:{home / 'hits'}", *arguments)
    assert shown.exit_code == 1
    assert "every row was rejected, of 2 rows that came; the first: the text is" in shown.output


@pytest.mark.spark
def test_a_run_over_no_rows_is_no_fault(spark: SparkSession, home: Path) -> None:
    (home / "in" / "reads.json").write_text("")
    assert run(home, "--sink", f"theft=parquet:{home / 'hits'}").exit_code == 0


@pytest.mark.spark
def test_a_stray_file_is_named(spark: SparkSession, home: Path) -> None:
    (home / "in" / "readme.txt").write_text("What this is\n")
    shown = run(home, "--sink", f"theft=parquet:{home / 'hits'}")
    assert shown.exit_code == 0, shown.output
    assert "readme.txt in " in shown.stderr
    assert shown.stderr.count("1 row of reads rejected") == 1
