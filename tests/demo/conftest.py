"""A day in the store that is answered once for all tests of the demo."""

from __future__ import annotations

import pytest

from augury import Session
from augury.demo.store.play import Store
from augury.demo.store.truth import Answers, Day, Judgement

Played = tuple[Day, Answers, Judgement]


@pytest.fixture(scope="session")
def played() -> Played:
    """Return a day, the answers of the local engine, and the judgement on them."""
    store = Store()
    day = store.simulate(seed=3)
    answers = store.run(day, Session(engine="local"))
    return day, answers, store.judge(day, answers)
