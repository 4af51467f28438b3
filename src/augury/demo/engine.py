"""The session that a scene is played in, on Spark or in this process, and rows of its answers."""

from __future__ import annotations

from typing import Any, Literal

from augury.session import Session

Engine = Literal["spark", "local"]


def open_session(engine: Engine) -> Session:
    """Return a new session; one on Spark starts a local Spark."""
    return Session(engine="local") if engine == "local" else Session()


def rows(answer: Any) -> list[dict[str, Any]]:
    """Return an answer as dicts, whichever engine gave it: this is where Spark begins to work."""
    table = answer.toArrow() if hasattr(answer, "toArrow") else answer
    found: list[dict[str, Any]] = table.to_pylist()
    return found
