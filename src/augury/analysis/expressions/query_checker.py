"""Types of expressions in queries, where names are attributes of components of the pattern."""

from __future__ import annotations

from dataclasses import replace

from augury.analysis.declarations.catalog import DataType
from augury.analysis.draft import Draft
from augury.analysis.expressions.attributes import component_in_group, find_component, resolve
from augury.analysis.expressions.comparable import common_type
from augury.analysis.expressions.neighbours import read_neighbour
from augury.analysis.expressions.typecheck import ExpressionChecker, Typed
from augury.language import expressions as ex


class TypeChecker(ExpressionChecker):
    """Reads expressions of one query; `named` gathers the components they name, in order."""

    def __init__(
        self, draft: Draft, own: int | None = None, *, takes_lookups: bool = False
    ) -> None:
        super().__init__(draft, takes_lookups=takes_lookups)
        self.draft, self.own = draft, own
        self.named: dict[int, None] = {}

    def attribute(self, node: ex.Attribute) -> Typed:
        found = resolve(self.draft, node, self.own)
        if found is None:
            self.unknown = True
            self._read_default(node, None)
            return node, None
        self.named[found.component] = None
        default = self._read_default(node, found.type)
        attribute = found.attribute
        if default is not node.default:
            attribute = replace(attribute, default=default)
        return attribute, found.type

    def time_of(self, node: ex.Call) -> ex.Attribute | None:
        argument = node.arguments[0] if len(node.arguments) == 1 else None
        if not isinstance(argument, ex.Attribute) or argument.component is not None:
            return None
        component = find_component(self.draft, argument.name, argument.span)
        if component is None:
            self.unknown = True
            return argument
        streams = self.draft.streams_of(component.index)
        name = (streams[0].time if streams else None) or argument.name
        return ex.Attribute(component.name, name, argument.index, span=node.span)

    def call(self, node: ex.Call) -> Typed:
        """Return a call; PREV and NEXT are attributes of other events."""
        if node.function not in ("PREV", "NEXT"):
            return super().call(node)
        found = read_neighbour(self.draft, node, self.own)
        if found is None:
            self.unknown = True
            return node, None
        self.named[found.component] = None
        return found.attribute, found.type

    def _read_default(self, node: ex.Attribute, type_: DataType | None) -> ex.Expression | None:
        if node.default is None:
            return None
        default, given = self.read(node.default)
        if type_ and given and common_type(type_, given) is None:
            message = (
                f"the default {self._show(node.default, given)} cannot stand for "
                f"{node.component}.{node.name} ({type_.value})"
            )
            self._error("A040", message, node.default, f"write a {type_.value}")
        return default

    def aggregate(self, node: ex.Aggregate) -> Typed:
        node = self._of_rounds(node)
        component = find_component(self.draft, node.component, node.span)
        if component is None:
            self.unknown = True
            return node, None
        if node.group is not None:
            component_in_group(self.draft, node.group, component, node.span)
        if not component.repeats:
            message = f"{node.function} adds up a repetition, but {component.name} does not repeat"
            hint = f"repeat it in the pattern: +, or write {component.name}.attribute"
            self._error("A039", message, node, hint)
            return node, None
        self.named[component.index] = None
        if node.attribute is None:
            return replace(node, component=component.name), DataType.LONG
        found = resolve(self.draft, ex.Attribute(node.component, node.attribute, span=node.span))
        if found is None or found.type is None:
            self.unknown = True
            return node, None
        resolved = replace(node, component=component.name, attribute=found.attribute.name)
        return resolved, self._aggregate_type(node, found.type)

    def _of_rounds(self, node: ex.Aggregate) -> ex.Aggregate:
        """Return COUNT(g) as the count of a component that every round of the group has."""
        group = self.draft.group_named(node.component)
        if group is None or node.attribute is not None or not group.sure:
            return node
        return replace(node, component=self.draft.components[group.sure[0]].name)

    def _aggregate_type(self, node: ex.Aggregate, type_: DataType) -> DataType | None:
        if node.function in ("MIN", "MAX"):
            return type_
        if not type_.is_number:
            what = f"{node.component}.{node.attribute}"
            message = f"{node.function} needs numbers, but {what} is a {type_.value}"
            self._error("A041", message, node, "use MIN, MAX or COUNT, or another attribute")
            return None
        return DataType.DOUBLE if node.function == "AVG" else type_
