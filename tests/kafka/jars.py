"""The jars of Kafka that tests need: fetched once by Maven, kept in a cache."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

FETCH = Path(__file__).resolve().parents[2] / "tools" / "fetch-kafka"
UNREACHABLE = 3


class UnreachableError(Exception):
    """Maven is absent, or its central repository cannot be reached."""


@cache
def jar_cache() -> Path:
    """Return the folder of all jars; raise `UnreachableError` where they cannot be had."""
    done = subprocess.run([FETCH], capture_output=True, text=True, timeout=900, check=False)
    if done.returncode == UNREACHABLE:
        raise UnreachableError(done.stderr.strip() or "Maven could not fetch them")
    if done.returncode:
        raise RuntimeError(f"tools/fetch-kafka failed:\n{done.stderr}")
    return Path(done.stdout.strip())


def folder(kind: str) -> Path:
    """Return the folder of the connector's or the broker's jars, or skip the test."""
    try:
        return next(jar_cache().glob(f"{kind}-*"))
    except UnreachableError as reason:
        pytest.skip(f"the jars of Kafka cannot be had: {reason}")


def connector_jars() -> list[Path]:
    """Return the jars that a Spark session needs for Kafka; none where they cannot be had."""
    try:
        return sorted(next(jar_cache().glob("connector-*")).glob("*.jar"))
    except UnreachableError:
        return []
