"""The table of CORRELATED BY: columns (earlier id, later id, p), by position, bound from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery
from augury.errors import DataError
from augury.evaluation.answers.match_answers import Inputs
from augury.matching.correlation import Correlation
from augury.records import ROUNDING, Reals, Words

UNLISTED = ("refused", "independent")


def correlation_of(query: CheckedQuery, table: pa.Table, inputs: Inputs) -> Correlation:
    """Return the conditional probabilities that a query asks for."""
    assert query.correlated_by is not None
    _refuse_shape(query.correlated_by, table)
    names = pc.dictionary_encode(_text(inputs.ids))
    if isinstance(names, pa.ChunkedArray):
        names = names.unify_dictionaries().combine_chunks()
    known, p = names.dictionary, _chances(query.correlated_by, table.column(2))
    earlier, later = (_numbers(table.column(k), known) for k in (0, 1))
    rows = np.flatnonzero((earlier >= 0) & (later >= 0))
    pair, chance = earlier[rows] * len(known) + later[rows], p[rows]
    order = np.lexsort((chance, pair))
    _refuse_clash(query.correlated_by, table, rows[order], (pair[order], chance[order]))
    having = query.having
    return Correlation(
        table=f"query {query.name}: table {query.correlated_by}",
        names=known.to_pylist(),
        name_of_row=np.asarray(names.indices, np.int64),
        p=inputs.p,
        pair=pair[order],
        chance=chance[order],
        unlisted_is_independent=is_unlisted_independent(query),
        threshold=having.threshold if having else 0.0,
        strict=bool(having and having.strict),
    )


def _refuse_shape(name: str, table: pa.Table) -> None:
    if table.num_columns != 3:
        raise DataError(
            f"table {name} has the columns {', '.join(table.column_names)}; CORRELATED BY expects "
            "three: earlier id, later id, probability"
        )


def _chances(name: str, column: Any) -> Reals:
    try:
        chances = np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan), np.float64)
    except pa.ArrowException as error:
        raise DataError(f"table {name}: the third column is no probability: {error}") from error
    bad = np.flatnonzero(~((chances >= -ROUNDING) & (chances <= 1.0 + ROUNDING)))
    if len(bad):
        value = column[int(bad[0])].as_py()
        raise DataError(f"table {name}, row {bad[0]}: {value} is no probability in [0, 1]")
    within: Reals = np.clip(chances, 0.0, 1.0)
    return within


def _refuse_clash(name: str, table: pa.Table, rows: Words, listed: tuple[Words, Reals]) -> None:
    """Raise where a pair is listed twice with different probabilities."""
    pair, chance = listed
    clash = np.flatnonzero((np.diff(pair) == 0) & (np.diff(chance) != 0.0))
    if len(clash):
        earlier, later, _ = table.slice(int(rows[clash[0]]), 1).to_pylist()[0].values()
        raise DataError(f"table {name} has two probabilities of event {later!r} after {earlier!r}")


def _numbers(column: Any, known: Any) -> Words:
    """Return the number of each id among those of the query's events, -1 for others."""
    found = pc.index_in(_text(column), value_set=known)
    return np.asarray(pc.fill_null(found, -1), np.int64)


def _text(column: Any) -> Any:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole if pa.types.is_string(whole.type) else whole.cast(pa.string())


def is_unlisted_independent(query: CheckedQuery) -> bool:
    """Return whether pairs that are not known are taken as independent."""
    return _unlisted(query) == "independent"


def _unlisted(query: CheckedQuery) -> str:
    for option in query.options:
        if option.key.lower() == "unlisted":
            if str(option.value).lower() not in UNLISTED:
                raise DataError(
                    f"query {query.name}: unlisted = {option.value!r}; expected one of "
                    f"{', '.join(UNLISTED)}"
                )
            return str(option.value).lower()
    return "refused"
