"""Texts to values as columns of Arrow, where there is no Spark: the rule of `sources.texts`.

What all cells of a block have the plain form of is cast at once; other cells are read one by one.
`tests/spark/test_local_rows.py` holds both readers of texts to one another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.sources.columns import ARROW_TYPES
from augury.sources.time_forms import Forms, form_of, moment_of
from augury.sources.values import DAY_LENGTH, EXPECTED, ISO_DAY, READERS, UNFIT

_WORDS = {"TIMESTAMP": pa.int64(), "DATE": pa.int32()}
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_PLAIN = {
    "LONG": r"^-?[0-9]{1,18}$",
    "DOUBLE": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$",
    "BOOLEAN": r"^(true|false)$",
    "TIMESTAMP": rf"{_MOMENT}Z?$",
    "DATE": ISO_DAY,
}
_DOUBLE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")
_OTHERS = {"nan": float("nan"), "inf": float("inf"), "infinity": float("inf")}
_TRUTHS = {"t": True, "true": True, "y": True, "yes": True, "1": True}
_TRUTHS |= {"f": False, "false": False, "n": False, "no": False, "0": False}
_LEAST, _MOST = -(2**63), 2**63 - 1


def values_of(texts: Any, kind: str, forms: Forms) -> Any:
    """Return what texts spell in a declared type, and NULL where they spell none."""
    if kind == "STRING":
        return texts
    form = forms.of(kind)
    if form is not None:
        return _formed(texts, kind, form)
    plain = pc.fill_null(pc.match_substring_regex(texts, _PLAIN[kind]), False)
    try:
        found = _cast(pc.if_else(plain, texts, None), kind)
    except pa.ArrowInvalid:
        plain = pc.and_(plain, pa.scalar(False))
        found = pa.nulls(len(texts), ARROW_TYPES[kind])
    odd = pc.and_(pc.is_valid(texts), pc.invert(plain))
    if not pc.any(odd).as_py():
        return found
    single = [_one(text, kind) for text in texts.filter(odd).to_pylist()]
    words = pa.array(single, _WORDS.get(kind, ARROW_TYPES[kind])).cast(ARROW_TYPES[kind])
    return pc.replace_with_mask(found, odd, words)


def _cast(texts: Any, kind: str) -> Any:
    if kind == "TIMESTAMP":
        bare = pc.replace_substring_regex(texts, "Z$", "")
        return bare.cast(pa.timestamp("us")).cast(ARROW_TYPES[kind])
    return texts.cast(ARROW_TYPES[kind])


def _one(text: str, kind: str) -> Any:
    """Return what one text spells, as a word of the type."""
    try:
        return _SINGLE[kind](text)
    except (*UNFIT, KeyError, InvalidOperation):
        return None


def _long(text: str) -> int | None:
    number = Decimal(text.strip())
    # The range first: 1e999999999 as a whole number would fill the memory.
    if not number.is_finite() or not _LEAST <= number <= _MOST or number != int(number):
        return None
    return int(number)


def _double(text: str) -> float | None:
    own = text.strip()
    if _DOUBLE.fullmatch(own):
        return float(own.rstrip("dDfF"))
    sign = -1.0 if own[:1] == "-" else 1.0
    found = _OTHERS.get(own.lstrip("+-").lower())
    return None if found is None else sign * found


_SINGLE: Mapping[str, Callable[[str], Any]] = {
    "LONG": _long,
    "DOUBLE": _double,
    "BOOLEAN": lambda text: _TRUTHS[text.strip().lower()],
    "TIMESTAMP": READERS["TIMESTAMP"],
    "DATE": READERS["DATE"],
}


def _formed(texts: Any, kind: str, form: str) -> Any:
    """Return moments or days that are written by a pattern; without a zone they are in UTC."""
    shape = form_of(form)
    assert shape is not None, "refused before"
    coded = texts.dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    known = [None if t is None else moment_of(t, shape) for t in coded.dictionary.to_pylist()]
    if kind == "DATE":
        known = [None if word is None else word // DAY_LENGTH for word in known]
    words = pa.array(known, _WORDS[kind]).take(coded.indices)
    return words.cast(ARROW_TYPES[kind])


def unfit_text(name: str, kind: str, text: str, forms: Forms) -> str:
    """Return why a row with this text is of no use, in the words that Spark's reader has."""
    form = forms.of(kind)
    expected = EXPECTED.get(kind, "") if form is None else f"; expected text such as {form}"
    return f"{name} is declared {kind}, but is {text[:200]}{expected}"


def with_reasons(reasons: list[str | None], where: Any, sentences: list[str]) -> None:
    """Note sentences for the rows that are marked, unless they have a reason."""
    for k, sentence in zip(np.flatnonzero(np.asarray(where)), sentences, strict=True):
        if reasons[k] is None:
            reasons[k] = sentence
