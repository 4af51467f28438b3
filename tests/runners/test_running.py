"""A run that fails says why by what failed in its batch, not by what Spark makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

from augury.errors import AuguryError, StateError
from augury.runners.process.running import Trigger, run_stream
from augury.sinks.delivery import Delivery, StoppedError


@pytest.fixture(autouse=True)
def _no_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUGURY_TRACEBACK", raising=False)


class Failing:
    """A DataFrame, its writer and its query in one: waiting for it fails."""

    isActive = False  # noqa: N815
    recentProgress = ()  # noqa: N815

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: self

    @property
    def writeStream(self) -> Failing:  # noqa: N802
        return self

    def awaitTermination(self, _: float) -> bool:  # noqa: N802
        raise PySparkException("[STREAM_FAILED] Query [id = a] terminated with exception: oh")


def run(failure: BaseException | None) -> None:
    delivery = Delivery(None, {}, failure=failure)  # type: ignore[arg-type]
    run_stream(Failing(), delivery, "ck", Trigger(), print)  # type: ignore[arg-type]


def test_what_failed_in_a_batch_is_told_rather_than_that_the_stream_failed() -> None:
    with pytest.raises(AuguryError, match="Spark stopped the run: disk full; what was written"):
        run(PySparkException("java.io.IOException: disk full"))


def test_an_error_of_augury_in_a_batch_is_the_error_of_the_run() -> None:
    with pytest.raises(StateError, match="hits is of another run"):
        run(StateError("hits is of another run"))


def test_a_stream_that_fails_outside_its_batches_says_why() -> None:
    with pytest.raises(AuguryError, match="Spark stopped the run: oh; what was written stays; "):
        run(None)


def test_a_run_that_was_told_to_stop_has_not_failed() -> None:
    run(StoppedError())
