"""Which way the queries of a pipeline are moved, where time cuts them.

A query takes the way that OPTIONS asks for. Otherwise, where its streams were analysed, queries
over the same streams take together what costs less; and where they were not, temporal results,
which move no row that nobody needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from augury.evaluation.network import Network
from augury.evaluation.packing import blob_of
from augury.evaluation.sharding import Sharding, sharding_of
from augury.evaluation.travelling import travelling
from augury.planning.distribution.layout import Movement, Moving, Sketch, Sketches
from augury.planning.distribution.movement import (
    Price,
    Priced,
    Size,
    asked_movement,
    cheaper,
    joint,
    price,
    price_query,
)
from augury.planning.physical import plan_query

# A text column has an offset before each value.
_OFFSET_BYTES = 4
# What stands for the ID of a row without one.
_HASH_BYTES = 16.0
# Rows that are packed to see what every blob takes besides its rows.
_SAMPLE = 8


@dataclass(frozen=True)
class Movements:
    """The ways of the queries of a network; `sketches` has what is known of streams, by query."""

    network: Network
    parts: int
    bounded: bool
    sketches: Mapping[str, Sketches]

    def shardings(self) -> dict[str, Sharding]:
        """Return how each query is cut and moved."""
        found = {name: self._sharding(name) for name in self.network.names}
        cut = [name for name, sharding in found.items() if sharding.moving is not None]
        free = [name for name in cut if asked_movement(self.network.queries[name]) is None]
        for group in self.over_one_window([name for name in free if name in self.sketches]):
            if self.chosen(group) == "events":
                found |= {name: self._moved(found[name], "events") for name in group}
        for group in self.over_one_window([n for n in cut if _moves_events(found[n])]):
            widest = _widest([found[name].moving for name in group])
            found |= {name: replace(found[name], moving=widest) for name in group}
        return found

    def grouped(self, names: Sequence[str], movement: Movement) -> list[list[str]]:
        """Return the queries that share what is moved: events are moved once for all."""
        return self.over_one_window(names) if movement == "events" else [[name] for name in names]

    def over_one_window(self, names: Sequence[str]) -> list[list[str]]:
        """Return the queries in groups, each of those that read one set of streams."""
        groups: dict[frozenset[str], list[str]] = {}
        for name in names:
            streams = frozenset(s.name.lower() for s in self.network.queries[name].streams)
            groups.setdefault(streams, []).append(name)
        return list(groups.values())

    def chosen(self, names: Sequence[str]) -> Movement:
        """Return what costs less for queries over one window."""
        return cheaper(*(self.price(names, each) for each in ("events", "results")))

    def price(self, names: Sequence[str], movement: Movement) -> Price:
        """Return what queries over one window move: events once for all, results for each."""
        if movement == "results":
            alone = [self._price([name], movement) for name in names]
            return sum(alone[1:], alone[0])
        return self._price(names, movement)

    def priced(self, name: str) -> Priced:
        """Return the prices of both ways for one query."""
        query, sketches = self.network.queries[name], self.sketches[name]
        cut = plan_query(query, self.network.catalog).partitioning
        sizes = row_sizes(self.network.only([name]), sketches)
        return price_query(query, cut, sketches, sizes, self.parts)

    def _price(self, names: Sequence[str], movement: Movement) -> Price:
        sketches = joint([self.sketches[name] for name in names])
        shardings = [self._moved(self._sharding(name), movement).moving for name in names]
        moving = _widest(shardings)
        sizes = row_sizes(self.network.only(names), sketches)
        return price(moving, moving.layout(sketches), sketches, sizes)

    def _sharding(self, name: str) -> Sharding:
        return sharding_of(self.network.only([name]), bounded=self.bounded, parts=self.parts)

    @staticmethod
    def _moved(sharding: Sharding, movement: Movement) -> Sharding:
        assert sharding.moving is not None
        return replace(sharding, moving=replace(sharding.moving, movement=movement))


def _moves_events(sharding: Sharding) -> bool:
    return sharding.moving is not None and sharding.moving.movement == "events"


def _widest(movings: Sequence[Moving | None]) -> Moving:
    """Return a way that takes all that any of some ways takes."""
    known = [moving for moving in movings if moving is not None]
    return Moving(
        known[0].movement,
        max(each.lookback for each in known),
        max(each.lookahead for each in known),
        max(each.parts for each in known),
        max(each.least for each in known),
        all(each.exactly for each in known),
    )


def row_sizes(network: Network, sketches: Sketches) -> dict[str, Size]:
    """Return the bytes that a row of each stream takes when it is packed."""
    return {
        name: _size(travelling(network, stream), sketches[name])
        for name, stream in network.bases.items()
    }


def _size(schema: pa.Schema, sketch: Sketch) -> Size:
    lengths = dict(sketch.text)
    fixed = sum(_fixed_bytes(field.type) for field in schema)
    text = [field.name for field in schema if pa.types.is_string(field.type)]
    row = fixed + sum(lengths.get(name, _HASH_BYTES) or 0.0 for name in text)
    sample = pa.table([_plain(field.type) for field in schema], schema=schema)
    return Size(row, len(blob_of(sample)) - _SAMPLE * fixed)


def _fixed_bytes(kind: pa.DataType) -> float:
    return _OFFSET_BYTES if pa.types.is_string(kind) else kind.bit_width / 8


def _plain(kind: pa.DataType) -> pa.Array:
    """Return some values of which nothing is NULL, of no length where they are text."""
    zeros = pa.py_buffer(bytes(8 * (_SAMPLE + 1)))
    return pa.Array.from_buffers(
        kind, _SAMPLE, [None, zeros, *([pa.py_buffer(b"")] if pa.types.is_string(kind) else [])]
    )
