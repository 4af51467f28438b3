"""The items whose story is worth a look: those that show what doubt does, one kind at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from augury.demo.store.truth import HEADLINE, Found, Judgement

EACH = 4


@dataclass(frozen=True, slots=True)
class Case:
    """An item, and why it is shown; `match` is its most confident one."""

    kind: str
    tag: str
    stolen: bool
    match: Found | None


KINDS = {
    "caught": "Caught",
    "wrong": "False alarm",
    "doubt": "In doubt",
    "missed": "Missed",
    "cleared": "Cleared",
}


def choose(verdict: Judgement) -> list[Case]:
    """Return some cases of each kind, the most telling ones first."""
    found: dict[str, list[Case]] = {kind: [] for kind in KINDS}
    for tag in verdict.day.by_tag:
        case = _case(verdict, tag)
        if case is not None:
            found[case.kind].append(case)
    return [case for kind in KINDS for case in _varied(verdict, found[kind])]


def _varied(verdict: Judgement, cases: list[Case]) -> list[Case]:
    """Return the most telling cases, those first whose sequence of readers is new."""
    ordered = sorted(cases, key=_interest(verdict), reverse=True)
    firsts: dict[tuple[str, ...], Case] = {}
    for case in ordered:
        readers = tuple(read.reader for read in verdict.day.by_tag[case.tag])
        firsts.setdefault(readers, case)
    chosen = list(firsts.values())
    return (chosen + [case for case in ordered if case not in chosen])[:EACH]


def _case(verdict: Judgement, tag: str) -> Case | None:
    match, stolen = verdict.best.get(tag), tag in verdict.day.stolen
    confidence = match.confidence if match else 0.0
    if confidence >= HEADLINE:
        return Case("caught" if stolen else "wrong", tag, stolen, match)
    if 0.4 <= confidence <= 0.6:
        return Case("doubt", tag, stolen, match)
    if stolen and confidence < 0.3:
        return Case("missed", tag, stolen, match)
    if not stolen and match is None and _left(verdict, tag):
        return Case("cleared", tag, stolen, match)
    return None


def _left(verdict: Judgement, tag: str) -> bool:
    reads = verdict.day.by_tag[tag]
    return any(r.reader == "EXIT" and r.door != "staff" for r in reads) and len(reads) >= 4


def _interest(verdict: Judgement) -> Callable[[Case], tuple[int, int, float, str]]:
    """Return how telling a case is: doubtful counters, then many reads, then confidence."""

    def interest(case: Case) -> tuple[int, int, float, str]:
        reads = verdict.day.by_tag[case.tag]
        doubtful = sum(0.05 < r.p < 0.8 for r in reads)
        sure = case.match.confidence if case.match else 0.0
        return doubtful, len(reads), sure, case.tag

    return interest


def sum_of(verdict: Judgement, match: Found) -> str:
    """Return how the confidence of a match comes about, as a product.

    Both reads happened, and none of those at a counter in between.
    """
    return " \N{MULTIPLICATION SIGN} ".join(_factors(verdict, match))


def _factors(verdict: Judgement, match: Found) -> Iterator[str]:
    yield f"{match.taken.p:.3g}"
    yield f"{match.gone.p:.3g}"
    for read in verdict.day.between(match.taken, match.gone):
        yield f"(1 \N{MINUS SIGN} {read.p:.3g})"


def truth_of(verdict: Judgement, case: Case) -> str:
    """Return in a sentence what really happened."""
    if case.stolen:
        return "Really taken, really carried out, really never paid for."
    match = case.match
    if match is None:
        paid = any(r.real and r.reader == "COUNTER" for r in verdict.day.by_tag[case.tag])
        return "Paid for, and the counter was sure of it." if paid else "It never left the store."
    if not match.taken.real:
        return "Never taken: the read at the shelf was a ghost."
    if not match.gone.real:
        return "Still in the store: the read at the door was a ghost."
    return "Paid for: a read at the counter was real."
