"""The thesis's figures 5.5 to 5.8: how much of the probability is on the true owner, and how fast.

    python benchmarks/identity/figures.py [events]

The ward of `ward.py`, three seeds. *Smoothed* is what was told last of an event, *filter* what was
told first, both exact up to the limit on states. *MHT* is multiple-hypothesis tracking under the
same constraints: the 12 best assignments of people to places, those that agree on all places taken
together, ties broken by chance, a read that none allows puts its owner in all; no revision.
*Plain* forward-backward computes the window anew at every event, from the states before it, with
the same kernel; one pass forward, which carries the smoothed probabilities, so it is cheaper than a
pass back and forth. Writes docs/benchmarks/identity_figures.json and charts.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from augury.identity.identifier import dump, load
from identity.ward import PEOPLE, ROOMS, Walked, identifier, on_the_owner, told_of, walked
from lahar.lines import draw
from matching.harness import on_one_core, record, sized

EVENTS, SEEDS, BEST = sized(2_000, 150), (1, 2, 3), 12
RATIOS = (0.05, 0.10, 0.15, 0.25, 0.35, 0.45, 0.60)
FAST_RATIOS = (0.05, 0.10, 0.25)
WINDOWS = (30, 60, 120, 180)
LOST = 0.01
# The window is computed anew at one event of so many; the others would take as long.
OF = 40


def tracked(walk: Walked, seed: int, people: int = PEOPLE) -> np.ndarray:
    """Return the probability of the true owners of unread events by multiple hypotheses."""
    rng = np.random.default_rng(seed)
    worlds: dict[tuple[str, ...], float] = {("H",) * people: 1.0}
    found = []
    for _, row in walk.rows:
        origin, to = ("H", row.place) if row.type == "ENTER" else (row.place, "H")
        after: dict[tuple[str, ...], float] = {}
        right = 0.0
        for places, weight in worlds.items():
            able = range(people) if row.person is None else (row.person,)
            for person in able:
                if places[person] == origin:
                    moved = (*places[:person], to, *places[person + 1 :])
                    after[moved] = after.get(moved, 0.0) + weight
                    right += weight * (person == walk.owner[row.id])
        if row.person is None:
            found.append(right / sum(after.values()) if after else 0.0)
        elif not after:
            k = row.person
            for places, weight in worlds.items():
                moved = (*places[:k], to, *places[k + 1 :])
                after[moved] = after.get(moved, 0.0) + weight
        if after:
            ties = rng.random(len(after))
            ranked = sorted(zip(after.items(), ties, strict=True), key=lambda e: (-e[0][1], e[1]))
            kept = [each for each, _ in ranked[:BEST]]
            total = sum(weight for _, weight in kept)
            worlds = {places: weight / total for places, weight in kept}
    return np.array(found)


def plain_rate(walk: Walked, within: int) -> float:
    """Return events a second where each computes its window anew."""
    who = identifier(within=within)
    state, start, spent, done = who.start(), 0, 0.0, 0
    times = [row.time for _, row in walk.rows]
    for k in range(OF, len(walk.rows), OF):
        first = int(np.searchsorted(times, times[k] - within))
        if first > start:
            state, _ = who.advance(state, walk.rows[start:first], times[first])
            start = first
        before = dump(state)
        again = load(before)
        busy = time.process_time()
        who.advance(again, walk.rows[start : k + 1])
        spent += time.process_time() - busy
        done += 1
    return done / spent


def own_rate(walk: Walked, within: int) -> float:
    """Return events a second."""
    busy = time.process_time()
    told_of(identifier(within=within), walk)
    return len(walk.rows) / (time.process_time() - busy)


def by_ratio(n: int) -> list[dict[str, float]]:
    """Return how much is on the true owner, by the share of unread events."""
    found = []
    for ratio in RATIOS:
        own = []
        for seed in SEEDS:
            walk = walked(seed, n, ratio)
            first, last = on_the_owner(told_of(identifier(), walk), walk)
            own.append((last.mean(), first.mean(), tracked(walk, seed).mean()))
        smoothed, filtered, mht = np.mean(own, axis=0)
        found.append({"unread": ratio, "smoothed": smoothed, "filter": filtered, "MHT": mht})
    return found


def revisions(n: int) -> float:
    """Return certain revisions as a share of all."""
    counts = []
    for seed in SEEDS:
        walk = walked(seed, n, 0.25)
        kinds = [told_of(identifier(revise=kind), walk) for kind in ("CERTAIN", "ANY")]
        counts.append([int((told.revision > 0).sum()) for told in kinds])
    certain, every = np.sum(counts, axis=0)
    return float(certain / max(every, 1))


def speeds(n: int) -> list[dict[str, float]]:
    """Return how many times as fast as the plain way, by unread share and by window."""
    asked = [(ratio, 60) for ratio in FAST_RATIOS] + [(0.25, m) for m in WINDOWS if m != 60]
    found = []
    for ratio, minutes in asked:
        walk = walked(SEEDS[0], n, ratio)
        own, plain = own_rate(walk, 60 * minutes), plain_rate(walk, 60 * minutes)
        found.append(
            {"unread": ratio, "minutes": minutes, "own": own, "plain": plain, "times": own / plain}
        )
    return found


def with_losses(n: int) -> float:
    """Return how much is on the true owner, smoothed, where one event in a hundred is lost."""
    own = []
    for seed in SEEDS:
        walk = walked(seed, n, 0.25, lost=LOST)
        own.append(on_the_owner(told_of(identifier(), walk), walk)[1].mean())
    return float(np.mean(own))


def main() -> None:
    """Measure, print and write."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    on_one_core()
    told_of(identifier(), walked(0, 200, 0.25))
    lines = by_ratio(n)
    above = [(each["unread"], 100 * (each["smoothed"] - each["MHT"])) for each in lines]
    figures = {
        "events": n,
        "rooms": ROOMS,
        "seeds": len(SEEDS),
        "5.5 by unread share": [{k: round(v, 4) for k, v in each.items()} for each in lines],
        "points above MHT, 5 to 60 %": round(float(np.mean([p for _, p in above])), 1),
        "points above MHT, 5 to 45 %": round(float(np.mean([p for r, p in above if r < 0.5])), 1),
        "5.6, 5.7 times the plain way": [
            {k: round(v, 2) for k, v in each.items()} for each in speeds(n)
        ],
        "5.8 certain revisions as a share of all": round(revisions(n), 3),
        "smoothed, 25 % unread, 1 % lost": round(with_losses(n), 4),
    }
    record("identity_figures", figures)
    series = {
        name: [(100 * each["unread"], each[name]) for each in lines]
        for name in ("smoothed", "filter", "MHT")
    }
    title = "probability on the true owner, 32 people, 30 rooms"
    draw("identity_precision", title, "% of events without a badge", series)


if __name__ == "__main__":
    main()
