"""A query made ready for one world: places in the pattern, order, and who tests which conjunct.

A component's place is its path from the root. Two paths part at one node, and that node says all
there is to say about the two: a SEQ or NEXT orders them, an AND does not, an OR lets only one be
there. A negated part opens a scope of its own; the empty scope is that of the match.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations, product
from typing import Any

from oracles.conjuncts import Conjunct, close, conjunct, split
from oracles.model import And, Comp, Expr, First, Last, Next, Not, Or, Query, Rounds, Seq
from oracles.values import references, rename

Path = tuple[tuple[type, int], ...]
Scope = tuple[Path, ...]


@dataclass(frozen=True, eq=False)
class Place:
    """A component in the tree; `scope` are the negations it stands under."""

    comp: Comp
    path: Path
    scope: Scope


@dataclass(frozen=True, eq=False)
class Negation:
    """A `!part` of a SEQ.

    `before` and `after` are the components that the pattern puts before and after it; `company`
    those of its own SEQ, without one of which it is not applied.
    """

    part: Any
    scope: Scope
    before: tuple[str, ...]
    after: tuple[str, ...]
    company: tuple[str, ...]
    neighbour: bool = False


@dataclass(frozen=True, eq=False)
class Plan:
    """The prepared query. Mappings by scope hold what belongs to the match, or to one negation.

    Fields:
        precedes: (u, v): the pattern puts u before v. In a group that repeats, each of its
            components comes before and after every other.
        closes: (u, v): once v has an event, u takes no more.
        bounds: component to its least and greatest number of events.
        adjacent: for each NEXT(...), its parts as tuples of names, and the group that repeats it.
        memory: what selection has worked out about the plan, whatever the world.
        contiguous: the repetitions that are a part of a NEXT(...), or a branch of such a part.
    """

    query: Query
    root: Any
    places: dict[str, Place]
    precedes: frozenset[tuple[str, str]]
    closes: frozenset[tuple[str, str]]
    bounds: dict[str, tuple[int, int | None]]
    repeated: frozenset[str]
    conjuncts: dict[Scope, list[Conjunct]]
    negations: dict[Scope, list[Negation]]
    adjacent: dict[Scope, list[tuple[tuple[tuple[str, ...], ...], Rounds | None]]]
    contiguous: frozenset[str]
    after_where: list[Conjunct]
    memory: dict[Any, Any] = field(default_factory=dict)


def prepare(query: Query) -> Plan:
    """Return the plan of `query`, or raise ValueError where the language refuses it."""
    root = _sequence(_expand(query.pattern))
    places = _place_all(root)
    repeated = frozenset(n for n, p in places.items() if (p.comp.minimum, p.comp.maximum) != (1, 1))
    repeated |= {n for n, p in places.items() if any(kind is Rounds for kind, _ in p.path)}
    after = [conjunct(e) for whole in query.after_where for e in split(whole)]
    if any(places[n].scope for test in after for n in test.reads):
        raise ValueError("AFTER WHERE names a negated component; use WHERE")
    pairs = list(permutations(places, 2))
    return Plan(
        query=query,
        root=root,
        places=places,
        precedes=frozenset(p for p in pairs if _ordered(*(places[n].path for n in p))),
        closes=frozenset(p for p in pairs if _closed(*(places[n].path for n in p))),
        bounds={n: (p.comp.minimum, p.comp.maximum) for n, p in places.items()},
        repeated=repeated,
        conjuncts=_conjuncts_by_scope(query, root, places, repeated),
        negations=_negations_by_scope(root, places),
        adjacent=_adjacent_by_scope(root),
        contiguous=repeated & frozenset(_parts_of_next(root)),
        after_where=after,
    )


def unfold(plan: Plan, size: int) -> Iterator[Plan]:
    """Yield `plan` with each repetition of the match fixed at each permitted number.

    A group that repeats is fixed at a number of rounds, whatever these take.
    """
    places = {n: plan.places[n] for n in plan.repeated if not plan.places[n].scope}
    names = [n for n, p in places.items() if all(kind is not Rounds for kind, _ in p.path)]
    groups = [n for n, _, scope in _walk(plan.root) if isinstance(n, Rounds) and not scope]
    bounds = [plan.bounds[n] for n in names] + [(g.minimum, g.maximum) for g in groups]
    # In the other branch of an OR, the least number is not asked for.
    ranges = [
        range(least, max(least, size if most is None else min(most, size)) + 1)
        for least, most in bounds
    ]
    for counts in product(*ranges):
        if sum(counts) - sum(each.start for each in ranges) <= size:
            fixed = {n: (k, k) for n, k in zip(names, counts, strict=False)}
            rounds = dict(zip(groups, counts[len(names) :], strict=True))
            root = _with_rounds(plan.root, rounds)
            yield replace(plan, root=root, bounds={**plan.bounds, **fixed}, memory={})


def _with_rounds(node: Any, rounds: Mapping[Any, int]) -> Any:
    if isinstance(node, Rounds):
        return replace(node, minimum=rounds[node], maximum=rounds[node])
    if isinstance(node, Comp | Not):
        return node
    return replace(node, parts=tuple(_with_rounds(part, rounds) for part in node.parts))


def names_in(node: Any) -> list[str]:
    """Return the positive components of `node`, as written."""
    if isinstance(node, Comp):
        return [node.name]
    if isinstance(node, Rounds):
        return names_in(node.part)
    return [] if isinstance(node, Not) else [n for part in node.parts for n in names_in(part)]


def can_finish(plan: Plan, node: Any, bound: Mapping[str, Collection[Any]]) -> bool:
    """Tell whether `node` needs no further event."""
    match node:
        case Comp():
            return len(bound.get(node.name, ())) >= plan.bounds[node.name][0]
        case Not():
            return True
        case Rounds():
            *whole, last = rounds_of(plan, node, bound)
            return not last and len(whole) >= node.minimum
        case Or():
            return any(can_finish(plan, part, bound) for part in _branches(node, bound))
        case _:
            return all(can_finish(plan, part, bound) for part in node.parts)


def openings(plan: Plan, node: Any, bound: Mapping[str, Collection[Any]]) -> list[str]:
    """Return the components of `node` that may take the next event, as written."""
    match node:
        case Comp():
            most = plan.bounds[node.name][1]
            return [node.name] if most is None or len(bound.get(node.name, ())) < most else []
        case Not():
            return []
        case Rounds():
            *whole, last = rounds_of(plan, node, bound)
            full = not last and node.maximum is not None and len(whole) >= node.maximum
            return [] if full else openings(plan, node.part, last)
        case And():
            return [n for part in node.parts for n in openings(plan, part, bound)]
        case Or():
            return [n for part in _branches(node, bound) for n in openings(plan, part, bound)]
        case _:
            return _openings_in_order(plan, node, bound)


def rounds_of(
    plan: Plan, node: Rounds, bound: Mapping[str, Collection[Any]]
) -> list[dict[str, tuple[Any, ...]]]:
    """Return what each round has taken, and last the one under way, which may be empty.

    The parts of a round are single components, so it is over as soon as it can be.
    """
    own = [(e.ts, e.tie or 0, name, e) for name in names_in(node) for e in bound.get(name, ())]
    found: list[dict[str, tuple[Any, ...]]] = [{}]
    for _, _, name, event in sorted(own, key=lambda item: item[:3]):
        found[-1] = {**found[-1], name: (event,)}
        if can_finish(plan, node.part, found[-1]):
            found.append({})
    return found


def _openings_in_order(plan: Plan, node: Any, bound: Mapping[str, Collection[Any]]) -> list[str]:
    """Go on in the last part that has an event, and from each part that can finish to the next."""
    begun = [i for i, part in enumerate(node.parts) if _begun(part, bound)]
    found: list[str] = []
    for part in node.parts[begun[-1] if begun else 0 :]:
        found += openings(plan, part, bound)
        if not can_finish(plan, part, bound):
            break
    return found


def _begun(node: Any, bound: Mapping[str, Collection[Any]]) -> bool:
    return any(bound.get(name) for name in names_in(node))


def _branches(node: Or, bound: Mapping[str, Collection[Any]]) -> tuple[Any, ...]:
    """Return the branch of an OR that has an event, or all of them while none has."""
    return tuple(part for part in node.parts if _begun(part, bound)) or node.parts


def _expand(node: Any) -> Any:
    """Write FIRST and LAST out, and flatten SEQ in SEQ."""
    match node:
        case Comp():
            return node
        case First():
            return Seq((Not(_double(node.comp)), node.comp))
        case Last():
            return Seq((node.comp, Not(_double(node.comp))))
        case Not():
            return _refuse_repetition(Not(_expand(node.part), node.neighbour))
        case Rounds():
            return replace(node, part=_expand(node.part))
    parts = [_expand(part) for part in node.parts]
    if isinstance(node, Seq):
        parts = [p for part in parts for p in (part.parts if isinstance(part, Seq) else (part,))]
    elif any(isinstance(part, Not) for part in parts):
        raise ValueError("a negation stands in a SEQ, not in AND, OR or NEXT")
    return type(node)(tuple(parts))


def _double(comp: Comp) -> Comp:
    """Return the negated twin of `FIRST(comp)` or `LAST(comp)`."""
    _refuse_repetition(Not(comp))
    return Comp(f"!{comp.name}", comp.type)


def _refuse_repetition(node: Not) -> Not:
    part = node.part
    if isinstance(part, Comp) and (part.minimum, part.maximum) != (1, 1):
        raise ValueError(f"{part.name} is a repetition; it cannot be negated, FIRST or LAST")
    return node


def _sequence(node: Any) -> Seq:
    return node if isinstance(node, Seq) else Seq((node,))


def _walk(node: Any, path: Path = (), scope: Scope = ()) -> Iterator[tuple[Any, Path, Scope]]:
    """Yield every node with its path and the scope it belongs to."""
    yield node, path, scope
    if isinstance(node, Not):
        yield from _walk(node.part, (*path, (Not, 0)), (*scope, path))
    elif isinstance(node, Rounds):
        yield from _walk(node.part, (*path, (Rounds, 0)), scope)
    elif not isinstance(node, Comp):
        for i, part in enumerate(node.parts):
            yield from _walk(part, (*path, (type(node), i)), scope)


def _place_all(root: Any) -> dict[str, Place]:
    places: dict[str, Place] = {}
    for node, path, scope in _walk(root):
        if isinstance(node, Comp):
            if node.name in places:
                raise ValueError(f"two components are called {node.name}; name them apart")
            places[node.name] = Place(node, path, scope)
    return places


def _parting(u: Path, v: Path) -> tuple[type, int, int] | None:
    """Return the kind of node where two paths part, and the part each takes."""
    for (kind, i), (_, j) in zip(u, v, strict=False):
        if i != j:
            return kind, i, j
    return None


def _share_rounds(u: Path, v: Path) -> bool:
    """Tell whether two components stand in one group that repeats."""
    return any(u[: k + 1] == v[: k + 1] for k, (kind, _) in enumerate(u) if kind is Rounds)


def _ordered(u: Path, v: Path) -> bool:
    if _share_rounds(u, v):
        return True
    match _parting(u, v):
        case (kind, i, j):
            return kind in (Seq, Next) and i < j
    return False


def _closed(u: Path, v: Path) -> bool:
    if _share_rounds(u, v):
        return False
    match _parting(u, v):
        case (kind, _, _) if kind is Or:
            return True
    return _ordered(u, v)


def _inside(path: Path, node: Path) -> bool:
    return path[: len(node)] == node


def _negations_by_scope(root: Any, places: dict[str, Place]) -> dict[Scope, list[Negation]]:
    """Collect the negations; what is before and after one may stand outside its scope."""
    found: dict[Scope, list[Negation]] = {}
    for node, path, scope in _walk(root):
        if not isinstance(node, Not):
            continue
        seen = {n: p.path for n, p in places.items() if p.scope == scope[: len(p.scope)]}
        negation = Negation(
            part=node.part,
            scope=(*scope, path),
            before=tuple(n for n, p in seen.items() if _ordered(p, path)),
            after=tuple(n for n, p in seen.items() if _ordered(path, p)),
            company=tuple(
                n for n in seen if places[n].scope == scope and _inside(places[n].path, path[:-1])
            ),
            neighbour=node.neighbour,
        )
        found.setdefault(scope, []).append(negation)
    return found


def _adjacent_by_scope(root: Any) -> dict[Scope, list[Any]]:
    found: dict[Scope, list[Any]] = {}
    groups = {path: node for node, path, _ in _walk(root) if isinstance(node, Rounds)}
    for node, path, scope in _walk(root):
        if isinstance(node, Next):
            around = next((g for at, g in groups.items() if _inside(path, at)), None)
            parts = tuple(tuple(names_in(p)) for p in node.parts)
            found.setdefault(scope, []).append((parts, around))
    return found


def _parts_of_next(root: Any) -> Iterator[str]:
    """Yield the components that stand in a NEXT(...) themselves, or as a branch of an OR there."""
    waiting = [part for node, _, _ in _walk(root) if isinstance(node, Next) for part in node.parts]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Or):
            waiting += part.parts
        elif isinstance(part, Comp):
            yield part.name


def _conjuncts_by_scope(
    query: Query, root: Any, places: dict[str, Place], repeated: frozenset[str]
) -> dict[Scope, list[Conjunct]]:
    """Give each conjunct to the innermost negation that it names, or to the match."""
    filters = {n: list(split(p.comp.filter)) for n, p in places.items() if p.comp.filter}
    written = [e for whole in query.where for e in split(whole)]
    written += [e for name in filters for e in filters[name]]
    _check_names(written, places)

    def single_scope(expr: Expr) -> bool:
        return _owner(expr, places) is not None

    if not all(single_scope(e) for e in written):
        raise ValueError("a predicate names two negated components")
    equated = [e for a in query.equate for e in _equate(a, places, repeated) if single_scope(e)]
    whole = close(written + equated, repeated, single_scope)
    whole += _twin_conjuncts(whole, filters, places)
    by_scope: dict[Scope, list[Conjunct]] = {}
    for expr in whole:
        by_scope.setdefault(_owner(expr, places) or (), []).append(conjunct(expr))
    return by_scope


def _check_names(exprs: list[Expr], places: dict[str, Place]) -> None:
    for name in {n for e in exprs for n, _, _ in references(e)} - set(places):
        raise ValueError(f"no component is called {name}")


def _owner(expr: Expr, places: dict[str, Place]) -> Scope | None:
    """Return the innermost scope that `expr` names; None if it names two that do not nest."""
    scopes = [places[n].scope for n, _, _ in references(expr)]
    inner = max(scopes, key=len, default=())
    return inner if all(s == inner[: len(s)] for s in scopes) else None


def _equate(attribute: str, places: dict[str, Place], repeated: frozenset[str]) -> list[Expr]:
    """Return `[attribute]`: equal over every two components, and within each repetition."""
    same: list[Expr] = [
        ("=", ("attr", u, attribute), ("attr", v, attribute)) for u, v in combinations(places, 2)
    ]
    return same + [("=", ("attr", n, attribute, "i"), ("attr", n, attribute, 1)) for n in repeated]


def _twin_conjuncts(
    exprs: list[Expr], filters: dict[str, list[Expr]], places: dict[str, Place]
) -> list[Expr]:
    """Give the negated twin of FIRST(A a) or LAST(A a) the predicates that are a's own."""
    found: list[Expr] = []
    for name in (n[1:] for n in places if n.startswith("!")):
        own = [e for e in exprs if {n for n, _, _ in references(e)} == {name}]
        own += [e for e in filters.get(name, []) if e not in own]
        found += [rename(e, name, f"!{name}") for e in own]
        found += _twin_equalities(name, exprs, places)
    return found


def _twin_equalities(name: str, exprs: list[Expr], places: dict[str, Place]) -> Iterator[Expr]:
    """Yield that the twin of FIRST(A a) or LAST(A a) equals what a equals of others, and a."""
    for expr in exprs:
        match _without_defaults(expr):
            case ("=", ("attr", u, x), ("attr", v, y)) if name in (u, v) and u != v:
                twin, (mine, other) = f"!{name}", ((x, (v, y)) if u == name else (y, (u, x)))
                if other[0] == twin:
                    continue
                yield ("=", ("attr", twin, mine), ("attr", name, mine))
                if _owner(("=", ("attr", twin, mine), ("attr", *other)), places) is not None:
                    yield ("=", ("attr", twin, mine), ("attr", *other))


def _without_defaults(expr: Expr) -> Expr:
    """Return an equality as it is where everything was read: there no default is taken.

    Every item of a repetition is the repetition: `b[i].x` means what `b.x` means.
    """
    match expr:
        case ("=", left, right):
            sides = (side[1] if side[0] == "default" else side for side in (left, right))
            return ("=", *(side[:3] if side[3:] == ("i",) else side for side in sides))
    return expr
