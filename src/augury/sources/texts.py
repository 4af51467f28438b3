"""Texts to values, as expressions of Catalyst: JSON objects, CSV fields, ISO times.

A text that cannot be read never stops a stream: its row gets a fault, a sentence that says which
column is wrong and with what value, and keeps the text. Times without a zone are in UTC, whatever
the session's zone is; a bare number is no time, because it may count seconds or microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as f
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from augury.sources.declared import FAULT, RAW
from augury.sources.values import EXPECTED, ISO_DAY, ISO_MOMENT, ISO_ZONE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SPARK_TYPES = {
    "BOOLEAN": "boolean",
    "LONG": "bigint",
    "DOUBLE": "double",
    "STRING": "string",
    "TIMESTAMP": "timestamp",
    "DATE": "date",
}
# Times are read as text, so that a number is told from a time.
_JSON_TYPES: dict[str, DataType] = {
    "BOOLEAN": BooleanType(),
    "LONG": LongType(),
    "DOUBLE": DoubleType(),
}
_CALENDAR = ("TIMESTAMP", "DATE")
_CORRUPT, _PARSED, _TEXT = "_augury_corrupt", "_augury_parsed", "_augury_text"
_ZONED = rf"[T ].*{ISO_ZONE}$"
# A clock without seconds, which Spark does not read in front of a zone.
_MINUTES = r"([T ][0-9]{2}:[0-9]{2})(Z|[+-].*)?$"

Case = tuple["Column", "Column"]


def quoted(name: str) -> str:
    """Return a column's name as SQL takes any name.

    >>> quoted("a.b`c")
    '`a.b``c`'
    """
    return "`" + name.replace("`", "``") + "`"


def value_of(text: Column, kind: str) -> Column:
    """Return the value that a text spells, or NULL where it spells none."""
    if kind == "STRING":
        return text
    if kind == "TIMESTAMP":
        return f.when(text.rlike(ISO_MOMENT), _with_zone(text).try_cast("timestamp"))
    if kind == "DATE":
        return f.when(text.rlike(ISO_DAY), text.try_cast("date"))
    return text.try_cast(SPARK_TYPES[kind])


def _with_zone(text: Column) -> Column:
    day = f.when(f.length(text) == 10, f.concat(text, f.lit("T00:00:00Z")))
    full = f.regexp_replace(text, _MINUTES, "$1:00$2")
    return day.when(text.rlike(_ZONED), full).otherwise(f.concat(full, f.lit("Z")))


def unfit(name: str, kind: str, text: Column) -> Column:
    """Return why a row with this value, as text, is of no use."""
    shown = f.concat(f.lit(f"{name} is declared {kind}, but is "), f.substring(text, 1, 200))
    return f.concat(shown, f.lit(EXPECTED[kind])) if kind in EXPECTED else shown


def first_of(cases: Iterable[Case]) -> Column:
    """Return the reason of the first case that applies, or NULL."""
    whens = list(cases)
    return reduce(lambda chain, case: chain.when(*case), whens[1:], f.when(*whens[0]))


# CSV ---------------------------------------------------------------------------------------------


def read_fields(fields: DataFrame, columns: Mapping[str, str], corrupt: str) -> DataFrame:
    """Return typed columns from columns of text; `corrupt` has lines of the wrong length."""
    own = {name.lower(): f.col(quoted(name)) for name in fields.columns}
    texts = {name: own[name.lower()] for name in columns}
    values = {name: value_of(texts[name], kind) for name, kind in columns.items()}
    lines = f.col(corrupt)
    fault = first_of(
        [
            (lines.isNotNull(), f.lit("the line has too many or too few fields")),
            *(
                (texts[name].isNotNull() & values[name].isNull(), unfit(name, kind, texts[name]))
                for name, kind in columns.items()
            ),
        ]
    )
    others = [f.col(quoted(name)) for name in fields.columns if name != corrupt]
    raw = f.coalesce(lines, f.when(fault.isNotNull(), f.to_csv(f.struct(*others))))
    kept = [value.alias(name) for name, value in values.items()]
    return fields.select(*kept, f.make_valid_utf8(raw).alias(RAW), fault.alias(FAULT))


# JSON --------------------------------------------------------------------------------------------


def read_objects(
    texts: DataFrame, columns: Mapping[str, str], must_have: Sequence[str]
) -> DataFrame:
    """Return typed columns from one column `value` of JSON objects, as bytes or text."""
    schema = StructType(
        [StructField(name, _JSON_TYPES.get(kind, StringType())) for name, kind in columns.items()]
        + [StructField(_CORRUPT, StringType())]
    )
    valid = f.make_valid_utf8(f.col("value").cast("string"))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    text = f.col(_TEXT)
    parsed = texts.select(
        valid.alias(_TEXT),
        f.is_valid_utf8(f.col("value").cast("string")).alias("_augury_utf8"),
        f.from_json(valid, schema, options).alias(_PARSED),
    )
    found = {name: f.col(_PARSED).getField(name) for name in columns}
    values = {
        name: value_of(found[name], kind) if kind in _CALENDAR else found[name]
        for name, kind in columns.items()
    }
    fault = first_of([*_unread(text), *_unfit(columns, values, text), *_missing(must_have, found)])
    kept = [value.alias(name) for name, value in values.items()]
    return parsed.select(*kept, text.alias(RAW), fault.alias(FAULT))


def _unread(text: Column) -> list[Case]:
    is_odd = f.col(_PARSED).isNull() | f.col(_PARSED).getField(_CORRUPT).isNotNull()
    return [
        (text.isNull() | (f.trim(text) == ""), f.lit("the message is empty")),
        (~f.col("_augury_utf8"), f.lit("the text is not UTF-8")),
        (is_odd & f.json_object_keys(text).isNull(), f.lit("the text is not a JSON object")),
        (_has_more(text), f.lit("the text goes on after its JSON object")),
    ]


def _has_more(text: Column) -> Column:
    """Whether something follows the first object; Spark reads no further than to its end.

    Only a text that looks like it is read again, as the one element of a list.
    """
    is_odd = text.rlike(r"\}\s*,?\s*\{") | ~text.rlike(r"\}\s*$")
    listed = f.from_json(f.concat(f.lit("["), text, f.lit("]")), "array<string>")
    return is_odd & ~f.coalesce(f.size(listed) == 1, f.lit(False))


def _unfit(columns: Mapping[str, str], values: Mapping[str, Column], text: Column) -> list[Case]:
    corrupt = f.col(_PARSED).getField(_CORRUPT)
    cases: list[Case] = []
    for name, kind in columns.items():
        given = f.get_json_object(text, _path(name))
        is_odd = values[name].isNull() if kind in _CALENDAR else _both(corrupt, values[name])
        cases.append((is_odd & given.isNotNull(), unfit(name, kind, given)))
    cases.append((corrupt.isNotNull(), f.lit("the text cannot be read as JSON of these columns")))
    return cases


def _both(corrupt: Column, value: Column) -> Column:
    return corrupt.isNotNull() & value.isNull()


def _path(name: str) -> str:
    return f"$['{name}']"


def _missing(must_have: Sequence[str], found: Mapping[str, Column]) -> list[Case]:
    keys = f.json_object_keys(f.col(_TEXT))
    return [
        (found[name].isNull() & ~f.array_contains(keys, name), f.lit(f"column {name} is missing"))
        for name in must_have
    ]
