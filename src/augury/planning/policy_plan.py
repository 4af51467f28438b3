"""A declared policy as decisions are made with it: sequences with compiled conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from augury.analysis.checked import CheckedQuery, Leaf, Negated
from augury.analysis.declarations.catalog import Catalog, PolicySchema
from augury.analysis.expressions.walk import has_lookup
from augury.analysis.policies.weighable import next_positive, parts_of
from augury.analysis.settled import dynamic_tables
from augury.config import value_of
from augury.language.printer import to_text
from augury.planning.acting.whom import active_conjuncts
from augury.planning.expressions.lower import Scope
from augury.planning.expressions.scalar import Read, Scalar, Tables, scalar
from augury.planning.expressions.typed import Aggregated, Apply, Input, Typed, inputs_within
from augury.planning.policy_machine import MachineCompiler, equated_columns, fits_all
from augury.planning.predicates import Predicate, predicates_of
from augury.privacy.pattern import Forbidden, Held, Pattern, Step, Values
from augury.privacy.policy import NEVER, Method, Policy, Weighted

_METHODS: dict[str, Method] = {
    "TYPES": "TYPES",
    "GREEDY": "GREEDY",
    "HYBRID": "HYBRID",
    "HYBRID RATES": "RATES",
    "HYBRID PERIODIC": "PERIODIC",
}


@dataclass(frozen=True, slots=True)
class Played:
    """Who may play a step, as columns tell it: events of a type for which conditions are true."""

    type: str
    filters: tuple[Typed, ...]


@dataclass(frozen=True, slots=True)
class Summable:
    """A pattern of which prefixes with one first event and equal equated values go together.

    Nothing else of them matters: no condition is over several events, but for equality.
    """

    steps: tuple[Played, ...]
    forbidden: tuple[tuple[Played, ...], ...]


@dataclass(frozen=True)
class PolicyPlan:
    """What decides about the events of a stream, and the columns that it reads of them.

    `mark` is the hash of all that decisions depend on beside the rows: state belongs to it.
    `summable` are its patterns as columns are looked at, None where one needs every prefix;
    `tables` are the rows that conditions look into.
    """

    schema: PolicySchema
    policy: Policy
    columns: tuple[str, ...]
    mark: bytes = b""
    summable: tuple[Summable, ...] | None = None
    tables: Tables = field(default_factory=dict)


def plan_policy(
    schema: PolicySchema,
    queries: Mapping[str, CheckedQuery],
    catalog: Catalog,
    tables: Tables,
) -> PolicyPlan:
    """Return the plan of a policy; `tables` are the rows that conditions look into."""
    node, columns, summable = schema.statement, dict[str, None](), list[Summable | None]()

    def weighted(name: str, weight: float, *, private: bool) -> Weighted:
        query = without_tests(queries[name.lower()], catalog)
        if parts_of(query, private=private) is None:
            machine = MachineCompiler(query, catalog, tables, private)
            columns.update(dict.fromkeys(machine.columns))
            summable.append(None)
            return Weighted(machine.machine(), weight)
        compiled = _Compiled(query, catalog, tables, private)
        columns.update(dict.fromkeys(compiled.columns))
        summable.append(compiled.summable())
        return Weighted(compiled.pattern(), weight)

    public = [
        weighted(each.query, 1.0 if each.weight is None else each.weight, private=False)
        for each in node.public
    ]
    private = [
        weighted(each.query, NEVER if each.weight is None else each.weight, private=True)
        for each in node.private
    ]
    by = catalog.streams[schema.stream.lower()].column(node.by) if node.by else None
    policy = Policy(
        tuple(public),
        tuple(private),
        schema.bound_types,
        _METHODS[node.method or "HYBRID"],
        schema.period,
        node.wang,
        node.patience if isinstance(node.patience, float) else None,
        node.online,
        schema.over,
        by.name if by else None,
        value_of("type_level_seconds"),
    )
    read = (*columns, *((by.name,) if by else ()))
    known = tuple(each for each in summable if each is not None)
    whole = known if len(known) == len(summable) else None
    return PolicyPlan(schema, policy, read, _mark(schema, catalog), whole, tables)


def without_tests(query: CheckedQuery, catalog: Catalog) -> CheckedQuery:
    """Return a query without what tables are asked: a policy takes that for true."""
    active = active_conjuncts(query, dynamic_tables(catalog))
    kept = (c for c in query.conjuncts if c not in active and not has_lookup(c.expression))
    return replace(query, conjuncts=tuple(kept))


def _mark(schema: PolicySchema, catalog: Catalog) -> bytes:
    """Return the hash of a policy: its text, its queries, its stream, and what is bound."""
    node = schema.statement
    bound = None if schema.bound_types is None else sorted(schema.bound_types)
    stream = catalog.streams[schema.stream.lower()]
    named = (each.query.lower() for each in (*node.public, *node.private))
    parts = [
        to_text(node),
        *(to_text(catalog.queries[name]) for name in named),
        *(f"{column.name} {column.type.value}" for column in stream.columns),
        repr((stream.id, stream.time, stream.type, stream.order_by, stream.alternatives, bound)),
    ]
    return sha256("\n".join(parts).encode()).digest()


class _Compiled:
    """A query as a policy sees it: its steps in order, and conditions where they are decided."""

    def __init__(
        self, query: CheckedQuery, catalog: Catalog, tables: Tables, private: bool
    ) -> None:
        parts = parts_of(query, private=private)
        assert parts is not None, "the checker has refused other patterns"
        self.query, self.tables, self.private, self.parts = query, tables, private, parts
        self.predicates = [
            each.for_a_read_event for each in predicates_of(Scope(query, catalog.tables))
        ]
        steps = [part.component for part in parts if isinstance(part, Leaf)]
        self.place = {component: number for number, component in enumerate(steps)}
        self.equated = equated_columns(query, private=private)

    @property
    def columns(self) -> list[str]:
        """The columns that conditions read."""
        read = [i.column for each in self.predicates for i in inputs_within(each.expression)]
        return [*self.equated, *read]

    def pattern(self) -> Pattern:
        assert self.query.within is not None
        count = len(self.place)
        return Pattern(
            self.query.name,
            tuple(self._step(component) for component in self.place),
            self.query.within.length,
            tuple(tuple(self._decided_at(number)) for number in range(count)),
            tuple(tuple(self._forbidden(number)) for number in range(count + 1)),
            not self.private and self.query.strategy == "NEXT",
            self.equated,
        )

    def summable(self) -> Summable | None:
        """Return the pattern for prefixes that are summed up; None where each one matters."""
        steps, gaps = tuple(map(self._played, self.place)), range(len(self.place) + 1)
        forbidden = tuple(tuple(map(self._played, self._negated_at(gap))) for gap in gaps)
        takes_next = not self.private and self.query.strategy == "NEXT"
        # What is taken and forbidden in one gap counts once: that is looked at event by event.
        both = (step.type in {each.type for each in forbidden[k]} for k, step in enumerate(steps))
        if any(map(self._joins, self.predicates)) or (takes_next and any(both)):
            return None
        return Summable(steps, forbidden)

    def _played(self, component: int) -> Played:
        (by,) = self.query.components[component].played_by
        assert by.type is not None
        own = (each.expression for each in self.predicates if each.components == (component,))
        return Played(by.type, tuple(own))

    def _joins(self, each: Predicate) -> bool:
        """Whether a condition is over several events that count, and no equality of all of them."""
        counted = [c for c in each.components if not self.query.components[c].negated]
        if self.private and len(counted) < len(each.components):
            return False
        node = each.expression
        if isinstance(node, Apply) and node.operator == "equal" and not each.conjunct.after:
            names = [o.column if isinstance(o, Input) else "" for o in node.operands]
            if names[0] == names[1] and names[0] in self.equated:
                return False
        return len(each.components) > 1

    def _step(self, component: int) -> Step:
        (by,) = self.query.components[component].played_by
        assert by.type is not None
        tests = [
            scalar(each.expression, self.tables)
            for each in self.predicates
            if each.components == (component,)
        ]
        return Step(by.type, fits_all(tests, self.equated))

    def _decided_at(self, number: int) -> list[Callable[[Held], bool]]:
        """Return the conditions over several steps of which a step is the last."""
        return [
            _holds(scalar(each.expression, self.tables, self._of_held))
            for each in self.predicates
            if len(each.components) > 1
            and all(c in self.place for c in each.components)
            and max(self.place[c] for c in each.components) == number
        ]

    def _of_held(self, node: Input | Aggregated) -> Scalar:
        assert isinstance(node, Input)
        place, column = self.place[node.component], node.column
        return lambda held: held[place][column]

    def _forbidden(self, gap: int) -> list[Forbidden]:
        """Return what is negated before a step, or after the last one."""
        return [self._negated(component, gap) for component in self._negated_at(gap)]

    def _negated_at(self, gap: int) -> list[int]:
        found = []
        for at, part in enumerate(self.parts):
            if isinstance(part, Negated) and isinstance(part.part, Leaf):
                ahead = next_positive(self.parts, at)
                if gap == (len(self.place) if ahead is None else self.place[ahead]):
                    found.append(part.part.component)
        return found

    def _negated(self, component: int, gap: int) -> Forbidden:
        known = {c for c, place in self.place.items() if place <= gap} | {component}
        tests = [
            self._of_negated(each, component)
            for each in self.predicates
            if component in each.components
            and len(each.components) > 1
            and known.issuperset(each.components)
        ]
        own = self.query.components[component]
        (by,) = own.played_by
        alone = [
            scalar(each.expression, self.tables)
            for each in self.predicates
            if each.components == (component,)
        ]
        assert by.type is not None
        return Forbidden(Step(by.type, fits_all(alone, self.equated)), tuple(tests))

    def _of_negated(self, each: Predicate, component: int) -> Callable[[Held, Values], bool]:
        def read(node: Input | Aggregated) -> Scalar:
            assert isinstance(node, Input)
            column = node.column
            if node.component == component:
                return lambda both: both[1][column]
            place = self.place[node.component]
            return lambda both: both[0][place][column]

        reading: Read = read
        test = scalar(each.expression, self.tables, reading)
        return lambda held, own: test((held, own)) is True


def _holds(test: Scalar) -> Callable[[Held], bool]:
    return lambda held: test(held) is True
