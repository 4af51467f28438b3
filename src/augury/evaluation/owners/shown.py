"""Tellings of matches as rows: each with what was last told of its events at its time.

Matches that are told come from several batches, and at several times. They are made into rows
together, since a table costs much and a row of it next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.analysis.declarations.moves import TOLD, P
from augury.evaluation.answers.match_answers import Inputs, match_table
from augury.evaluation.owners.claims import OwnerRows
from augury.identity.tracks import Telling
from augury.planning.match_plan import MatchPlan
from augury.records import Matches, Words


@dataclass
class Batch:
    """The matches of one step that may be told, and the rows that they are made of."""

    matches: Matches
    inputs: Inputs


def told_table(
    plan: MatchPlan,
    streams: Sequence[StreamSchema],
    batches: Mapping[int, Batch],
    log: OwnerRows,
    shown: Sequence[Telling],
) -> pa.Table:
    """Return a row of the query's answer for each telling; claims are (batch, match in it)."""
    names = sorted({each.claim[0] for each in shown})
    whole = combined([batches[name] for name in names])
    firsts = np.cumsum([0, *(len(batches[name].matches) for name in names)]).tolist()
    first_of = dict(zip(names, firsts, strict=False))
    numbers = [first_of[each.claim[0]] + each.claim[1] for each in shown]
    matches = whole.matches.only(np.array(numbers, np.int64))
    at = np.repeat(np.array([each.at for each in shown], np.int64), np.diff(matches.first_item))
    row, inputs = _with_last_told(streams, whole.inputs, log, matches.row, at)
    matches = replace(
        matches.settled(np.array([each.confidence for each in shown])),
        revision=np.array([each.revision for each in shown], np.int64),
        row=row,
    )
    return match_table(plan, matches, inputs, np.array([each.error_bound for each in shown]))


def combined(batches: Sequence[Batch]) -> Batch:
    """Return several batches as one."""
    if len(batches) == 1:
        return batches[0]
    parts = list(zip(*(own.inputs.tables for own in batches), strict=True))
    sizes = np.array([[table.num_rows for table in part] for part in parts])
    # Where the rows of each stream (S) of each batch (B) stand among all of them.
    firsts = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
    matches, order = list[Matches](), list[Words]()
    for b, own in enumerate(batches):
        place = np.concatenate([firsts[k, b] + np.arange(n) for k, n in enumerate(sizes[:, b])])
        order.append(place)
        matches.append(replace(own.matches, row=place[own.matches.row]))
    back = np.argsort(np.concatenate(order))
    inputs = [own.inputs for own in batches]
    return Batch(
        _joined(matches),
        Inputs(
            tuple(pa.concat_tables(part) for part in parts),
            tuple(firsts[:, 0].tolist()),
            pa.concat_arrays([whole for each in inputs for whole in _chunks(each.ids)]).take(back),
            np.concatenate([each.time for each in inputs])[back],
            np.concatenate([each.p for each in inputs])[back],
        ),
    )


def _joined(parts: list[Matches]) -> Matches:
    """Return all matches, the halves of them first: each is copied few times."""
    while len(parts) > 1:
        pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
        parts = [Matches.joined(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def _chunks(ids: Any) -> list[pa.Array]:
    return ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]


def _with_last_told(
    streams: Sequence[StreamSchema], inputs: Inputs, log: OwnerRows, row: Words, at: Words
) -> tuple[Words, Inputs]:
    """Return rows with what was last told of each at its time, and which of them each item is."""
    moments, when = np.unique(at, return_inverse=True)
    pairs, item = np.unique(row * max(len(moments), 1) + when, return_inverse=True)
    used, when = np.divmod(pairs, max(len(moments), 1))
    tables, firsts, p = list[pa.Table](), list[int](), inputs.p[used]
    for stream, table, first in zip(streams, inputs.tables, inputs.first_rows, strict=True):
        start, stop = np.searchsorted(used, [first, first + table.num_rows]).tolist()
        own = table.take(pa.array(used[start:stop] - first))
        if stream.of_owners:
            p[start:stop] = np.nan
        if stream.is_identified:
            known = log.last_told(own, moments[when[start:stop]])
            for name in TOLD:
                own = own.set_column(own.column_names.index(name), name, known.column(name))
            p[start:stop] = np.asarray(known.column(P))
        tables.append(own)
        firsts.append(start)
    ids = inputs.ids.take(pa.array(used))
    return item, Inputs(tuple(tables), tuple(firsts), ids, inputs.time[used], p)
