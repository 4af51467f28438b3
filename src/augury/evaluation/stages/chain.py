"""The stage of probabilities by time that are carried along chains, beside other stages.

Where chains are all there is, a shard of their own carries them (`probability/chain_shard.py`);
where rules act on what they say, they go on here, and keep no rows either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from augury.evaluation.answers.answers import Answers
from augury.evaluation.network import Network
from augury.evaluation.probability.chain_shard import ChainShard, ChainState
from augury.evaluation.stream_rows import StreamRows


@dataclass(frozen=True)
class ChainStage:
    """Carries the chains of one query; obeys `augury.operator`."""

    network: Network

    @cached_property
    def shard(self) -> ChainShard:
        """What carries them."""
        return ChainShard(self.network)

    @property
    def revises(self) -> bool:
        """A probability is told once."""
        return False

    def start(self, since: int) -> ChainState:
        """Return the state before any row."""
        return replace(self.shard.start(), horizon=since)

    def advance(
        self, state: ChainState, batch: Mapping[str, StreamRows], horizon: int
    ) -> tuple[ChainState, Answers]:
        """Take new rows in; report what is known once all rows before `horizon` are there."""
        own = {
            name: batch[name].table.select(schema.names).cast(schema)
            for name, schema in self.shard.schemas.items()
        }
        return self.shard.advance(state, own, horizon)

    def due(self, state: ChainState) -> int | None:
        """Return at which horizon there may be something to report."""
        return self.shard.due(state)

    def oldest(self, state: ChainState, horizon: int) -> int:
        """Return the horizon: what matters of rows is in the state."""
        return horizon

    def dump(self, state: ChainState) -> bytes:
        """Return the whole state as bytes."""
        return self.shard.dump(state)

    def restore(
        self, batch: Mapping[str, StreamRows], reported: int, own: bytes = b""
    ) -> ChainState:
        """Return the state that `dump` gave; it is made of no rows."""
        return self.shard.load(own) if own else self.start(reported)
