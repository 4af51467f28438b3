"""Draw the first picture of the README: one unread badge, and how the chain comes to know whose.

`make docs` writes docs/hospital.svg. All that is drawn is asked of a ward like that of
`augury demo --scene hospital`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from augury.demo.hospital.pipelines import opened
from augury.demo.hospital.ward import Act, Care, Ward, simulate
from augury.session import Session

SEED, CARE = 4, Care(corridors=1, hours=2.0, unread=0.2)
# How unsure the story begins, how often it is told anew, and from when on a rule acts.
UNSURE, TELLINGS, SURE = 0.3, 4, 0.8
OUT = Path(__file__).parents[2] / "docs" / "hospital.svg"
LEFT, COLUMN, BAR, TOP, WIDTH, HEIGHT = 132, 146, 118, 74, 880, 352
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f; }
.title { font-size: 17px; font-weight: 600; } .soft { fill: #57606a; } .number { font-weight: 600; }
.small { font-size: 12px; } .on { fill: #ffffff; font-weight: 600; } .line { stroke: #d0d7de; }
.them { fill: #d0d7de; } .who { fill: #0969da; } .green { fill: #2da44e; }
.warning { fill: #bf8700; } .violation { fill: #cf222e; } .card { fill: #ffffff; stroke: #d0d7de; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .soft { fill: #9198a1; } .line { stroke: #3d444d; }
  .them { fill: #3d444d; } .who { fill: #1f6feb; } .green { fill: #238636; }
  .warning { fill: #9e6a03; } .violation { fill: #da3633; }
  .card { fill: #0d1117; stroke: #3d444d; }
}
"""
DOES = {"ENTER": "enters", "EXIT": "leaves", "SANITIZE": "cleans hands", "WASH": "washes"}


@dataclass(frozen=True)
class Moment:
    """Something that was told, who may have come in by then, and what the badge shows."""

    act: Act
    owners: dict[str, float]
    confidence: float | None
    badge: str


def main() -> None:
    """Write the picture."""
    OUT.write_text(drawn(), encoding="utf-8")


def drawn() -> str:
    """Return the picture."""
    warnings.simplefilter("ignore")
    ward = simulate(SEED, CARE)
    person, moments = story(ward, opened(ward))
    rows = ("The readers tell", "Who it may be", "Hands unclean", f"Badge of {person}")
    labels = "".join(
        _text(20, y, each, "soft")
        for y, each in zip((TOP + 16, TOP + 98, TOP + 196, TOP + 246), rows, strict=True)
    )
    columns = "".join(_column(k, each, person) for k, each in enumerate(moments))
    about = f"One unread badge: how likely it is that {person} did it, telling by telling"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'width="{WIDTH}" aria-label="{about}">\n<style>{STYLE}</style>\n'
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10"/>\n'
        + _text(
            20, 34, "Somebody came in, and no badge was read. Whose hands were not clean?", "title"
        )
        + f'\n<path class="line" d="M20 52H{WIDTH - 20}" fill="none"/>\n{labels}\n{columns}</svg>\n'
    )


def story(ward: Ward, session: Session) -> tuple[str, list[Moment]]:
    """Return whom the first story is about that begins unsure, and changes a badge in the end."""
    acts = {act.id: act for act in ward.told}
    changes = session.changes("badges").to_pylist()
    told = _by_match(session.revisions("contact").to_pylist())
    for rows in told:
        last = rows[-1]
        left, came = (acts[int(each["event_id"])] for each in last["events"])
        is_sudden = any(c["ts"] > came.at and c["person"] == last["person"] for c in changes)
        begins, ends = rows[0]["confidence"], last["confidence"]
        if left.person and len(rows) == TELLINGS and begins < UNSURE and ends > SURE and is_sudden:
            return last["person"], _moments(ward, session, rows, left, came)
    raise LookupError("no such story in this ward")


def _by_match(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["match_id"], []).append(row)
    return list(found.values())


def _moments(
    ward: Ward, session: Session, rows: list[dict[str, Any]], left: Act, came: Act
) -> list[Moment]:
    person, tellings = rows[0]["person"], dict[Any, dict[str, float]]()
    for each in session.revisions("known").to_pylist():
        if each["id"] == came.id:
            tellings.setdefault(each["as_of"], {})[each["person"]] = each["p"]
    acts = [next(act for act in ward.told if act.at == at) for at in tellings]
    confidences = [row["confidence"] for row in rows]
    first = Moment(left, {}, None, _badge(session, person, left.at))
    return [
        first,
        *(
            Moment(act, owners, confidence, _badge(session, person, act.at))
            for act, owners, confidence in zip(acts, tellings.values(), confidences, strict=True)
        ),
    ]


def _badge(session: Session, person: str, at: Any) -> str:
    """Return what a badge shows after all that was done up to a moment."""
    shown = "green"
    for each in session.changes("badges").to_pylist():
        if each["person"] == person and each["ts"] <= at:
            shown = "green" if each["operation"] == "DELETE" else each["state"]
    return shown


def _column(k: int, moment: Moment, person: str) -> str:
    x, act = LEFT + k * COLUMN, moment.act
    who, where = act.person or "someone", "" if act.room == "H" else f" {act.room}"
    parts = [
        _text(x, TOP + 6, f"{act.at:%H:%M:%S}", "soft small"),
        _text(x, TOP + 25, f"{who} {DOES[act.action]}{where}", "" if act.person else "number"),
        _shares(x, TOP + 44, moment.owners, person),
    ]  # fmt: skip
    if moment.confidence is not None:
        parts.append(_text(x, TOP + 196, f"{moment.confidence:.2f}", "number"))
    shown = {"green": "green", "warning": "yellow", "violation": "red"}[moment.badge]
    parts.append(
        f'<rect class="{moment.badge}" x="{x}" y="{TOP + 227}" width="{BAR}" height="28" rx="6"/>'
    )
    parts.append(_text(x + 10, TOP + 246, shown, "on"))
    return "".join(parts) + "\n"


def _shares(x: int, y: int, owners: dict[str, float], person: str) -> str:
    """Return a bar, cut among those who may have come in; the one it is about is the lowest."""
    parts, height = [], 124
    named = sorted(
        ((p, name) for name, p in owners.items() if p > 0.0), key=lambda e: e[1] == person
    )
    for p, name in named:
        tall = p * height
        kind, ink = ("who", "on") if name == person else ("them", "small")
        parts.append(_box(kind, x, y, tall - 2))
        parts.append(_text(x + 10, y + tall / 2 + 3.5, f"{name}  {p:.0%}", ink))
        y += tall  # type: ignore[assignment]
    return "".join(parts)


def _box(kind: str, x: float, y: float, height: float) -> str:
    size = f'width="{BAR}" height="{height:.1f}" rx="5"'
    return f'<rect class="{kind}" x="{x}" y="{y:.1f}" {size}/>'


def _text(x: float, y: float, said: str, kind: str) -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{style}>{escape(said)}</text>'


if __name__ == "__main__":
    main()
