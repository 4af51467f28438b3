"""What is said of a name that is not that of the kind of thing which is needed in its place."""

from __future__ import annotations

from collections.abc import Iterable

from augury.analysis.declarations.ledger import Ledger
from augury.analysis.findings import suggest

MOST_LISTED = 8
_UNDECLARED = "is not declared"


def misnamed(
    name: str, needed: str, ledger: Ledger, known: Iterable[str], otherwise: str
) -> tuple[str, str]:
    """Return message and hint: the name is something else's, comes later, or is nobody's."""
    what = what_it_is(name, needed, ledger)
    if what == _UNDECLARED:
        return f"{needed} {name} {what}", suggest(name, known, otherwise)
    kind = ledger.holder(name)
    if kind is None and ledger.later.get(name.lower()) == needed:
        return f"{needed} {name} {what}", "move its declaration before this statement"
    return f"{name} {what}", _instead(name, kind, ledger) or _listed(known) or otherwise


def what_it_is(name: str, needed: str, ledger: Ledger) -> str:
    """Return what is to be said of a name, where it is not that of what is needed."""
    kind, later = ledger.holder(name), ledger.later.get(name.lower())
    if kind is None and later == needed:
        return "is declared later in the script"
    other = kind or later
    return _UNDECLARED if other in (None, needed) else f"is a {other}, and no {needed}"


def _listed(known: Iterable[str]) -> str:
    """Return what might be named instead, where that is not much."""
    names = list(dict.fromkeys(known))
    return f"declared: {', '.join(names)}" if 0 < len(names) <= MOST_LISTED else ""


def _instead(name: str, kind: str | None, ledger: Ledger) -> str:
    """Return which query is probably meant by what is none."""
    if kind == "rule":
        return f"it acts on query {ledger.rules[name.lower()].query}"
    if kind == "forecast":
        return f"it is of query {ledger.forecasts[name.lower()].query}"
    return ""
