"""CREATE GAPS: how long after one component another comes, for what may be missed.

`x TO y` times y from the last positive component before it; `x BEFORE z` looks back from z, for a
missed first component or a leading negation. Families and their parameters, in this order:

EXPONENTIAL(mean), GAMMA(mean, shape), LOGNORMAL(median, sigma), UNIFORM(least, most),
EMPIRICAL(length, length, ...). Lengths of time come first, bare numbers after them.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.analysis import places
from augury.analysis.checked import CheckedGap, Component
from augury.analysis.clauses.missed import chain
from augury.analysis.declarations.durations import microseconds
from augury.analysis.draft import Draft
from augury.analysis.expressions.attributes import find_component
from augury.analysis.findings import Findings, counted, listing, suggest
from augury.language.expressions import Duration
from augury.language.tree import CreateGaps, Gap


@dataclass(frozen=True, slots=True)
class Family:
    """How many lengths and bare numbers a family takes; `any_count`: one or more lengths."""

    lengths: int
    numbers: int
    form: str
    any_count: bool = False


FAMILIES: dict[str, Family] = {
    "EXPONENTIAL": Family(1, 0, "EXPONENTIAL(mean)"),
    "GAMMA": Family(1, 1, "GAMMA(mean, shape)"),
    "LOGNORMAL": Family(1, 1, "LOGNORMAL(median, sigma)"),
    "UNIFORM": Family(2, 0, "UNIFORM(least, most)"),
    "EMPIRICAL": Family(1, 0, "EMPIRICAL(length, length, ...)", any_count=True),
}
# Beyond these a gap is a constant, or says nothing, and its integrals take minutes or fail.
MOST = {"GAMMA": 10_000.0, "LOGNORMAL": 5.0}
_WIDEST = {
    "GAMMA": "a shape of 10000 is a gap within 1 % of its mean; write at most that",
    "LOGNORMAL": "a sigma of 5 is a factor of 150 up or down; write at most that",
}


def read_gaps(draft: Draft, statements: list[CreateGaps]) -> None:
    """Fill the draft's gaps from the statements about its query."""
    seen: set[tuple[int, int, bool]] = set()
    found: list[CheckedGap] = []
    for statement in statements:
        if statement.learn_from is not None:
            draft.learn_gaps_from = _history(draft, statement, statement.learn_from)
        for gap in statement.gaps:
            checked = _read(draft, gap)
            if checked is not None and _is_new(checked, seen, gap, draft.findings):
                found.append(checked)
    draft.gaps = tuple(found)


def _history(draft: Draft, statement: CreateGaps, name: str) -> str:
    stream = draft.ledger.readable(name)
    if stream is not None:
        return stream.name
    span = places.word(draft.findings.source, statement.span, name, "FROM")
    if draft.ledger.is_table(name):
        message = f"LEARN FROM names {name}, which is a table; gaps are learned from events"
        draft.findings.error("A072", message, span, "declare it with CREATE STREAM")
    elif not (draft.ledger.has_failed(name) or name.lower() in draft.ledger.later):
        known = [s.name for s in draft.ledger.streams.values()]
        message = f"LEARN FROM names {name}, which is not declared, so no rows can be bound to it"
        hint = suggest(name, known, "declare it with CREATE STREAM before you bind its rows")
        draft.findings.warning("W010", message, span, hint)
    return name


def _is_new(
    gap: CheckedGap, seen: set[tuple[int, int, bool]], written: Gap, findings: Findings
) -> bool:
    pair = (gap.earlier, gap.later, gap.backward)
    if pair in seen:
        word = "BEFORE" if gap.backward else "TO"
        message = f"the gap {written.earlier} {word} {written.later} is given twice"
        findings.error("A071", message, written.span, "keep one of them")
        return False
    seen.add(pair)
    return True


def _read(draft: Draft, gap: Gap) -> CheckedGap | None:
    before = draft.findings.error_count
    earlier, later = (_component(draft, gap, name) for name in (gap.earlier, gap.later))
    if earlier is not None and later is not None:
        _check_direction(draft, gap, earlier, later)
    _check_family(draft, gap)
    reaches = 1.0 if gap.reaches is None else gap.reaches
    if not 0 < reaches <= 1:
        message = f"REACHES {reaches:g} is outside (0, 1]"
        hint = "write the probability that it comes at all, such as 0.9"
        draft.findings.error("A070", message, gap.span, hint)
    if draft.findings.error_count > before or earlier is None or later is None:
        return None
    parameters = tuple(_number(p) for p in gap.parameters)
    return CheckedGap(earlier.index, later.index, gap.backward, gap.family, parameters, reaches)


def _component(draft: Draft, gap: Gap, name: str) -> Component | None:
    keyword = ("BEFORE" if gap.backward else "TO") if name == gap.later else ""
    return find_component(draft, name, places.word(draft.findings.source, gap.span, name, keyword))


def _number(parameter: Duration | float) -> float:
    return float(microseconds(parameter) if isinstance(parameter, Duration) else parameter)


# Direction ------------------------------------------------------------------------------------


def _check_direction(draft: Draft, gap: Gap, earlier: Component, later: Component) -> None:
    order = chain(draft)
    outside = [c.name for c in (earlier, later) if c.index not in order]
    if outside:
        message = f"{outside[0]} does not stand in the pattern's own SEQ, so nothing times it"
        draft.findings.error("A068", message, gap.span, "time components of the SEQ")
    elif gap.backward:
        _check_backward(draft, gap, earlier, later)
    else:
        _check_forward(draft, gap, earlier, later)


def _check_forward(draft: Draft, gap: Gap, earlier: Component, later: Component) -> None:
    before = [c for c in _positive(draft) if c.index < later.index]
    expected = before[-1].name if before else None
    if expected == earlier.name:
        return
    what = f"{gap.earlier} TO {gap.later}"
    message = f"{what} does not time {later.name} from the positive component before it"
    if expected:
        hint = f"write {expected} TO {later.name}"
    else:
        after = next((c.name for c in _positive(draft) if c.index > later.index), "z")
        hint = f"nothing comes before {later.name}: write {later.name} BEFORE {after}"
    draft.findings.error("A068", message, gap.span, hint)


def _check_backward(draft: Draft, gap: Gap, earlier: Component, later: Component) -> None:
    before = [c for c in _positive(draft) if c.index < earlier.index]
    after = [c for c in _positive(draft) if c.index > earlier.index]
    if before:
        first = before[-1].name
        message = f"BEFORE looks back for a first component, but {first} precedes {earlier.name}"
        draft.findings.error(
            "A068", message, gap.span, f"write {before[-1].name} TO {earlier.name}"
        )
    elif not after or after[0].name != later.name:
        what = f"{gap.earlier} BEFORE {gap.later}"
        message = f"{what} does not look back from the positive component after {earlier.name}"
        hint = f"write {earlier.name} BEFORE {after[0].name}" if after else "nothing comes after it"
        draft.findings.error("A068", message, gap.span, hint)


def _positive(draft: Draft) -> list[Component]:
    return [draft.components[i] for i in chain(draft) if not draft.components[i].negated]


# Distribution ---------------------------------------------------------------------------------


def _check_family(draft: Draft, gap: Gap) -> None:
    family = FAMILIES.get(gap.family)
    if family is None:
        hint = suggest(gap.family, FAMILIES, f"the distributions are {listing(list(FAMILIES))}")
        draft.findings.error("A069", f"distribution {gap.family} is unknown", gap.span, hint)
        return
    count = len(gap.parameters)
    right = count >= 1 if family.any_count else count == family.lengths + family.numbers
    if not right:
        message = f"{gap.family} got {counted(count, 'parameter')}"
        draft.findings.error("A069", message, gap.span, f"write {family.form}")
        return
    if gap.family == "GAMMA" and _is_shape_first(gap):
        message = "GAMMA takes its mean first, then its shape"
        draft.findings.error("A069", message, gap.span, "shape times scale is the mean")
        return
    lengths = gap.parameters if family.any_count else gap.parameters[: family.lengths]
    _check_lengths(draft, gap, lengths)
    for number in () if family.any_count else gap.parameters[family.lengths :]:
        _check_number(draft, gap, number)


def _is_shape_first(gap: Gap) -> bool:
    first, second = gap.parameters
    return isinstance(second, Duration) and not isinstance(first, Duration)


def _check_lengths(draft: Draft, gap: Gap, lengths: tuple[Duration | float, ...]) -> None:
    ticks = bool(draft.time_is_ticks)
    if any(isinstance(p, Duration) == ticks for p in lengths):
        kind = "bare numbers of ticks" if ticks else "lengths with a unit, such as 20 MINUTES"
        message = f"{gap.family} is not in the unit of TIME; it needs {kind}"
        draft.findings.error("A022", message, gap.span, f"write {FAMILIES[gap.family].form}")
        return
    values = [_number(p) for p in lengths]
    lowest = 0 if gap.family in ("UNIFORM", "EMPIRICAL") else None
    if any(v < 0 or (v == 0 and lowest is None) for v in values) or not all(
        v < 2**62 for v in values
    ):
        draft.findings.error(
            "A069", f"a length of {gap.family} is not positive", gap.span, "write a length above 0"
        )
    elif gap.family == "UNIFORM" and values[0] >= values[1]:
        draft.findings.error(
            "A069",
            "UNIFORM is empty: its least is not below its most",
            gap.span,
            "write the shorter length first",
        )


def _check_number(draft: Draft, gap: Gap, number: Duration | float) -> None:
    if isinstance(number, Duration) or not 0 < number < float("inf"):
        message = f"the last parameter of {gap.family} is a positive number without a unit"
        draft.findings.error("A069", message, gap.span, f"write {FAMILIES[gap.family].form}")
    elif number > MOST[gap.family]:
        most = f"{MOST[gap.family]:g}"
        message = f"the last parameter of {gap.family} is {number:g}, above {most}"
        draft.findings.error("A069", message, gap.span, _WIDEST[gap.family])
