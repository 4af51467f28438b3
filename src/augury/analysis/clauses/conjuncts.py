"""WHERE, AFTER WHERE and the filters inside components: one list of conjuncts.

Those with subqueries stand apart: which of them take part in the search for matches is known when
all rules are. A probability can be asked of those only that do, and its class hangs on them.

`[tag]` becomes equalities with the first component that is always there; FIRST and LAST copy their
component's own conjuncts to the negation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from augury.analysis.checked import Component, Conjunct
from augury.analysis.clauses.shapes import always_present
from augury.analysis.draft import Draft
from augury.analysis.expressions.comparable import comparable
from augury.analysis.expressions.query_checker import TypeChecker
from augury.analysis.expressions.walk import has_lookup, renamed
from augury.analysis.findings import listing, suggest
from augury.language import expressions as ex


def read_conjuncts(draft: Draft) -> None:
    """Fill the draft's conjuncts, those of FIRST and LAST included."""
    found: list[Conjunct] = []
    for own, expression in draft.filters:
        inside = list(_read(draft, expression, own, after=False))
        if inside and not any(own in conjunct.components for conjunct in inside):
            _report_foreign_filter(draft, own, expression)
        found += inside
    if draft.statement.where is not None:
        found += _read(draft, draft.statement.where, None, after=False)
    if draft.statement.after_where is not None:
        found += _read(draft, draft.statement.after_where, None, after=True)
    asking = [each for each in found if has_lookup(each.expression)]
    if draft.returns_probability:
        asking = [each for each in asking if not each.components]
    found = [each for each in found if each not in asking]
    draft.lookups = (*asking, *_copied(draft, asking))
    draft.conjuncts = (*found, *_copied(draft, found))


def split(expression: ex.Expression) -> Iterator[ex.Expression]:
    """Yield the conjuncts of a condition."""
    if isinstance(expression, ex.Logic) and expression.operator == "AND":
        for operand in expression.operands:
            yield from split(operand)
    else:
        yield expression


def _read(
    draft: Draft, expression: ex.Expression, own: int | None, after: bool
) -> Iterator[Conjunct]:
    for part in split(expression):
        if isinstance(part, ex.Equate):
            if after or own is not None:
                _report_misplaced(draft, part, after)
            else:
                yield from _equate(draft, part)
        elif not (isinstance(part, ex.Literal) and part.value is True):
            yield from _conjunct(draft, part, own, after)


def _conjunct(
    draft: Draft, part: ex.Expression, own: int | None, after: bool
) -> Iterator[Conjunct]:
    checker = TypeChecker(draft, own, takes_lookups=own is None)
    resolved = checker.condition(part)
    if resolved is None:
        return
    if not checker.named and draft.complete and not has_lookup(resolved):
        text = draft.findings.text_of(part)
        message = f"the condition {text} names no component, so it says nothing about events"
        draft.findings.error(
            "A052", message, part.span, "name an attribute of a component, or remove it"
        )
        return
    yield Conjunct(resolved, tuple(sorted(checker.named)), after, span=part.span)


def _report_foreign_filter(draft: Draft, own: int, expression: ex.Expression) -> None:
    name = draft.components[own].name
    message = f"the filter of {name} never names {name}"
    hint = f"name an attribute of {name}, or move the condition to WHERE"
    draft.findings.error("A052", message, expression.span, hint)


def _copied(draft: Draft, found: list[Conjunct]) -> Iterator[Conjunct]:
    for component, guard in draft.copies:
        old, new = draft.components[component].name, draft.components[guard].name
        for conjunct in found:
            if conjunct.components == (component,) and not conjunct.after:
                expression = renamed(conjunct.expression, old, new)
                yield replace(conjunct, expression=expression, components=(guard,))


# [attribute] ----------------------------------------------------------------------------------


def _equate(draft: Draft, part: ex.Equate) -> Iterator[Conjunct]:
    for name in part.attributes:
        if _all_have(draft, part, name):
            yield from _equalities(draft, part, name)


def _report_misplaced(draft: Draft, part: ex.Equate, after: bool) -> None:
    where = "AFTER WHERE" if after else "the filter of one component"
    message = f"{draft.findings.text_of(part)} is about all components, but stands in {where}"
    draft.findings.error("A047", message, part.span, "move it to WHERE")


def _all_have(draft: Draft, part: ex.Equate, name: str) -> bool:
    """Return whether every component has the attribute; report those that lack it."""
    known = [c for c in draft.components if c.played_by]
    lacking = [c for c in known if not _has(draft, c, name)]
    if lacking:
        columns = [c.name for s in draft.streams_of(lacking[0].index) for c in s.columns]
        names = listing([c.name for c in lacking])
        verb = "does" if len(lacking) == 1 else "do"
        message = f"[{name}] equates {name} over all components, but {names} {verb} not have it"
        others = [f"{c.name}.{name}" for c in known if c not in lacking]
        hint = f"equate the others: {' = '.join(others[:2])}" if len(others) > 1 else ""
        hint = suggest(name, columns, hint)
        draft.findings.error("A048", message, part.span, hint)
        return False
    types = [draft.type_of(c.index, name) for c in known]
    if any(a and b and not comparable(a, b) for a, b in pairwise(types)):
        message = f"[{name}] equates {listing(sorted({t.value for t in types if t}))} values"
        draft.findings.error("A040", message, part.span, "give the columns one type")
        return False
    return len(known) == len(draft.components)


def _has(draft: Draft, component: Component, name: str) -> bool:
    return all(s.column(name) for s in draft.streams_of(component.index))


def _equalities(draft: Draft, part: ex.Equate, name: str) -> Iterator[Conjunct]:
    anchor = _anchor(draft)
    if anchor is None:
        return
    for component in draft.components:
        if component.index != anchor.index:
            yield _equality(draft, part, (anchor, component), name)
    # Where nothing is sure to tie a repetition's events together, they are tied to its first.
    if anchor.maximum != 1 or anchor.minimum == 0:
        for component in draft.positive:
            if component.maximum != 1:
                yield _tied(draft, part, component, name)


def _anchor(draft: Draft) -> Component | None:
    """Return a positive component that always takes one event, or else the first positive one."""
    sure = always_present(draft.shape, draft.components) if draft.shape else frozenset()
    single = [c for c in draft.positive if c.maximum == 1]
    candidates = [c for c in single if c.index in sure] or single or list(draft.positive)
    return candidates[0] if candidates else None


def _equality(
    draft: Draft, part: ex.Equate, pair: tuple[Component, Component], name: str
) -> Conjunct:
    left, right = (_attribute(draft, c, name, part) for c in pair)
    indices = tuple(sorted(c.index for c in pair))
    return Conjunct(ex.Binary("=", left, right, span=part.span), indices, span=part.span)


def _tied(draft: Draft, part: ex.Equate, component: Component, name: str) -> Conjunct:
    each = _attribute(draft, component, name, part, ex.Index("each"))
    first = _attribute(draft, component, name, part, ex.Index("number", 1))
    return Conjunct(ex.Binary("=", each, first, span=part.span), (component.index,), span=part.span)


def _attribute(
    draft: Draft, component: Component, name: str, part: ex.Equate, index: ex.Index | None = None
) -> ex.Attribute:
    column = draft.column_of(component.index, name)
    return ex.Attribute(component.name, column.name if column else name, index, span=part.span)
