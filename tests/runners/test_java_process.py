"""The Java process of a run: why it gave up, and that it is not left behind."""

from __future__ import annotations

import sys

import pytest
from pyspark import java_gateway
from pyspark.core import context

from augury.runners.process.java_process import Java


def started(program: str) -> Java:
    java = Java()
    with java.starting():
        java_gateway.Popen([sys.executable, "-c", program])  # type: ignore[attr-defined]
    return java


def ended(program: str) -> Java:
    java = Java()
    with java.starting():
        java_gateway.Popen([sys.executable, "-c", program]).wait()  # type: ignore[attr-defined]
        assert java._reader is not None
        java._reader.join()
    return java


THROWS = """
import sys
sys.stderr.write('WARNING: Using incubator modules\\n'
    'Exception in thread "main" org.apache.spark.SparkException: Master must be yarn\\n'
    '\\tat org.apache.spark.deploy.SparkSubmit.error(SparkSubmit.scala:1068)\\n')
"""


def test_what_ends_a_start_is_told_without_its_stack(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(THROWS).last_words() == "Master must be yarn"
    assert capfd.readouterr().err == "WARNING: Using incubator modules\n"


def test_who_asks_for_tracebacks_gets_the_stack(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGURY_TRACEBACK", "1")
    ended(THROWS)
    assert "SparkSubmit.scala" in capfd.readouterr().err


def test_a_java_that_refuses_its_settings_is_cited() -> None:
    said = "Invalid maximum heap size: -Xmx1x\\nError: Could not create the Java Virtual Machine."
    assert (
        ended(f"import sys; sys.exit('{said}')").last_words() == "Invalid maximum heap size: -Xmx1x"
    )


def test_a_java_that_still_runs_has_no_last_words_and_can_be_ended() -> None:
    java = started("import time; time.sleep(600)")
    assert java.last_words() is None
    java.end()
    assert java._process is not None
    assert java._process.poll() is not None
    java.end()


def test_where_none_was_started_there_is_nothing_to_end() -> None:
    java = Java()
    java.end()
    assert java.last_words() is None
    assert not java.is_ours


def test_pyspark_has_its_own_again_once_the_start_is_over() -> None:
    before = java_gateway.Popen, context.signal  # type: ignore[attr-defined]
    java = started("")
    java.end()
    assert (java_gateway.Popen, context.signal) == before  # type: ignore[attr-defined]
