"""Queries that are no plain sequence, compiled for a policy: the automaton with its conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.policies.shapes import Gap, gaps_of, positive, positive_shape, rounds_of
from augury.planning.expressions.lower import Scope
from augury.planning.expressions.scalar import Scalar, Tables, scalar
from augury.planning.expressions.typed import Aggregated, Apply, Input, inputs_within, nodes_within
from augury.planning.pattern.automaton import Automaton
from augury.planning.pattern.build_automaton import automaton_of
from augury.planning.predicates import Predicate, predicates_of
from augury.privacy.machine import Ban, Machine, Player, Taken
from augury.privacy.pattern import Values

# What a condition is read from: the events held, and which of a repetition it is about.
_At = tuple[Taken, dict[int, int]]
_Test = Callable[[Taken, frozenset[int]], bool]


class MachineCompiler:
    """A query as a machine; of a private one the positive components."""

    def __init__(
        self, query: CheckedQuery, catalog: Catalog, tables: Tables, private: bool
    ) -> None:
        shape = positive_shape(query.shape) if private else query.shape
        assert shape is not None, "every pattern has a positive component"
        self.query, self.tables, self.shape, self.private = query, tables, shape, private
        self.equated = equated_columns(query, private=private)
        self.gaps = () if private else tuple(gaps_of(shape, query.components))
        own = positive(shape) | {gap.component for gap in self.gaps}
        self.predicates = [
            each.for_a_read_event
            for each in predicates_of(Scope(query, catalog.tables))
            if own.issuperset(each.components) and not self._is_key(each)
        ]

    def _is_key(self, each: Predicate) -> bool:
        """Whether a condition is the equality that tells threads apart."""
        node = each.expression
        if not isinstance(node, Apply) or node.operator != "equal":
            return False
        names = [o.column if isinstance(o, Input) else "" for o in node.operands]
        return names[0] == names[1] and names[0] in self.equated

    @property
    def columns(self) -> list[str]:
        """The columns that conditions read."""
        nodes = [node for each in self.predicates for node in nodes_within(each.expression)]
        whole = [n.column for n in nodes if isinstance(n, Aggregated) and n.column is not None]
        read = [i.column for each in self.predicates for i in inputs_within(each.expression)]
        return [*self.equated, *read, *whole]

    def machine(self) -> Machine:
        query, automaton = self.query, automaton_of(self.shape, self.query.components)
        assert query.within is not None
        inside = positive(self.shape)
        joined = [
            each
            for each in self.predicates
            if inside.issuperset(each.components) and not self._is_own(each)
        ]
        tests = [self._test(each) for each in joined]
        bans = tuple(map(self._ban, self.gaps))
        looks_back = any(self._about(gap) for gap in self.gaps)
        return Machine(
            query.name,
            query.within.length,
            {c: self._player(c, automaton) for c in sorted(inside)},
            bans,
            tuple(state.accepting for state in automaton.states),
            tuple(
                tuple((t.component, t.target) for t in automaton.transitions if t.source == k)
                for k in range(len(automaton.states))
            ),
            query.strategy == "NEXT" and not self.private,
            self.equated,
            bool(tests or looks_back),
            lambda taken, done: all(test(taken, done) for test in tests),
        )

    def _is_own(self, each: Predicate) -> bool:
        """Whether each event decides a condition alone."""
        return len(each.components) == 1 and (each.reads_one_event or _is_plain(each))

    def _player(self, component: int, automaton: Automaton) -> Player:
        own = self.query.components[component]
        (by,) = own.played_by
        assert by.type is not None
        after = {p.earlier for p in automaton.precedences if p.later == component}
        # The rounds of a group come one after the other, whichever of its components they end in.
        groups = (positive(group) for group in rounds_of(self.shape))
        after |= next((own for own in groups if component in own), {component})
        return Player(component, by.type, self._fits(component), frozenset(after))

    def _fits(self, component: int) -> Callable[[Values], bool]:
        tests = [
            scalar(each.expression, self.tables)
            for each in self.predicates
            if each.components == (component,) and self._is_own(each)
        ]
        return fits_all(tests, self.equated)

    # Negated components -------------------------------------------------------------------------

    def _about(self, gap: Gap) -> list[Predicate]:
        """Return the conditions on what is negated that look at other events."""
        return [
            each
            for each in self.predicates
            if gap.component in each.components and len(each.components) > 1
        ]

    def _ban(self, gap: Gap) -> Ban:
        (by,) = self.query.components[gap.component].played_by
        assert by.type is not None
        tests = [self._test(each) for each in self._about(gap)]
        everything = frozenset(range(len(self.query.components)))

        def breaks(taken: Taken, values: Values) -> bool:
            both = {**taken, gap.component: (values,)}
            return all(test(both, everything) for test in tests)

        return Ban(by.type, self._fits(gap.component), breaks, gap.earlier, gap.later, gap.company)

    # Conditions over several events -------------------------------------------------------------

    def _test(self, each: Predicate) -> _Test:
        """Return whether a condition holds as far as it is decided; of what is absent it does."""
        test = scalar(each.expression, self.tables, _read)
        reads = {c: frozenset(_readings(each, c)) for c in each.components}

        def holds(taken: Taken, done: frozenset[int]) -> bool:
            for component, how in reads.items():
                is_there = component in taken
                if component not in done and (not is_there or how & {"whole", "count"}):
                    return True
                if not is_there and how - {"count"}:
                    return True
            return all(test((taken, at)) is True for at in _instances(reads, taken))

        return holds


def _is_plain(each: Predicate) -> bool:
    """Whether a condition is on the one event that its component holds."""
    nodes = list(nodes_within(each.expression))
    return not any(isinstance(n, Aggregated) for n in nodes) and all(
        n.kind == "each" for n in nodes if isinstance(n, Input)
    )


def _readings(each: Predicate, component: int) -> Iterator[str]:
    """Yield how a condition reads a component."""
    for node in nodes_within(each.expression):
        if isinstance(node, Aggregated) and node.component == component:
            yield "count" if node.function == "COUNT" and node.column is None else "whole"
        elif isinstance(node, Input) and node.component == component:
            if node.kind == "number":
                yield "first" if node.number == 1 else "whole"
            else:
                yield {"each": "i", "previous": "i-1", "last": "whole"}[node.kind]


def _instances(reads: dict[int, frozenset[str]], taken: Taken) -> Iterator[dict[int, int]]:
    """Yield each choice of i for the repetitions that are read element by element."""
    ranges = {
        component: range(1 if "i-1" in how or {"i", "first"} <= how else 0, len(taken[component]))
        for component, how in reads.items()
        if how & {"i", "i-1"} and component in taken
    }
    for choice in product(*ranges.values()):
        yield dict(zip(ranges, choice, strict=True))


def _read(node: Input | Aggregated) -> Scalar:
    component, column = node.component, node.column
    if isinstance(node, Aggregated):
        return lambda row: _aggregate(node, row[0].get(component, ()))
    assert column is not None
    kind, number = node.kind, node.number - 1

    def value(row: _At) -> Any:
        taken, at = row
        events = taken.get(component, ())
        if not events:
            return None
        if kind == "last":
            return events[-1][column]
        if kind == "number":
            return events[number][column] if number < len(events) else None
        return events[at.get(component, 0) - (kind == "previous")][column]

    return value


def _aggregate(node: Aggregated, events: tuple[Values, ...]) -> Any:
    if node.column is None:
        return len(events)
    values = [each[node.column] for each in events if each[node.column] is not None]
    if node.function == "COUNT":
        return len(values)
    if not values:
        return None
    if node.function == "AVG":
        return sum(values) / len(values)
    if node.function == "SUM":
        return sum(values)
    return min(values) if node.function == "MIN" else max(values)


def equated_columns(query: CheckedQuery, *, private: bool) -> tuple[str, ...]:
    """Return the columns that are equal over all components that count."""
    counted = {c.index for c in query.components if not (private and c.negated)}
    found = list[str]()
    for each in query.equalities:
        names = {column for c, column in each.members if c in counted}
        if counted <= {c for c, _ in each.members} and len(names) == 1:
            found += names
    return tuple(sorted(found))


def fits_all(tests: list[Scalar], equated: tuple[str, ...]) -> Callable[[Values], bool]:
    """Return whether an event passes its own conditions, and can be equal to another."""

    def fits(values: Any) -> bool:
        return all(values[column] is not None for column in equated) and all(
            test(values) is True for test in tests
        )

    return fits
