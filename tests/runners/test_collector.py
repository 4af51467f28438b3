"""How seldom the collector of garbage looks while a table is answered."""

from __future__ import annotations

import gc

import pytest

from augury import Session
from augury.errors import AuguryError
from augury.runners.process.collector import SELDOM, collecting_seldom


def test_the_collector_is_afterwards_as_it_was() -> None:
    def run() -> None:
        with collecting_seldom():
            assert gc.get_threshold() == SELDOM
            assert gc.get_freeze_count() > 0
            raise AuguryError("in the middle of a run")

    before = gc.get_threshold()
    with pytest.raises(AuguryError):
        run()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_what_somebody_has_frozen_stays_frozen() -> None:
    before = gc.get_threshold()
    gc.freeze()
    try:
        with collecting_seldom():
            assert gc.get_threshold() == before
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_a_table_leaves_the_collector_alone() -> None:
    before = gc.get_threshold()
    ag = Session(engine="local")
    ag.sql("""
        CREATE STREAM s (kind STRING, t LONG) TIME t TYPE kind;
        CREATE QUERY q ON s PATTERN SEQ(A a, !B b, C c) WITHIN 5;
    """)
    ag.bind("s", [{"kind": "A", "t": 1}, {"kind": "C", "t": 2}])
    assert ag.table("q").num_rows == 1
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
