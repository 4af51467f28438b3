"""Texts to values, as expressions of Catalyst: JSON objects, CSV fields, ISO times.

A text that cannot be read never stops a stream: its row gets a fault, a sentence that says which
column is wrong and with what value, and keeps the text. Times without a zone are in UTC, whatever
the session's zone is; a bare number is no time, because it may count seconds or microseconds.
"""

from __future__ import annotations

import re
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
from augury.sources.time_forms import Forms
from augury.sources.values import DAY_LENGTH, EXPECTED, ISO_DAY, ISO_MOMENT, ISO_ZONE

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
_NUMBERS = "_augury_numbers"
NOT_UTF8 = "the text is not UTF-8"
_ZONED = rf"[T ].*{ISO_ZONE}$"
# A clock without seconds, which Spark does not read in front of a zone.
_MINUTES = r"([T ][0-9]{2}:[0-9]{2})(Z|[+-].*)?$"

Case = tuple["Column", "Column"]


ISO = Forms()
# Letters of patterns that stand for a zone, outside of quotes.
_QUOTED, _ZONE_LETTERS = re.compile("'[^']*'"), re.compile("[VzOXxZ]")


def quoted(name: str) -> str:
    """Return a column's name as SQL takes any name.

    >>> quoted("a.b`c")
    '`a.b``c`'
    """
    return "`" + name.replace("`", "``") + "`"


def value_of(text: Column, kind: str, forms: Forms = ISO) -> Column:
    """Return the value that a text spells, or NULL where it spells none."""
    form = forms.of(kind)
    if form is not None:
        return _formed(text, form) if kind == "TIMESTAMP" else day_of(_formed(text, form))
    if kind == "TIMESTAMP":
        return f.when(text.rlike(ISO_MOMENT), _with_zone(text).try_cast("timestamp"))
    if kind == "DATE":
        return f.when(text.rlike(ISO_DAY), text.try_cast("date"))
    own = {"STRING": text, "LONG": _whole(text)}
    return own[kind] if kind in own else text.try_cast(SPARK_TYPES[kind])


def _whole(text: Column) -> Column:
    """Return a whole number, also where it is written as 1.0."""
    number = text.try_cast("decimal(38, 18)")
    whole = number.try_cast("bigint")
    return f.coalesce(text.try_cast("bigint"), f.when(number == whole, whole))


def _formed(text: Column, form: str) -> Column:
    """Return a moment that is written by a pattern; without a zone it is in UTC."""
    if _ZONE_LETTERS.search(_QUOTED.sub("", form)):
        return f.try_to_timestamp(text, f.lit(form))
    return f.try_to_timestamp(f.concat(text, f.lit(" +00:00")), f.lit(f"{form} XXX"))


def day_of(moment: Column) -> Column:
    """Return the day of a moment in UTC; a cast would take the zone of the session."""
    micros = f.unix_micros(moment)
    days = (micros - f.pmod(micros, f.lit(DAY_LENGTH))) / DAY_LENGTH
    return f.date_from_unix_date(days.cast("int"))


def _with_zone(text: Column) -> Column:
    day = f.when(f.length(text) == 10, f.concat(text, f.lit("T00:00:00Z")))
    full = f.regexp_replace(text, _MINUTES, "$1:00$2")
    return day.when(text.rlike(_ZONED), full).otherwise(f.concat(full, f.lit("Z")))


def unfit(name: str, kind: str, text: Column, forms: Forms = ISO) -> Column:
    """Return why a row with this value, as text, is of no use."""
    shown = f.concat(f.lit(f"{name} is declared {kind}, but is "), f.substring(text, 1, 200))
    form = forms.of(kind)
    expected = EXPECTED.get(kind) if form is None else f"; expected text such as {form}"
    return f.concat(shown, f.lit(expected)) if expected else shown


def first_of(cases: Iterable[Case]) -> Column:
    """Return the reason of the first case that applies, or NULL."""
    whens = list(cases)
    return reduce(lambda chain, case: chain.when(*case), whens[1:], f.when(*whens[0]))


# CSV ---------------------------------------------------------------------------------------------


def read_fields(
    fields: DataFrame,
    columns: Mapping[str, str],
    corrupt: str,
    forms: Forms,
    odd: str | None,
) -> DataFrame:
    """Return typed columns from columns of text; `corrupt` has lines of the wrong length.

    A line with the character `odd` has bytes that could not be read as text.
    """
    own = {name.lower(): f.col(quoted(name)) for name in fields.columns}
    texts = {name: own[name.lower()] for name in columns}
    values = {name: value_of(texts[name], kind, forms) for name, kind in columns.items()}
    lines = f.col(corrupt)
    unread = [texts[name].contains(odd) for name in columns if odd is not None]
    fault = first_of(
        [
            (lines.isNotNull(), f.lit("the line has too many or too few fields")),
            *((is_odd, f.lit(NOT_UTF8)) for is_odd in unread),
            *(
                (
                    texts[name].isNotNull() & values[name].isNull(),
                    unfit(name, kind, texts[name], forms),
                )
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
    texts: DataFrame,
    columns: Mapping[str, str],
    must_have: Sequence[str],
    forms: Forms = ISO,
) -> DataFrame:
    """Return typed columns from one column `value` of JSON objects, or lists of them, as text."""
    valid = f.make_valid_utf8(f.col("value").cast("string"))
    single = texts.select(
        f.explode(_items(valid)).alias(_TEXT),
        f.is_valid_utf8(f.col("value").cast("string")).alias("_augury_utf8"),
    )
    text, options = f.col(_TEXT), {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = single.withColumn(_PARSED, f.from_json(text, _schema(columns), options))
    # A LONG may be 1.0: what is no LONG may be a number all the same.
    odd = f.when(f.col(_PARSED).getField(_CORRUPT).isNotNull(), text)
    parsed = parsed.withColumn(_NUMBERS, f.from_json(odd, _schema(columns, LONG="DOUBLE"), options))
    found = {name: f.col(_PARSED).getField(name) for name in columns}
    values = {name: _value(found[name], name, kind, forms) for name, kind in columns.items()}
    fault = first_of(
        [*_unread(text), *_unfit(columns, values, text, forms), *_missing(must_have, found)]
    )
    kept = [value.alias(name) for name, value in values.items()]
    return parsed.select(*kept, text.alias(RAW), fault.alias(FAULT))


def _items(text: Column) -> Column:
    """Return the objects of a list; the text itself where it is none."""
    listed = f.when(text.rlike(r"^\s*\[\s*\{"), f.from_json(text, "array<string>"))
    return f.coalesce(listed, f.array(text))


def _schema(columns: Mapping[str, str], **instead: str) -> StructType:
    kinds = {name: _JSON_TYPES.get(instead.get(k, k), StringType()) for name, k in columns.items()}
    fields = [StructField(name, kind) for name, kind in kinds.items()]
    return StructType([*fields, StructField(_CORRUPT, StringType())])


def _value(found: Column, name: str, kind: str, forms: Forms) -> Column:
    if kind in _CALENDAR:
        return value_of(found, kind, forms)
    if kind != "LONG":
        return found
    is_number = f.col(_NUMBERS).getField(name).isNotNull()
    return f.coalesce(found, f.when(is_number, _whole(f.get_json_object(_TEXT, _path(name)))))


def _unread(text: Column) -> list[Case]:
    is_odd = f.col(_PARSED).isNull() | f.col(_PARSED).getField(_CORRUPT).isNotNull()
    no_object, begins = "the text is not a JSON object", text.rlike(r"^\s*[\[{]\s*$")
    several = f"{no_object}; for one of several lines write OPTIONS (multiLine = 'true')"
    return [
        (text.isNull() | (f.trim(text) == ""), f.lit("the message is empty")),
        (~f.col("_augury_utf8"), f.lit(NOT_UTF8)),
        (is_odd & begins, f.lit(several)),
        (is_odd & f.json_object_keys(text).isNull(), f.lit(no_object)),
        (_has_more(text), f.lit("the text goes on after its JSON object")),
    ]


def _has_more(text: Column) -> Column:
    """Whether something follows the first object; Spark reads no further than to its end.

    Only a text that looks like it is read again, as the one element of a list.
    """
    is_odd = text.rlike(r"\}\s*,?\s*\{") | ~text.rlike(r"\}\s*$")
    listed = f.from_json(f.concat(f.lit("["), text, f.lit("]")), "array<string>")
    return is_odd & ~f.coalesce(f.size(listed) == 1, f.lit(False))


def _unfit(
    columns: Mapping[str, str], values: Mapping[str, Column], text: Column, forms: Forms
) -> list[Case]:
    corrupt = f.col(_PARSED).getField(_CORRUPT)
    cases: list[Case] = []
    for name, kind in columns.items():
        given = f.get_json_object(text, _path(name))
        is_odd = values[name].isNull() if kind in _CALENDAR else _both(corrupt, values[name])
        cases.append((is_odd & given.isNotNull(), unfit(name, kind, given, forms)))
    broken = f.col(_NUMBERS).getField(_CORRUPT)
    cases.append((broken.isNotNull(), f.lit("the text cannot be read as JSON of these columns")))
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
