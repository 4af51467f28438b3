"""A local session with a script and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augury import Session


def bound(script: str, rows: Mapping[str, Any]) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    for name, own in rows.items():
        ag.bind(name, own)
    return ag
