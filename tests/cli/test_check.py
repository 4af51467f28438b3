"""`augury check`: findings, counts, exit codes, JSON, and files that are no scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.terminal import BROKEN, STORE, augury
from generated_script import script_of


def test_a_right_script_has_no_errors() -> None:
    shown = augury("check", "-", stdin=STORE)
    assert shown.exit_code == 0
    assert shown.output == "checked 1 query in 1 file: no errors\n"


def test_a_wrong_script_is_shown_with_place_caret_and_count(tmp_path: Path) -> None:
    file = tmp_path / "store.sql"
    file.write_text(BROKEN)
    shown = augury("check", str(file))
    assert shown.exit_code == 2
    assert f"{file}:5:19" in shown.output
    assert "5 | WHERE [tag] AND z.dor <> 'staff'" in shown.output
    assert "did you mean door?" in shown.output
    assert shown.output.endswith("\n1 error in 1 file\n")


def test_every_mistake_comes_at_once() -> None:
    two = augury("check", "-", stdin=BROKEN.replace("z.tag AS", "z.tga AS"))
    assert two.output.endswith("\n2 errors in 1 file\n")


def test_warnings_are_shown_and_counted_and_do_not_fail() -> None:
    shown = augury("check", "-", stdin=STORE.replace("WITHIN 12 HOURS\n", ""))
    assert shown.exit_code == 0
    assert "warning[" in shown.output
    assert shown.output.endswith("no errors, 1 warning\n")


def test_json_carries_the_findings_and_the_classes(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.sql", tmp_path / "wrong.sql"
    right.write_text(STORE)
    wrong.write_text(BROKEN)
    shown = augury("check", "--json", str(right), str(wrong))
    document = json.loads(shown.output)
    assert shown.exit_code == 2
    assert document["ok"] is False
    assert document["files"][0]["queries"] == {"theft": "deterministic"}
    (finding,) = document["files"][1]["diagnostics"]
    assert (finding["severity"], finding["line"], finding["column"]) == ("error", 5, 19)


def test_a_missing_file_is_reported_and_the_others_are_checked(tmp_path: Path) -> None:
    (tmp_path / "store.sql").write_text(STORE)
    shown = augury("check", str(tmp_path / "stroe.sql"), str(tmp_path / "store.sql"))
    assert shown.exit_code == 1
    assert f"did you mean {tmp_path / 'store.sql'}?" in shown.output
    assert shown.output.endswith("checked 1 query in 1 file: no errors; 1 file could not be read\n")


def test_an_unreadable_file_is_in_the_json_too(tmp_path: Path) -> None:
    document = json.loads(augury("check", "--json", str(tmp_path)).output)
    assert document["files"][0]["ok"] is False
    assert "is a directory" in document["files"][0]["unreadable"]


@pytest.mark.parametrize(
    ("data", "exit_code", "words"),
    [
        (b"", 0, "checked 0 queries"),
        (b"  \n-- nothing\n", 0, "checked 0 queries"),
        (b"\xef\xbb\xbf" + STORE.encode(), 0, "no errors"),
        (STORE.replace("\n", "\r\n").encode(), 0, "no errors"),
        (b"\xff\xfeC\0R\0", 1, "UTF-16"),
        (b"PAR1\0\0\x15\x04", 1, "binary file"),
        (b"CREATE caf\xe9", 1, "byte 0xe9 at offset 10"),
        (b"CREATE " * 200_000, 2, "error"),
        (b"(" * 20_000, 2, "error"),
        (b"\x1b[31m\x07", 2, "error"),
    ],
    ids=["empty", "comment", "bom", "crlf", "utf16", "binary", "latin1", "huge", "deep", "escape"],
)
def test_no_bytes_produce_a_traceback(data: bytes, exit_code: int, words: str) -> None:
    shown = augury("check", "-", stdin=data)
    assert shown.exit_code == exit_code
    assert words in shown.output
    assert "\x1b" not in shown.output
    assert max(map(len, shown.output.splitlines())) < 2_000


def test_a_script_of_a_thousand_queries_is_checked() -> None:
    shown = augury("check", "-", stdin=script_of(1_000))
    assert shown.output.endswith("checked 1000 queries in 1 file: no errors\n")


def test_no_file_at_all_is_a_usage_error() -> None:
    assert augury("check").exit_code == 2


MISSED = """\
CREATE STREAM reads (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader MISS RATE 0.1;
CREATE QUERY seen ON reads PATTERN SEQ(A x, B z) WHERE [tag] WITHIN 9;
CREATE QUERY unseen ON reads PATTERN SEQ(A x, B z) WHERE [tag] USING SKIP TILL NEXT MATCH
WITHIN 9 ALLOW 1 MISSED OF (z);
CREATE GAPS g ON unseen (x TO z EXPONENTIAL(5));
"""


def test_what_is_not_evaluated_yet_is_noted_and_is_no_error() -> None:
    shown = augury("check", "-", stdin=MISSED)
    assert shown.exit_code == 0
    what = "ALLOW ... MISSED with a selection other than SKIP TILL ANY MATCH"
    assert f"note[P003]: query unseen uses {what}, which is not evaluated yet" in shown.output
    assert "query seen" not in shown.output
    (file,) = json.loads(augury("check", "--json", "-", stdin=MISSED).stdout)["files"]
    assert file["ok"]
    assert file["not_evaluated"] == {"unseen": what}


GUARDED = """\
CREATE STREAM s (kind STRING, t LONG) TIME t TYPE kind;
CREATE QUERY shown ON s PATTERN SEQ(A a, !C c, B b) WITHIN 9;
CREATE QUERY hidden ON s PATTERN SEQ(A a, B b) WITHIN 9;
CREATE POLICY discreet ON s PUBLIC shown PRIVATE hidden USING GREEDY;
"""


def test_the_types_that_a_policy_keeps_are_noted_with_who_binds_them() -> None:
    shown = augury("check", "-", stdin=GUARDED)
    assert shown.exit_code == 0
    assert "note: policy discreet keeps the type C: shown, it is negated" in shown.output
    (file,) = json.loads(augury("check", "--json", "-", stdin=GUARDED).stdout)["files"]
    assert file["policies"] == {"discreet": [{"type": "C", "by": "shown", "why": "it is negated"}]}
