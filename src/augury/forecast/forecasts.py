"""Forecasts: events in their order in, a row for every partial match, or for the query, out.

After the events of one order, each partition to which one came has its rows. LEARN FROM has tables
that are made once; LEARN ONLINE has the counts of the moment, and makes them anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from augury.forecast.edges import Edges, Move, Place, moves_of
from augury.forecast.machine import Machine
from augury.forecast.model import Model, Seen
from augury.forecast.past import Life, Past, Read
from augury.forecast.setting import Partition, Row, Setting
from augury.forecast.values import EdgeValues, Moment, SymbolValues, World

# The events of one order, by partition.
Order = Mapping[Partition, Sequence[Read]]
Moves = list[tuple[Place, Move, float]]


@dataclass
class Lives:
    """Everything that goes on from event to event.

    `heard` has the chances of all events with their partitions, where others' events matter.
    """

    model: Model
    edges: Edges
    partitions: dict[Partition, Life] = field(default_factory=dict)
    heard: list[tuple[Partition, float]] = field(default_factory=list)
    values: SymbolValues | EdgeValues | None = None


@dataclass(frozen=True)
class Forecaster:
    """Makes the rows of one forecast."""

    setting: Setting

    @cached_property
    def past(self) -> Past:
        return self.setting.past()

    @cached_property
    def future(self) -> Machine:
        return self.setting.future()

    def start(self, history: Iterable[Order] = ()) -> Lives:
        """Return what is known before any event of the stream: what a history teaches."""
        own, past = self.setting, self.past
        order = own.order if own.kind == "MARKOV" else 0
        model = Model(order, own.smoothing, by_value=own.by_value)
        lives = Lives(model, Edges(by_value=own.by_value))
        partitions: dict[Partition, Life] = {}
        for events in history:
            for partition, own_events in events.items():
                moves: Moves = []
                if own.kind == "EDGES":
                    life = partitions.setdefault(partition, past.start())
                    moves = self._moves(life, own_events)
                    past.advance(life, own_events)
                self._learn(lives, partition, own_events, moves)
        model.begin()
        return lives

    def _learn(
        self, lives: Lives, partition: Partition, events: Sequence[Read], moves: Moves
    ) -> None:
        lives.model.learn(partition, (Seen(e.symbol, e.time, e.p, e.value) for e in events))
        lives.edges.add(moves, events[-1].value)

    def _moves(self, life: Life, events: Sequence[Read]) -> Moves:
        self.past.expire(life, events[0].time)
        return moves_of(self.past, life, self.past.outcomes(events))

    # Events -----------------------------------------------------------------------------------

    def advance(self, lives: Lives, order: Order) -> list[Row]:
        """Read the events of one order; return the rows of the partitions they are of."""
        found, taught = list[Row](), list[tuple[Partition, Sequence[Read], Moves]]()
        chances = [(p, event.p) for p, events in order.items() for event in events]
        for partition, events in order.items():
            life = self._life(lives, partition, len(chances))
            counts = self.setting.online and self.setting.kind == "EDGES"
            moves = self._moves(life, events) if counts else []
            others = [p for other, p in chances if other != partition]
            self.past.advance(life, events, others if self.past.hears_others else ())
            found += self._rows(lives, life, partition, events[-1])
            taught.append((partition, events, moves))
        if self.setting.online:
            for partition, events, moves in taught:
                self._learn(lives, partition, events, moves)
        if self.past.hears_others:
            lives.heard += chances
        return found

    def _life(self, lives: Lives, partition: Partition, fresh: int) -> Life:
        """Return a partition that has heard of all events before those at hand."""
        life = lives.partitions.get(partition)
        if life is None:
            life = lives.partitions[partition] = self.past.start()
        if self.past.hears_others:
            heard = lives.heard[life.since :]
            self.past.hear(life, [p for other, p in heard if other != partition])
            life.since = len(lives.heard) + fresh
        return life

    def _rows(self, lives: Lives, life: Life, partition: Partition, last: Read) -> Iterator[Row]:
        values, moment = self._values(lives), Moment(last.time, partition, last.value)
        if self.setting.by_time:
            worlds = [(reading, context, w) for (reading, context), w in life.whole.items()]
            found = values.value(moment, worlds)
            yield Row(partition, last.time, last.number, (), 1.0, *_told(found))
            return
        for bound, own in life.partial.items():
            if not bound or self.past.machine.accepting[next(iter(own))[0].state]:
                continue
            listed: list[World] = [(frozenset([t]), context, w) for (t, context), w in own.items()]
            forecast, expected = _told(values.value(moment, listed))
            if forecast:
                confidence = sum(weight for _, _, weight in listed)
                yield Row(partition, last.time, last.number, bound, confidence, forecast, expected)

    def _values(self, lives: Lives) -> SymbolValues | EdgeValues:
        """Return the values of the moment; tables are kept where nothing is learned on the way."""
        if lives.values is None or self.setting.online:
            own = self.setting
            lives.values = (
                EdgeValues(own, lives.model, lives.edges)
                if own.kind == "EDGES"
                else SymbolValues(own, lives.model, self.future)
            )
        return lives.values


def _told(found: tuple[float, float] | None) -> tuple[float | None, float | None]:
    """Return a forecast and its mean, or NULL for what is not known."""
    if found is None:
        return None, None
    forecast, mean = found
    return (min(forecast, 1.0), mean / forecast) if forecast > 0.0 else (0.0, None)
