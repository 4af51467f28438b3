"""The rows that a shard remembers, in numbered blocks: what is stored is what came and what went.

A block holds the rows of one step, those that wait and those that have had their turn alike, and
goes when its newest row is older than anything needed. So a step writes its own rows, however many
are remembered. Steps of few rows would make thousands of blocks: neighbours that are small are
joined, `TOGETHER` at a time, into one that counts as newer by a tier. A row is written once, and
once more for each tier: `SMALL` bytes are few, so that a step of thousands of rows is never joined,
and one of some hundred bytes is written three times.

Numbers grow with the order in which rows came, and joined blocks take the last of theirs, which has
not been stored yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import pyarrow as pa

from augury.evaluation.codec import Format
from augury.evaluation.encoding import whole
from augury.evaluation.packing import blob_of, rows_of
from augury.operator import NEVER_YET
from augury.records import Words

FORMAT = Format(b"AUGURYRB", 1)
SMALL, TOGETHER = 2**15, 16
Tables = Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Stored:
    """What is to be stored of a state since it was stored last: a head, and blocks by number."""

    head: bytes
    added: Mapping[int, bytes] = field(default_factory=dict)
    dropped: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """What all blocks of a shard share: columns and time of each stream, and whose they are."""

    schemas: Mapping[str, pa.Schema]
    times: Mapping[str, str]
    owner: str
    mark: bytes

    def written(self, block: Block) -> bytes:
        """Return a block as versioned bytes."""
        parts = {name: blob_of(rows) for name, rows in block.rows.items()}
        about = {"tier": block.tier, "parts": {name: len(part) for name, part in parts.items()}}
        head = json.dumps(about).encode()
        body = b"".join([len(head).to_bytes(4, "little"), head, *parts.values()])
        return FORMAT.seal(body, self.mark)

    def read(self, data: bytes) -> Block:
        """Return the block that `written` wrote for the same queries."""
        _, body = FORMAT.unseal(data, self.owner, self.mark)
        at = 4 + int.from_bytes(body[:4], "little")
        about = json.loads(body[4:at])
        rows, buffer = {}, pa.py_buffer(body)
        for name, size in about["parts"].items():
            rows[name] = rows_of([buffer.slice(at, size)], self.schemas[name])
            at += size
        return Block(rows, self.times, about["tier"])


@dataclass(frozen=True)
class Block:
    """Rows by stream, of those streams that have any."""

    rows: Tables
    times: Mapping[str, str]
    tier: int = 0

    @cached_property
    def size(self) -> int:
        """The bytes of the rows."""
        return sum(rows.nbytes for rows in self.rows.values())

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """The times of the oldest and the newest row of each stream."""
        times = {name: self.time(name) for name in self.rows}
        return {name: (int(time.min()), int(time.max())) for name, time in times.items()}

    @cached_property
    def newest(self) -> int:
        """The time of the newest row."""
        return max((newest for _, newest in self.spans.values()), default=NEVER_YET)

    def time(self, name: str) -> Words:
        """Return the times of a stream's rows."""
        return whole(self.rows[name].column(self.times[name]))

    def between(self, name: str, since: int, until: int) -> int:
        """Return how many rows of a stream lie in [since, until)."""
        oldest, newest = self.spans.get(name, (until, until))
        if oldest >= until or newest < since:
            return 0
        if oldest >= since and newest < until:
            return int(self.rows[name].num_rows)
        time = self.time(name)
        return int(((time >= since) & (time < until)).sum())


@dataclass
class RowBlocks:
    """The blocks of one shard, in the order in which their rows came."""

    kind: Kind
    blocks: dict[int, Block] = field(default_factory=dict)
    after: int = 0
    _stored: dict[int, Block] = field(default_factory=dict)

    @classmethod
    def load(cls, kind: Kind, stored: Mapping[int, bytes]) -> RowBlocks:
        """Return the blocks that were stored."""
        blocks = {number: kind.read(stored[number]) for number in sorted(stored)}
        return cls(kind, blocks, max(blocks, default=-1) + 1, dict(blocks))

    def add(self, rows: Tables) -> None:
        """Take the rows of a step in."""
        found = {name: table for name, table in rows.items() if table.num_rows}
        if found:
            self.blocks[self.after] = Block(found, self.kind.times)
            self.after += 1
            self._join()

    def drop_before(self, time: int) -> None:
        """Drop the blocks that have only rows before a time."""
        for number in [n for n, block in self.blocks.items() if block.newest < time]:
            del self.blocks[number]

    def keep_only(self, name: str, span: tuple[int, int], rows: pa.Table) -> None:
        """Keep, of a stream's rows in a span of time, some: others turned out to be bad.

        As a rule none did, and nothing is done. Otherwise the blocks that have rows in the span
        lose them, and the first of them gets those that are kept.
        """
        counts = {n: block.between(name, *span) for n, block in self.blocks.items()}
        if sum(counts.values()) == rows.num_rows:
            return
        for number in [n for n, count in counts.items() if count]:
            block = self.blocks[number]
            time = block.time(name)
            outside = block.rows[name].filter(pa.array((time < span[0]) | (time >= span[1])))
            left = pa.concat_tables([rows.select(outside.column_names), outside]).combine_chunks()
            others = {own: table for own, table in block.rows.items() if own != name}
            own = {name: left} if left.num_rows else {}
            self.blocks[number] = Block({**others, **own}, self.kind.times, block.tier)
            rows = rows.slice(0, 0)

    def rows(self, since: int = NEVER_YET) -> dict[str, pa.Table]:
        """Return the rows by stream from a time on, in the order in which they came."""
        return {name: self._rows(name, since) for name in self.kind.schemas}

    def _rows(self, name: str, since: int) -> pa.Table:
        held = [block.rows[name] for block in self.blocks.values() if name in block.rows]
        table = pa.concat_tables([self.kind.schemas[name].empty_table(), *held])
        if since == NEVER_YET:
            return table
        return table.filter(pa.array(whole(table.column(self.kind.times[name])) >= since))

    def changes(self) -> tuple[dict[int, bytes], tuple[int, ...]]:
        """Return the blocks that are new or other since the last call, and those that went."""
        added = {
            number: self.kind.written(block)
            for number, block in self.blocks.items()
            if self._stored.get(number) is not block
        }
        dropped = tuple(number for number in self._stored if number not in self.blocks)
        self._stored = dict(self.blocks)
        return added, dropped

    def written(self) -> dict[int, bytes]:
        """Return all blocks as bytes."""
        return {number: self.kind.written(block) for number, block in self.blocks.items()}

    def _join(self) -> None:
        """Join the newest blocks while there are enough of one tier that are small."""
        while (newest := list(self._joinable())) and len(newest) == TOGETHER:
            newest.reverse()
            for number, _ in newest:
                del self.blocks[number]
            number = newest[-1][0]
            self.blocks[number] = self._joined([block for _, block in newest])

    def _joinable(self) -> Iterator[tuple[int, Block]]:
        """Yield the newest blocks, backwards, as long as they are small and of the newest tier."""
        tier = None
        for number, block in islice(reversed(self.blocks.items()), TOGETHER):
            tier = block.tier if tier is None else tier
            if block.tier != tier or block.size >= SMALL:
                return
            yield number, block

    def _joined(self, blocks: Sequence[Block]) -> Block:
        tables = {
            name: pa.concat_tables(
                [block.rows[name] for block in blocks if name in block.rows]
            ).combine_chunks()
            for name in sorted({name for block in blocks for name in block.rows})
        }
        return Block(tables, self.kind.times, blocks[0].tier + 1)
