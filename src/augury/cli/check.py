"""`augury check`: every mistake of every script at once, without running anything."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click

from augury.cli import findings, scripts
from augury.errors import Diagnostic, Source, UnreadableError

if TYPE_CHECKING:
    from augury.analysis.script import Checked


@dataclass(frozen=True)
class Report:
    """What became of one file: it was checked, or it could not be read."""

    file: str
    checked: Checked | None = None
    text: str = ""
    unreadable: str = ""

    @property
    def exit_code(self) -> int:
        if self.checked is None:
            return 1
        return 2 if self.checked.has_errors else 0

    def as_dict(self) -> dict[str, object]:
        if self.checked is None:
            return {"file": self.file, "ok": False, "unreadable": self.unreadable}
        return {
            "file": self.file,
            "ok": self.exit_code == 0,
            "diagnostics": [d.as_dict() for d in self.diagnostics],
            "queries": {q.name: q.verdict.kind for q in self.checked.queries},
            "not_evaluated": self.not_evaluated,
        } | ({"policies": self.policies} if self.policies else {})

    @property
    def policies(self) -> dict[str, list[dict[str, str | None]]]:
        """The types that each policy never suppresses (None: all), by whom and why."""
        found = self.checked.catalog.policies.values() if self.checked else ()
        return {policy.name: [asdict(each) for each in policy.bound] for policy in found}

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the checker found, and what only planning finds."""
        if self.checked is None:
            return ()
        from augury.planning.missed.unreachable import warnings_of

        source = Source(self.file, self.text)
        planned = (w for query in self.checked.queries for w in warnings_of(query, source))
        return (*self.checked.diagnostics, *planned)

    @property
    def not_evaluated(self) -> dict[str, str]:
        """What queries use that no engine evaluates yet, by their names."""
        from augury.planning.evaluated import unevaluated

        found = {q.name: unevaluated(q) for q in self.checked.queries} if self.checked else {}
        return {name: what for name, what in found.items() if what is not None}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def check(ctx: click.Context, files: tuple[str, ...], as_json: bool) -> None:
    """Find every mistake in scripts, without running them.

    Each FILE is a script of its own; - reads standard input. Errors and warnings come all at once,
    each with its place, its code and what to do.

    \b
    augury check store.sql
    augury check --json examples/*.sql
    generate-queries | augury check -
    """
    reports = [_report(file) for file in files]
    if as_json:
        _print_json(reports)
    else:
        _print_text(reports)
    ctx.exit(max(report.exit_code for report in reports))


def _report(file: str) -> Report:
    from augury.analysis.script import check_text

    name = scripts.shown_name(file)
    try:
        text = scripts.read(file)
        return Report(name, checked=check_text(text, name), text=text)
    except UnreadableError as error:
        return Report(name, unreadable=str(error))


def _print_json(reports: list[Report]) -> None:
    ok = all(report.exit_code == 0 for report in reports)
    document = {"ok": ok, "files": [report.as_dict() for report in reports]}
    click.echo(json.dumps(document, indent=2))


def _print_text(reports: list[Report]) -> None:
    for report in reports:
        if report.checked is None:
            click.echo(click.style("error", fg="red", bold=True) + f": {report.unreadable}\n")
        else:
            findings.show(report.diagnostics)
            for name, what in report.not_evaluated.items():
                label = click.style("note[P003]", fg="cyan", bold=True)
                click.echo(f"{label}: query {name} uses {what}, which is not evaluated yet\n")
            _print_policies(report)
    click.echo(_summary(reports))


def _print_policies(report: Report) -> None:
    """Print the types that policies never suppress."""
    label = click.style("note", fg="cyan", bold=True)
    for name, bound in report.policies.items():
        for each in bound:
            kind = "every type" if each["type"] is None else f"the type {each['type']}"
            click.echo(f"{label}: policy {name} keeps {kind}: {each['by']}, {each['why']}\n")


def _summary(reports: list[Report]) -> str:
    read = [report.checked for report in reports if report.checked is not None]
    found = [finding for report in reports for finding in report.diagnostics]
    files = findings.number(len(read), "file")
    queries = findings.number(sum(len(script.queries) for script in read), "query")
    if any(script.has_errors for script in read):
        summary = f"{findings.counted(found)} in {files}"
    else:
        summary = f"checked {queries} in {files}: {findings.counted(found)}"
    unread = findings.number(len(reports) - len(read), "file")
    return summary if len(read) == len(reports) else f"{summary}; {unread} could not be read"
