"""One broker for all tests of this folder, ended with them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from kafka.broker import Broker
from kafka.jars import folder


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker; its process is ended when the run is."""
    made = Broker(folder("broker"), tmp_path_factory.mktemp("broker"))
    made.start()
    yield made
    made.stop()


_NUMBERS = itertools.count(1)


@pytest.fixture
def fresh_topic() -> Callable[[str], str]:
    """Return a maker of topic names that no other test has."""
    return lambda stem: f"{stem}-{next(_NUMBERS)}"
