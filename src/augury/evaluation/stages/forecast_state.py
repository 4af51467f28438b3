"""What a forecast stage remembers, and how it is stored: arrays of what lives, and rows.

Partitions have codes, which are given anew where a state is loaded; they are stored as the values
they stand for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from augury.evaluation.codec import Format, fingerprint, ipc_bytes, plain, value_of
from augury.evaluation.encoding import Encoder
from augury.evaluation.stages.row_store import PickedRows
from augury.forecast.forecasts import Lives
from augury.forecast.stored import Stored, dump, load
from augury.operator import NEVER_YET
from augury.planning.forecast_plan import ForecastPlan

# Version 2 has sets of partial matches, too.
FORMAT = Format(b"AUGURYFC", 2)
# The length of the first part of a stored state, in bytes.
_LENGTH = 8
# Partitions with a code after which it is looked which of them live.
MANY_CODES = 65_536


@dataclass(frozen=True)
class Codes:
    """The codes of partitions, and how many of them are of an event alone."""

    known: Mapping[Any, int]
    alone: int

    @staticmethod
    def of(encoder: Encoder) -> Codes:
        """Return the codes that an encoder has given."""
        return Codes(dict(encoder.partitions.known), encoder.alone)

    def give(self, encoder: Encoder) -> None:
        """Let an encoder go on from here."""
        encoder.partitions.known = dict(self.known)
        encoder.alone = self.alone


@dataclass
class ForecastState:
    """What lives, the rows that it is made of, and up to when forecasts were reported."""

    encoder: Encoder
    lives: Lives
    rows: dict[int, PickedRows] = field(default_factory=dict)
    groups: int = 0
    reported: int = NEVER_YET
    online: bool = False
    rows_looked_at: int = 0
    lives_looked_at: int = 0
    codes_looked_at: int = MANY_CODES

    @property
    def rows_held(self) -> int:
        """How many rows are held."""
        return sum(store.count for store in self.rows.values())

    @property
    def is_empty(self) -> bool:
        return not self.lives.count and not (self.online and self.lives.model.knows)

    @property
    def nbytes(self) -> int:
        """How many bytes are held, about."""
        rows = sum(store.nbytes for store in self.rows.values())
        return rows + self.lives.nbytes


def mark_of(plan: ForecastPlan) -> bytes:
    """Return what tells the state of one forecast from that of others: texts and columns."""
    streams = plan.match.query.streams
    columns = [(s.name, [(c.name, c.type.value) for c in s.columns]) for s in streams]
    return fingerprint(plan.text, columns)


def dump_state(plan: ForecastPlan, state: ForecastState) -> bytes:
    """Return a state as bytes; its rows are those that are bound."""
    stored = dump(state.lives, online=state.online)
    values = {code: value for value, code in state.encoder.partitions.known.items()}
    about = {
        "reported": state.reported,
        "groups": state.groups,
        "alone": state.encoder.alone,
        # Without columns that part a forecast, the code is all there is.
        "partitions": [[plain(values[c])] if c in values else c for c in stored.partitions],
        "values": [plain(value) for value in stored.values],
        "arrays": [(name, str(a.dtype), a.shape) for name, a in stored.arrays.items()],
        "rows": {str(number): store.following for number, store in state.rows.items()},
    }
    numbers = b"".join(array.tobytes() for array in stored.arrays.values())
    tables = [_numbered(store) for store in state.rows.values()]
    sizes = [len(numbers), *map(len, tables)]
    head = json.dumps(about | {"sizes": sizes}).encode()
    body = b"".join([len(head).to_bytes(_LENGTH, "little"), head, numbers, *tables])
    packed = pa.compress(body, "zstd", asbytes=True)
    return FORMAT.seal(len(body).to_bytes(_LENGTH, "little") + packed, mark_of(plan))


def load_state(plan: ForecastPlan, state: ForecastState, data: bytes) -> None:
    """Put a state that has begun where the stored one was; raise `StateError` for others."""
    _, sealed = FORMAT.unseal(data, f"forecast {plan.forecast.name}", mark_of(plan))
    size = int.from_bytes(sealed[:_LENGTH], "little")
    body = pa.decompress(sealed[_LENGTH:], size, "zstd", asbytes=True)
    length = int.from_bytes(body[:_LENGTH], "little")
    about = json.loads(body[_LENGTH : _LENGTH + length])
    numbers, *tables = _parts(body[_LENGTH + length :], about["sizes"])
    partitions = [_code(state.encoder, written) for written in about["partitions"]]
    values: list[Hashable] = [value_of(each) for each in about["values"]]
    load(Stored(_arrays(numbers, about["arrays"]), partitions, values), state.lives)
    for (number, following), part in zip(about["rows"].items(), tables, strict=True):
        state.rows[int(number)] = _picked(part, following)
    state.encoder.alone = max(state.encoder.alone, about["alone"])
    state.groups, state.reported = about["groups"], about["reported"]


# Bytes ----------------------------------------------------------------------------------------

_NUMBER = "augury number"


def _code(encoder: Encoder, written: Any) -> Any:
    return encoder.partitions.code(value_of(written[0])) if isinstance(written, list) else written


def _parts(body: bytes, sizes: list[int]) -> list[bytes]:
    found, at = list[bytes](), 0
    for size in sizes:
        found.append(body[at : at + size])
        at += size
    return found


def _arrays(data: bytes, kinds: list[Any]) -> dict[str, Any]:
    found, at = dict[str, Any](), 0
    for name, kind, shape in kinds:
        count = math.prod(shape)
        found[name] = np.frombuffer(data, kind, count, at).reshape(shape)
        at += found[name].nbytes
    return found


def _numbered(store: PickedRows) -> bytes:
    return ipc_bytes(store.rows.append_column(_NUMBER, pa.array(store.numbers)))


def _picked(data: bytes, following: int) -> PickedRows:
    rows = pa.ipc.open_stream(data).read_all()
    kept = rows.drop_columns([_NUMBER])
    store = PickedRows(kept.schema)
    store.put(kept, rows.column(_NUMBER).to_numpy(), following)
    return store
