"""The names of a pushed row's columns: in any case, some may lack, but a slip is not NULL."""

from __future__ import annotations

import pytest

from augury.errors import DataError
from augury.sources.intake import Intake
from augury.sources.rows import Declaration

COLUMNS = {"tag": "STRING", "reader": "STRING", "at": "LONG", "price": "DOUBLE"}
ROW = {"tag": "x", "reader": "EXIT", "at": 1, "price": 2.5}


def entrance() -> Intake:
    return Intake(Declaration("reads", COLUMNS, time="at", key=("tag",)), lateness=0)


@pytest.mark.parametrize(("meant", "slip"), [("reader", "raeder"), ("price", "PRCE")])
def test_a_misspelt_column_is_named_with_what_was_meant(meant: str, slip: str) -> None:
    row = {slip if name == meant else name: value for name, value in ROW.items()}
    with pytest.raises(DataError) as caught:
        entrance().take(row)
    assert str(caught.value) == (
        f"a row of reads has column {slip.lower()}, which is not declared, and lacks {meant}; "
        f"did you mean {meant}?"
    )


def test_a_misspelt_column_is_refused_each_time() -> None:
    intake = entrance()
    for _ in range(2):
        with pytest.raises(DataError, match="did you mean price"):
            intake.take({"tag": "x", "at": 1, "pirce": 2.5})


def test_a_column_may_lack_and_is_null() -> None:
    arrival = entrance().take({"tag": "x", "reader": "EXIT", "at": 1})
    assert arrival is not None
    assert arrival.values == {"tag": "x", "reader": "EXIT", "at": 1, "price": None}


def test_columns_that_are_not_declared_are_no_matter() -> None:
    intake = entrance()
    assert intake.take(ROW | {"readers": 1, "note": "n"}) is not None
    assert intake.take({"tag": "x", "at": 2, "colour": "red", 7: "seven"}) is not None


def test_names_are_read_in_any_case() -> None:
    arrival = entrance().take({name.upper(): value for name, value in ROW.items()})
    assert arrival is not None
    assert arrival.values == ROW


def test_a_tick_that_no_watermark_reaches_is_rejected_and_moves_nothing() -> None:
    intake = Intake(Declaration("s", {"t": "LONG"}, "t"), 5)
    assert intake.take({"t": 10}) is not None
    assert intake.take({"t": 2**63 - 1}) is None
    assert intake.take({"t": -(2**63)}) is None
    assert intake.watermark == 5
    reason = f"t is not a tick between -{2**62 - 1} and {2**62 - 1}"
    assert [why for _, why in intake.rejected] == [reason, reason]
