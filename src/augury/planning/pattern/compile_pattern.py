"""Automaton and checked query to the compiled pattern that the match stage reads.

Single-component conjuncts are not rules: they are in the mask that tells which components an event
can play. The other conjuncts are rules, numbered like their predicate programs, and each belongs to
the match or to the innermost negation that it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, takewhile

from augury.analysis.checked import CheckedQuery, Conjunct, Leaf, Negated, Shape
from augury.analysis.unread import scores_unseen
from augury.config import value_of
from augury.kernels.search import opcodes
from augury.matching.pattern import Edge, Guard, Pattern, Rule, bits_of
from augury.planning.expressions.program import Program
from augury.planning.missed.missed_variants import Variant, variants_of
from augury.planning.missed.time_bounds import is_bound
from augury.planning.missed.unseen import with_guards
from augury.planning.pattern.automaton import Automaton, Transition
from augury.planning.pattern.automaton import Guard as Forbidden
from augury.planning.pattern.build_automaton import automaton_of
from augury.planning.pattern.residual import positive_components

Path = tuple[tuple[str, int], ...]
# What a path has where it enters a group that repeats.
ROUNDS = "ROUNDS"


def compile_pattern(
    query: CheckedQuery,
    automaton: Automaton,
    rules: Sequence[Conjunct],
    programs: Sequence[Program],
) -> Pattern:
    """Return the compiled pattern; `rules` are the conjuncts, one for each of the `programs`."""
    having = query.having if query.having and query.having.measure == "CONFIDENCE" else None
    within = query.within
    paths = dict(_paths(query.shape, ()))
    bare = Pattern(
        query=query.name,
        components=tuple(c.name for c in query.components),
        positive=0,
        edges=(),
        accepting=(),
        before=_before(query, paths),
        closed_by=_closed_by(query, paths),
        repeats=bits_of(c.index for c in query.components if c.repeats),
        rules=tuple(map(_rule, rules, programs)),
        after=tuple(k for k, conjunct in enumerate(rules) if conjunct.after),
        guards=(),
        strategy=query.strategy,
        window=within.length if within and not within.events else None,
        count_window=within.length if within and within.events else None,
        threshold=having.threshold if having else 0.0,
        strict_threshold=bool(having and having.strict),
        match_limit=query.match_limit or value_of("match_limit"),
        most_events=None,
        waits=False,
        written_limit=query.match_limit or 0,
    )
    plain = _grown(bare, query, query.shape, automaton)
    if not scores_unseen(query):
        return plain
    own, *others = variants_of(query)
    bounds = frozenset(k for k, conjunct in enumerate(rules) if is_bound(query, conjunct))
    variants = tuple(_variant(bare, query, each, bounds) for each in others)
    return replace(plain, stretches=own.stretches, variants=variants)


def _variant(
    bare: Pattern, query: CheckedQuery, variant: Variant, bounds: frozenset[int]
) -> Pattern:
    """Return the pattern in which some components were missed: guards stand in their places.

    The rules `bounds` bound times, and say when a missed component may have happened. A read of it
    at another time was its one draw, too: no guard asks for them.
    """
    shape = with_guards(query.shape, variant.missed)
    known = replace(bare, missed=bits_of(variant.missed), stretches=variant.stretches)
    grown = _grown(known, query, shape, automaton_of(shape, query.components))
    guards = (
        replace(guard, rules=tuple(k for k in guard.rules if k not in bounds))
        if guard.component in variant.missed
        else guard
        for guard in grown.guards
    )
    return replace(grown, guards=tuple(guards))


def _grown(bare: Pattern, query: CheckedQuery, shape: Shape, automaton: Automaton) -> Pattern:
    """Fill in what belongs to one shape: the whole pattern, or the inside of a negation."""
    own = positive_components(shape)
    known = replace(bare, positive=bare.positive | bits_of(own))
    guards = tuple(_guard(known, query, guard) for guard in automaton.guards)
    return replace(
        with_automaton(known, automaton),
        guards=guards,
        most_events=_most_events(query, own),
        waits=any(guard.later == 0 for guard in guards),
    )


def with_automaton(pattern: Pattern, automaton: Automaton) -> Pattern:
    """Return a pattern whose events come as an automaton has it."""
    return replace(
        pattern,
        edges=tuple(map(_edge, sorted(automaton.transitions, key=_as_written))),
        accepting=tuple(state.accepting for state in automaton.states),
    )


def _as_written(transition: Transition) -> tuple[int, int]:
    return transition.source, transition.component


def _edge(transition: Transition) -> Edge:
    joints = tuple((bits_of(joint.to), bits_of(joint.own)) for joint in transition.joints)
    return Edge(
        transition.source, transition.target, transition.component, joints, transition.yields
    )


def _guard(known: Pattern, query: CheckedQuery, guard: Forbidden) -> Guard:
    is_leaf = isinstance(guard.part, Leaf) or guard.kind == "NEXT"
    return Guard(
        component=guard.components[0] if is_leaf else -1,
        earlier=bits_of(chain.from_iterable(guard.earlier)),
        later=bits_of(chain.from_iterable(guard.later)),
        company=bits_of(guard.company),
        rules=_rules_naming(known, guard.components),
        inside=None if is_leaf else _inside(known, query, guard),
        kind=guard.kind,
    )


def _inside(known: Pattern, query: CheckedQuery, guard: Forbidden) -> Pattern:
    free = replace(known, strategy="ANY", window=None, count_window=None, threshold=0.0)
    automaton = automaton_of(guard.part, query.components, around=guard)
    return _grown(free, query, guard.part, automaton)


def _rules_naming(known: Pattern, components: Iterable[int]) -> tuple[int, ...]:
    inside = bits_of(components)
    return tuple(k for k, rule in enumerate(known.rules) if rule.reads & inside)


def _paths(shape: Shape, path: Path) -> Iterator[tuple[int, Path]]:
    """Yield each component with the way to it: the branches passed, and which part was taken."""
    if isinstance(shape, Leaf):
        yield shape.component, path
    elif isinstance(shape, Negated):
        yield from _paths(shape.part, path)
    else:
        if shape.times is not None:
            path = (*path, (ROUNDS, 0))
        for place, part in enumerate(shape.parts):
            yield from _paths(part, (*path, (shape.operator, place)))


def _parting(first: Path, second: Path) -> tuple[str, int, int] | None:
    """Return the operator at which two ways part, and the part that each takes."""
    for (operator, i), (_, j) in zip(first, second, strict=False):
        if i != j:
            return operator, i, j
    return None


def _share_rounds(first: Path, second: Path) -> bool:
    """Return whether two components stand in one group that repeats: then both come again."""
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return any(one == (ROUNDS, 0) for one, _ in shared)


def _is_ordered(first: Path, second: Path) -> bool:
    parting = None if _share_rounds(first, second) else _parting(first, second)
    return parting is not None and parting[0] in ("SEQ", "NEXT") and parting[1] < parting[2]


def _excludes(first: Path, second: Path) -> bool:
    parting = None if _share_rounds(first, second) else _parting(first, second)
    return parting is not None and parting[0] == "OR"


def _before(query: CheckedQuery, paths: Mapping[int, Path]) -> tuple[int, ...]:
    return tuple(
        bits_of(
            other
            for other in paths
            if _is_ordered(paths[other], paths[c.index])
            or _share_rounds(paths[other], paths[c.index])
            or (other == c.index and c.repeats)
        )
        for c in query.components
    )


def _closed_by(query: CheckedQuery, paths: Mapping[int, Path]) -> tuple[int, ...]:
    return tuple(
        bits_of(
            other
            for other in paths
            if _is_ordered(paths[other], paths[c.index])
            or _excludes(paths[other], paths[c.index])
            or (other == c.index and not c.repeats)
        )
        for c in query.components
    )


def _most_events(query: CheckedQuery, positive: Iterable[int]) -> int | None:
    most = 0
    for c in positive:
        maximum = query.components[c].maximum
        if maximum is None:
            return None
        most += maximum
    return most


def _rule(conjunct: Conjunct, program: Program) -> Rule:
    # b[2] is not there yet when the first b is taken, so it is read like LAST(b).
    later = [s.component for s in program.slots if s.kind == opcodes.NUMBER and s.number > 1]
    return Rule(
        reads=bits_of(conjunct.components),
        reads_whole=bits_of([*program.whole, *later]),
        needs=bits_of(program.needs),
        slots=tuple((s.component, s.kind, s.column, s.number) for s in program.slots),
        each=program.each,
    )
