"""The type level: ties, what must go, and what is needed where types are many."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.errors import DataError
from augury.privacy.integer_program import solve
from augury.privacy.type_level import Worth, best_types


def worth(types: str, value: float) -> Worth:
    return Worth(frozenset(types), value)


def test_of_equal_sets_the_fewest_types_then_the_first_by_name() -> None:
    found = best_types([worth("AB", 3.0), worth("CD", -2.0)], frozenset(), 1.0)
    assert (found.dropped, found.utility) == ({"C"}, 3.0)
    assert best_types([worth("AB", 0.0)], frozenset(), 1.0).dropped == frozenset()


def test_a_bound_type_is_never_dropped() -> None:
    found = best_types([worth("CD", -2.0)], frozenset("C"), 1.0)
    assert found.dropped == {"D"}
    assert best_types([worth("CD", -2.0)], frozenset("CD"), 1.0).dropped == frozenset()


def test_what_must_go_goes_whatever_it_costs() -> None:
    never = Worth(frozenset("AB"), 0.0, must_go=True)
    found = best_types([worth("AC", 9.0), worth("BC", 5.0), never], frozenset(), 1.0)
    assert (found.dropped, found.utility) == ({"B"}, 9.0)


def test_many_types_name_the_package_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    monkeypatch.delitem(sys.modules, "augury.privacy.integer_program", raising=False)
    many = [worth(chr(65 + k) + chr(66 + k), -1.0) for k in range(13)]
    with pytest.raises(DataError, match=r"augury\[privacy\]"):
        best_types(many, frozenset(), 1.0)


WORTHS = st.lists(
    st.builds(
        Worth,
        st.frozensets(st.sampled_from("ABCDEFG"), min_size=1, max_size=3),
        st.integers(-9, 9).map(float),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@given(WORTHS)
def test_the_integer_programme_finds_what_trying_all_finds(worths: list[Worth]) -> None:
    tried = best_types(worths, frozenset(), 1.0)
    solved = solve(worths, sorted({name for each in worths for name in each.types}), 10.0)
    assert (solved.dropped, solved.gap) == (tried.dropped, 0.0)
    assert solved.utility == pytest.approx(tried.utility, abs=1e-9)
