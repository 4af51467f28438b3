"""P-ToPSS's Figure 9, its states: many subscriptions, with merging and without.

    python benchmarks/forecast/standing.py

Settings of the paper: subscriptions of 10 primitives, each of one of a pool of events, two of the
nine operators `;` and the others `,`; by default 1,000 subscriptions and a pool of 50, primitives
drawn evenly or by a normal distribution around the middle of the pool. Writes
docs/benchmarks/forecast_standing.json: states without merging and with it, and the commonality
(which part of the states merging saves), by subscriptions, by length, by pool and by `;`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from augury import Session
from augury.planning.pattern.alike_states import alike_states
from matching.harness import record, sized

SUBSCRIPTIONS, LENGTH, POOL, APART = sized(1_000, 10), 10, 50, 2
SETTINGS: dict[str, list[dict[str, int]]] = {
    "subscriptions": [{"count": max(5, SUBSCRIPTIONS * k // 5)} for k in range(1, 6)],
    "length": [{"length": n} for n in (4, 6, 8, 10)],
    "pool": [{"pool": n} for n in (10, 20, 50, 100)],
    "apart": [{"apart": n} for n in (0, 2, 4, 6)],
}


def subscription(
    rng: np.random.Generator, length: int, pool: int, apart: int, *, normal: bool
) -> str:
    """Return one subscription."""
    drawn = rng.normal(pool / 2, pool / 8, length) if normal else rng.integers(0, pool, length)
    names = [f"e{int(np.clip(each, 0, pool - 1))}" for each in drawn]
    wide = set(rng.choice(length - 1, apart, replace=False).tolist())
    text = names[0]
    for k, name in enumerate(names[1:]):
        text += f"{';' if k in wide else ','} {name}"
    return text


def states(
    count: int = SUBSCRIPTIONS,
    length: int = LENGTH,
    pool: int = POOL,
    apart: int = APART,
    *,
    normal: bool,
) -> dict[str, Any]:
    """Return how many states there are, with merging and without."""
    rng = np.random.default_rng(11)
    ag = Session(engine="local")
    lines = ["CREATE STREAM s (kind STRING, t LONG) TIME t TYPE kind;"]
    for number in range(count):
        text = subscription(rng, length, pool, apart, normal=normal)
        lines.append(f"CREATE QUERY q{number} ON s SUBSCRIPTION {text};")
    ag.sql("\n".join(lines))
    found = alike_states(ag._declared.checked_queries.values())
    return {
        "states": found.states,
        "merged": found.merged,
        "commonality": round(found.commonality, 4),
    }


def main() -> None:
    """Count, print and write."""
    figures: dict[str, Any] = {"subscriptions_by_default": SUBSCRIPTIONS}
    for name, own in SETTINGS.items():
        for drawn in ("even", "normal"):
            figures[f"{name}, {drawn}"] = {
                str(next(iter(each.values()))): states(**each, normal=drawn == "normal")
                for each in own
            }
    record("forecast_standing", figures)


if __name__ == "__main__":
    main()
