"""What policies would have published of rows of the past: for the owner of the raw stream only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from augury.analysis.declarations.catalog import PolicySchema
    from augury.session import Session


def published(ag: Session) -> dict[str, dict[str, Any]]:
    """Return, by policy, what is suppressed, and the matches there were and that are left."""
    return {
        policy.name: _published(ag, policy) for policy in ag._declared.catalog.policies.values()
    }


def _published(ag: Session, policy: PolicySchema) -> dict[str, Any]:
    log = ag.audit(policy.name).to_pylist()
    gone = [each for each in log if not each["kept"]]
    days = Counter(_day(each["ts"]) for each in gone)
    return {
        "events": len(log),
        "suppressed": len(gone),
        "by_rule": dict(sorted(Counter(each["rule"] for each in gone).items())),
        "by_type": dict(sorted(Counter(str(each["type"]) for each in gone).items())),
        "by_day": dict(sorted(days.items())),
        **_matches(ag, policy),
    }


def _matches(ag: Session, policy: PolicySchema) -> dict[str, dict[str, dict[str, int]]]:
    """Return how many matches of each named query the raw rows have, and the kept ones."""
    from augury.runners.local.runner import LocalRunner

    bound, stream = ag._bound, policy.stream.lower()
    kept = (bound.suppressed or {}).get(stream)
    if kept is None or stream not in bound.rows:
        return {}
    queries, catalog = ag._declared.checked_queries, ag._declared.catalog
    raw = LocalRunner(catalog, queries, dict(bound.rows))
    left = LocalRunner(catalog, queries, {**bound.rows, stream: kept.kept.table})
    node = policy.statement
    return {
        which: {
            each.query: {
                "raw": raw.table(each.query).num_rows,
                "left": left.table(each.query).num_rows,
            }
            for each in named
        }
        for which, named in (("public", node.public), ("private", node.private))
    }


def _day(time: Any) -> str:
    return time.date().isoformat() if isinstance(time, datetime) else "all"


def published_text(report: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the report in lines."""
    lines = []
    for name, each in report.items():
        lines.append(f"policy {name}: {each['suppressed']} of {each['events']} events suppressed")
        for what in ("by_rule", "by_type", "by_day"):
            counts = {key: count for key, count in each[what].items() if key != "all"}
            if counts:
                shown = ", ".join(f"{key} {count}" for key, count in counts.items())
                lines.append(f"  {what.replace('_', ' ')}: {shown}")
        for which in ("public", "private"):
            for query, count in each.get(which, {}).items():
                lines.append(f"  {which} {query}: {count['left']} of {count['raw']} matches left")
    return lines
