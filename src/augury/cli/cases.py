"""Cases of scripts: rows that go in, and answers that are expected, in a TOML file beside each.

A case binds rows to streams and tables and asks for queries, rules, forecasts, tables or streams by
name. An expected row names the columns that matter; it is met by one row that has them so, numbers
within the tolerance. Every row needs its own expected one: one too many fails as one too few does.

>>> differences([{"who": "ann", "confidence": 0.5}], [{"confidence": 0.5000000001}], 1e-6)
[]
>>> differences([{"who": "ann"}, {"who": "bob"}], [{"who": "bob"}], 1e-6)
["a row that was not expected: {'who': 'ann'}"]
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from augury.errors import AuguryError

TOLERANCE = 1e-6
PATTERN = "*.test.toml"
_KEYS = {"name", "rows", "expect", "tolerance"}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One case: `rows` and `expect` by name; an expectation is rows, or a number of rows."""

    file: Path
    script: Path
    name: str
    rows: Mapping[str, Sequence[Row] | Path]
    expect: Mapping[str, Sequence[Row] | int]
    tolerance: float


def read_cases(file: Path) -> list[Case]:
    """Return the cases of a file; raise where it is none of cases."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise AuguryError(f"{file} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise AuguryError(f"{file} is no TOML, which cases are written in: {error}") from error
    strange = sorted(document.keys() - {"script", "case"})
    if strange or not isinstance(document.get("case"), list):
        what = f"has {strange[0]!r}" if strange else "has no case"
        raise AuguryError(f"{file} {what}; expected script = '...' and [[case]] tables")
    default = file.name.removesuffix(PATTERN[1:]) + ".sql"
    script = file.parent / document.get("script", default)
    return [_case(file, script, number, each) for number, each in enumerate(document["case"], 1)]


def _case(file: Path, script: Path, number: int, entry: Mapping[str, Any]) -> Case:
    name = str(entry.get("name", f"case {number}"))
    strange = sorted(entry.keys() - _KEYS)
    if strange:
        raise AuguryError(
            f"{file}, {name}: there is no key {strange[0]!r}; expected {', '.join(sorted(_KEYS))}"
        )
    expect = entry.get("expect", {})
    if not isinstance(expect, dict) or not expect:
        raise AuguryError(f"{file}, {name}: nothing is expected; write [case.expect]")
    for asked, rows in expect.items():
        if not isinstance(rows, int | list) or isinstance(rows, bool):
            raise AuguryError(f"{file}, {name}: {asked} is {rows!r}; expected rows or their number")
    given = entry.get("rows", {})
    rows = {key: file.parent / own if isinstance(own, str) else own for key, own in given.items()}
    return Case(file, script, name, rows, expect, float(entry.get("tolerance", TOLERANCE)))


def failures(case: Case) -> list[str]:
    """Return what is not as expected; nothing where the case holds."""
    from augury.cli.scripts import rows_of, session_of

    ag = session_of(str(case.script))
    for name, rows in case.rows.items():
        ag.bind(name, rows_of(str(rows)) if isinstance(rows, Path) else rows)
    found: list[str] = []
    for name, expected in case.expect.items():
        answer = ag.table(name).to_pylist()
        if isinstance(expected, int):
            wrong = [] if len(answer) == expected else [f"{len(answer)} rows, expected {expected}"]
        else:
            wrong = differences(answer, expected, case.tolerance)
        found += [f"{name}: {each}" for each in wrong]
    return found


def differences(rows: Sequence[Row], expected: Sequence[Row], tolerance: float) -> list[str]:
    """Return what is missing and what is too much, each row of one with one of the other."""
    fits = [[_is_met(want, row, tolerance) for row in rows] for want in expected]
    partner = _paired(fits, len(rows))
    missing = [want for k, want in enumerate(expected) if k not in partner.values()]
    left = [row for n, row in enumerate(rows) if n not in partner]
    names = list(dict.fromkeys(name for want in expected for name in want))
    shown = [{name: row[name] for name in names if name in row} or dict(row) for row in left]
    return [f"a row is missing: {dict(want)}" for want in missing] + [
        f"a row that was not expected: {row}" for row in shown
    ]


def _paired(fits: Sequence[Sequence[bool]], n: int) -> dict[int, int]:
    """Return of each row that was told the expected one it is paired with, as many as can be."""
    partner: dict[int, int] = {}

    def place(want: int, tried: set[int]) -> bool:
        for row in range(n):
            if fits[want][row] and row not in tried:
                tried.add(row)
                if row not in partner or place(partner[row], tried):
                    partner[row] = want
                    return True
        return False

    for want in range(len(fits)):
        place(want, set())
    return partner


def _is_met(want: Any, actual: Any, tolerance: float) -> bool:
    """Return whether a value is as wanted; of a row, whether those that are named are."""
    if isinstance(want, Mapping):
        named = isinstance(actual, Mapping) and all(name in actual for name in want)
        return named and all(_is_met(want[name], actual[name], tolerance) for name in want)
    if isinstance(want, list):
        alike = isinstance(actual, list) and len(actual) == len(want)
        return alike and all(map(_is_met, want, actual, [tolerance] * len(want)))
    if isinstance(actual, datetime):
        return _moment(want) == _moment(actual)
    if isinstance(want, bool) or isinstance(actual, bool):
        return want is actual
    if isinstance(want, int | float) and isinstance(actual, int | float):
        return math.isclose(want, actual, rel_tol=0.0, abs_tol=tolerance) or want == actual
    return bool(want == actual)


def _moment(value: Any) -> datetime | None:
    """Return a time with its zone, UTC where none is written; None of what is no time."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)
