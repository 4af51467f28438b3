"""A live query that asks for probabilities by time: the shard of chains over pushed rows.

Rows wait here until the watermark has passed them; then they are carried, and forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.errors import DataError
from augury.evaluation.network import Network
from augury.evaluation.probability.chain_shard import ChainShard
from augury.evaluation.probability.streamable import refuse_uncarried
from augury.evaluation.stream_rows import EVENT_ID
from augury.matching.matcher import ALWAYS
from augury.sources.intake import Arrival, Values, stored
from augury.sources.rows import ARROW_TYPES, REASON

Aside = Mapping[str, list[tuple[Values, str]]]


class LiveChains:
    """One query; `aside` are the entrances' lists of rejected rows, by stream in lower case."""

    memory = 0

    def __init__(self, query: CheckedQuery, catalog: Catalog, tables: Mapping[str, pa.Table]):
        refuse_uncarried(query, catalog)
        network = Network.of([query.name], {query.name.lower(): query}, catalog)
        missing = sorted(set(network.tables_read) - set(tables))
        if missing:
            name = catalog.tables[missing[0]].name
            raise DataError(f"table {name} has no data; bind it before the first push")
        own = {name: tables[name] for name in network.tables_read}
        self.query, self.shard = query, ChainShard(replace(network, tables=own))
        self.state = self.shard.start()
        self.rows: dict[str, list[tuple[int, Arrival]]] = {name: [] for name in network.bases}
        self.aside: Aside = {}

    @property
    def bases(self) -> list[str]:
        """The names of the streams it reads in the end."""
        return [stream.name for stream in self.shard.network.bases.values()]

    def accept(self, stream: str, arrival: Arrival) -> bool:
        """Let a good row wait for its turn."""
        self.rows[stream.lower()].append((arrival.time, arrival))
        return False

    def advance(self, horizon: int) -> list[dict[str, Any]]:
        """Report what is known once all rows before `horizon` are there."""
        if horizon <= self.state.horizon:
            return []
        batch = {name: self._due(name, horizon) for name in self.rows}
        self.state, answers = self.shard.advance(self.state, batch, horizon)
        for name, bad in answers.rejected.items():
            for row in bad.to_pylist():
                reason = row.pop(REASON)
                self.aside[name].append(({c: v for c, v in row.items() if c != EVENT_ID}, reason))
        return [row for table in answers.found.values() for row in table.to_pylist()]

    def finish(self) -> list[dict[str, Any]]:
        """Report what remains: the streams have ended."""
        return self.advance(ALWAYS)

    def _due(self, name: str, horizon: int) -> pa.Table:
        """Return the rows whose turn has come, which wait no longer."""
        ready = [
            arrival.values
            for time, arrival in self.rows[name]
            if time < horizon and not (arrival.alternatives and arrival.alternatives.is_overfull)
        ]
        self.rows[name] = [entry for entry in self.rows[name] if entry[0] >= horizon]
        columns: dict[str, Any] = {
            c.name: pa.array(
                [stored(values[c.name], c.type.value) for values in ready],
                ARROW_TYPES[c.type.value],
            )
            for c in self.shard.network.bases[name].columns
        }
        if EVENT_ID in self.shard.schemas[name].names:
            columns[EVENT_ID] = pa.array([""] * len(ready), pa.string())
        return pa.table(columns)
