"""What went wrong in Spark, in one sentence."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from augury.errors import AuguryError, StateError
from augury.runners.running import explained


@pytest.fixture(autouse=True)
def _no_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUGURY_TRACEBACK", raising=False)


WORKER = """\
[STREAM_FAILED] Query terminated with exception: Job aborted
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
{}

\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)
"""


def test_an_error_of_augury_crosses_spark_as_itself() -> None:
    raised = "augury.errors.StateError: the state of shard 3 is damaged"
    found = explained(PySparkException(WORKER.format(raised)))
    assert isinstance(found, StateError)
    assert str(found) == "the state of shard 3 is damaged"


def test_the_error_of_a_worker_is_named() -> None:
    found = explained(PySparkException(WORKER.format("ZeroDivisionError: division by zero")))
    assert type(found) is AuguryError
    assert str(found).startswith("Spark stopped the run: ZeroDivisionError: division by zero; ")


def test_a_refusal_of_augury_crosses_spark_as_one() -> None:
    raised = "augury.planning.refusal.PlanError: query q uses a MARKOV stream"
    found = explained(PySparkException(WORKER.format(raised)))
    assert str(found) == "query q uses a MARKOV stream"


def test_an_error_with_another_name_is_named_too() -> None:
    found = explained(PySparkException(WORKER.format("pyarrow.lib.ArrowInvalid: no such value")))
    assert str(found).startswith("Spark stopped the run: pyarrow.lib.ArrowInvalid: no such value; ")


def test_the_last_cause_is_named() -> None:
    text = (
        "Job aborted\nCaused by: java.io.IOException: a\nCaused by: java.io.IOException: disk full"
    )
    assert "java.io.IOException: disk full" in str(explained(PySparkException(text)))


def test_with_tracebacks_spark_speaks_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_TRACEBACK", "1")
    with pytest.raises(PySparkException):
        explained(PySparkException("Job aborted"))
