"""The rows of streams on their way: which columns they take along."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.network import Network
from augury.evaluation.stream_rows import EVENT_ID
from augury.sources.columns import ARROW_TYPES

Tables = Mapping[str, pa.Table]


def travelling(network: Network, stream: StreamSchema) -> pa.Schema:
    """Return the columns of a stream that its rows take along; a row without ID brings a hash."""
    kinds = {column.name: ARROW_TYPES[column.type.value] for column in stream.columns}
    fields = [(name, kinds[name]) for name in network.columns(stream)]
    if stream.id is None:
        fields.append((EVENT_ID, pa.string()))
    return pa.schema(fields)
