"""Workers that run the Python of another environment are told of before they fail."""

import sys
from dataclasses import dataclass

import pytest

from augury import Session
from augury.runners.process.worker_python import notice_of


@dataclass
class Context:
    """What Spark says of where it runs, and with which Python."""

    master: str
    pythonExec: str  # noqa: N815


@dataclass
class Spark:
    """A session, as far as it is asked."""

    sparkContext: Context  # noqa: N815


def test_workers_of_this_environment_are_fine() -> None:
    assert notice_of(Spark(Context("local[2]", sys.executable))) is None


def test_a_local_session_with_other_workers_is_warned_with_what_to_do() -> None:
    with pytest.warns(UserWarning, match=f"export PYSPARK_PYTHON={sys.executable}"):
        Session(Spark(Context("local[2]", "/nowhere/python3")))


def test_a_cluster_has_paths_of_its_own() -> None:
    assert notice_of(Spark(Context("spark://host:7077", "./environment/bin/python"))) is None


def test_a_session_that_does_not_tell_is_not_judged() -> None:
    assert notice_of(object()) is None
