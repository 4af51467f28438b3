"""One rule for the cells of rows: pushed or bound, in any kind of table, they are the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from augury.errors import DataError

KINDS = ("LONG", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "DATE")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
DAY = datetime(2026, 1, 31, tzinfo=UTC)
# What is taken for each type, and as what.
TAKEN: dict[str, list[tuple[Any, Any]]] = {
    "LONG": [(1, 1), (1.0, 1), (Decimal("3"), 3), (np.int32(4), 4), (2**53 + 1, 2**53 + 1)],
    "DOUBLE": [(1, 1.0), (0.5, 0.5), (Decimal("0.25"), 0.25), (np.float32(0.5), 0.5)],
    "STRING": [("x", "x"), (7, "7"), (b"y", "y"), (2**70, str(2**70))],
    "BOOLEAN": [(True, True), (np.False_, False), (1, True), (0.0, False)],
    "TIMESTAMP": [
        (NOON, NOON),
        (NOON.replace(tzinfo=None), NOON),
        (NOON.astimezone(timezone(timedelta(hours=2))), NOON),
        (date(2026, 1, 31), DAY),
        ("2026-01-31", DAY),
        ("2026-01-31T12:00", NOON),
        ("2026-01-31 12:00:00", NOON),
        ("2026-01-31T12:00:00.000000789", NOON),
        ("2026-01-31T14:00:00+02:00", NOON),
        ("2026-01-31T14:00+0200", NOON),
        ("2026-01-31T12:00:00Z", NOON),
        (np.datetime64("2026-01-31T12:00:00.000000001"), NOON),
        (pd.Timestamp("2026-01-31T12:00:00.000000001"), NOON),
    ],
    "DATE": [
        (date(2026, 1, 31), date(2026, 1, 31)),
        (DAY, date(2026, 1, 31)),
        ("2026-01-31", date(2026, 1, 31)),
        (np.datetime64("2026-01-31"), date(2026, 1, 31)),
    ],
}
REFUSED: dict[str, list[Any]] = {
    "LONG": [1.5, float("nan"), float("inf"), 2**63, "1", True, np.True_, Decimal("0.5"), NOON],
    "DOUBLE": ["1.0", False, NOON, [1.0]],
    "STRING": [1.0, True, NOON, b"\xff", "half \ud800", {"a": 1}],
    "BOOLEAN": [2, "true", 0.5, NOON],
    "TIMESTAMP": [1_769_860_800, 1.5, True, False, "noon", "20260131", "2026-02-30", "12:00:00"],
    "DATE": [20_484, True, NOON, "2026-01-31T12:00:00Z", "2026-02-30", "31.01.2026"],
}
MISSING = (None, pd.NaT, pd.NA, np.datetime64("NaT"))


def session(kind: str) -> Session:
    ag = Session(engine="local")
    ag.sql(f"CREATE STREAM s (id LONG, x {kind}, t LONG) ID id TIME t;")
    ag.sql("CREATE QUERY q ON s PATTERN s a RETURN a.id AS id, a.x AS x;")
    return ag


Answer = tuple[list[Any], list[str]]


def by_binding(kind: str, table: Callable[[list[Any]], Any], values: list[Any]) -> Answer:
    """Return the values that are taken, in their order, and why others are not."""
    ag = session(kind)
    ag.bind("s", table(values))
    rows = sorted(ag.table("q").to_pylist(), key=lambda row: row["id"])
    return [row["x"] for row in rows], ag.rejected("s").column("reason").to_pylist()


def by_pushing(kind: str, values: list[Any]) -> Answer:
    ag = session(kind)
    found = ag.push("s", as_rows(values)) + ag.finish()
    taken = [row["x"] for row in sorted(found, key=lambda row: row["id"])]
    return taken, ag.rejected("s").column("reason").to_pylist()


def as_rows(values: list[Any]) -> list[dict[str, Any]]:
    return [{"id": k, "x": value, "t": k} for k, value in enumerate(values)]


def as_columns(values: list[Any]) -> dict[str, Any]:
    return {"id": list(range(len(values))), "x": values, "t": list(range(len(values)))}


def as_frame(values: list[Any]) -> pd.DataFrame:
    numbers = list(range(len(values)))
    return pd.DataFrame({"id": numbers, "x": pd.Series(values, dtype=object), "t": numbers})


TABLES = (as_rows, as_columns, as_frame)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_taken_is_the_same_value_however_it_comes(kind: str) -> None:
    given, expected = zip(*TAKEN[kind], strict=True)
    assert by_pushing(kind, list(given)) == (list(expected), [])
    for table in TABLES:
        assert by_binding(kind, table, list(given)) == (list(expected), [])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused_is_refused_however_it_comes_and_takes_only_its_row(kind: str) -> None:
    (good, expected), *_ = TAKEN[kind]
    bad = REFUSED[kind]
    mixed = [value for each in bad for value in (good, each)]
    taken, reasons = by_pushing(kind, mixed)
    assert taken == [expected] * len(bad)
    assert all(reason.startswith(f"x is declared {kind}, but is ") for reason in reasons)
    assert len(reasons) == len(bad)
    assert by_binding(kind, as_rows, mixed) == (taken, reasons)
    assert by_binding(kind, as_columns, mixed) == (taken, reasons)


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_for_nothing_is_null(kind: str) -> None:
    (good, expected), *_ = TAKEN[kind]
    values, found = [good, *MISSING], [expected] + [None] * len(MISSING)
    assert by_pushing(kind, values) == (found, [])
    for table in TABLES:
        assert by_binding(kind, table, values) == (found, [])


def typed(values: list[Any], type_: Any) -> pa.Table:
    numbers = list(range(len(values)))
    return pa.table({"id": numbers, "x": pa.array(values, type_), "t": numbers})


NAIVE = NOON.replace(tzinfo=None)


@pytest.mark.parametrize(
    ("kind", "type_", "values", "taken", "reasons"),
    [
        ("LONG", pa.float64(), [1.0, 1.5, None], [1, None], ["x is declared LONG, but is 1.5"]),
        ("LONG", pa.uint64(), [1, 2**63], [1], [f"x is declared LONG, but is {2**63}"]),
        ("LONG", pa.decimal128(3, 1), [Decimal("2.0"), None], [2, None], []),
        ("DOUBLE", pa.int64(), [2**53 + 1], [2.0**53], []),
        ("STRING", pa.int32(), [7], ["7"], []),
        ("STRING", pa.binary(), [b"a", b"\xff"], ["a"], [r"x is declared STRING, but is b'\xff'"]),
        ("BOOLEAN", pa.int64(), [0, 1, 2], [False, True], ["x is declared BOOLEAN, but is 2"]),
        ("TIMESTAMP", pa.timestamp("ns"), [NAIVE, None], [NOON, None], []),
        ("TIMESTAMP", pa.timestamp("s"), [NAIVE], [NOON], []),
        ("TIMESTAMP", pa.timestamp("ms", "Asia/Tokyo"), [NOON], [NOON], []),
        ("TIMESTAMP", pa.date32(), [date(2026, 1, 31)], [DAY], []),
        ("TIMESTAMP", pa.string(), ["2026-01-31T12:00", "2026-01-31T14:00+02"], [NOON] * 2, []),
        ("TIMESTAMP", pa.large_string(), ["2026-01-31T12:00:00"], [NOON], []),
        ("DATE", pa.timestamp("us"), [DAY.replace(tzinfo=None)], [date(2026, 1, 31)], []),
    ],
)
def test_columns_of_arrow_are_judged_cell_by_cell(
    kind: str, type_: Any, values: list[Any], taken: list[Any], reasons: list[str]
) -> None:
    assert by_binding(kind, lambda own: typed(own, type_), values) == (taken, reasons)


def test_one_bad_text_takes_its_row_and_no_other() -> None:
    texts = ["2026-01-31T12:00:00Z", "soon"]
    reason = f"x is declared TIMESTAMP, but is 'soon'; expected ISO text such as {texts[0]}"
    assert by_binding("TIMESTAMP", lambda own: typed(own, pa.string()), texts) == ([NOON], [reason])


def test_moments_before_1970_lose_what_is_finer_downwards() -> None:
    given = pa.array([-1, 1999], pa.int64()).cast(pa.timestamp("ns"))
    table = pa.table({"id": [0, 1], "x": given, "t": [0, 1]})
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    step = timedelta(microseconds=1)
    assert by_binding("TIMESTAMP", lambda _: table, [0, 1])[0] == [epoch - step, epoch + step]


def test_a_time_that_no_date_has_takes_its_row() -> None:
    far = pa.array([0, 10**17], pa.int64()).cast(pa.timestamp("s"))
    table = pa.table({"id": [0, 1], "x": far, "t": [0, 1]})
    taken, reasons = by_binding("TIMESTAMP", lambda _: table, [0, 1])
    assert taken == [datetime(1970, 1, 1, tzinfo=UTC)]
    assert len(reasons) == 1


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("LONG", pa.string()),
        ("LONG", pa.bool_()),
        ("DOUBLE", pa.string()),
        ("STRING", pa.float64()),
        ("TIMESTAMP", pa.int64()),
        ("TIMESTAMP", pa.bool_()),
        ("DATE", pa.int64()),
    ],
)
def test_a_column_of_another_type_is_an_error(kind: str, type_: Any) -> None:
    ag = session(kind)
    ag.bind("s", typed([None], type_))
    with pytest.raises(DataError, match=f"column x of stream s is declared {kind}, but the data"):
        ag.table("q")


def test_columns_that_are_not_declared_may_hold_anything() -> None:
    ag = session("LONG")
    ag.bind("s", [{"id": 1, "x": 1, "t": 1, "y": "a"}, {"id": 2, "x": 2, "t": 2, "y": 3}])
    assert ag.table("q").num_rows == 2


def test_a_frame_is_pushed_by_the_same_rule() -> None:
    ag = session("TIMESTAMP")
    found = ag.push("s", as_frame(["2026-01-31", DAY, pd.NaT, 5])) + ag.finish()
    assert [row["x"] for row in found] == [DAY, DAY, None]
    assert ag.rejected("s").num_rows == 1


MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
ZONES = st.sampled_from(["", "Z", "+00:00", "+0530", "-08"])


@given(st.lists(st.tuples(MOMENTS, ZONES, st.sampled_from("T ")), min_size=1, max_size=6))
def test_texts_of_moments_say_what_python_says(given: list[tuple[datetime, str, str]]) -> None:
    texts = [moment.isoformat(mark) + zone for moment, zone, mark in given]
    read = [datetime.fromisoformat(text) for text in texts]
    meant = [each if each.tzinfo else each.replace(tzinfo=UTC) for each in read]
    assert by_binding("TIMESTAMP", lambda own: typed(own, pa.string()), texts) == (meant, [])
    assert by_binding("TIMESTAMP", as_rows, texts) == (meant, [])


@given(
    st.lists(
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(), MOMENTS, st.dates()
        ),
        max_size=6,
    ),
    st.sampled_from(KINDS),
)
def test_whatever_is_bound_among_good_rows_is_what_pushing_takes(
    values: list[Any], kind: str
) -> None:
    mixed = [TAKEN[kind][0][0], *values]
    pushed, bound = by_pushing(kind, mixed), by_binding(kind, as_rows, mixed)
    # As text, because NaN equals nothing.
    assert list(map(str, pushed[0])) == list(map(str, bound[0]))
    assert pushed[1] == bound[1]


@pytest.mark.parametrize("truth", [True, False, np.True_])
def test_a_truth_value_is_no_number_among_fractions_either(truth: Any) -> None:
    mixed = [0.5, truth]
    assert by_binding("DOUBLE", as_rows, mixed) == by_pushing("DOUBLE", mixed)
    assert by_pushing("DOUBLE", mixed)[0] == [0.5]
