"""`augury backtest` and `augury diff`: what a script would do over rows of the past, or another.

Both run in this process, over files, and write nothing: not to targets, not to stores.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from augury.cli.past.published import published, published_text
from augury.cli.scripts import bind, script_errors, session_of
from augury.errors import AuguryError

if TYPE_CHECKING:
    from augury.session import Session

SHOWN = 10


@click.command(short_help="What rules and policies would do, over rows of the past.")
@click.argument("file")
@click.argument("data", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="The report as one JSON object.")
@click.pass_context
def backtest(ctx: click.Context, file: str, data: tuple[str, ...], as_json: bool) -> None:
    """Run the rules and policies of a script over rows of the past, and write nothing.

    FILE is a script; each of DATA a Parquet, CSV or JSON file (a row a line) whose name, up to the
    first dot, is that of a stream or table. What the script reads FROM files is taken from there.

    \b
    augury backtest ward.sql doors.parquet badges.csv
    """
    with script_errors(ctx):
        ag = session_of(file)
        bind(data, ag)
        report = _report(ag)
    click.echo(json.dumps(report, default=str) if as_json else _text(report))


@click.command(short_help="What two versions of a script do not share.")
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
    with script_errors(ctx):
        first, second = session_of(old), session_of(new)
        bind(data, first, second)
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


# Reports ------------------------------------------------------------------------------------------


def _report(ag: Session) -> dict[str, Any]:
    """Return what rules would do, by day and table, and what policies would publish."""
    catalog = ag._declared.catalog
    if not catalog.rules and not catalog.policies:
        raise AuguryError(
            "there is no rule and no policy in this script; declare one with CREATE RULE or "
            "CREATE POLICY"
        )
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
    found = {"rules": rules, "tables": tables}
    return found | ({"policies": published(ag)} if catalog.policies else {})


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
    return "\n".join(lines + published_text(report.get("policies", {})))


def _told(ag: Session) -> dict[str, set[str]]:
    """Return the ids of matches and firings, by query and rule."""
    found, policies = {}, ag._declared.catalog.policies.values()
    private = {each.query.lower() for p in policies for each in p.statement.private}
    for name in ag.queries:
        if name.lower() in private:
            continue
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
