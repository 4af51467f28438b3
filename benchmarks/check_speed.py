"""What checking a script of 1,000 queries costs, after start, phase by phase."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from augury.analysis.script import check_text
from augury.errors import Source
from augury.language.parser import parse
from generated_script import script_of
from matching.harness import sized

QUERIES = sized(1_000, 50)
RUNS = 3
T = TypeVar("T")


def timed(name: str, work: Callable[[], T]) -> T:
    """Do the work several times, print the shortest time, and return the result."""
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    print(f"{name:24} {min(seconds):6.3f} s")
    return result


def main() -> None:
    """Print the figures."""
    text = script_of(QUERIES)
    print(f"{QUERIES:,} queries, {text.count(chr(10)):,} lines, best of {RUNS}")
    timed("parse", lambda: parse(Source("generated.sql", text)))
    checked = timed("check (with parsing)", lambda: check_text(text, "generated.sql"))
    print(f"{len(checked.queries):,} queries checked, {len(checked.diagnostics)} findings")


if __name__ == "__main__":
    main()
