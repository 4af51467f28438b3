"""The possible-worlds oracle: the law of augury, computed the slow way.

    A probability is the total weight of the possible worlds in which the statement is true.

Every world is enumerated (each uncertain event in or out, one choice for each group of
alternatives, one path for each Markov chain), the query is answered in that one certain world
(`selection.py`), and the weights are added up. Derived events are put into the worlds in which
their match is an answer, so that a query over queries needs no rule of its own.

Nothing here comes from the engine. `model.py` has the input; the answers are

    matches(query, events)               {match: confidence}; a match is the frozenset of
                                         (component, tuple of event ids), absent components left out
    matches_in_world(query, events)      the same in one certain world, a list of `Match`
    probability(query, events)           {(group, window start or None): probability}
    probability_by_time(query, events)   {(group, time): probability}
    network(queries, events)             all of these by query name, for queries over queries

A row that is not there has probability 0. An ungrouped query has the group `()`. The id of a
derived event is (query name, match).

Readings. Where the language can be read in two ways, this is what the oracle does:

 1. "tie-breakers compare within one stream only": order is then partial. Events of equal time with
    a NULL tie-breaker, or of two streams (a derived stream is a stream of its own), have equal
    order. The earliest events are those with no fitting event before them.
 2. "its last positive event": of several with the greatest time, the one with the greatest
    tie-breaker. A derived event has the key that all its events share, else the empty key.
 3. "neither lies between the other and a third": STRICT and PARTITION CONTIGUITY do not count an
    event as skipped if it has equal order with an event of the match.
 4. "at most n events, both ends counted": the events of the match, and those with an event of the
    match before them and one after them.
 5. "a repetition takes every subset": of events in sequence; two of equal order are not both b.
 6. "strictly between its nearest bound positive neighbours": after every bound event that the
    pattern puts before the negation, and before every one that it puts after it, whatever encloses
    it. With nothing bound on one side (optional neighbours are absent) it is a leading or trailing
    one. An event of the match that lies in the gap (parts of an AND interleave) breaks it too.
    A negation in a SEQ of which no event is bound (another branch of OR) is not applied.
 7. "tested when all components that it names are complete": b[i], b[i-1], b[1] and bare b.x are
    tested for each event as it is taken; LAST(b), COUNT(b) and aggregates when a successor takes
    an event, even if b has its maximum, or at the end. What b[i] and c[i] share is not the i.
 8. "a conjunct on an absent optional component is not applied": nor one on the other branch of an
    OR; the whole conjunct, unless it reads the component by COUNT only, or with a default.
 9. "equalities are closed transitively before anything else": attributes and literals, also
    through negated and absent components. A repetition that is equated with anything has equal
    elements. A filter inside a component is a conjunct of WHERE; AFTER WHERE is not.
10. "with a's own predicates": FIRST and LAST count events that satisfy a's filter and the
    conjuncts that name a alone; `[tag]` holds for them as for every negated component, and what the
    closure makes equal to a's attributes is equal to theirs.
11. "the component after it": one that the pattern puts after the repetition; in AND there is none.
    `B? b` is a repetition, and gives way at once.
12. "the earliest event that fits": in an AND, an event of equal order with the last one taken can
    be next. NEXT(...) is part of fitting: an event that is no neighbour is not taken.
13. "likewise among the events of one key": only the run is confined to the key. Negated events
    and `WITHIN n EVENTS` see the whole stream.
14. "Under NEXT, a repetition in a probability query is Lahar's": under STRICT and PARTITION
    CONTIGUITY too, where a run takes the earliest event that fits as well. `B?` is a repetition.
15. "NEXT(...) adjacent": the last event of a part and the first of the part that follows it, and
    the events of a repetition that is a part, or a branch of an OR that is one. Both neighbours
    have one key.
16. "a tolerance of 1e-9": `>= v` accepts v - 1e-9, `> v` refuses v + 1e-9.
17. "P(to at t+1 | from at t)": a time without rows is nowhere; what a table leaves to 1 is nowhere.
18. A match and an instance of a negated composite have at least one event.
19. "each window evaluated as if it were the whole input": it sees the events of the ON streams
    whose time lies in it, derived ones too. `WITHIN n EVENTS` cuts no windows: the whole input.
20. "of one start: the longest": the one whose last event is latest, by time and tie-breaker. "The
    first by the order of choices": its events in order, and of each the component as written. A
    start lies inside a match if it is of it, or between two events of it. A target that is the
    start itself covers that event alone. The partition is what `[...]` equates, and the key under
    PARTITION CONTIGUITY.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from oracles.model import Event, Markov, Query
from oracles.plan import Plan, prepare
from oracles.selection import Match, MatchKey, answers, holding_answers
from oracles.values import evaluate

World = tuple[float, list[Event]]
Row = tuple[tuple[Any, ...], int | None]
TOLERANCE = 1e-9


def matches(
    query: Query,
    events: Sequence[Event],
    *,
    upstream: Sequence[Query] = (),
    markov: Sequence[Markov] = (),
) -> dict[MatchKey, float]:
    """Return each match of `query` that passes its threshold, with its confidence."""
    return network([*upstream, query], events, markov=markov)[query.name]


def matches_in_world(query: Query, events: Iterable[Event]) -> list[Match]:
    """Return the matches of `query` where exactly `events` happened."""
    return answers(prepare(query), events)


def probability(
    query: Query,
    events: Sequence[Event],
    *,
    upstream: Sequence[Query] = (),
    markov: Sequence[Markov] = (),
) -> dict[Row, float]:
    """Return P(at least one match), for each group and each window that holds an event."""
    if query.probability != "ever":
        raise ValueError(f"{query.name} is no RETURN PROBABILITY query")
    return network([*upstream, query], events, markov=markov)[query.name]


def probability_by_time(
    query: Query,
    events: Sequence[Event],
    *,
    upstream: Sequence[Query] = (),
    markov: Sequence[Markov] = (),
) -> dict[Row, float]:
    """Return P(some match's last event is at t), for each group and each t of the streams."""
    if query.probability != "by time":
        raise ValueError(f"{query.name} is no RETURN PROBABILITY BY TIME query")
    return network([*upstream, query], events, markov=markov)[query.name]


def network(
    queries: Sequence[Query], events: Sequence[Event], *, markov: Sequence[Markov] = ()
) -> dict[str, dict[Any, float]]:
    """Return the answer of every query, each of which may name others in its ON."""
    worlds = list(possible_worlds(events, markov))
    results: dict[str, dict[Any, float]] = {}
    for query in _in_dependency_order(queries):
        plan = prepare(query)
        if any(q.name in query.streams and not _has_derived_events(q) for q in queries):
            raise ValueError(f"{query.name} is ON a query that has no derived events")
        if query.correlated is not None:
            results[query.name] = _correlated(plan, events)
        elif query.probability is not None:
            results[query.name] = _probability(plan, worlds, events)
        else:
            found = [answers(plan, world) for _, world in worlds]
            results[query.name] = passing = _confidence(query, worlds, found)
            worlds = [
                (weight, world + [derive(query, m) for m in ms if m.key in passing])
                for (weight, world), ms in zip(worlds, found, strict=True)
            ]
    return results


def _has_derived_events(query: Query) -> bool:
    return query.correlated is None and query.probability is None


# --- the worlds ---


def possible_worlds(events: Sequence[Event], markov: Sequence[Markov] = ()) -> Iterator[World]:
    """Yield every world that can be, as its weight and the events that happened."""
    chained = {chain.stream for chain in markov}
    factors = list(_independent_factors([e for e in events if e.stream not in chained]))
    for chain in markov:
        factors += _chain_factors(chain, [e for e in events if e.stream == chain.stream])
    for choice in product(*factors):
        weight = math.prod(p for p, _ in choice)
        yield weight, [event for _, happened in choice for event in happened]


def _independent_factors(events: Sequence[Event]) -> Iterator[list[World]]:
    """Yield what each event, or group of alternatives, can turn out to be."""
    groups: dict[Hashable, list[Event]] = {}
    for i, event in enumerate(events):
        alone = event.group is None
        groups.setdefault(("row", i) if alone else (event.stream, event.group), []).append(event)
    for rows in groups.values():
        yield _outcomes([(e.p, e) for e in rows])


def _outcomes(rows: list[tuple[float, Event]]) -> list[World]:
    """Return the possible choices among exclusive rows; what is missing to 1 is nowhere."""
    nowhere = 1.0 - math.fsum(p for p, _ in rows)
    if nowhere < -TOLERANCE:
        raise ValueError(f"alternatives sum to {1.0 - nowhere}; at most 1 was expected")
    chosen = [(p, [event]) for p, event in rows if p > 0.0]
    return chosen + [(nowhere, [])] * (nowhere > 1e-12)


def _chain_factors(chain: Markov, events: Sequence[Event]) -> Iterator[list[World]]:
    """Yield the possible paths of each key: the first marginals, then the tables."""
    for key in dict.fromkeys(e.key for e in events):
        rows = [e for e in events if e.key == key]
        start = min(e.ts for e in rows)
        paths = _outcomes([(e.p, e) for e in rows if e.ts == start])
        for t in range(start, max(e.ts for e in rows)):
            paths = [
                (weight * p, path + step)
                for weight, path in paths
                for p, step in _moves(chain, key, t, path, [e for e in rows if e.ts == t + 1])
            ]
        yield paths


def _moves(chain: Markov, key: Any, t: int, path: list[Event], rows: list[Event]) -> list[World]:
    """Return where the table leads from the end of `path` at t: one of `rows`, or nowhere."""
    here = _value(chain, path[-1]) if path and path[-1].ts == t else None
    there = {_value(chain, e): e for e in rows}
    table = {
        to: p
        for (k, at, origin, to), p in chain.table.items()
        if (k, at, origin) == (key, t, here) and to is not None and p > 0.0
    }
    if unknown := set(table) - set(there):
        raise ValueError(f"the table leads {key} at {t} to {unknown}, which has no row")
    return _outcomes([(p, there[to]) for to, p in table.items()])


def _value(chain: Markov, event: Event) -> tuple[Any, ...]:
    return tuple(event.attrs.get(column) for column in chain.columns)


# --- matches and their confidence ---


def _confidence(
    query: Query, worlds: list[World], found: list[list[Match]]
) -> dict[MatchKey, float]:
    weights: dict[MatchKey, list[float]] = {}
    for (weight, _), ms in zip(worlds, found, strict=True):
        for match in ms:
            weights.setdefault(match.key, []).append(weight)
    return _passing(query, weights)


def _passing(query: Query, weights: dict[Any, list[float]]) -> dict[Any, float]:
    """Add up the weights, and leave out what is below the query's threshold."""
    totals = {row: math.fsum(parts) for row, parts in weights.items()}
    return {row: total for row, total in totals.items() if passes(query, total)}


def passes(query: Query, value: float) -> bool:
    """Tell whether `value` passes the threshold of `query`."""
    if query.threshold is None:
        return query.probability is not None or value > 0.0
    limit, strict = query.threshold
    above = value > limit + TOLERANCE if strict else value >= limit - TOLERANCE
    return above and (query.probability is not None or value > 0.0)


def derive(query: Query, match: Match) -> Event:
    """Return the derived event of `match`."""
    events = match.events
    keys = {e.key for e in events}
    attrs = {**_returned(query, match), "start_ts": events[0].ts, "end_ts": events[-1].ts}
    return Event(
        id=(query.name, match.key),
        ts=events[-1].ts,
        type=query.name,
        attrs=attrs,
        tie=events[-1].tie,
        key=keys.pop() if len(keys) == 1 else (),
        stream=query.name,
    )


def _returned(query: Query, match: Match) -> dict[str, Any]:
    if isinstance(query.returns, str):
        columns = [(name, a) for name, taken in match.bound.items() for a in taken[0].attrs]
        return {f"{n}_{a}": evaluate(("attr", n, a), match.bound, {}) for n, a in columns}
    return {name: evaluate(expr, match.bound, {}) for name, expr in query.returns.items()}


def _correlated(plan: Plan, events: Sequence[Event]) -> dict[MatchKey, float]:
    """Return the matches with the product of DPCEP's Definition 4.1 as their confidence."""
    query = plan.query
    refused = [query.strategy != "any", plan.repeated, plan.negations, plan.adjacent]
    if any(refused) or (query.within or ("time",))[0] == "events":
        raise ValueError(
            "CORRELATED BY is for any-match, without negation, repetition or NEXT(...)"
        )
    possible = [e for e in events if e.p > 0.0]
    found = [m for m in answers(plan, possible) if not _exclude_each_other(m.events)]
    return _passing(query, {m.key: [_chain_product(query, m.events)] for m in found})


def _exclude_each_other(events: list[Event]) -> bool:
    groups = [(e.stream, e.group) for e in events if e.group is not None]
    return len(groups) > len(set(groups))


def _chain_product(query: Query, events: list[Event]) -> float:
    product_ = events[0].p
    for k, event in enumerate(events[1:], 1):
        # What it does not hang on lies between: the nearest one before it that is listed counts.
        listed = [e.id for e in reversed(events[:k]) if (e.id, event.id) in query.correlated]
        if not listed and not query.unlisted_independent:
            raise LookupError(
                f"the table of conditional probabilities lacks {event.id} | {events[k - 1].id}"
            )
        product_ *= query.correlated[listed[0], event.id] if listed else event.p
    return product_


# --- probabilities ---


def _probability(plan: Plan, worlds: list[World], events: Sequence[Event]) -> dict[Row, float]:
    """Add the weight of each world to the rows that hold in it; all groups have all rows."""
    query = plan.query
    times = {e.ts for _, world in worlds for e in world if e.stream in query.streams}
    if query.over > 1:
        # A time is asked about also where all that is told of it cannot have happened.
        times |= {e.ts for e in events if e.stream in query.streams}
    labels = _labels(query, times)
    weights: dict[Row, list[float]] = {}
    for weight, world in worlds:
        for row in set(_rows_that_hold(plan, world, labels)):
            weights.setdefault(row, []).append(weight)
    groups = {group for group, _ in weights} | ({()} if not query.group_by else set())
    return _passing(
        query, {(g, label): weights.get((g, label), []) for g in groups for label in labels}
    )


def _labels(query: Query, times: set[int]) -> list[int | None]:
    """Return what the rows are told apart by: times, starts of windows, or nothing."""
    if query.probability == "by time":
        return sorted(times)
    if query.within is None or query.within[0] == "events":
        return [None]
    length = query.within[1]
    slide = query.every or length
    return sorted(
        {k * slide for t in times for k in range((t - length) // slide + 1, t // slide + 1)}
    )


def _rows_that_hold(plan: Plan, world: list[Event], labels: list[int | None]) -> Iterator[Row]:
    query = plan.query
    if query.probability == "by time":
        for match in holding_answers(plan, world):
            end = match.events[-1].ts
            for label in labels:
                if label is not None and label - query.over < end <= label:
                    yield _group(query, match), label
        return
    for label in labels:
        inside = world
        if label is not None:
            inside = [e for e in world if label <= e.ts < label + query.within[1]]
        for match in holding_answers(plan, inside):
            yield _group(query, match), label


def _group(query: Query, match: Match) -> tuple[Any, ...]:
    return tuple(_group_value(part, match) for part in query.group_by)


def _group_value(part: Any, match: Match) -> Any:
    """Return one GROUP BY value; a bare name is an attribute that all components share."""
    if isinstance(part, str):
        return next((e.attrs[part] for e in match.events if part in e.attrs), None)
    return evaluate(part, match.bound, {})


def _in_dependency_order(queries: Sequence[Query]) -> list[Query]:
    ordered: list[Query] = []
    waiting = list(queries)
    while waiting:
        names = {q.name for q in waiting}
        ready = [q for q in waiting if not names & set(q.streams)]
        if not ready:
            raise ValueError(f"queries {sorted(names)} are defined in terms of each other")
        ordered += ready
        waiting = [q for q in waiting if q not in ready]
    return ordered
