"""The cycle collector walks seldom while somebody asks for that, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

from augury.evaluation.owners.collecting import SELDOM, seldom_collected


def test_thresholds_are_put_back_by_the_last_to_leave() -> None:
    before = gc.get_threshold()
    first, second = seldom_collected(), seldom_collected()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == SELDOM
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_thresholds_are_put_back_where_a_batch_fails() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), seldom_collected():
        1 / 0  # noqa: B018
    assert gc.get_threshold() == before


def test_a_collector_that_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.disable()
    try:
        with seldom_collected():
            assert gc.get_threshold() == before
        assert not gc.isenabled()
    finally:
        gc.enable()
