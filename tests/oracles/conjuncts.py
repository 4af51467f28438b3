"""Conjuncts of WHERE: when one can be tested, for which i, and what equalities imply.

A conjunct that cannot be tested yet, or that is on an absent component, is not held against a
match. One that can be tested must be true for every i; unknown is not true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from oracles.model import Expr
from oracles.values import Bound, evaluate, references


@dataclass(frozen=True, eq=False)
class Conjunct:
    """An expression and how it reads each component (`values.references`).

    `needed` are the components without which it is not applied: those read other than by COUNT,
    and without a default. `rounds` has the group of each component that is read by its rounds.
    """

    expr: Expr
    reads: dict[str, frozenset[str]]
    needed: frozenset[str]
    rounds: dict[str, str]


def conjunct(expr: Expr) -> Conjunct:
    """Return `expr` with its readings."""
    found = list(references(expr))
    reads = {name: frozenset(how for n, how, _ in found if n == name) for name, _, _ in found}
    needed = frozenset(name for name, how, spare in found if how != "count" and not spare)
    return Conjunct(expr, reads, needed, dict(_rounds(expr)))


def _rounds(expr: Any) -> Iterator[tuple[str, str]]:
    """Yield each component that is read by the rounds of a group, with that group."""
    if isinstance(expr, tuple | list):
        if expr and expr[0] == "round":
            yield expr[2][1], expr[1]
        for part in expr:
            yield from _rounds(part)


def split(expr: Expr) -> Iterator[Expr]:
    """Yield the conjuncts of `expr`."""
    if expr[0] == "and":
        for part in expr[1:]:
            yield from split(part)
    else:
        yield expr


def holds(test: Conjunct, bound: Bound, done: Collection[str]) -> bool:
    """Tell whether `test` leaves the match alive.

    `done` are the components that take no further event; of the others, b[i] can be read for each
    event taken so far, but neither LAST(b) nor an aggregate.
    """
    for name, how in test.reads.items():
        open_ended = name not in done
        if open_ended and (not bound.get(name) or how & {"whole", "count"}):
            return True
        if not bound.get(name) and name in test.needed:
            return True
    return all(evaluate(test.expr, bound, at) is True for at in _instances(test, bound))


def _instances(test: Conjunct, bound: Bound) -> Iterator[dict[str, int]]:
    """Yield each choice of i for the repetitions that `test` reads by element.

    What is read of one group has one i, which goes through the rounds that can be read.
    """
    sets: dict[str, list[str]] = {}
    for name, how in test.reads.items():
        if how & {"i", "i-1"} and bound.get(name):
            sets.setdefault(test.rounds.get(name, f"{name} alone"), []).append(name)
    ranges = []
    for names in sets.values():
        how = frozenset().union(*(test.reads[name] for name in names))
        first = 2 if "i-1" in how or {"i", "first"} <= how else 1
        lasts = []
        for name in names:
            lags = len(names) > 1 and "i" not in test.reads[name]
            lasts.append(len(bound[name]) + (1 if lags else 0))
        ranges.append([dict.fromkeys(names, i) for i in range(first, min(lasts) + 1)])
    for choice in product(*ranges):
        yield {name: i for part in choice for name, i in part.items()}


def close(
    written: Iterable[Expr], repeated: Collection[str], keep: Callable[[Expr], bool]
) -> list[Expr]:
    """Return the `written` conjuncts with every equality that follows by transitivity.

    Only what `keep` allows is added. A repetition b equated with anything has equal b[i].
    """
    conjuncts = list(written)
    pairs = [tuple(_term(side) for side in e[1:]) for e in conjuncts if e[0] == "="]
    pairs = [pair for pair in pairs if None not in pair]
    known = {frozenset(pair) for pair in pairs}
    # A term equated with itself (b.x = b.x) is equal for each i already, and says no more.
    for group in (terms for terms in _classes(pairs) if len(terms) > 1):
        for left, right in combinations(group, 2):
            implied = ("=", left, right)
            if {left[0], right[0]} != {"lit"} and keep(implied):
                conjuncts += [implied] * (frozenset((left, right)) not in known)
        each = [t for t in group if t[0] == "attr" and len(t) == 3 and t[1] in repeated]
        conjuncts += [("=", (*t, "i"), (*t, 1)) for t in each]
    return conjuncts


def _term(side: Expr) -> Expr | None:
    """Return what an equality equates: an attribute or a literal; None for anything else.

    b[i-1] is none: it says nothing about the last b.
    """
    match side:
        case ("attr", _, _) | ("attr", _, _, 1 | "last"):
            return side
        case ("attr", name, attribute, "i"):
            return ("attr", name, attribute)
        case ("default", read, _):
            return _term(read)
        case ("lit", value) if value is not None:
            return side
    return None


def _classes(pairs: list[tuple[Expr, ...]]) -> list[list[Expr]]:
    classes: list[list[Expr]] = []
    for pair in pairs:
        touched = [c for c in classes if any(term in c for term in pair)]
        merged = list(dict.fromkeys(term for c in [*touched, list(pair)] for term in c))
        classes = [c for c in classes if c not in touched] + [merged]
    return classes
