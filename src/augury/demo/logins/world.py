"""Logins of many addresses, of which some are tried until a password fits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

Rows = list[dict[str, Any]]
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
ADDRESSES, EVENTS = 60, 120
# People mistype now and then; who tries passwords is denied until one fits, or gives up.
MISTYPED, BEGINS, FITS, GIVES_UP = 0.12, 0.012, 0.09, 0.02
CALM, HASTE = timedelta(minutes=25), timedelta(seconds=40)


@dataclass(frozen=True)
class World:
    """A week that teaches, and the next, which is watched."""

    history: Rows
    logins: Rows


def simulate(seed: int, addresses: int = ADDRESSES) -> World:
    """Return the world of a seed."""
    draw = random.Random(f"logins {seed}")
    weeks = [_week(draw, addresses, BEGIN + timedelta(days=7 * k)) for k in range(2)]
    return World(*weeks)


def _week(draw: random.Random, addresses: int, begin: datetime) -> Rows:
    rows = [row for k in range(addresses) for row in _address(draw, f"10.0.0.{k}", begin)]
    rows.sort(key=lambda row: (row["at"], row["ip"]))
    return [{"id": number, **row} for number, row in enumerate(rows)]


def _address(draw: random.Random, ip: str, begin: datetime) -> Iterator[dict[str, Any]]:
    at, attacked = begin, False
    for _ in range(EVENTS):
        at += (HASTE if attacked else CALM) * draw.expovariate(1.0)
        at = at.replace(microsecond=0) + timedelta(seconds=1)
        attacked = attacked or draw.random() < BEGINS
        denied = draw.random() >= FITS if attacked else draw.random() < MISTYPED
        yield {"ip": ip, "status": "DENIED" if denied else "SUCCESS", "at": at}
        attacked = attacked and denied and draw.random() >= GIVES_UP
