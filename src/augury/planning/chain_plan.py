"""The engine's share of the plan of a probability query: a waiting line and what feeds it.

A sequence whose conditions each look at one event, or equate attributes, becomes a waiting line: an
automaton over what matches and what is accepted, with the values that must be met again. What cuts
the stream into independent parts gives one chain each. Patterns of another make are no chain, and
the `Obstacle` says why; they are evaluated from lineage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from augury.analysis.checked import CheckedQuery, EqualityClass
from augury.analysis.classes.subgoals import constants_of
from augury.analysis.clauses.shapes import always_present
from augury.analysis.declarations.catalog import Catalog, DataType
from augury.analysis.expressions.equalities import equal_attributes
from augury.language import expressions as ex
from augury.matching.waiting_line import Node, WaitingLine
from augury.planning.answer_kinds import Tells, tells
from augury.planning.expressions.typed import Typed, tables_within, without_defaults
from augury.planning.match_plan import Play, plays_of
from augury.planning.pattern.sequence import Slot, slots_of, unsuited
from augury.planning.physical import PhysicalPlan, plan_query
from augury.planning.predicates import Predicate, reads_each

Columns = Mapping[str, tuple[str, ...]]
MOST_NODES = 48


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a query is no chain, as the end of a sentence that begins with its name."""

    reason: str


@dataclass(frozen=True, slots=True)
class LookBack:
    """How long a match counts after its end: `length` in ticks or microseconds.

    `unit` is the time between two steps where all times are multiples of it, or None.
    """

    length: int
    unit: int | None

    @property
    def steps(self) -> int:
        """How many steps an end counts, its own included."""
        return -(-self.length // (self.unit or 1))


@dataclass(frozen=True, slots=True)
class ChainPlan:
    """What a runner needs to marginalise a query over Arrow columns.

    `judged` are the conditions of AFTER WHERE by component. `partition_by` maps each stream to the
    columns that cut it into chains. `remembered` are the equalities that runs carry. `groups` are
    the GROUP BY attributes as (component, column). `over` is None where a match counts at the time
    of its end alone. `by_time` tells that every time is answered, and not windows.
    """

    query: CheckedQuery
    line: WaitingLine
    plays: tuple[Play, ...]
    judged: tuple[tuple[int, Typed], ...]
    partition_by: Columns
    remembered: tuple[EqualityClass, ...]
    groups: tuple[tuple[int, str], ...]
    over: LookBack | None = None
    by_time: bool = True

    @property
    def tells(self) -> Tells:
        """What the answer tells."""
        return tells(self.query)

    @property
    def tables(self) -> set[str]:
        """The relations that its conditions look into, by lower-case name."""
        conditions = [f for play in self.plays for f in play.filters]
        conditions += [condition for _, condition in self.judged]
        return set(tables_within(conditions))


def plan_chain(query: CheckedQuery, catalog: Catalog) -> ChainPlan | Obstacle:
    """Return the chain of a probability query, or why it has none."""
    reason = unsuited(query)
    if reason is not None:
        return Obstacle(reason)
    if query.strategy == "PARTITION" and _forbids_other_keys(query):
        return Obstacle("forbids events of any key, while its runs lie within one")
    plan = plan_query(query, catalog)
    columns, cut = _cut(query, plan)
    classes = _remembered(query, cut)
    rules = [p for p in plan.search.predicates if not _is_class_equality(p, query)]
    reason = _unsuited_rules(query, columns, classes, rules)
    line = _line(query, len(classes)) if reason is None else None
    if line is None or reason is not None:
        return Obstacle(reason or "has a negation that is not between two events, or is too long")
    return ChainPlan(
        query=query,
        line=line,
        plays=plays_of(plan),
        judged=tuple((p.components[0], without_defaults(p.expression)) for p in rules),
        partition_by=columns,
        remembered=classes,
        groups=_groups(query),
        over=_look_back(query, catalog),
        by_time=query.returns == "PROBABILITY BY TIME",
    )


def _look_back(query: CheckedQuery, catalog: Catalog) -> LookBack | None:
    if query.over is None:
        return None
    found = LookBack(query.over, _unit(query, catalog))
    return None if found.unit is not None and found.steps <= 1 else found


def _unit(query: CheckedQuery, catalog: Catalog) -> int | None:
    """Return what all times of the streams are multiples of: a tick, or a model's step."""
    if query.streams[0].time_is_ticks:
        return 1
    inferred = [catalog.inferred.get(stream.name.lower()) for stream in query.streams]
    steps = [catalog.models[each.statement.model.lower()].step for each in inferred if each]
    return math.gcd(*steps) if len(steps) == len(inferred) else None


# What is no chain ---------------------------------------------------------------------------------


def _unsuited_rules(
    query: CheckedQuery,
    columns: Columns,
    classes: tuple[EqualityClass, ...],
    rules: list[Predicate],
) -> str | None:
    distant = [p for p in rules if not _judges_one_event(p)]
    if distant:
        return f"has the condition {distant[0].text}, which looks at several events"
    late = next((c for c in classes if _guards_too_early(query, c)), None)
    if late is not None:
        return "negates a component that is equated with a later one only"
    if any(_is_looser_between_types(query, c) for c in classes):
        return "equates whole numbers with each other, and with fractions"
    return _unsuited_groups(query, columns)


def _unsuited_groups(query: CheckedQuery, columns: Columns) -> str | None:
    """Return why a run cannot tell its group: the component may be absent, or be many events."""
    sure = always_present(query.shape, query.components)
    for node, (component, name) in zip(query.group_by, _groups(query), strict=True):
        shared = isinstance(node, ex.Attribute) and node.default is not None
        if not shared and component not in sure:
            return "groups by an attribute of a component that need not be there"
        loose = not is_of_the_chain(query, columns, name)
        if loose and (shared or query.components[component].repeats):
            return "groups by an attribute of a repetition"
    return None


def is_of_the_chain(query: CheckedQuery, columns: Mapping[str, tuple[str, ...]], name: str) -> bool:
    """Return whether all events of a chain have one value of an attribute."""
    return all(name in columns.get(stream.name, ()) for stream in query.streams)


def is_plain(plan: ChainPlan) -> bool:
    """Return whether the operator of chains can evaluate the plan."""
    streams, line = plan.query.streams, plan.line
    named = (is_of_the_chain(plan.query, plan.partition_by, name) for _, name in plan.groups)
    markov = any(stream.markov for stream in streams)
    return (
        line.window is None
        and not line.remembers
        and (plan.over is None or plan.over.unit is not None)
        and not any(stream.order_by for stream in streams)
        and all(named)
        and (not markov or (len(streams) == 1 and plan.by_time))
    )


def _judges_one_event(predicate: Predicate) -> bool:
    return (
        predicate.conjunct.after
        and len(predicate.components) == 1
        and reads_each(predicate.expression)
    )


def _guards_too_early(query: CheckedQuery, equality: EqualityClass) -> bool:
    """Return whether a negation would have to know a value that is bound after it."""
    members = [c for c, _ in equality.members]
    sure = [c for c in members if not query.components[c].negated and query.components[c].minimum]
    return any(query.components[c].negated and not any(s < c for s in sure) for c in members)


def is_mixed(query: CheckedQuery, equality: EqualityClass) -> bool:
    """Return whether whole numbers and fractions are equated, which meet as fractions."""
    return len({query.type_of_attribute(*member) for member in equality.members}) > 1


def _is_looser_between_types(query: CheckedQuery, equality: EqualityClass) -> bool:
    """Return whether one value does not stand for all: two LONGs may equal a DOUBLE, and differ."""
    whole = [
        query.components[component]
        for component, name in equality.members
        if query.type_of_attribute(component, name) is DataType.LONG
    ]
    several = len(whole) > 1 or any(component.maximum != 1 for component in whole)
    return several and is_mixed(query, equality)


# Equalities ---------------------------------------------------------------------------------------


def _forbids_other_keys(query: CheckedQuery) -> bool:
    """Return whether a negated event may be of another key than those of the match."""
    if not any(component.negated for component in query.components):
        return False
    equated = {name.lower() for c in query.equalities if c.covers_all for _, name in c.members}
    return any(name.lower() not in equated for stream in query.streams for name in stream.key)


def _cut(query: CheckedQuery, plan: PhysicalPlan) -> tuple[Columns, tuple[EqualityClass, ...]]:
    """Return the columns that cut each stream into chains, and the classes that this makes equal.

    Under PARTITION CONTIGUITY a run lies within one key, whatever is equated.
    """
    if query.strategy == "PARTITION":
        columns = {stream.name: stream.key for stream in query.streams}
        return columns, tuple(c for c in query.equalities if _is_in_key(query, c))
    cut = plan.partitioning
    if cut.kind == "key":
        return dict(cut.columns), cut.classes
    if query.strategy == "STRICT" or len(query.components) > 1:
        return {}, ()
    # One component that repeats is tied to itself, which cuts nothing for a search; one event has
    # one value of each column, and so makes no equality, but is of its own group alone.
    tied = [c for c in query.equalities if c.covers_all and _is_in_key(query, c)]
    names = [c.members[0][1] for c in tied]
    if not query.components[0].repeats:
        own = [EqualityClass((group,), covers_all=True) for group in _groups(query)]
        names += [c.members[0][1] for c in own if _is_in_key(query, c)]
    cut_by = tuple(dict.fromkeys(names))
    return ({s.name: cut_by for s in query.streams} if cut_by else {}), tuple(tied)


def _is_in_key(query: CheckedQuery, equality: EqualityClass) -> bool:
    """Return whether the class is one column of the key, at the same place in every stream."""
    streams = {s.name: s for s in query.streams}
    places = {
        streams[by.stream].key.index(name) if name in streams[by.stream].key else -1
        for component, name in equality.members
        for by in query.components[component].played_by
    }
    return len(places) == 1 and -1 not in places


def _remembered(query: CheckedQuery, cut: tuple[EqualityClass, ...]) -> tuple[EqualityClass, ...]:
    """Return the classes that neither cut the stream nor are pinned by one constant."""
    pinned = constants_of(query.conjuncts)
    return tuple(
        c
        for c in query.equalities
        if c not in cut and len({pinned.get(member) for member in c.members} | {None}) != 2
    )


def _is_class_equality(predicate: Predicate, query: CheckedQuery) -> bool:
    """Return whether the predicate is one of the equalities that made a class."""
    node = predicate.conjunct.expression
    if predicate.conjunct.after or not isinstance(node, ex.Binary) or node.operator != "=":
        return False
    pair = equal_attributes(node)
    if pair is None:
        return False
    number = {c.name: c.index for c in query.components}
    members = [(number[a.component or ""], a.name) for a in pair]
    kinds = {a.index.kind if a.index else "each" for a in pair}
    whole = kinds == {"each"} or (members[0] == members[1] and _is_tie(pair))
    return whole and any(set(members) <= set(c.members) for c in query.equalities)


def _is_tie(pair: tuple[ex.Attribute, ex.Attribute]) -> bool:
    return all(
        a.index is None
        or a.index.kind in ("each", "previous")
        or (a.index.kind == "number" and a.index.number == 1)
        for a in pair
    )


def _groups(query: CheckedQuery) -> tuple[tuple[int, str], ...]:
    number = {c.name: c.index for c in query.components}
    nodes = [node for node in query.group_by if isinstance(node, ex.Attribute)]
    return tuple((number[node.component or ""], node.name) for node in nodes)


# The line -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Position:
    """Waiting for the k-th event of a slot, with what would end the wait."""

    slot: int
    copy: int
    guards: int


def _line(query: CheckedQuery, remembers: int) -> WaitingLine | None:
    slots = slots_of(query)
    assert slots is not None
    start = list(_ahead(slots, -1))
    places, edges = list(dict.fromkeys(start)), []
    for place in places:
        after = [*_again(slots, place), *_beyond(slots, place)]
        edges.append(after)
        places += [p for p in dict.fromkeys(after) if p not in places]
        if len(places) > MOST_NODES:
            return None
    number = {place: k for k, place in enumerate(places)}
    nodes = tuple(
        Node(
            slots[place.slot].component,
            place.guards,
            tuple(sorted({number[p] for p in after})),
            _is_final(slots, place),
        )
        for place, after in zip(places, edges, strict=True)
    )
    skipping = "STRICT" if query.strategy == "PARTITION" else query.strategy
    window = query.within if query.returns == "PROBABILITY BY TIME" else None
    first = tuple(sorted({number[p] for p in start}))
    return WaitingLine(nodes, first, skipping, window.length if window else None, remembers)


def _ahead(slots: list[Slot], last: int) -> Iterator[_Position]:
    """Yield where to wait after slot `last` is complete: the next one, and beyond optional ones."""
    guards = 0
    for k in range(last + 1, len(slots)):
        guards |= slots[k].guards
        yield _Position(k, 1, guards)
        if slots[k].minimum:
            return


def _again(slots: list[Slot], place: _Position) -> Iterator[_Position]:
    """Yield the next event of the same slot, if it may hold one more; the last copy loops."""
    slot = slots[place.slot]
    if slot.maximum is None:
        yield _Position(place.slot, min(place.copy + 1, max(slot.minimum, 1)), 0)
    elif place.copy < slot.maximum:
        yield _Position(place.slot, place.copy + 1, 0)


def _beyond(slots: list[Slot], place: _Position) -> Iterable[_Position]:
    return _ahead(slots, place.slot) if place.copy >= slots[place.slot].minimum else ()


def _is_final(slots: list[Slot], place: _Position) -> bool:
    enough = place.copy >= slots[place.slot].minimum
    return enough and all(slot.minimum == 0 for slot in slots[place.slot + 1 :])
