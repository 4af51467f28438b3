"""A history that is counted at once teaches what its events teach one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.forecast.batch import Batch
from augury.forecast.model import Model, Seen

EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 2, 6]), st.integers(0, 40)),
    min_size=1,
    max_size=30,
)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@given(events=EVENTS)
def test_counts_are_those_of_events_one_by_one(
    order: int, events: list[tuple[int, int, int]]
) -> None:
    partition, symbol, time = np.array(sorted(events, key=lambda e: e[2]), np.int64).T
    none, certain = np.zeros(len(events), np.int64), np.ones(len(events))
    places = np.arange(len(events))
    batch = Batch(time, none, places, partition, symbol, certain, none - 1, none, [None])
    found, wanted = Model(order), Model(order)
    found.learn_at_once(batch)
    for own in batch.orders():
        for one, reads in own.items():
            wanted.learn(one, [Seen(read.symbol, read.time, read.p) for read in reads])
    assert found.total == wanted.total
    assert (found.met, found.events) == (wanted.met, wanted.events)
