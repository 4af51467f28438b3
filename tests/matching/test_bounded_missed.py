"""A missed component whose time is bounded: worlds that can be counted, and what was read beyond.

A component's time is one draw from its gap. A read of it beyond the bound is that draw: it came
there, and not within the bound. A bound says which draws make a match, never what counts as read.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from runners.every_runner import Runner, every_runner

STREAM = """
CREATE STREAM s (tag STRING, kind STRING, t LONG, p DOUBLE)
KEY tag TIME t TYPE kind PROBABILITY p MISS RATE 0.1;
"""
QUERY = "CREATE QUERY q ON s PATTERN SEQ(X x, Y y, Z z) WHERE [tag] AND {bound} WITHIN {window} "
MEANS = "CREATE GAPS g ON q (x TO y EXPONENTIAL(1000), y TO z EXPONENTIAL(1000));"
RATE = Fraction(1, 10)
END = 97


def row(kind: str, t: int, p: float = 1.0) -> dict[str, Any]:
    return {"tag": "a", "kind": kind, "t": t, "p": p}


def missed(found: list[dict[str, Any]]) -> list[float]:
    return [each["confidence"] for each in found if each["n_missed"]]


@every_runner
@pytest.mark.parametrize(("p", "expected"), [(None, 0.060122), (1.0, None), (0.4, 0.036073)])
def test_a_read_beyond_the_bound_was_not_missed_within_it(
    runner: Runner, p: float | None, expected: float | None
) -> None:
    script = STREAM + QUERY.format(bound="y.t - x.t < 300", window=10000)
    script += f"ALLOW 1 MISSED OF (y); {MEANS}"
    rows = [row("X", 0), *([] if p is None else [row("Y", 500, p)]), row("Z", 1000)]
    end = {"s": {"tag": "end", "kind": "N", "t": 10**6, "p": 1.0}}
    found = missed(runner(script, "q", {"s": rows}, end))
    assert found == pytest.approx([] if expected is None else [expected], abs=1e-6)


def by_worlds(
    draws: list[int], reaches: Fraction, bound: tuple[int, int], reads: dict[int, Fraction]
) -> Fraction:
    """Return P(y happened unread within the bound, and nothing read was y), draw by draw."""
    true = silent = Fraction(0)
    worlds = [(at, reaches / len(draws)) for at in draws] + [(None, 1 - reaches)]
    for (at, weight), was_missed in product(worlds, (True, False)):
        if at is None or at > END:
            # It did not come between the two, so there was nothing to be read.
            silent += weight * (RATE if was_missed else 1 - RATE)
        elif was_missed:
            silent += weight * RATE
            true += weight * RATE * (bound[0] <= at <= bound[1])
    none_was_read = Fraction(1)
    for p in reads.values():
        none_was_read *= 1 - p
    return true / silent * none_was_read


times = st.integers(1, END - 1)


@given(
    draws=st.lists(st.integers(1, 2 * END).filter(lambda t: t != END), min_size=1, max_size=6),
    bound=st.tuples(times, times).map(lambda pair: (min(pair), max(pair))),
    reads=st.dictionaries(times, st.sampled_from((Fraction(1, 4), Fraction(3, 4), Fraction(1)))),
    reaches=st.sampled_from((Fraction(1), Fraction(4, 5))),
    later=st.booleans(),
)
def test_the_engine_agrees_with_counted_worlds(
    draws: list[int],
    bound: tuple[int, int],
    reads: dict[int, Fraction],
    reaches: Fraction,
    later: bool,
) -> None:
    """The bound is on the time since x, or on that until z, which is the same draw."""
    low, high = bound
    text = f"y.t - x.t BETWEEN {low} AND {high}"
    if later:
        text = f"z.t - y.t >= {END - high} AND z.t - y.t <= {END - low}"
    ag = Session(engine="local")
    written = ", ".join(map(str, draws))
    ag.sql(
        STREAM + QUERY.format(bound=text, window=1000) + "ALLOW 1 MISSED OF (y);"
        f"CREATE GAPS g ON q (x TO y EMPIRICAL({written}) REACHES {float(reaches)});"
    )
    ag.bind("s", [row("X", 0), *(row("Y", t, float(p)) for t, p in reads.items()), row("Z", END)])
    expected = float(by_worlds(draws, reaches, bound, reads))
    found = missed(ag.table("q").to_pylist())
    assert found == pytest.approx([expected] if expected else [], abs=1e-8)


def test_a_read_before_a_leading_bound_is_the_missed_first_component() -> None:
    ag = Session(engine="local")
    ag.sql(
        STREAM + "CREATE QUERY q ON s PATTERN SEQ(X x, Z z) WHERE [tag] AND z.t - x.t < 30 "
        "WITHIN 100 ALLOW 1 MISSED OF (x); CREATE GAPS g ON q (x BEFORE z EXPONENTIAL(50));"
    )
    ag.bind("s", [row("X", 0, 0.5), row("Z", 60), {**row("Z", 60), "tag": "b"}])
    with_read, without = sorted(missed(ag.table("q").to_pylist()))
    assert with_read == pytest.approx(without / 2)
