"""The chain over a ward, and simpler ways to ask the same: what each says was a violation.

A violation is a match of `contact`: who left one patient and came to another with unclean hands. It
is known by its events and its person.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pyarrow as pa

from augury.demo.engine import rows
from augury.demo.hospital.ward import Act, Ward
from augury.session import Session

# The events of a match, and its person.
Violation = tuple[tuple[str, ...], str]
KINDS = pa.schema(
    [
        ("id", pa.int64()),
        *((name, pa.string()) for name in ("corridor", "person", "action", "room")),
        ("at", pa.timestamp("us", "UTC")),
    ]
)


@dataclass(frozen=True)
class Chain:
    """What the chain says: violations with their confidence, and what came of rules and policy."""

    violations: dict[Violation, float]
    alarms: list[dict[str, Any]]
    badges: list[dict[str, Any]]
    suppressed: int
    published: int
    tellings: int


def script(name: str) -> str:
    """Return one of the scripts of this scene."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def opened(ward: Ward, session: Session | None = None, text: str | None = None) -> Session:
    """Return a session, a local one if none is given, with the whole chain over what was told."""
    session = session or Session(engine="local")
    session.sql(text or script("ward.sql"), name="ward.sql")
    session.bind("staff", ward.staff)
    session.bind("contagious", [{"room": f"R{k + 1}"} for k in range(ward.care.contagious)])
    session.bind("doors", table_of(ward.told))
    session.bind("seen", table_of(act for act in ward.told if act.person is not None))
    return session


def chain(ward: Ward, session: Session) -> Chain:
    """Let the chain run: owners, policy, matches, rules."""
    audit = rows(session.audit("discreet"))
    suppressed = sum(not row["kept"] for row in audit)
    return Chain(
        violations_of(session),
        sorted(rows(session.table("alarms")), key=lambda row: (row["at"], row["id"])),
        rows(session.table("badges")),
        suppressed,
        len(audit) - suppressed,
        session.revisions("contact").num_rows,
    )


def truth(ward: Ward) -> dict[Violation, float]:
    """Return what really were violations."""
    return plain(ward.true)


def read_only(ward: Ward) -> dict[Violation, float]:
    """Return what plain matching says, for which an unread badge is nobody's."""
    return plain(act for act in ward.told if act.person is not None)


def anybody(ward: Ward) -> dict[Violation, float]:
    """Return what plain matching says, for which an unread badge may be anybody's."""
    return plain(ward.told, "anybody.sql")


def most_likely(ward: Ward, session: Session) -> dict[Violation, float]:
    """Return what plain matching says of the owner that is likeliest in the end."""
    best: dict[int, dict[str, Any]] = {}
    for row in rows(session.table("known")):
        known = best.get(row["id"])
        if known is None or (-row["p"], row["person"]) < (-known["p"], known["person"]):
            best[row["id"]] = row
    return plain(
        Act(act.id, act.corridor, best[act.id]["person"], act.action, act.room, act.at)
        for act in ward.told
        if act.id in best
    )


def plain(acts: Iterable[Act], name: str = "plain.sql") -> dict[Violation, float]:
    """Return the violations among events whose owners are taken for known, or as a script says."""
    session = Session(engine="local")
    session.sql(script(name), name=name)
    session.bind("seen", table_of(acts))
    return violations_of(session)


def violations_of(session: Session) -> dict[Violation, float]:
    """Return the matches of `contact`, with what is told of each last."""
    return {
        (tuple(each["event_id"] for each in row["events"]), row["person"]): row["confidence"]
        for row in rows(session.table("contact"))
    }


def table_of(acts: Iterable[Act]) -> pa.Table:
    """Return events as rows."""
    names = KINDS.names
    found = [{name: getattr(act, name) for name in names} for act in acts]
    return pa.Table.from_pylist(found, KINDS)
