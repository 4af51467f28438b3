"""Actions of P-ToPSS's spelling: primitives in sequence, what each asks, times and variables.

A primitive becomes a component, and what WITH says of it that component's filter; `IP = $x` of
several becomes an equality in WHERE, and so does a condition on times. One that stands in several
places becomes several components. What comes out is an ordinary query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from typing import Literal as Choice

from augury.errors import Span
from augury.language import codes
from augury.language.actions.clauses import Clause
from augury.language.actions.words import Parts
from augury.language.expressions import Attribute, Binary, Call, Expression, Logic, Node
from augury.language.findings import Findings
from augury.language.machine import Action
from augury.language.tree import Component, Group, Pattern

# The owner of a variable, as if it were an attribute; no component is called so.
VARIABLE = "$"


@dataclass(frozen=True, slots=True)
class Primitive(Node):
    """A place of a primitive, with the conditions on times that are written there."""

    name: str
    timed: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Described(Node):
    """`s1, s2: IP = $x AND STATUS = 'denied'`."""

    names: tuple[str, ...]
    condition: Expression


def _primitive(parts: Parts, span: Span, findings: Findings) -> Primitive:
    name, *timed = parts
    return Primitive(name.text, tuple(timed), span=span)


def _timed(parts: Parts, span: Span, findings: Findings) -> Expression:
    _, condition = parts
    found: Expression = condition
    return found


def _described(parts: Parts, span: Span, findings: Findings) -> Described:
    names, _, condition = parts
    return Described(tuple(names), condition, span=span)


def _joined(parts: Parts, span: Span, findings: Findings) -> Attribute:
    _, name = parts
    return Attribute(VARIABLE, name.text, span=span)


def _group(operator: Choice["SEQ", "NEXT", "AND", "OR"]) -> Action:
    return lambda parts, span, findings: Group(operator, tuple(parts), span=span)


def _body(parts: Parts, span: Span, findings: Findings) -> Clause:
    shape, *described = parts
    reading = _Reading(findings)
    for each in described:
        reading.describe(each)
    reading.count(shape)
    pattern = reading.pattern(shape)
    reading.judge(described)
    fields: dict[str, Any] = {"pattern": pattern, "dialect": "SUBSCRIPTION"}
    if (where := reading.where(span)) is not None:
        fields["where"] = where
    return Clause("SUBSCRIPTION", fields, span)


@dataclass
class _Reading:
    """A subscription as it is read: what primitives ask, where they stand, what joins them."""

    findings: Findings
    asked: dict[str, list[Expression]] = field(default_factory=dict)
    joined: dict[str, list[tuple[str, Attribute]]] = field(default_factory=dict)
    places: dict[str, list[Span]] = field(default_factory=dict)
    named: dict[str, list[str]] = field(default_factory=dict)
    conditions: list[Expression] = field(default_factory=list)

    def refuse(self, span: Span, message: str, hint: str) -> None:
        """Add a finding."""
        self.findings.refuse(codes.FORM, span, message, hint)

    # WITH -------------------------------------------------------------------------------------

    def describe(self, described: Described) -> None:
        """Take in what is said of some primitives."""
        for name in described.names:
            if name in self.asked:
                message = f"primitive {name} is described twice"
                self.refuse(described.span, message, "join what it asks with AND")
            self.asked[name] = []
        for conjunct in _conjuncts(described.condition):
            joined = _variable_of(conjunct)
            for name in described.names:
                if joined is not None:
                    self.joined.setdefault(joined[0], []).append((name, joined[1]))
                elif variable := next(_variables(conjunct), None):
                    message = f"variable ${variable.name} stands in a condition of another form"
                    hint = f"write column = ${variable.name}, joined to others by AND"
                    self.refuse(variable.span, message, hint)
                    break
                else:
                    self.asked[name].append(conjunct)

    # Places -----------------------------------------------------------------------------------

    def count(self, shape: Any) -> None:
        """Take in where each primitive stands."""
        for place in _places(shape):
            self.places.setdefault(place.name, []).append(place.span)

    def pattern(self, shape: Any) -> Pattern:
        """Return the pattern: a component for every place."""
        if isinstance(shape, Group):
            parts: tuple[Any, ...] = shape.parts
            return Group(shape.operator, tuple(map(self.pattern, parts)), span=shape.span)
        assert isinstance(shape, Primitive)
        for condition in shape.timed:
            if self._has_times(condition):
                self.conditions += _conjuncts(condition)
        name = self._name(shape.name)
        if not self.asked:
            return Component(shape.name, name, span=shape.span)
        asked = _all(self.asked.get(shape.name, []), shape.span)
        return Component("_", name, filter=asked, span=shape.span)

    def _name(self, primitive: str) -> str:
        """Return the name of the next place of a primitive: s, or s_1, s_2 and so on."""
        own = self.named.setdefault(primitive, [])
        name = primitive
        if len(self.places[primitive]) > 1:
            taken = {*self.places, *(n for names in self.named.values() for n in names)}
            number = len(own) + 1
            name = f"{primitive}_{number}"
            while name in taken:
                name += "_"
        own.append(name)
        return name

    def _has_times(self, condition: Expression) -> bool:
        """Refuse the time of a primitive that has several places, or none."""
        fine = True
        for call in (each for each in _below(condition) if isinstance(each, Call)):
            argument = call.arguments[0]
            if call.function != "T" or not isinstance(argument, Attribute) or argument.component:
                continue
            places = len(self.places.get(argument.name, ()))
            fine = fine and places == 1
            if places > 1:
                message = f"t({argument.name}) may be the time of {places} events"
                hint = "describe each place by a name of its own: s1, s2: status = 'denied'"
                self.refuse(call.span, message, hint)
            elif not places:
                message = f"t({argument.name}) is the time of no primitive of the subscription"
                self.refuse(call.span, message, f"name one of {', '.join(self.places)}")
        return fine

    # What is asked of all ---------------------------------------------------------------------

    def judge(self, described: list[Described]) -> None:
        """Refuse primitives that are not described, and descriptions of none."""
        for name, (place, *_) in self.places.items() if described else ():
            if name not in self.asked:
                message = f"primitive {name} is not described"
                self.refuse(place, message, f"say after WITH what it asks: {name}: column = value")
        for each in described:
            for name in each.names:
                if name not in self.places:
                    message = f"{name} is described, and stands nowhere in the subscription"
                    self.refuse(each.span, message, f"its primitives are {', '.join(self.places)}")

    def where(self, span: Span) -> Expression | None:
        """Return what is asked of several components."""
        found = list(self.conditions)
        for variable, own in self.joined.items():
            members = [
                Attribute(name, column.name, span=column.span)
                for primitive, column in own
                for name in self.named.get(primitive, [])
            ]
            if len(members) == 1:
                message = f"variable ${variable} stands at one place, so it joins nothing"
                self.refuse(own[0][1].span, message, "use it at another primitive, or remove it")
            found += [Binary("=", members[0], each, span=each.span) for each in members[1:]]
        return _all(found, span)


def _places(shape: Any) -> Iterator[Primitive]:
    if isinstance(shape, Primitive):
        yield shape
    elif isinstance(shape, Group):
        for part in shape.parts:
            yield from _places(part)


def _conjuncts(condition: Expression) -> tuple[Expression, ...]:
    if isinstance(condition, Logic) and condition.operator == "AND":
        return condition.operands
    return (condition,)


def _all(conditions: list[Expression], span: Span) -> Expression | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Logic("AND", tuple(conditions), span=span)


def _variable_of(conjunct: Expression) -> tuple[str, Attribute] | None:
    """Return variable and column of `column = $x`; None for other conditions."""
    if not isinstance(conjunct, Binary) or conjunct.operator != "=":
        return None
    sides = conjunct.left, conjunct.right
    variables = [s for s in sides if isinstance(s, Attribute) and s.component == VARIABLE]
    columns = [s for s in sides if isinstance(s, Attribute) and s.component is None]
    return (variables[0].name, columns[0]) if variables and columns else None


def _variables(condition: Expression) -> Iterator[Attribute]:
    for each in _below(condition):
        if isinstance(each, Attribute) and each.component == VARIABLE:
            yield each


def _below(value: Any) -> Iterator[Node]:
    """Yield a node and all below it."""
    if isinstance(value, Node):
        yield value
        for name in value.__dataclass_fields__:
            yield from _below(getattr(value, name))
    elif isinstance(value, tuple):
        for each in value:
            yield from _below(each)


ACTIONS: dict[str, Action] = {
    "subscription_body": _body,
    "followed": _group("SEQ"),
    "contiguous": _group("NEXT"),
    "either_part": _group("OR"),
    "both_parts": _group("AND"),
    "place": _primitive,
    "timed": _timed,
    "described": _described,
    "joined": _joined,
}
