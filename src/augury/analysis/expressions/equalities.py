"""Equalities, closed transitively: through negated and missed components, before anything else.

`x.id = y.id AND y.id = z.id` gives `x.id = z.id`. Every pair of components in a class gets its
conjunct (except two negated ones), the events of a repetition are equal to its first, and a
constant that one member equals holds for all. What the component of FIRST or LAST equals, its
negation equals, too. Conjuncts of AFTER WHERE take no part: they are applied to a candidate once
chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations

from augury.analysis.checked import Component, Conjunct, EqualityClass
from augury.analysis.draft import Draft
from augury.errors import NOWHERE, Span
from augury.language import expressions as ex

Member = tuple[int, str]


def close_equalities(draft: Draft) -> None:
    """Fill the draft's equality classes and add the conjuncts that follow from them."""
    closure = _Closure(draft.components)
    for conjunct in draft.conjuncts:
        if not conjunct.after:
            closure.learn(conjunct)
    for component, guard in (*draft.copies, *draft.untils):
        closure.follow(component, guard)
    classes = closure.classes()
    draft.equalities = tuple(
        _class(members, draft) for members in classes if _is_class(members, closure)
    )
    derived = [c for members in classes for c in closure.derive(members)]
    draft.conjuncts = (*draft.conjuncts, *derived)


def _is_class(members: list[Member], closure: _Closure) -> bool:
    return len({c for c, _ in members}) > 1 or any(m in closure.tied for m in members)


def _class(members: list[Member], draft: Draft) -> EqualityClass:
    first: dict[int, str] = {}
    for component, column in members:
        first.setdefault(component, column)
    return EqualityClass(tuple(sorted(first.items())), len(first) == len(draft.components))


@dataclass(slots=True)
class _Closure:
    """Union of attributes that conjuncts make equal; `said` are the pairs that were written."""

    components: tuple[Component, ...]
    parent: dict[Member, Member] = field(default_factory=dict)
    said: set[frozenset[Member]] = field(default_factory=set)
    tied: set[Member] = field(default_factory=set)
    constants: dict[Member, ex.Literal] = field(default_factory=dict)
    spans: dict[Member, Span] = field(default_factory=dict)
    by_name: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_name = {c.name: c.index for c in self.components}

    def learn(self, conjunct: Conjunct) -> None:
        """Take in one conjunct, if it is an equality of whole attributes or with a constant."""
        node = conjunct.expression
        if not (isinstance(node, ex.Binary) and node.operator == "="):
            return
        pair = equal_attributes(node)
        if pair is not None:
            self._join(pair, conjunct.span)
        elif (pinned := pinned_attribute(node)) is not None and self._is_whole(pinned[0]):
            member = self._member(pinned[0])
            self._root(member)
            self.constants.setdefault(member, pinned[1])

    def _join(self, pair: tuple[ex.Attribute, ex.Attribute], span: Span) -> None:
        left, right = pair
        if self._ties(left, right):
            self.tied.add(self._member(left))
            self._root(self._member(left))
        elif self._is_whole(left) and self._is_whole(right):
            a, b = self._member(left), self._member(right)
            self.said.add(frozenset((a, b)))
            self.spans.setdefault(a, span)
            self.spans.setdefault(b, span)
            self.parent[self._root(b)] = self._root(a)

    def follow(self, component: int, guard: int) -> None:
        """Let the negation of FIRST or LAST equal what its component equals of others."""
        for members in self.classes():
            if len({c for c, _ in members}) > 1:
                for member in (m for m in members if m[0] == component):
                    twin = (guard, member[1])
                    self.spans.setdefault(twin, self.spans.get(member, NOWHERE))
                    self.parent[self._root(twin)] = self._root(member)

    def _ties(self, left: ex.Attribute, right: ex.Attribute) -> bool:
        """Return whether the equality makes all events of one repetition equal."""
        kinds = {a.index.kind if a.index else "each" for a in (left, right)}
        first = all(
            a.index is None or a.index.kind != "number" or a.index.number == 1
            for a in (left, right)
        )
        same = self._member(left) == self._member(right)
        return same and first and kinds in ({"each", "number"}, {"each", "previous"})

    def _is_whole(self, attribute: ex.Attribute) -> bool:
        # g[i].a is one event of each round, and not every event that a has.
        plain = attribute.index is None or attribute.index.kind == "each"
        return plain and attribute.group is None

    def _member(self, attribute: ex.Attribute) -> Member:
        return self.by_name[attribute.component or ""], attribute.name

    def _root(self, member: Member) -> Member:
        root = member
        while (above := self.parent.setdefault(root, root)) != root:
            root = above
        self.parent[member] = root
        return root

    def classes(self) -> list[list[Member]]:
        """Return the members of each class, in the order of the components."""
        groups: dict[Member, list[Member]] = {}
        for member in sorted(self.parent):
            groups.setdefault(self._root(member), []).append(member)
        return list(groups.values())

    def derive(self, members: list[Member]) -> Iterator[Conjunct]:
        """Yield the conjuncts that follow from a class and were not written."""
        representative: dict[int, str] = {}
        for component, column in members:
            kept = representative.setdefault(component, column)
            if kept != column:
                yield from self._pair((component, kept), (component, column))
        for a, b in combinations(sorted(representative.items()), 2):
            if not (self.components[a[0]].negated and self.components[b[0]].negated):
                yield from self._pair(a, b)
        yield from self._pinned(members)
        if len(representative) > 1 and not any(m in self.constants for m in members):
            for member in members:
                yield from self._tie(member)

    def _pair(self, a: Member, b: Member) -> Iterator[Conjunct]:
        if frozenset((a, b)) not in self.said:
            span = self.spans.get(a, NOWHERE)
            node = ex.Binary("=", self._attribute(a), self._attribute(b), span=span)
            yield Conjunct(node, tuple(sorted({a[0], b[0]})), derived=True, span=span)

    def _tie(self, member: Member) -> Iterator[Conjunct]:
        """Yield that a repetition's events are equal: what they equal may come late, or never."""
        if self.components[member[0]].maximum == 1 or member in self.tied:
            return
        each, first = (
            replace(self._attribute(member), index=index)
            for index in (ex.Index("each"), ex.Index("number", 1))
        )
        node = ex.Binary("=", each, first, span=each.span)
        yield Conjunct(node, (member[0],), derived=True, span=each.span)

    def _pinned(self, members: list[Member]) -> Iterator[Conjunct]:
        constant = next((self.constants[m] for m in members if m in self.constants), None)
        if constant is None:
            return
        for member in members:
            if member not in self.constants:
                span = self.spans.get(member, NOWHERE)
                node = ex.Binary("=", self._attribute(member), constant, span=span)
                yield Conjunct(node, (member[0],), derived=True, span=span)

    def _attribute(self, member: Member) -> ex.Attribute:
        span = self.spans.get(member, NOWHERE)
        return ex.Attribute(self.components[member[0]].name, member[1], span=span)


def equal_attributes(node: ex.Binary) -> tuple[ex.Attribute, ex.Attribute] | None:
    """Return the two attributes that an equality makes equal.

    AYAC's defaults do not matter where they name the other side: `x.id[y.id] = y.id[x.id]`.
    """
    left, right = node.left, node.right
    if not (isinstance(left, ex.Attribute) and isinstance(right, ex.Attribute)):
        return None
    if _defaults_to(left, right) and _defaults_to(right, left):
        return left, right
    return None


def _defaults_to(attribute: ex.Attribute, other: ex.Attribute) -> bool:
    default = attribute.default
    if default is None:
        return True
    same = isinstance(default, ex.Attribute) and default.component == other.component
    return same and isinstance(default, ex.Attribute) and default.name == other.name


def pinned_attribute(node: ex.Expression) -> tuple[ex.Attribute, ex.Literal] | None:
    """Return the attribute and constant of `x.place = 'a'`, either way round, without default."""
    if not (isinstance(node, ex.Binary) and node.operator == "="):
        return None
    for a, b in ((node.left, node.right), (node.right, node.left)):
        if isinstance(a, ex.Attribute) and isinstance(b, ex.Literal) and b.value is not None:
            return (a, b) if a.default is None else None
    return None
