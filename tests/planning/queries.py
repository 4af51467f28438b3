"""Checked queries built by hand, so that planning is tested without the parser and the checker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from augury.analysis.checked import (
    Branch,
    CheckedQuery,
    CheckedWindow,
    Component,
    Leaf,
    Negated,
    PlayedBy,
    Shape,
    Verdict,
)
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema

READS = StreamSchema(
    "reads",
    (
        Column("id", DataType.LONG),
        Column("tag", DataType.STRING),
        Column("reader", DataType.STRING),
        Column("door", DataType.STRING),
        Column("at", DataType.TIMESTAMP),
        Column("seq", DataType.LONG),
        Column("price", DataType.DOUBLE),
        Column("p", DataType.DOUBLE),
    ),
    id="id",
    key=("tag",),
    time="at",
    order_by="seq",
    type="reader",
    probability="p",
)
HOUR = 3_600_000_000


def component(index: int, name: str, **fields: Any) -> Component:
    played_by = fields.pop("played_by", (PlayedBy("reads", name.upper()),))
    return Component(index, name, played_by, **fields)


def seq(*parts: Shape | int) -> Branch:
    return Branch("SEQ", tuple(_shape(p) for p in parts))


def next_to(*parts: Shape | int) -> Branch:
    return Branch("NEXT", tuple(_shape(p) for p in parts))


def all_of(*parts: Shape | int) -> Branch:
    return Branch("AND", tuple(_shape(p) for p in parts))


def one_of(*parts: Shape | int) -> Branch:
    return Branch("OR", tuple(_shape(p) for p in parts))


def no(part: Shape | int) -> Negated:
    return Negated(_shape(part))


def _shape(part: Shape | int) -> Shape:
    return Leaf(part) if isinstance(part, int) else part


def query(shape: Shape, components: tuple[Component, ...], **fields: Any) -> CheckedQuery:
    """Return a checked query over `reads` with the defaults of an enumerated one."""
    plain = CheckedQuery(
        name="q",
        streams=(READS,),
        components=components,
        shape=shape,
        conjuncts=(),
        equalities=(),
        strategy="ANY",
        within=CheckedWindow(12 * HOUR),
        every=None,
        allow=0,
        may_miss=(),
        miss_rates=tuple(None for _ in components),
        gaps=(),
        correlated_by=None,
        group_by=(),
        having=None,
        returns="MATCHES",
        outputs=(),
        keys=(),
        approximate=None,
        match_limit=None,
        scoring="LAW",
        options=(),
        verdict=Verdict("enumerated", ("events carry a probability",)),
        output_schema=None,
    )
    return replace(plain, **fields)


def components(*names: str) -> tuple[Component, ...]:
    """Read `a b+ c* d? e{2,3} !f` into components."""
    return tuple(_read(index, name) for index, name in enumerate(names))


_MARKS = {"+": (1, None), "*": (0, None), "?": (0, 1)}


def _read(index: int, text: str) -> Component:
    negated, name = text.startswith("!"), text.lstrip("!")
    minimum, maximum = 1, 1
    if name.endswith("}"):
        name, counts = name[:-1].split("{")
        low, high = counts.split(",")
        minimum, maximum = int(low), int(high) if high else None
    elif name[-1] in _MARKS:
        minimum, maximum = _MARKS[name[-1]]
        name = name[:-1]
    return component(index, name, negated=negated, minimum=minimum, maximum=maximum)
