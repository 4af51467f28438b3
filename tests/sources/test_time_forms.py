"""Patterns of times that are read without Spark, and those that are not."""

from __future__ import annotations

import pytest

from augury.sources.time_forms import form_of


@pytest.mark.parametrize("pattern", ["yyyy uuuu", "MM LL", "HH:mm X Z"])
def test_a_pattern_that_has_a_part_twice_is_for_spark(pattern: str) -> None:
    assert form_of(pattern) is None
