"""A query as Lahar sees it: subgoals over streams, shared variables, constants, local predicates.

Both spellings come here. A variable is a class of equal attributes over several components, or one
that a repetition shares over its unfoldings; a class that a constant pins, or that GROUP BY fixes,
is no variable. Predicates on one component are local.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from augury.analysis.checked import Component, Conjunct, EqualityClass
from augury.analysis.classes.lahar import positions
from augury.analysis.clauses.shapes import repetition_text
from augury.analysis.declarations.catalog import StreamSchema
from augury.analysis.draft import Draft
from augury.analysis.expressions.equalities import equal_attributes, pinned_attribute
from augury.analysis.expressions.walk import attributes, attributes_into, walk_into
from augury.language import expressions as ex


@dataclass(frozen=True, slots=True)
class Variable:
    """A shared variable: its name, and the column it is in each component."""

    name: str
    columns: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Subgoal:
    """A component as a subgoal: the streams it reads, its constants, and its text."""

    component: Component
    streams: tuple[StreamSchema, ...]
    constants: Mapping[str, ex.Literal]
    text: str

    @property
    def label(self) -> str:
        """The component's name, or the subgoal as written where the name was made up."""
        return self.component.name if self.component.named else self.text


@dataclass(frozen=True, slots=True)
class LaharView:
    """The whole query in these terms; `distant` are the conditions that are not local.

    `confined` names the classes that are no variables because they are about one object only.
    """

    subgoals: tuple[Subgoal, ...]
    variables: tuple[Variable, ...]
    distant: tuple[Conjunct, ...]
    confined: tuple[str, ...] = ()

    def shared(self, among: Sequence[int]) -> tuple[Variable, ...]:
        """Return the variables shared between (or within a repetition of) these subgoals."""
        return tuple(v for v in self.variables if self._is_shared(v, among))

    def _is_shared(self, variable: Variable, among: Sequence[int]) -> bool:
        inside = [i for i in among if i in variable.columns]
        return len(inside) > 1 or any(self.subgoals[i].component.maximum != 1 for i in inside)

    def variables_in(self, among: Sequence[int]) -> frozenset[str]:
        return frozenset(v.name for v in self.variables if any(i in v.columns for i in among))


def view(draft: Draft, groups_are_fixed: bool = False) -> LaharView:
    """Return a resolved query as Lahar sees it; groups may count as constants."""
    constants = constants_of(draft.conjuncts)
    fixed = set(constants) | (_grouped(draft) if groups_are_fixed else set())
    fixed |= {m for e in draft.equalities if fixed & set(e.members) for m in e.members}
    open_classes = [e for e in draft.equalities if not fixed & set(e.members)]
    confined = [e for e in open_classes if _is_confined(e, draft, fixed)]
    free = sorted(
        (e for e in open_classes if e not in confined), key=lambda e: _appearance(draft, e)
    )
    variables = _named(draft, free)
    subgoals = tuple(_subgoal(draft, c, constants, variables) for c in draft.components)
    classes = {m: v for v, e in zip(variables, free, strict=True) for m in e.members}
    still = {m for e in draft.equalities for m in e.members} - set(classes)
    distant = tuple(
        c for c in draft.conjuncts if not c.derived and not _is_local(c, draft, classes, still)
    )
    names = tuple(v.name for v in _named(draft, confined))
    return LaharView(subgoals, variables, distant, names)


# Constants and variables ----------------------------------------------------------------------


def constants_of(conjuncts: Iterable[Conjunct]) -> dict[tuple[int, str], ex.Literal]:
    """Return the attributes that conditions set equal to a constant."""
    found: dict[tuple[int, str], ex.Literal] = {}
    for conjunct in conjuncts:
        pinned = None if conjunct.after else pinned_attribute(conjunct.expression)
        if pinned is not None and (pinned[0].index is None or pinned[0].index.kind == "each"):
            found.setdefault((conjunct.components[0], pinned[0].name), pinned[1])
    return found


def _grouped(draft: Draft) -> set[tuple[int, str]]:
    by_name = {c.name: c.index for c in draft.components}
    return {(by_name[a.component or ""], a.name) for g in draft.group_by for a in attributes(g)}


def _is_confined(equality: EqualityClass, draft: Draft, fixed: Collection[tuple[int, str]]) -> bool:
    """Return whether the class relates alternatives of one object only.

    Where constants fix every key, all events are of one object, which has one value at a time: an
    automaton can remember the values under way, and grows with their number, not with the stream.
    """
    return all(
        column in s.alternatives and s.key and all((index, k) in fixed for k in s.key)
        for index, column in equality.members
        for s in draft.streams_of(index)
    )


def _appearance(draft: Draft, equality: EqualityClass) -> tuple[int, int]:
    """Return where a class first appears: its first component, and the position in it."""
    index, column = equality.members[0]
    names = [c.name for s in draft.streams_of(index)[:1] for c in s.columns]
    return index, names.index(column) if column in names else 0


def _named(draft: Draft, free: list[EqualityClass]) -> tuple[Variable, ...]:
    taken: set[str] = set()
    variables = []
    for equality in free:
        index, column = equality.members[0]
        component = draft.components[index].name
        name = draft.variables.get((component, column), column)
        if name in taken:
            name = f"{component}_{column}"
        taken.add(name)
        variables.append(Variable(name, dict(equality.members)))
    return tuple(variables)


# Text -----------------------------------------------------------------------------------------


def _subgoal(
    draft: Draft,
    component: Component,
    constants: Mapping[tuple[int, str], ex.Literal],
    variables: tuple[Variable, ...],
) -> Subgoal:
    streams = draft.streams_of(component.index)
    own = {column: c for (index, column), c in constants.items() if index == component.index}
    names = {v.columns[component.index]: v.name for v in variables if component.index in v.columns}
    played = component.played_by[0] if len(component.played_by) == 1 else None
    relation = (played.type or played.stream) if played else component.name
    columns = [c.name for c in positions(streams[0])] if streams else []
    if played and played.type:
        columns = [c for c in columns if c != streams[0].type]
    terms = [_term(draft, component, c, own, names) for c in columns]
    mark = repetition_text(component)
    kept = [v.name for v in variables if component.index in v.columns]
    sharing = f"⟨{{{', '.join(kept)}}}⟩" if component.maximum != 1 and kept else ""
    sign = "!" if component.negated else ""
    text = f"{sign}{relation}({', '.join(terms)}){mark}{sharing}"
    shown = replace(component, named=component.named and not draft.from_subgoals)
    return Subgoal(shown, streams, own, text)


def _term(
    draft: Draft,
    component: Component,
    column: str,
    constants: Mapping[str, ex.Literal],
    names: Mapping[str, str],
) -> str:
    if column in constants:
        value = constants[column].value
        return f"'{value}'" if isinstance(value, str) else str(value)
    if column in names:
        return names[column]
    if draft.from_subgoals:
        return draft.variables.get((component.name, column), "_")
    return "_" if _is_used_elsewhere(draft, component, column, names) else column


def _is_used_elsewhere(
    draft: Draft, component: Component, column: str, names: Mapping[str, str]
) -> bool:
    others = (
        s for c in draft.components if c.index != component.index for s in draft.streams_of(c.index)
    )
    return column in names.values() or any(column in (c.name for c in positions(s)) for s in others)


# Locality -------------------------------------------------------------------------------------


def _is_local(
    conjunct: Conjunct,
    draft: Draft,
    classes: Mapping[tuple[int, str], Variable],
    still: set[tuple[int, str]],
) -> bool:
    node = conjunct.expression
    if (
        not conjunct.after
        and isinstance(node, ex.Binary)
        and _is_closed(node, draft, classes, still)
    ):
        return True
    if any(isinstance(n, ex.Aggregate) for n in walk_into(node)):
        return False
    used = [a for a in attributes_into(node) if _member(a, draft) not in still]
    if any(a.index is not None and a.index.kind == "previous" for a in used):
        return False
    holders = [_holders(a, draft, classes) for a in used]
    return not holders or bool(set.intersection(*holders))


def _member(attribute: ex.Attribute, draft: Draft) -> tuple[int, str]:
    component = draft.component_named(attribute.component or "")
    return (component.index if component else -1), attribute.name


def _holders(
    attribute: ex.Attribute, draft: Draft, classes: Mapping[tuple[int, str], Variable]
) -> set[int]:
    """Return the components that can tell the attribute's value."""
    member = _member(attribute, draft)
    is_one = attribute.index is None or attribute.index.kind == "each"
    if is_one and member in classes:
        return set(classes[member].columns)
    return {member[0]}


def _is_closed(
    node: ex.Binary,
    draft: Draft,
    classes: Mapping[tuple[int, str], Variable],
    still: set[tuple[int, str]],
) -> bool:
    """Return whether the conjunct is one of the equalities that made the classes."""
    pair = equal_attributes(node) if node.operator == "=" else None
    if pair is None:
        return False
    left, right = (_member(a, draft) for a in pair)
    whole = all(a.index is None or a.index.kind == "each" for a in pair)
    tied = left == right
    known = left in classes or left in still
    return known and (tied or whole)
