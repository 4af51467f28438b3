"""`augury backtest` and `augury diff`: what a script would do over rows of the past, or another.

Both run in this process, over files, and write nothing: not to targets, not to stores.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from augury.cli import findings, scripts
from augury.errors import AuguryError, QueryError

if TYPE_CHECKING:
    from augury.analysis.declarations.catalog import StreamSchema, TableSchema
    from augury.session import Session

SHOWN = 10


@click.command()
@click.argument("file")
@click.argument("data", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="The report as one JSON object.")
@click.pass_context
def backtest(ctx: click.Context, file: str, data: tuple[str, ...], as_json: bool) -> None:
    """Run the rules of a script over rows of the past, and write nothing.

    FILE is a script; each of DATA a Parquet, CSV or JSON file (a row a line) whose name, up to the
    first dot, is that of a stream or table. What the script reads FROM files is taken from there.

    \b
    augury backtest ward.sql doors.parquet badges.csv
    """
    with _script_errors(ctx):
        ag = _session(file)
        _bind(data, ag)
        report = _report(ag)
    click.echo(json.dumps(report, default=str) if as_json else _text(report))


@click.command()
@click.argument("old")
@click.argument("new")
@click.argument("data", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="The differences as one JSON object.")
@click.pass_context
def diff(ctx: click.Context, old: str, new: str, data: tuple[str, ...], as_json: bool) -> None:
    """Show which matches and firings two versions of a script do not share, over the same rows.

    DATA is as in `augury backtest`. Exits with 1 where there is a difference.

    \b
    augury diff yesterday.sql today.sql doors.parquet
    """
    with _script_errors(ctx):
        first, second = _session(old), _session(new)
        _bind(data, first, second)
        before, after = _told(first), _told(second)
    found = {
        name: {
            "only_old": sorted(before.get(name, set()) - after.get(name, set())),
            "only_new": sorted(after.get(name, set()) - before.get(name, set())),
            "both": len(before.get(name, set()) & after.get(name, set())),
        }
        for name in dict.fromkeys([*before, *after])
    }
    click.echo(json.dumps(found) if as_json else _differences(found))
    ctx.exit(int(any(each["only_old"] or each["only_new"] for each in found.values())))


class _script_errors:  # noqa: N801 - it is used as a statement
    """Print the findings of a wrong script, and exit with 2."""

    def __init__(self, ctx: click.Context) -> None:
        self.ctx = ctx

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, QueryError):
            findings.show(error.diagnostics, err=True)
            click.echo(findings.counted(error.diagnostics), err=True)
            self.ctx.exit(2)


# Rows ---------------------------------------------------------------------------------------------


def _session(file: str) -> Session:
    """Return a local session of a script."""
    from augury.session import Session

    ag = Session(engine="local")
    ag.sql(scripts.read(file), name=scripts.shown_name(file))
    return ag


def _bind(data: Iterable[str], *sessions: Session) -> None:
    """Give sessions the rows that scripts and the command line name."""
    given = {Path(each).name.partition(".")[0].lower(): each for each in data}
    known = {name for ag in sessions for name in _names(ag)}
    for name, place in given.items():
        if name not in known:
            raise AuguryError(f"{place} is named after no stream or table of the script")
    for ag in sessions:
        own = {name: place for name, place in given.items() if name in _names(ag)}
        for name, place in (dict(_declared(ag, own)) | own).items():
            ag.bind(name, _rows(place))


def _names(ag: Session) -> set[str]:
    return {*(name.lower() for name in ag.streams), *ag._declared.catalog.tables}


def _declared(ag: Session, given: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Yield the files that a script reads FROM, but for those that are given."""
    declared: dict[str, StreamSchema | TableSchema] = {
        **ag._declared.catalog.streams,
        **ag._declared.catalog.tables,
    }
    for name, each in declared.items():
        source = each.source
        if source is None or name in given:
            continue
        if source.format not in ("parquet", "csv", "json") or source.path is None:
            raise AuguryError(
                f"{each.name} is read FROM {source.format}; give its rows as a file, {name}.parquet"
            )
        yield name, source.path


def _rows(place: str) -> Any:
    """Return the rows of a file as `Session.bind` takes them."""
    path = Path(place)
    if not path.exists():
        raise AuguryError(f"there is no file {place}")
    if path.is_dir() or path.suffix == ".parquet":
        return str(path)
    if path.suffix == ".csv":
        from pyarrow import csv

        return csv.read_csv(path)
    if path.suffix in (".json", ".jsonl", ".ndjson"):
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    raise AuguryError(f"{place} is no file of Parquet, CSV or JSON by its name")


# Reports ------------------------------------------------------------------------------------------


def _report(ag: Session) -> dict[str, Any]:
    """Return what rules would do: firings by day, and changes by table."""
    catalog = ag._declared.catalog
    if not catalog.rules:
        raise AuguryError("there is no rule in this script; declare one with CREATE RULE")
    rules = {}
    for rule in catalog.rules.values():
        fired = ag.table(rule.name).to_pylist()
        rules[rule.name] = {
            "firings": len(fired),
            "by_day": dict(sorted(Counter(map(_day, fired)).items())),
            "without_change": sum(not row["changes"] for row in fired),
            "rejected": ag.rejected(rule.name).num_rows,
        }
    written = {c.table for rule in catalog.rules.values() for c in rule.changes}
    tables = {
        name: dict(Counter(ag.changes(name).column("operation").to_pylist()))
        for name in sorted(written)
    }
    return {"rules": rules, "tables": tables}


def _day(row: Mapping[str, Any]) -> str:
    return row["ts"].date().isoformat() if isinstance(row["ts"], datetime) else "all"


def _text(report: Mapping[str, Any]) -> str:
    lines = []
    for name, rule in report["rules"].items():
        lines.append(
            f"rule {name}: {rule['firings']} firings, {rule['without_change']} without a change, "
            f"{rule['rejected']} put aside"
        )
        lines += [f"  {day}: {count}" for day, count in rule["by_day"].items() if day != "all"]
    for name, counts in report["tables"].items():
        shown = ", ".join(f"{n} {how}" for how, n in sorted(counts.items())) or "no change"
        lines.append(f"table {name}: {shown}")
    return "\n".join(lines)


def _told(ag: Session) -> dict[str, set[str]]:
    """Return the ids of matches and firings, by query and rule."""
    found = {}
    for name in ag.queries:
        answer = ag.table(name)
        if "match_id" in answer.column_names:
            found[f"query {name}"] = set(answer.column("match_id").to_pylist())
    for rule in ag._declared.catalog.rules.values():
        fired = ag.table(rule.name).column("firing_id").to_pylist()
        found[f"rule {rule.name}"] = set(fired)
    return found


def _differences(found: Mapping[str, Mapping[str, Any]]) -> str:
    lines = []
    for name, each in found.items():
        old, new = each["only_old"], each["only_new"]
        lines.append(f"{name}: {each['both']} in both, {len(old)} only old, {len(new)} only new")
        lines += [f"  - {one}" for one in old[:SHOWN]] + [f"  + {one}" for one in new[:SHOWN]]
        if len(old) > SHOWN or len(new) > SHOWN:
            lines.append("  ... (all of them with --json)")
    return "\n".join(lines)
