"""The pattern: from the written tree to numbered components and a shape.

A bare word is a type (and its own name) if it is a stream of ON or if a stream has a TYPE column;
otherwise it is a name. Groups of one operator flatten, FIRST and LAST become negations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from augury.analysis.checked import Branch, Component, Leaf, Negated, PlayedBy, Shape
from augury.analysis.clauses.shapes import at_an_end, can_be_empty, leaves
from augury.analysis.draft import Draft, Rounds
from augury.analysis.expressions.walk import renamed, walk
from augury.analysis.findings import listing, suggest
from augury.errors import Span
from augury.language import expressions as ex
from augury.language import tree
from augury.language.expressions import Expression

LARGEST_PATTERN = 63
LARGEST_REPETITION = 1000


def read_pattern(draft: Draft) -> None:
    """Fill the draft's components, shape and filters."""
    reader = _Reader(draft)
    shape = reader.read(draft.statement.pattern, "")
    draft.shape = _as_root(shape)
    reader.end_reluctant_ones(draft.statement.pattern, draft.shape)
    draft.components = tuple(reader.components)
    draft.filters = tuple(reader.filters)
    draft.copies = tuple(reader.copies)
    draft.untils = tuple(reader.untils)
    draft.groups = tuple(reader.groups)
    draft.repeated_words = frozenset(w for w, n in reader.bare.items() if n > 1)


def _as_root(parts: list[Shape]) -> Shape | None:
    if len(parts) > 1:
        return Branch("SEQ", tuple(parts))
    return parts[0] if parts else None


@dataclass(slots=True)
class _Reader:
    """Numbers components in the order written and reports those that cannot be read."""

    draft: Draft
    components: list[Component] = field(default_factory=list)
    filters: list[tuple[int, Expression]] = field(default_factory=list)
    copies: list[tuple[int, int]] = field(default_factory=list)
    bare: Counter[str] = field(default_factory=Counter)
    numbered: Counter[str] = field(default_factory=Counter)
    taken: dict[str, Span] = field(default_factory=dict)
    untils: list[tuple[int, int]] = field(default_factory=list)
    negated: bool = False
    beside: bool = False
    times: tuple[int, int | None] | None = None
    groups: list[Rounds] = field(default_factory=list)
    streams: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.streams = {s.name.lower(): s.name for s in self.draft.streams}
        written = list(_components(self.draft.statement.pattern))
        self.bare.update(c.word for c in written if c.name is None and self.is_type(c.word))
        names = {c.name for c in written if c.name is not None}
        names |= set(_group_names(self.draft.statement.pattern))
        self.taken = dict.fromkeys(names | set(self.bare), Span(-1, -1))

    # Words ------------------------------------------------------------------------------------

    def is_type(self, word: str) -> bool:
        """Return whether a bare word is a type: a stream of ON, or a value of a TYPE column."""
        return word == "_" or bool(self._stream(word)) or any(s.type for s in self.draft.streams)

    def _stream(self, word: str) -> str | None:
        return self.streams.get(word.lower())

    def played_by(self, component: tree.Component, is_type: bool) -> tuple[PlayedBy, ...]:
        if component.word == "_" or not is_type:
            return tuple(PlayedBy(s.name) for s in self.draft.streams)
        if (stream := self._stream(component.word)) is not None:
            return (PlayedBy(stream),)
        typed = tuple(PlayedBy(s.name, component.word) for s in self.draft.streams if s.type)
        if not typed and self.draft.complete:
            self._report_type(component)
        return typed

    def _report_type(self, component: tree.Component) -> None:
        names = [s.name for s in self.draft.streams]
        label = f"{component.word} {component.name}"
        self.draft.findings.error(
            "A030",
            f"component {label} has type {component.word}, but {listing(names)} has no TYPE column "
            f"and {component.word} is no stream of ON",
            component.span,
            suggest(component.word, names, f"declare TYPE on {names[0]}, or add the stream to ON"),
        )

    # Parts ------------------------------------------------------------------------------------

    def read(self, part: tree.Pattern, parent: str) -> list[Shape]:
        """Return the shapes of a part: several where it splices into its parent."""
        match part:
            case tree.Component():
                return self._single(part, parent)
            case tree.Group(repetition=tree.Repetition()):
                return self._repeated(part, parent)
            case tree.Group():
                return self._group(part, parent)
            case tree.Not():
                return self._negation(part, parent)
            case tree.Edge():
                return self._edge(part, parent)
            case _:
                return []

    def _read_all(self, group: tree.Group) -> Iterator[Shape]:
        for part, before in zip(group.parts, (None, *group.parts), strict=False):
            self.beside = isinstance(before, tree.Component)
            yield from self.read(part, group.operator)

    def _group(self, group: tree.Group, parent: str) -> list[Shape]:
        parts = list(self._read_all(group))
        if all(isinstance(p, Negated) for p in parts) and not self.negated:
            self.draft.findings.error(
                "A037",
                f"{group.operator} has no positive component, so no event can match it",
                group.span,
                "add a component without !",
            )
        alone = len(parts) < 2 and not (group.operator == "NEXT" and self._repeats(parts))
        if group.operator == parent or alone:
            return parts
        return [Branch(group.operator, tuple(parts))]

    def _repeated(self, group: tree.Group, parent: str) -> list[Shape]:
        """Return a group that repeats: its components hold one event of each round."""
        assert group.repetition is not None
        low, high = self._bounds(group.repetition, group.span)
        self._check_round(group, parent)
        if group.repetition.reluctant:
            self._report_round("is reluctant", group.span, "give the number of rounds, as in {2}")
        if (low, high) == (1, 1):
            # One round is the group itself; its name still says which components it has.
            shapes, times = self._group(replace(group, repetition=None), ""), None
        else:
            self.times = times = (low, high)
            shapes = list(self._read_all(group))
            self.times = None
        if not shapes:
            return []
        whole = Branch(group.operator, tuple(shapes), times) if times else _as_root(shapes)
        assert whole is not None
        if group.name is not None:
            self._claim(group.name, group.span)
            inside = tuple(sorted(leaves(whole)))
            self.groups.append(Rounds(group.name, inside, tuple(sorted(_in_every_round(whole)))))
        return [whole]

    def _check_round(self, group: tree.Group, parent: str) -> None:
        """Report what may not repeat with its group, and where a group may not."""
        hint = "write it in the group's own SEQ, as single components"
        if self.times is not None:
            self._report_round("stands inside another such group", group.span, hint)
        elif self.negated:
            hint = "negate one round: what must not come once cannot come twice"
            self._report_round("is negated", group.span, hint)
        elif parent == "NEXT":
            hint = "write USING STRICT or USING PARTITION CONTIGUITY, for neighbours everywhere"
            self._report_round("stands in a NEXT", group.span, hint)
        for part in _parts(group):
            if isinstance(part, tree.Not | tree.Edge):
                self._report_round("has a negation", part.span, "write the negation beside it")
            elif isinstance(part, tree.Group) and part.operator == "AND":
                hint = "write the orders that are meant: OR(SEQ(A a1, B b1), SEQ(B b2, A a2))"
                self._report_round("has an AND", part.span, hint)
            elif isinstance(part, tree.Component) and part.repetition is not None:
                self._report_round("has a repetition", part.span, hint)

    def _report_round(self, what: str, span: Span, hint: str) -> None:
        self.draft.findings.error("A086", f"a group that repeats {what}", span, hint)

    def _repeats(self, parts: Iterable[Shape]) -> bool:
        """Return whether a NEXT of one part says something: the items of a repetition adjoin."""
        return any(
            self.components[part.component].maximum != 1
            if isinstance(part, Leaf)
            else isinstance(part, Branch)
            and (part.operator == "OR" or _is_until(part))
            and self._repeats(part.parts)
            for part in parts
        )

    def _negation(self, part: tree.Not, parent: str) -> list[Shape]:
        if self.negated:
            self.draft.findings.error(
                "A036",
                "a negation stands inside another negation",
                part.span,
                "write what must not happen without !",
            )
        elif parent != "SEQ":
            self._report_misplaced(part, parent)
        inner = part.part
        if part.neighbour and not self.beside:
            self._report_lonely(part)
        if isinstance(inner, tree.Component) and inner.repetition is not None:
            self._report_negated_repetition(inner, part.span)
        was, self.negated = self.negated, True
        shape = _as_root(self.read(inner, ""))
        self.negated = was
        if shape is not None and not isinstance(inner, tree.Component):
            self._check_negated_group(shape, part.span)
        if part.neighbour and shape is not None:
            shape = Branch("NEXT", (shape,))
        return [Negated(shape)] if shape is not None else []

    def _report_lonely(self, part: tree.Not) -> None:
        message = "!NEXT denies the neighbour of the component before it, and here there is none"
        hint = "write SEQ(A a, !NEXT B b, ...), directly behind a component"
        self.draft.findings.error("A035", message, part.span, hint)

    def _check_negated_group(self, shape: Shape, span: Span) -> None:
        """Refuse a group that is one repetition in disguise, or that nothing could break."""
        if isinstance(shape, Leaf) and self.components[shape.component].repeats:
            name = self.components[shape.component].name
            message = f"{name} is repeated and negated; a negation already forbids every such event"
            hint = f"negate {name} without the repetition"
            self.draft.findings.error("A035", message, span, hint)
        elif can_be_empty(shape, self.components):
            message = "what is negated can match without any event, so it can never be absent"
            hint = "make one component inside occur at least once"
            self.draft.findings.error("A037", message, span, hint)

    def _report_misplaced(self, part: tree.Not, parent: str) -> None:
        where = f"in {parent}" if parent else "alone"
        self.draft.findings.error(
            "A035",
            f"a negation stands {where}; it needs a SEQ around it to say between what",
            part.span,
            "write SEQ(..., !..., ...)",
        )

    def _report_negated_repetition(self, inner: tree.Component, span: Span) -> None:
        self.draft.findings.error(
            "A035",
            f"!{inner.word} is repeated; a negation already forbids every such event",
            span,
            f"write !{inner.word} without the repetition",
        )

    def _edge(self, edge: tree.Edge, parent: str) -> list[Shape]:
        component = edge.component
        if self.negated:
            self._report_edge(
                "A036", edge, "stands inside a negation", "write what must not happen"
            )
        if component.repetition is not None:
            self._report_edge(
                "A035", edge, "takes one event, not a repetition", "drop the repetition"
            )
        first = edge.which == "FIRST"
        guard = tree.Component(component.word, span=component.span)
        before = [self._guard(guard, component)] if first else []
        leaf = self._leaf(component, self.negated)
        after = [] if first else [self._guard(guard, component)]
        self._pair(leaf, (before or after)[0])
        parts: list[Shape] = [*before, leaf, *after]
        return parts if parent in ("SEQ", "") else [Branch("SEQ", tuple(parts))]

    def _report_edge(self, code: str, edge: tree.Edge, what: str, hint: str) -> None:
        self.draft.findings.error(code, f"{edge.which} {what}", edge.span, hint)

    def _guard(self, guard: tree.Component, of: tree.Component) -> Negated:
        name = self._fresh(f"other_{of.name or of.word}")
        is_type = self.is_type(of.word) if of.name is None else True
        return Negated(self._add(guard, name, is_type, negated=True, named=False))

    def _pair(self, leaf: Leaf, guard: Negated) -> None:
        if isinstance(guard.part, Leaf):
            self.copies.append((leaf.component, guard.part.component))

    def _leaf(self, component: tree.Component, negated: bool) -> Leaf:
        is_type = component.name is not None or self.is_type(component.word)
        if component.name is not None or not is_type:
            name, named = component.name or component.word, True
            self._claim(name, component.span)
        else:
            name, named = self._bare_name(component.word)
        return self._add(component, name, is_type, negated, named)

    def _add(
        self, component: tree.Component, name: str, is_type: bool, negated: bool, named: bool
    ) -> Leaf:
        index = len(self.components)
        low, high = self.times or (1, 1)
        if component.repetition is not None:
            low, high = self._bounds(component.repetition, component.span)
        played = self.played_by(component, is_type)
        made = Component(index, name, played, negated, low, high, named, component.span)
        self.components.append(made)
        if component.filter is not None:
            self.filters.append((index, component.filter))
        if component.until is not None:
            self.filters.append((index, self._while(component.until)))
        return Leaf(index)

    def _while(self, until: ex.Expression) -> ex.Expression:
        """Return what holds of the events before UNTIL: where it is unknown, it does not hold."""
        no, yes = ex.Literal(False), ex.Literal(True)
        return ex.Case(((until, no),), yes, span=until.span)

    def _single(self, component: tree.Component, parent: str) -> list[Shape]:
        """Return a component; with UNTIL, also what must not lie between its events.

        Among neighbours the event for which UNTIL holds ends the run, so that it is enough not to
        take it.
        """
        leaf = self._leaf(component, self.negated)
        neighbours = self.draft.statement.strategy in ("STRICT", "PARTITION")
        contiguous = neighbours or parent == "NEXT"
        if component.until is None or contiguous or self.negated:
            return [leaf]
        own = self.components[leaf.component]
        if any(not _is_plain(node, own.name) for node in walk(component.until)):
            message = f"UNTIL is about the event that ends {own.name}, and names more than that"
            hint = f"compare attributes of {own.name}, as in UNTIL ({own.name}.price > 10)"
            self.draft.findings.error("A085", message, component.until.span, hint)
            return [leaf]
        ends = tree.Component(component.word, span=component.span)
        name = self._fresh(f"end_of_{own.name}")
        end = self._add(ends, name, is_type=True, negated=True, named=False)
        self.filters.append((end.component, renamed(component.until, own.name, name)))
        self.untils.append((leaf.component, end.component))
        parts: list[Shape] = [leaf, Negated(end, within=leaf.component)]
        return parts if parent in ("SEQ", "") else [Branch("SEQ", tuple(parts))]

    # Names ------------------------------------------------------------------------------------

    def _claim(self, name: str, span: Span) -> None:
        first = self.taken.get(name)
        if first is not None and (first.start >= 0 or self.bare[name]):
            self.draft.findings.error(
                "A031",
                f"two components are named {name}",
                span,
                "give one of them another name",
            )
        self.taken[name] = span

    def _bare_name(self, word: str) -> tuple[str, bool]:
        if word != "_" and self.bare[word] == 1:
            return word, True
        return self._fresh("any" if word == "_" else word), False

    def _fresh(self, stem: str) -> str:
        while True:
            self.numbered[stem] += 1
            name = f"{stem}_{self.numbered[stem]}"
            if name not in self.taken:
                self.taken[name] = Span(0, 0)
                return name

    # Repetition -------------------------------------------------------------------------------

    def _bounds(self, repetition: tree.Repetition, around: Span) -> tuple[int, int | None]:
        low, high = repetition.minimum, repetition.maximum
        fault = _bounds_fault(low, high)
        if fault:
            span = repetition.span if repetition.span.end else around
            self.draft.findings.error("A038", *fault[:1], span, fault[1])
            return 1, None
        return low, high

    def end_reluctant_ones(self, pattern: tree.Pattern, shape: Shape | None) -> None:
        """Let a reluctant repetition at the end take its minimum; elsewhere it gives way anyway."""
        written = [c for c in _components(pattern) if c.repetition and c.repetition.reluctant]
        for component in written:
            self._end_reluctant(component, shape)

    def _end_reluctant(self, component: tree.Component, shape: Shape | None) -> None:
        own = next(c for c in self.components if c.span == component.span)
        why = ""
        if self.draft.statement.strategy in (None, "ANY"):
            why = "under SKIP TILL ANY MATCH, which takes every number of events"
        elif shape is not None and own.index in at_an_end(shape, self.components, last=True):
            alone = at_an_end(shape, self.components, last=True) == {own.index}
            why = "" if alone and own.minimum else "where what comes after it may be absent"
            if not why:
                self.components[own.index] = replace(own, maximum=own.minimum)
        if why:
            message = f"{own.name} is reluctant {why}"
            hint = "give the number of events, as in {2}, or remove the ? behind the repetition"
            self.draft.findings.error("A085", message, component.span, hint)


def _is_until(shape: Branch) -> bool:
    """Return whether a SEQ is a repetition and what ends it."""
    return any(isinstance(part, Negated) and part.within is not None for part in shape.parts)


def _bounds_fault(low: int, high: int | None) -> tuple[str, str] | None:
    if high == 0:
        return "a repetition of at most 0 events takes nothing", "write at least 1, or remove it"
    if high is not None and high < low:
        return f"a repetition of {low} to {high} events is empty", f"write {{{high},{low}}}"
    if max(low, high or 0) > LARGEST_REPETITION:
        largest = f"at most {LARGEST_REPETITION} can be counted"
        return f"a repetition is bounded by {max(low, high or 0)} events; {largest}", "write + or *"
    return None


def _components(part: tree.Pattern) -> Iterator[tree.Component]:
    match part:
        case tree.Component():
            yield part
        case tree.Group(parts=parts):
            for inner in parts:
                yield from _components(inner)
        case tree.Not(part=inner):
            yield from _components(inner)
        case tree.Edge(component=inner):
            yield inner


def _parts(group: tree.Group) -> Iterator[tree.Pattern]:
    """Yield everything inside a group, outermost first; the inside of another that repeats not."""
    yield from ([group] if group.operator == "AND" else [])
    for part in group.parts:
        if not isinstance(part, tree.Group):
            yield part
        elif part.repetition is None:
            yield from _parts(part)


def _group_names(part: tree.Pattern) -> Iterator[str]:
    match part:
        case tree.Group(parts=parts, name=name):
            yield from ([name] if name is not None else [])
            for inner in parts:
                yield from _group_names(inner)
        case tree.Not(part=inner):
            yield from _group_names(inner)


def _in_every_round(shape: Shape) -> frozenset[int]:
    """Return the components that have an event in every round of a group."""
    if isinstance(shape, Leaf):
        return frozenset({shape.component})
    if isinstance(shape, Negated) or shape.operator == "OR":
        return frozenset()
    return frozenset().union(*map(_in_every_round, shape.parts))


def _is_plain(node: ex.Expression, own: str) -> bool:
    """Return whether a part of UNTIL reads nothing but the event that it is about."""
    if isinstance(node, ex.Attribute):
        return node.component in (None, own) and node.index is None
    return not isinstance(node, ex.Aggregate)
