"""The sequential reference of rules: one moment after another, tables copied whole.

A script is a few plain records here, and `text_of` writes it as the language has it. Matches are
found by trying every combination of events. Nothing is shared with the engine; only the names of
matches, by which firings of one moment are ordered, are told to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import inf
from typing import Any, Literal

Table = list[list[Any]]
Tables = dict[str, Table]


@dataclass(frozen=True)
class Event:
    """An event of one of two streams."""

    stream: int
    id: int
    kind: str
    worker: str
    t: int
    seq: int
    p: float = 1.0


@dataclass(frozen=True)
class Ask:
    """A condition on tables: about the worker `who` of a match, or about all rows."""

    kind: Literal["is", "null", "fewer", "in", "two"]
    value: str = ""
    number: int = 0


@dataclass(frozen=True)
class Query:
    """A sequence of kinds of one worker's events in one stream; `!` in front of a kind negates.

    Stream 2 is both together. Of a `run`, which is contiguous, the last kind may repeat (`B+`, or
    `B{1,2}`); its events have orders of their own.
    """

    name: str
    stream: int
    parts: tuple[str, ...]
    within: int
    next: bool = False
    ask: Ask | None = None
    run: Literal["", "STRICT", "PARTITION CONTIGUITY"] = ""


@dataclass(frozen=True)
class Act:
    """A change of table `status` (worker, colour; by worker), or of the bag `log` (worker)."""

    kind: Literal["set", "set all", "turn", "add", "keep", "merge", "swap", "drop", "clear", "log"]
    value: str = ""


@dataclass(frozen=True)
class Rule:
    """What is done for each match that passes; `least` is the confidence that it needs."""

    name: str
    query: str
    acts: tuple[Act, ...]
    ask: Ask | None = None
    least: float | None = None
    rejects: bool = False


@dataclass(frozen=True)
class Script:
    """Queries and rules over two streams; `status` is what the table holds at the start."""

    ordered: bool
    uncertain: bool
    queries: tuple[Query, ...]
    rules: tuple[Rule, ...]
    status: tuple[tuple[str, str | None], ...]


# As text -----------------------------------------------------------------------------------------


def text_of(script: Script) -> str:
    order = " ORDER BY seq" if script.ordered else ""
    sure = " PROBABILITY p" if script.uncertain else ""
    lines = [
        f"CREATE STREAM s{k} (id LONG, kind STRING, worker STRING, t LONG, seq LONG, p DOUBLE) "
        f"ID id KEY worker TIME t{order} TYPE kind{sure};"
        for k in range(2)
    ]
    lines += [
        "CREATE TABLE status (worker STRING, colour STRING) KEY worker;",
        "CREATE TABLE log (worker STRING);",
    ]
    lines += map(_query_text, script.queries)
    lines += map(rule_text, script.rules)
    if script.rules:
        # A rule that never acts: both tables are such as rules write.
        lines.append(
            f"CREATE RULE never ON {script.queries[0].name} WHEN new.confidence < 0.0 "
            "BEGIN DELETE FROM status; DELETE FROM log; END;"
        )
    return "\n".join(lines)


def _query_text(query: Query) -> str:
    parts = [f"{part} c{k}" for k, part in enumerate(query.parts)]
    first = next(k for k, part in enumerate(query.parts) if part[0] != "!")
    who = f"c{first}[1].worker" if len(query.parts[first]) > 1 else f"c{first}.worker"
    ask = "" if query.ask is None else f" AND {_ask_text(query.ask, who)}"
    using = " USING SKIP TILL NEXT MATCH" if query.next else ""
    using = f" USING {query.run}" if query.run else using
    on = "s0, s1" if query.stream == 2 else f"s{query.stream}"
    return (
        f"CREATE QUERY {query.name} ON {on} PATTERN SEQ({', '.join(parts)}) "
        f"WHERE [worker]{ask}{using} WITHIN {query.within} RETURN {who} AS who;"
    )


def _ask_text(ask: Ask, who: str) -> str:
    own = f"(SELECT colour FROM status WHERE worker = {who})"
    return {
        "is": f"{own} = '{ask.value}'",
        "null": f"{own} IS NULL",
        "fewer": f"(SELECT COUNT(*) FROM log WHERE worker = {who}) < {ask.number}",
        "in": f"{who} IN log",
        "two": f"(SELECT worker FROM status WHERE colour = '{ask.value}') = {who}",
    }[ask.kind]


def rule_text(rule: Rule, how: str = "CREATE") -> str:
    """Return a rule as the language has it; `how` may be CREATE OR REPLACE."""
    asks = [] if rule.ask is None else [_ask_text(rule.ask, "hit.who")]
    asks += [] if rule.least is None else [f"hit.confidence >= {rule.least!r}"]
    when = f" WHEN {' AND '.join(asks)}" if asks else ""
    reject = " ON ERROR REJECT" if rule.rejects else ""
    acts = " ".join(f"{_act_text(act)};" for act in rule.acts)
    return (
        f"{how} RULE {rule.name} ON OUTPUT {rule.query} REFERENCING NEW AS hit{when}{reject} "
        f"BEGIN {acts} END;"
    )


def _act_text(act: Act) -> str:
    new = f"INSERT INTO status VALUES (hit.who, '{act.value}')"
    return {
        "set": f"UPDATE status SET colour = '{act.value}' WHERE worker = hit.who",
        "set all": f"UPDATE status SET colour = '{act.value}'",
        "turn": f"UPDATE status SET colour = colour || '{act.value}' WHERE colour < '{act.value}'",
        "add": new,
        "keep": f"{new} ON CONFLICT DO NOTHING",
        "merge": f"{new} ON CONFLICT DO UPDATE SET colour = colour || excluded.colour",
        "swap": f"{new} ON CONFLICT DO UPDATE",
        "drop": "DELETE FROM status WHERE worker = hit.who",
        "clear": f"DELETE FROM log WHERE worker = '{act.value}'",
        "log": "INSERT INTO log VALUES (hit.who)",
    }[act.kind]


# Matches -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """Events by component; negated ones have none."""

    query: str
    events: tuple[Event | None, ...]
    moment: tuple[Any, ...]
    confidence: float

    @property
    def own(self) -> list[Event]:
        return [event for event in self.events if event is not None]

    @property
    def who(self) -> str:
        return self.own[0].worker

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(event.id for event in self.own)


def matches_of(query: Query, events: list[Event], ordered: bool) -> Iterator[Match]:
    def place(event: Event) -> tuple[int, int]:
        return event.t, event.seq if ordered else 0

    def is_before(a: Event, b: Event) -> bool:
        return a.t < b.t or (a.stream == b.stream and place(a) < place(b))

    if query.run:
        yield from _runs(query, events)
        return
    stream = [event for event in events if query.stream in (event.stream, 2)]
    positive = [k for k, part in enumerate(query.parts) if part[0] != "!"]
    fits = [[e for e in stream if e.kind == query.parts[k]] for k in positive]
    for chosen in product(*fits):
        same = len({event.worker for event in chosen}) == 1
        rising = all(is_before(a, b) for a, b in pairwise(chosen))
        if not (same and rising and chosen[-1].t - chosen[0].t <= query.within):
            continue
        if query.next and not _is_next(chosen, fits, place):
            continue
        sure = _certainty(query, positive, chosen, stream, is_before)
        if sure <= 0.0:
            continue
        taken: list[Event | None] = [None] * len(query.parts)
        for k, event in zip(positive, chosen, strict=True):
            taken[k] = event
        last = chosen[-1]
        moment: tuple[Any, ...] = (last.t, 0, last.stream, last.seq if ordered else 0)
        if query.parts[-1][0] == "!":
            moment = (chosen[0].t + query.within, 1, 0, 0)
        yield Match(query.name, tuple(taken), moment, sure)


def _is_next(chosen: Any, fits: list[list[Event]], place: Callable[[Event], Any]) -> bool:
    """Whether each event after the first is among the earliest that fit after the one before."""
    for before, event, candidates in zip(chosen, chosen[1:], fits[1:], strict=False):
        later = [
            place(e) for e in candidates if e.worker == before.worker and place(e) > place(before)
        ]
        if place(event) != min(later):
            return False
    return True


def _runs(query: Query, events: list[Event]) -> Iterator[Match]:
    """Yield the runs of neighbours, world by world."""
    stream = sorted((e for e in events if e.stream == query.stream), key=lambda e: (e.t, e.seq))
    weights: dict[tuple[Event, ...], float] = {}
    for there in product([True, False], repeat=len(stream)):
        weight = 1.0
        for event, is_there in zip(stream, there, strict=True):
            weight *= event.p if is_there else 1.0 - event.p
        world = [event for event, is_there in zip(stream, there, strict=True) if is_there]
        for start in world if weight > 0.0 else []:
            run = _run_from(query, start, world)
            if run:
                weights[run] = weights.get(run, 0.0) + weight
    for run, weight in weights.items():
        yield Match(query.name, run, _end_of_run(query, run, stream), weight)


def _needed(query: Query) -> tuple[list[str], int]:
    """Return the kinds that a run needs, one after the other, and the most that it may take."""
    last = query.parts[-1]
    most = 1 if len(last) == 1 else 99 if last.endswith("+") else int(last[-2])
    return [part[0] for part in query.parts], len(query.parts) - 1 + most


def _pool(query: Query, start: Event, events: list[Event]) -> list[Event]:
    """Return the events among which a run goes on, in order."""
    inside = [e for e in events if (e.t, e.seq) > (start.t, start.seq)]
    inside = [e for e in inside if e.t <= start.t + query.within]
    return inside if query.run == "STRICT" else [e for e in inside if e.worker == start.worker]


def _run_from(query: Query, start: Event, world: list[Event]) -> tuple[Event, ...]:
    kinds, most = _needed(query)
    if start.kind != kinds[0]:
        return ()
    run = [start]
    for event in _pool(query, start, world):
        wanted = kinds[min(len(run), len(kinds) - 1)]
        if len(run) == most or event.kind != wanted or event.worker != start.worker:
            break
        run.append(event)
    return tuple(run) if len(run) >= len(kinds) else ()


def _end_of_run(query: Query, run: tuple[Event, ...], stream: list[Event]) -> tuple[Any, ...]:
    """Return the place of the first event after which the run is open in no world."""
    last = run[-1]
    if len(run) == _needed(query)[1]:
        return (last.t, 0, last.stream, last.seq)
    later = [e for e in _pool(query, run[0], stream) if (e.t, e.seq) > (last.t, last.seq)]
    for k, event in enumerate(later):
        worlds = product(*((True,) if e.p >= 1.0 else (True, False) for e in later[: k + 1]))
        if all(any(world) for world in worlds):
            return (event.t, 0, event.stream, event.seq)
    return (run[0].t + query.within, 1, 0, 0)


def _certainty(
    query: Query, positive: list[int], chosen: Any, stream: list[Event], is_before: Any
) -> float:
    sure = 1.0
    for event in chosen:
        sure *= event.p
    for k, part in enumerate(query.parts):
        if part[0] != "!":
            continue
        before = max(j for j in positive if j < k)
        after = min((j for j in positive if j > k), default=None)
        start = chosen[positive.index(before)]
        for event in stream:
            same = event.kind == part[1:] and event.worker == start.worker
            if after is None:
                inside = is_before(start, event) and event.t <= chosen[0].t + query.within
            else:
                end = chosen[positive.index(after)]
                inside = is_before(start, event) and is_before(event, end)
            if same and inside:
                sure *= 1.0 - event.p
    return sure


# The order of the world --------------------------------------------------------------------------


class ImpossibleError(Exception):
    """What cannot be done."""


@dataclass
class Outcome:
    """What came of a script, up to the moment `reached`; `stopped` is when one could not be done.

    `counts` are the changes of each key so far.
    """

    tables: Tables
    passed: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    firings: list[tuple[str, tuple[int, ...], int, int]] = field(default_factory=list)
    changes: list[tuple[str, int, int, str, tuple[Any, ...]]] = field(default_factory=list)
    rejected: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    reads: list[tuple[str, int, str, Any]] = field(default_factory=list)
    stopped: int | None = None
    reached: tuple[Any, ...] = ()
    counts: dict[tuple[str, Any], int] = field(default_factory=dict)


def answer(ask: Ask, who: str, tables: Tables, note: Callable[[str, Any], None]) -> bool | None:
    status, log = tables["status"], tables["log"]
    if ask.kind == "fewer":
        count = len([row for row in log if row[0] == who])
        note("log", count)
        return count < ask.number
    if ask.kind == "in":
        found = any(row[0] == who for row in log)
        note("log", found)
        return found
    if ask.kind == "two":
        values = [row[0] for row in status if row[1] == ask.value]
    else:
        values = [row[1] for row in status if row[0] == who]
    if len(values) > 1:
        raise ImpossibleError
    value = values[0] if values else None
    note("status", value)
    if ask.kind == "null":
        return value is None
    return None if value is None else value == (who if ask.kind == "two" else ask.value)


def reference(script: Script, events: list[Event], ids: Callable[[str, Any], str]) -> Outcome:
    """Return what comes of a script; `ids` tells what a match is called."""
    return gone_on(begun(script), script, events, ids)


def begun(script: Script) -> Outcome:
    """Return what there is before the first moment."""
    return Outcome({"status": [list(row) for row in script.status], "log": []})


def gone_on(
    outcome: Outcome,
    script: Script,
    events: list[Event],
    ids: Callable[[str, Any], str],
    before: float = inf,
) -> Outcome:
    """Return what comes of the moments after those that were reached, before a time."""
    outcome = replace(deepcopy(outcome), stopped=None)
    found = [m for q in script.queries for m in matches_of(q, events, script.ordered)]
    later = {m.moment for m in found if m.moment > outcome.reached and m.moment[0] < before}
    for moment in sorted(later):
        so_far = deepcopy(outcome)
        own = [match for match in found if match.moment == moment]
        try:
            _moment(script, outcome, own, outcome.counts, ids)
        except ImpossibleError:
            return replace(so_far, stopped=moment[0], reads=outcome.reads)
        outcome.reached = moment
    return outcome


def _moment(
    script: Script, outcome: Outcome, own: list[Match], counts: dict[Any, int], ids: Any
) -> None:
    def note_by(reader: str, match: Match) -> Callable[[str, Any], None]:
        return lambda table, value: outcome.reads.append((reader, match.moment[0], table, value))

    asks = {query.name: query.ask for query in script.queries}
    passed = []
    for match in own:
        ask = asks[match.query]
        if ask is None or answer(ask, match.who, outcome.tables, note_by(match.query, match)):
            passed.append(match)
    due = []
    for rule in script.rules:
        listening = [match for match in passed if match.query == rule.query]
        if len(listening) > 1:
            listening.sort(key=lambda m: (m.own[0].t, ids(m.query, m.ids)))
        for match in listening:
            try:
                if _fires(rule, match, outcome.tables, note_by(rule.name, match)):
                    due.append((rule, match))
            except ImpossibleError:
                if not rule.rejects:
                    raise
                outcome.rejected.append((rule.name, match.ids))
    outcome.passed += [(match.query, match.ids) for match in passed]
    for rule, match in due:
        tried, numbers = deepcopy(outcome.tables), dict(counts)
        done: list[tuple[str, int, int, str, tuple[Any, ...]]] = []
        try:
            for act in rule.acts:
                _act(act, match, tried, numbers, done)
        except ImpossibleError:
            if not rule.rejects:
                raise
            outcome.rejected.append((rule.name, match.ids))
            continue
        outcome.tables = tried
        counts.update(numbers)
        outcome.changes += done
        outcome.firings.append((rule.name, match.ids, match.moment[0], len(done)))


def _fires(rule: Rule, match: Match, tables: Tables, note: Any) -> bool:
    holds = rule.ask is None or answer(rule.ask, match.who, tables, note) is True
    return holds and (rule.least is None or match.confidence >= rule.least - 1e-9)


def _act(act: Act, match: Match, tables: Tables, counts: dict[Any, int], done: list[Any]) -> None:
    def changed(table: str, how: str, row: list[Any]) -> None:
        key = (table, row[0] if table == "status" else None)
        counts[key] = counts.get(key, 0) + 1
        done.append((table, match.moment[0], counts[key], how, tuple(row)))

    if act.kind in ("set", "set all", "turn"):
        _update(act, match.who, tables["status"], changed)
    elif act.kind in ("add", "keep", "merge", "swap"):
        _insert(act, match.who, tables["status"], changed)
    elif act.kind == "log":
        tables["log"].append([match.who])
        changed("log", "INSERT", tables["log"][-1])
    else:
        name, who = ("status", match.who) if act.kind == "drop" else ("log", act.value)
        for row in [row for row in tables[name] if row[0] == who]:
            tables[name].remove(row)
            changed(name, "DELETE", row)


def _update(act: Act, who: str, status: Table, changed: Callable[..., None]) -> None:
    for row in status:
        new: Any = act.value
        if act.kind == "turn":
            if row[1] is None or not row[1] < act.value:
                continue
            new = row[1] + act.value
        if (act.kind != "set" or row[0] == who) and row[1] != new:
            row[1] = new
            changed("status", "UPDATE", row)


def _insert(act: Act, who: str, status: Table, changed: Callable[..., None]) -> None:
    there = [row for row in status if row[0] == who]
    if not there:
        status.append([who, act.value])
        changed("status", "INSERT", status[-1])
    elif act.kind == "add":
        raise ImpossibleError
    elif act.kind != "keep":
        old = there[0][1]
        merged = None if old is None else old + act.value
        new = merged if act.kind == "merge" else act.value
        if new != old:
            there[0][1] = new
            changed("status", "UPDATE", there[0])
