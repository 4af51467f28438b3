"""What only rows and histories tell about missed events: said where a query is answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery
from augury.analysis.findings import counted, listing
from augury.errors import Diagnostic, Source
from augury.evaluation.stream_rows import StreamRows
from augury.planning.base_streams import below
from augury.planning.missed.unreachable import warnings_of

MOST_NAMED = 5


class Teacher(Protocol):
    """A runner that knows what the histories of its queries teach."""

    def with_gaps(self, query: CheckedQuery) -> CheckedQuery:
        """Return a query with its gaps."""
        ...


def warnings_below(
    runner: Teacher,
    query: CheckedQuery,
    queries: Mapping[str, tuple[CheckedQuery, Source]],
) -> dict[str, tuple[Diagnostic, ...]]:
    """Return what gaps, learned ones too, lead to, of a query and of those that it reads."""
    known = {name: own for name, (own, _) in queries.items()}
    missing = {name: own for name, own in below(query, known).items() if own.allow}
    return {
        name: warnings_of(own if own.learn_gaps_from is None else runner.with_gaps(own), source)
        for name, own in missing.items()
        for source in (queries[name][1],)
    }


def unmatched_rates(streams: Iterable[StreamRows]) -> Iterator[str]:
    """Yield which values of MISS RATE BY no row has, of streams with rows that no value fits."""
    for stream in streams:
        miss = stream.schema.miss_rate
        if miss is None or miss.column is None or not stream.table.num_rows:
            continue
        column = stream.schema.column(miss.column)
        assert column is not None
        counts = pc.value_counts(stream.table.column(column.name).combine_chunks()).to_pylist()
        there = {str(each["values"]): each["counts"] for each in counts if each["values"]}
        listed = [rate.of for rate in miss.rates]
        unused = [value for value in listed if value not in there]
        without = sorted(set(there) - set(listed), key=lambda value: (-there[value], value))
        if unused and without:
            yield (
                f"MISS RATE BY {column.name} of stream {stream.schema.name} gives a rate to "
                f"{_quoted(unused)}, which no row has, and none to {_quoted(without)}, which "
                f"{counted(sum(there[value] for value in without), 'row')} have; correct the "
                "value, or give a rate of 0 to what is never missed"
            )


def _quoted(values: list[str]) -> str:
    named = [f"'{value}'" for value in values[:MOST_NAMED]]
    return listing([*named, "others"] if len(values) > MOST_NAMED else named)
