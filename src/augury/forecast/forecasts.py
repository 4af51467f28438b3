"""Forecasts: events in their order in, a row for every partial match, or for the query, out.

After the events of one order, each partition to which one came has its rows. LEARN FROM has tables
that are made once; LEARN ONLINE has the counts of the moment, and makes them anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property

from augury.forecast.batch import Batch, Passing
from augury.forecast.edges import Edges, Move, Place, moves_of
from augury.forecast.followed import Partials, Wholes, follows
from augury.forecast.heard import Heard
from augury.forecast.hidden import Hidden, HiddenValues
from augury.forecast.hidden import advance as go_on
from augury.forecast.machine import Machine
from augury.forecast.model import Model, Seen
from augury.forecast.past import Condition, Life, Past, Read
from augury.forecast.setting import Partition, Row, Setting
from augury.forecast.standing import (
    Standing,
    StandingTables,
    StandingWholes,
    StandingWholeTables,
    stands,
)
from augury.forecast.tables import PartialTables, WholeTables
from augury.forecast.told import Told
from augury.forecast.values import EdgeValues, Moment, SymbolValues, World

# The events of one order, by partition.
Order = Mapping[Partition, Sequence[Read]]
Moves = list[tuple[Place, Move, float]]
Values = SymbolValues | EdgeValues | HiddenValues
# What one partition takes in Python, about.
LIFE_BYTES = 1_000


@dataclass
class Taught:
    """What a history teaches, and the tables of it, which all that learns no more can share.

    `hidden` is what goes on by itself, and is taught by nothing.
    """

    model: Model
    edges: Edges
    hidden: Hidden | None = None
    values: Values | None = None
    tables: WholeTables | PartialTables | None = None


@dataclass
class Lives:
    """Everything that goes on from event to event.

    `heard` has the chances of all events, where others' events matter. What lives is in
    `partitions`, or is `followed` as long as all events are certain.
    """

    model: Model
    edges: Edges
    heard: Heard
    values: Values | None = None
    partitions: dict[Partition, Life] = field(default_factory=dict)
    followed: Wholes | Partials | Standing | None = None

    @property
    def all(self) -> dict[Partition, Life]:
        """What lives, by partition."""
        return self.partitions if self.followed is None else self.followed.lives()

    @property
    def count(self) -> int:
        """How many partitions something lives in."""
        return len(self.partitions) if self.followed is None else self.followed.count

    @property
    def nbytes(self) -> int:
        """How many bytes that takes, about."""
        if self.followed is not None:
            return self.followed.nbytes
        return LIFE_BYTES * len(self.partitions)

    def bound(self) -> Iterable[int]:
        """Return the numbers of all events that are bound."""
        if self.followed is not None:
            return self.followed.bound()
        return {n for life in self.partitions.values() for items in life.partial for _, n in items}

    def drop(self, partition: Partition) -> None:
        """Let a partition go."""
        if self.followed is not None:
            self.followed.drop(partition)
        self.partitions.pop(partition, None)

    def read_one_by_one(self) -> None:
        """Follow no more: what may not have happened has to be weighed."""
        self.partitions, self.followed = self.all, None

    def go_on(self) -> None:
        """Follow what was put back, where all of it is certain."""
        if self.followed is None:
            return
        for life in self.partitions.values():
            weights = [list(worlds.values()) for worlds in life.partial.values()]
            weights += [list(life.whole.values())] if life.whole else []
            if any(own != [1.0] for own in weights):
                self.followed = None
                return
        self.followed.take_over(self.partitions)
        self.partitions = {}


@dataclass(frozen=True)
class Forecaster:
    """Makes the rows of one forecast; `conditions` are over several events.

    It `stands` where all events are of one partition, and only what claims enough is asked for.
    """

    setting: Setting
    conditions: tuple[Condition, ...] = ()
    stands: bool = False

    @cached_property
    def past(self) -> Past:
        return self.setting.past(self.conditions)

    @cached_property
    def future(self) -> Machine:
        return self.setting.future()

    @property
    def counts_alone(self) -> bool:
        """Whether all that a history teaches is which symbol followed which, and how fast."""
        own = self.setting
        return own.kind == "MARKOV" and not own.by_value and own.half_life is None

    def teach(self, history: Batch | Passing | None = None, hidden: Hidden | None = None) -> Taught:
        """Return what the events of a history teach, or what goes on by itself."""
        own, past, model = self.setting, self.past, self._new_model()
        taught = Taught(model, Edges(by_value=own.by_value), hidden)
        if isinstance(history, Passing):
            model.learn_passing(history)
            history = None
        elif history is not None and len(history) and self.counts_alone and history.is_certain:
            model.learn_at_once(history)
            history = None
        partitions: dict[Partition, Life] = {}
        for events in () if history is None else history.orders():
            for partition, own_events in events.items():
                moves: Moves = []
                if own.kind == "EDGES":
                    life = partitions.setdefault(partition, past.start())
                    moves = self._moves(life, own_events)
                    past.advance(life, own_events)
                self._learn(taught, partition, own_events, moves)
        model.begin()
        if not own.online:
            taught.values = self._values(taught)
        if follows(own) and isinstance(taught.values, SymbolValues):
            taught.tables = self._tables(taught.values)
        return taught

    def model_of(self, history: Batch) -> Model:
        """Return what the events of a history teach about symbols, and nothing else."""
        model = self._new_model()
        for events in history.orders():
            for partition, own in events.items():
                model.learn(partition, (Seen(e.symbol, e.time, e.p, e.value) for e in own))
        model.begin()
        return model

    def _new_model(self) -> Model:
        own = self.setting
        order = own.order if own.kind == "MARKOV" else 0
        return Model(order, own.smoothing, by_value=own.by_value, half_life=own.half_life)

    def _tables(self, values: SymbolValues) -> WholeTables | PartialTables:
        own = self.setting
        if self.stands and stands(own):
            if own.by_time:
                return StandingWholeTables(self.past, values)
            standing = StandingTables(self.past, values)
            standing.prepare()
            return standing
        return (WholeTables if own.by_time else PartialTables)(self.past, values)

    def start(self, taught: Taught) -> Lives:
        """Return what is known before any event of the stream."""
        if self.setting.online:
            taught = deepcopy(taught)
        heard = Heard((self.setting.window or 0) + 1 if self.setting.counts_events else 1)
        lives = Lives(taught.model, taught.edges, heard, taught.values)
        if isinstance(taught.tables, StandingWholeTables):
            lives.followed = StandingWholes(taught.tables)
        elif isinstance(taught.tables, StandingTables):
            lives.followed = Standing(taught.tables)
        elif isinstance(taught.tables, WholeTables):
            lives.followed = Wholes(taught.tables)
        elif taught.tables is not None:
            lives.followed = Partials(taught.tables)
        return lives

    def _learn(
        self,
        taught: Taught | Lives,
        partition: Partition,
        events: Sequence[Read],
        moves: Moves,
    ) -> None:
        if (factor := taught.model.fade_to(events[0].time)) != 1.0:
            taught.edges.scale(factor)
        taught.model.learn(partition, (Seen(e.symbol, e.time, e.p, e.value) for e in events))
        taught.edges.add(moves, events[-1].value, taught.model.unit)

    def _moves(self, life: Life, events: Sequence[Read]) -> Moves:
        self.past.expire(life, events[0].time)
        self.past.see(life, events)
        return moves_of(self.past, life, self.past.outcomes(events))

    # Events -----------------------------------------------------------------------------------

    def advance(self, lives: Lives, batch: Batch, least: float = 0.0) -> Told:
        """Read events; return the rows after each group of them.

        Those that claim no more than `least` may be left out.
        """
        if not len(batch):
            return Told.of([])
        if lives.followed is not None and batch.is_certain:
            return lives.followed.advance(batch, least)
        lives.read_one_by_one()
        return Told.of([row for order in batch.orders() for row in self._read(lives, order)])

    def _read(self, lives: Lives, order: Order) -> list[Row]:
        """Read the events of one order; return the rows of the partitions they are of."""
        found, taught = list[Row](), list[tuple[Partition, Sequence[Read], Moves]]()
        chances = [(p, event.p) for p, events in order.items() for event in events]
        for partition, events in order.items():
            life = self._life(lives, partition, len(chances))
            counts = self.setting.online and self.setting.kind == "EDGES"
            moves = self._moves(life, events) if counts else []
            others = [p for other, p in chances if other != partition]
            self._advance(lives, life, events, others if self.past.hears_others else ())
            if (factor := lives.model.fade_to(events[-1].time)) != 1.0:
                lives.edges.scale(factor)
            found += self._rows(lives, life, partition, events[-1])
            taught.append((partition, events, moves))
        if self.setting.online:
            for partition, events, moves in taught:
                self._learn(lives, partition, events, moves)
        if self.past.hears_others:
            lives.heard.add(p for _, p in chances)
        return found

    def _advance(
        self, lives: Lives, life: Life, events: Sequence[Read], others: Sequence[float]
    ) -> None:
        if isinstance(lives.values, HiddenValues):
            go_on(self.past, life, events, lives.values.hidden)
        else:
            self.past.advance(life, events, others)

    def _life(self, lives: Lives, partition: Partition, fresh: int) -> Life:
        """Return a partition that has heard of all events before those at hand."""
        life = lives.partitions.get(partition)
        if life is None:
            life = lives.partitions[partition] = self.past.start()
        if self.past.hears_others:
            # Since its own last event, all that came is of others.
            self.past.hear(life, lives.heard.since(life.since))
            life.since = lives.heard.following + fresh
        return life

    def _rows(self, lives: Lives, life: Life, partition: Partition, last: Read) -> Iterator[Row]:
        values, moment = (
            lives.values or self._values(lives),
            Moment(last.time, partition, last.value),
        )
        if self.setting.by_time:
            worlds = [(reading, context, w) for (reading, context), w in life.whole.items()]
            if self.conditions:
                # Only what is bound tells what fits; events are certain.
                tokens = [next(iter(own))[0] for own in life.partial.values()]
                waiting = (t for t in tokens if not self.past.machine.accepting[t.state])
                worlds = [(frozenset(waiting), (), 1.0)]
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

    def _values(self, taught: Taught | Lives) -> Values:
        """Return the values of what is known now."""
        own = self.setting
        if isinstance(taught, Taught) and taught.hidden is not None:
            return HiddenValues(own, taught.hidden, self.future)
        if own.kind == "EDGES":
            return EdgeValues(own, taught.model, taught.edges)
        return SymbolValues(own, taught.model, self.future)

    def forget(self, lives: Lives, time: int) -> None:
        """Let go what nothing can complete from a time on; partitions that are as new go, too."""
        if lives.followed is not None:
            lives.followed.forget(time)
        if self.past.order:
            return
        new = self.past.start()
        for partition, life in list(lives.partitions.items()):
            self.past.expire(life, time)
            if (life.partial, life.whole) == (new.partial, new.whole):
                del lives.partitions[partition]


def _told(found: tuple[float, float] | None) -> tuple[float | None, float | None]:
    """Return a forecast and its mean, or NULL for what is not known."""
    if found is None:
        return None, None
    forecast, mean = found
    return (min(forecast, 1.0), mean / forecast) if forecast > 0.0 else (0.0, None)
