"""`augury test`: the cases that stand beside scripts, and whether they hold."""

from __future__ import annotations

import json
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from augury.cli import findings
from augury.cli.cases import PATTERN, Case, failures, read_cases
from augury.errors import AuguryError, QueryError


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a case: `wrong` is empty where it holds."""

    case: Case
    wrong: Sequence[str]
    seconds: float


@click.command("test")
@click.argument("paths", nargs=-1)
@click.option("--junit", metavar="OUT", help="Write the verdicts to OUT as JUnit's XML.")
@click.option("--json", "as_json", is_flag=True, help="The verdicts as one JSON object.")
@click.pass_context
def run_cases(ctx: click.Context, paths: tuple[str, ...], junit: str | None, as_json: bool) -> None:
    """Try scripts on rows whose answers are known.

    PATHS are files of cases, or folders in which every file *.test.toml is one; the folder that one
    is in unless given. Exits with 1 where a case does not hold.

    \b
    [[case]]
    name = "nobody paid"
    [case.rows]
    reads = [{tag = "t1", reader = "SHELF", at = 2026-01-01T10:00:00, p = 0.9},
             {tag = "t1", reader = "EXIT", at = 2026-01-01T12:00:00, p = 0.8}]
    [case.expect]
    theft = [{confidence = 0.72}]
    """
    verdicts = [_tried(case) for file in _files(paths) for case in read_cases(file)]
    if junit is not None:
        _write_junit(Path(junit), verdicts)
    click.echo(json.dumps(_document(verdicts)) if as_json else _text(verdicts))
    ctx.exit(int(any(each.wrong for each in verdicts)))


def _files(paths: Sequence[str]) -> list[Path]:
    found: list[Path] = []
    for path in map(Path, paths or (".",)):
        found += sorted(path.rglob(PATTERN)) if path.is_dir() else [path]
    if not found:
        raise AuguryError(f"there is no file {PATTERN} here; `augury init` makes an example")
    return found


def _tried(case: Case) -> Verdict:
    began = time.perf_counter()
    try:
        wrong = failures(case)
    except QueryError as error:
        wrong = [findings.printable(str(error))]
    except AuguryError as error:
        wrong = [f"error: {findings.printable(str(error))}"]
    return Verdict(case, wrong, time.perf_counter() - began)


def _text(verdicts: Sequence[Verdict]) -> str:
    lines: list[str] = []
    for each in verdicts:
        lines.append(f"{'FAIL' if each.wrong else 'ok  '}  {each.case.file}  {each.case.name}")
        lines += [f"      {line}" for wrong in each.wrong for line in wrong.splitlines()]
    failed = sum(bool(each.wrong) for each in verdicts)
    return "\n".join([*lines, f"{len(verdicts) - failed} passed, {failed} failed"])


def _document(verdicts: Sequence[Verdict]) -> dict[str, object]:
    cases = [
        {
            "file": str(each.case.file),
            "name": each.case.name,
            "ok": not each.wrong,
            "wrong": list(each.wrong),
        }
        for each in verdicts
    ]
    return {"ok": not any(each.wrong for each in verdicts), "cases": cases}


def _write_junit(out: Path, verdicts: Sequence[Verdict]) -> None:
    """Write what CI servers read: a suite per file, a case per case."""
    root = ET.Element("testsuites")
    for file in dict.fromkeys(each.case.file for each in verdicts):
        own = [each for each in verdicts if each.case.file == file]
        failed = sum(bool(each.wrong) for each in own)
        about = {"name": str(file), "tests": str(len(own)), "failures": str(failed)}
        suite = ET.SubElement(root, "testsuite", about)
        for each in own:
            seconds = f"{each.seconds:.3f}"
            about = {"classname": str(file), "name": each.case.name, "time": seconds}
            case = ET.SubElement(suite, "testcase", about)
            if each.wrong:
                failure = ET.SubElement(case, "failure", {"message": each.wrong[0]})
                failure.text = "\n".join(each.wrong)
    try:
        ET.ElementTree(root).write(out, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise AuguryError(f"{out} cannot be written: {error.strerror}") from error
