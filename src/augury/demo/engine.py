"""The session that a scene is played in, on Spark or in this process, and rows of its answers.

Spark and its Java write much on standard error that is no concern of those who look at a demo. It
goes to a file, and is shown only if the scene fails.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from augury.session import Session

Engine = Literal["spark", "local"]

# For a small world on one machine; the rest is as augury starts a local Spark.
SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.ui.showConsoleProgress": "false"}
LAST_LINES = 40


@contextmanager
def opened(engine: Engine) -> Iterator[Session]:
    """Give a new session; one on Spark starts a local Spark, and stops it in the end."""
    if engine == "local":
        yield Session(engine="local")
        return
    from augury.runners.process import local_spark  # noqa: PLC0415  Spark is loaded where it is used

    with _log() as log:
        with _standard_error_to(log):
            spark = local_spark.start(SETTINGS)
        try:
            yield Session(spark, shards=2)
        finally:
            spark.stop()


def another(session: Session) -> Session:
    """Return a session without declarations, on the same engine."""
    if session.engine == "local":
        return Session(engine="local")
    return Session(session.spark, shards=2)


@contextmanager
def _log() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="augury-demo-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "spark.log")
        path.touch()
        try:
            yield path
        except BaseException:
            said = path.read_text(encoding="utf-8", errors="replace").splitlines()
            sys.stderr.write("\n".join(["What Spark said last:", *said[-LAST_LINES:], ""]))
            raise


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """Lead the standard error of this process, and for ever of what it starts, to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def rows(answer: Any) -> list[dict[str, Any]]:
    """Return an answer as dicts, whichever engine gave it: this is where Spark begins to work."""
    table = answer.toArrow() if hasattr(answer, "toArrow") else answer
    found: list[dict[str, Any]] = table.to_pylist()
    return found
