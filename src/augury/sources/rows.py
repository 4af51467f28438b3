"""Check rows against their declaration: good rows go on, bad ones go to the dead-letter table.

A bad row never stops a stream and never vanishes: it keeps its columns and gets a reason, which has
the value of a cell that is none of its type. What is wrong with the whole table (a column is
missing, or of another type) is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import DataError
from augury.records import ROUNDING
from augury.sources.columns import ARROW_TYPES, Faults, Fitted, can_hold, fit
from augury.sources.declared import FAULT

REASON = "reason"
# Beyond it a time and the length of a window cannot be added in 64 bits.
MOST_TICKS = 2**62 - 1

# Texts as codes, as Arrow reads them from files.
CODES = pa.dictionary(pa.int32(), pa.string())
_WHY_NOT = {
    "LONG": " (text is not a number)",
    "DOUBLE": " (text is not a number)",
    "TIMESTAMP": " (a number may count seconds or microseconds)",
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a stream says about its rows, without the language around it; types are names."""

    name: str
    columns: Mapping[str, str]
    time: str
    id: str | None = None
    key: tuple[str, ...] = ()
    probability: str | None = None
    has_alternatives: bool = False


def conform(table: pa.Table, declared: Declaration, coded: str | None = None) -> pa.Table:
    """Return the table with the declared columns, in their order and types.

    Where a cell is none of its type, a last column, FAULT, says so. The texts of the column `coded`
    stay codes where they are, unless it identifies events.
    """
    if not table.num_rows and not table.column_names:
        kinds = {name: ARROW_TYPES[kind] for name, kind in declared.columns.items()}
        return pa.schema(kinds.items()).empty_table()
    by_name = {name.lower(): name for name in table.column_names}
    columns, faults = {}, _faults_of(table)
    for name, kind in declared.columns.items():
        if name.lower() not in by_name:
            have = ", ".join(own for own in table.column_names if own != FAULT)
            raise DataError(
                f"{declared.name} declares column {name}, which the data do not have; "
                f"they have {have}: rename one, or change the declaration"
            )
        column = table.column(by_name[name.lower()])
        stays = name == coded and name not in (declared.id, *declared.key) and _has_codes(column)
        fitted = Fitted(column) if stays else _fitted(column, kind, name, declared.name)
        columns[name] = fitted.column
        faults = fitted.faults | faults
    return with_faults(pa.table(columns), faults)


def with_faults(table: pa.Table, faults: Faults) -> pa.Table:
    """Return a table that says which of its rows have cells that are none of their type."""
    if not faults:
        return table
    said = pa.array([faults.get(k) for k in range(table.num_rows)], pa.string())
    return table.append_column(FAULT, said)


def _faults_of(table: pa.Table) -> Faults:
    if FAULT not in table.column_names:
        return {}
    return {k: why for k, why in enumerate(table.column(FAULT).to_pylist()) if why is not None}


def _has_codes(column: Any) -> bool:
    """Whether texts are codes; Arrow joins no dictionaries that have NULL among their texts."""
    return column.type == CODES and not any(c.dictionary.null_count for c in column.chunks)


def _fitted(column: Any, kind: str, name: str, stream: str) -> Fitted:
    if column.type == ARROW_TYPES[kind]:
        return Fitted(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not can_hold(kind, column.type):
        raise DataError(
            f"column {name} of {stream} is declared {kind}, but the data have {column.type} that "
            f"cannot be read so{_WHY_NOT.get(kind, '')}; cast it, or change the declaration"
        )
    return fit(column, name, kind)


def relation_rows(table: pa.Table, name: str, columns: Mapping[str, str]) -> list[tuple[Any, ...]]:
    """Return the rows of a bound table by its declared columns; times are numbers, as inside.

    To leave a row out would change answers, so a cell that is none of its type is an error.
    """
    found = conform(table, Declaration(name, columns, time=""))
    for k, why in _faults_of(found).items():
        raise DataError(f"row {k + 1} of {name} cannot be read: {why}; correct or remove it")
    inside = {
        "TIMESTAMP": lambda column: column.cast(pa.int64()),
        "DATE": lambda column: column.cast(pa.int32()),
    }
    values = [
        inside.get(kind, lambda column: column)(found.column(column)).to_pylist()
        for column, kind in columns.items()
    ]
    return list(zip(*values, strict=True))


class Reasons:
    """Why rows are bad: the first reason of each counts."""

    def __init__(self, n_rows: int) -> None:
        self._texts = [""]
        self._number = np.zeros(n_rows, np.int32)

    @property
    def are_none(self) -> bool:
        return len(self._texts) == 1

    @property
    def good(self) -> np.ndarray:
        """Which rows have no reason so far."""
        good: np.ndarray = self._number == 0
        return good

    def note(self, wrong: Any, reason: str) -> None:
        """Give a reason to the rows that are wrong, unless they have one."""
        flags = np.asarray(wrong, np.bool_)
        if flags.any():
            self._number[flags & self.good] = len(self._texts)
            self._texts.append(reason)

    def note_each(self, faults: Faults) -> None:
        """Give rows the reasons that they have of their own."""
        for k, reason in faults.items():
            self._number[k] = len(self._texts)
            self._texts.append(reason)

    def texts(self) -> list[str]:
        """Return the reasons of the bad rows."""
        return [self._texts[number] for number in self._number[~self.good]]


def beyond_count(name: str) -> str:
    """Return why a row with a tick that cannot be counted with is of no use."""
    return f"{name} is not a tick between -{MOST_TICKS} and {MOST_TICKS}"


def improbable(name: str) -> str:
    """Return why a row whose probability is none is of no use."""
    return f"{name} is not a probability between 0 and 1"


def sift(table: pa.Table, declared: Declaration) -> tuple[pa.Table, pa.Table]:
    """Return the good rows, and the bad rows with their reason."""
    reasons = own_reasons(table, declared)
    if declared.has_alternatives:
        _note_overfull(reasons, table, declared)
    elif declared.id:
        _note_repeated(reasons, table.column(declared.id), declared.id)
    if FAULT in table.column_names:
        table = table.drop_columns(FAULT)
    if reasons.are_none:
        return table, table.slice(0, 0).append_column(REASON, pa.array([], pa.string()))
    good = reasons.good
    rejected = table.filter(pa.array(~good))
    return (
        table.filter(pa.array(good)),
        rejected.append_column(REASON, pa.array(reasons.texts(), pa.string())),
    )


def is_sound(table: pa.Table, declared: Declaration) -> np.ndarray:
    """Return which rows have no fault of their own; what other rows say is not asked."""
    return own_reasons(table, declared).good


def own_reasons(table: pa.Table, declared: Declaration) -> Reasons:
    """Return why rows are bad, as far as each tells by itself."""
    reasons = Reasons(table.num_rows)
    reasons.note_each(_faults_of(table))
    for name in (*declared.key, declared.time):
        if table.column(name).null_count:
            reasons.note(pc.is_null(table.column(name)), f"{name} is null")
    if pa.types.is_integer(table.column(declared.time).type):
        _note_beyond(reasons, table.column(declared.time), declared.time)
    if declared.probability:
        p = np.asarray(table.column(declared.probability).cast(pa.float64()), np.float64)
        # NULL arrives as NaN, and NaN is inside nothing.
        wrong = ~((p >= -ROUNDING) & (p <= 1.0 + ROUNDING))
        reasons.note(wrong, improbable(declared.probability))
    if declared.id and not declared.has_alternatives and table.column(declared.id).null_count:
        reasons.note(pc.is_null(table.column(declared.id)), f"{declared.id} is null")
    return reasons


def _note_beyond(reasons: Reasons, ticks: Any, name: str) -> None:
    reached = pc.min_max(ticks).as_py()
    if reached["min"] is None or -MOST_TICKS <= reached["min"] <= reached["max"] <= MOST_TICKS:
        return
    counted = pc.and_(pc.greater_equal(ticks, -MOST_TICKS), pc.less_equal(ticks, MOST_TICKS))
    reasons.note(pc.invert(pc.fill_null(counted, True)), beyond_count(name))


def _note_repeated(reasons: Reasons, ids: Any, name: str) -> None:
    if _is_rising(ids) or _are_different(ids):
        return
    codes = _codes(ids)
    order = np.argsort(codes, kind="stable")
    again = np.zeros(len(codes), np.bool_)
    again[order[1:]] = codes[order[1:]] == codes[order[:-1]]
    reasons.note(again, f"{name} was seen before")


def _is_rising(ids: Any) -> bool:
    """Whether numbers only grow, as ids mostly do: then none is repeated."""
    if not pa.types.is_integer(ids.type) or ids.null_count:
        return False
    return follow(np.less, [np.asarray(chunk) for chunk in ids.chunks])


def follow(precedes: np.ufunc, pieces: Sequence[np.ndarray]) -> bool:
    """Whether each number precedes the next one.

    Told piece by piece: put together, millions of them would be copied first.
    """
    there = [piece for piece in pieces if len(piece)]
    apart = all(precedes(one[-1], other[0]) for one, other in pairwise(there))
    return apart and all(bool(precedes(piece[:-1], piece[1:]).all()) for piece in there)


def _are_different(ids: Any) -> bool:
    """Whether numbers are all different, which sorting them tells soonest."""
    if not pa.types.is_integer(ids.type) or ids.null_count:
        return False
    numbers = np.sort(np.asarray(ids))
    return bool((numbers[1:] != numbers[:-1]).all())


def alternative_groups(table: pa.Table, declared: Declaration) -> np.ndarray:
    """Return a number per row: rows that exclude each other share it."""
    names = [declared.id] if declared.id else [*declared.key, declared.time]
    group = np.zeros(table.num_rows, np.int64)
    for name in names:
        codes = _codes(table.column(name))
        _, group = np.unique(group * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return group


def _note_overfull(reasons: Reasons, table: pa.Table, declared: Declaration) -> None:
    assert declared.probability is not None
    group = alternative_groups(table, declared)
    p = np.nan_to_num(np.asarray(pc.fill_null(table.column(declared.probability), 0.0)))
    p[~reasons.good] = 0.0
    total = np.bincount(group, weights=p, minlength=1)
    over = total[group] > 1.0 + ROUNDING
    reasons.note(over, "the alternatives of this event have a total probability above 1")


def _codes(column: Any) -> np.ndarray:
    if not len(column):
        return np.zeros(0, np.int64)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.asarray(pc.dictionary_encode(whole, null_encoding="encode").indices, np.int64)
