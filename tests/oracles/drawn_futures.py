"""Forecasts by enumeration of what may be drawn: every past, and every run of events of a history.

An event to come is one of the history: its symbol as the model has it, and of those with that
symbol any, as likely as it was. It keeps its attributes but for what the query equates, and its
time. Matches are those of `selection`, as in `forecasts`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from oracles.forecasts import Answer, Ask, Part, Symbol, _Enumeration, _Sum, worlds
from oracles.model import Event
from oracles.plan import can_finish, prepare


class Drawn(NamedTuple):
    """A symbol, and the event that stands for it."""

    symbol: Symbol
    event: Event


class _Drawing(_Enumeration):
    def chances(self, context: tuple[Any, ...]) -> dict[Any, float]:
        plain = tuple(s.symbol if isinstance(s, Drawn) else s for s in context)
        found: dict[Any, float] = {}
        for symbol, chance in super().chances(plain).items():
            alike = [e for e in self.lessons[0] if self.symbol(e.type) == symbol and e.p > 0]
            total = sum(e.p for e in alike)
            for event in alike:
                found[Drawn(symbol, event)] = chance * event.p / total
        return found

    def _event(self, number: int, time: Any, symbol: Any) -> Event:
        if not isinstance(symbol, Drawn):
            return super()._event(number, time, symbol)
        equated = {name: self.last.attrs.get(name) for name in self.ask.query.equate}
        attrs = {**symbol.event.attrs, **equated}
        return Event(f"future {number}", time, symbol.event.type, attrs=attrs, key=self.last.key)

    def _is_complete(self, part: Part) -> bool:
        by_id = {e.id: e for e in self.stream}
        bound = {name: tuple(by_id[i] for i in ids) for name, ids in part}
        return can_finish(self.plan, self.plan.root, bound)


def drawn(ask: Ask, history: Sequence[Event], stream: Sequence[Event]) -> Answer:
    """Return what is told after the last events; of partial matches, confidences are left out."""
    every = _Drawing(ask, prepare(ask.query), history, stream)
    whole, partial = _Sum(), dict[Part, _Sum]()
    for weight, seen in worlds(every.stream):
        for chance, first in every._firsts(seen):
            for part, (share, step) in first.items():
                own = whole if part is None else partial.setdefault(part, _Sum())
                own.add(weight * chance * share, step)
    return Answer(whole.told, {p: (1.0, *own.told) for p, own in partial.items() if own.total > 0})


def played(ask: Ask, history: Sequence[Event], stream: Sequence[Event], times: int) -> float:
    """Return in which share of futures with Poisson arrivals some match completes in time.

    They are played one by one, for horizons in time whatever the window.
    """
    every, draw = _Drawing(ask, prepare(ask.query), history, stream), random.Random("played")
    gap, symbols = every.gap, [every.symbol(e.type) for e in every.stream]
    assert gap is not None
    hits = 0
    for _ in range(times):
        context: tuple[Any, ...] = tuple(symbols[len(symbols) - ask.order :]) if ask.order else ()
        future, now = list[tuple[int, Event]](), float(every.last.ts)
        while (now := now + draw.expovariate(1 / float(gap))) <= every.last.ts + ask.length:
            ways = every.chances(context)
            (way,) = draw.choices(list(ways), list(ways.values()))
            context = (*context, way)[len(context) + 1 - ask.order :] if ask.order else ()
            future.append((1, every._event(len(future), now, way)))
        hits += any(True for _ in every._completions(every.stream, future))
    return hits / times


def with_time(event: Event) -> Event:
    """Return an event whose time is an attribute, too."""
    return replace(event, attrs={**event.attrs, "t": event.ts})
