"""CAVIAR: meetings and walks together, found by a hierarchy over uncertain activities.

Trackers say what each person does in each frame; with smooth noise, how sure they are of it, which
is mostly less than one half. Two people are `near` if they are within reach of each other in one
frame; they have `met` if they were near, and then near and both still; they `walk` together if they
were near, and then near and both walking. `meeting` and `moving` ask how likely that happened in
each window of two seconds, for each two people. The levels share base events, so lineage decides.
The queries `..._in_one_frame` ask for less: that they were near and still, or walking, at once.

Truth is what people annotated by hand (the situations `interacting` and `moving`): a window is
positive if the two had that label in at least half of its frames. Judged are all windows in which
two people are in the picture together. One frame in five is read, which trackers do too.

Compared with the usual remedy: keep the events above 0.5, forget the rest, take what is kept as
certain; on the same frames, and, because few events are left, on all frames too. The threshold on
the probability is chosen fairly: for each video by the F1 on the other videos only. The distance
that counts as near is fixed beforehand and is the same for both.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from augury import Session
from lahar.lines import draw
from matching.harness import record

DATA = Path(__file__).parents[3] / "shared" / "data"
FRAME, EVERY_FRAME = 40, 5
WINDOW, STEP = 2000, 1000
REACH = 30
POWERS = tuple(-3.0 + 0.25 * k for k in range(10))
THRESHOLDS = tuple(10.0**power for power in POWERS)
SCRIPT = f"""
CREATE STREAM people (
    id LONG, video STRING, person STRING, does STRING, x LONG, y LONG, t LONG, p DOUBLE
)
ID id TIME t PROBABILITY p;

CREATE QUERY near ON people PATTERN AND(people a, people b)
WHERE [video] AND [t] AND a.person < b.person
  AND (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) <= {REACH * REACH}
WITHIN 1
RETURN a.video AS video, a.person AS one, b.person AS other,
       a.does AS one_does, b.does AS other_does;

CREATE QUERY met ON near PATTERN SEQ(near n, near s)
WHERE n.video = s.video AND n.one = s.one AND n.other = s.other
  AND s.one_does IN ('active', 'inactive') AND s.other_does IN ('active', 'inactive')
WITHIN {WINDOW // 2}
RETURN s.video AS video, s.one AS one, s.other AS other;

CREATE QUERY walk ON near PATTERN SEQ(near n, near s)
WHERE n.video = s.video AND n.one = s.one AND n.other = s.other
  AND s.one_does = 'walking' AND s.other_does = 'walking'
WITHIN {WINDOW // 2}
RETURN s.video AS video, s.one AS one, s.other AS other;

CREATE QUERY meeting ON met PATTERN met m
WITHIN {WINDOW} EVERY {STEP} GROUP BY m.video, m.one, m.other RETURN PROBABILITY;

CREATE QUERY moving ON walk PATTERN walk m
WITHIN {WINDOW} EVERY {STEP} GROUP BY m.video, m.one, m.other RETURN PROBABILITY;

CREATE QUERY meeting_in_one_frame ON near PATTERN near m
WHERE m.one_does IN ('active', 'inactive') AND m.other_does IN ('active', 'inactive')
WITHIN {WINDOW} EVERY {STEP} GROUP BY m.video, m.one, m.other RETURN PROBABILITY;

CREATE QUERY moving_in_one_frame ON near PATTERN near m
WHERE m.one_does = 'walking' AND m.other_does = 'walking'
WITHIN {WINDOW} EVERY {STEP} GROUP BY m.video, m.one, m.other RETURN PROBABILITY;
"""
LABELS = {
    "meeting": "interacting",
    "moving": "moving",
    "meeting_in_one_frame": "interacting",
    "moving_in_one_frame": "moving",
}

# A window of two people: video, one, the other, start.
Place = tuple[str, str, str, int]
Scores = Mapping[Place, float]


class Quality(NamedTuple):
    """How well windows above a threshold agree with the truth."""

    precision: float
    recall: float
    f1: float


def tracked(noise: str, every: int = EVERY_FRAME) -> pd.DataFrame:
    """Return the events of one kind of noise, of one frame in some."""
    events = pd.read_parquet(DATA / "caviar_events.parquet")
    events = events[(events.noise == noise) & (events.t_ms % (FRAME * every) == 0)]
    events = events.rename(columns={"event": "does", "p_event": "p", "t_ms": "t"})
    events = events.rename(columns={"id": "person"}).reset_index(drop=True)
    return events.assign(id=events.index)[["id", "video", "person", "does", "x", "y", "t", "p"]]


def asked(events: pd.DataFrame, query: str) -> Scores:
    """Return how likely each window holds a meeting or a walk; windows without a row have 0."""
    found: dict[Place, float] = {}
    for _, own in events.groupby("video"):
        ag = Session(engine="local")
        ag.sql(SCRIPT)
        ag.bind("people", pa.Table.from_pandas(own, preserve_index=False))
        for row in ag.table(query).to_pylist():
            place = (row["video"], row["one"], row["other"], row["ts"])
            found[place] = row["probability"]
    return found


def crisp(events: pd.DataFrame) -> pd.DataFrame:
    """Return the events above one half, as if they were certain."""
    return events[events.p > 0.5].assign(p=1.0)


# Truth ----------------------------------------------------------------------------------------


def windows_at(t: int) -> Iterable[int]:
    """Yield the starts of the windows that hold a time."""
    last = t - t % STEP
    return range(last - WINDOW + STEP, last + 1, STEP)


def judged(events: pd.DataFrame) -> dict[Place, int]:
    """Return the windows in which two people are in the picture, with their shared frames."""
    pairs = events.merge(events, on=["video", "t"])
    pairs = pairs[pairs.person_x < pairs.person_y]
    found: dict[Place, int] = {}
    for row in pairs.itertuples():
        for start in windows_at(row.t):
            place = (row.video, row.person_x, row.person_y, start)
            found[place] = found.get(place, 0) + 1
    return found


def true_windows(places: Mapping[Place, int], label: str) -> set[Place]:
    """Return the windows whose two people have the label in at least half of their frames."""
    truth = pd.read_parquet(DATA / "caviar_truth.parquet")
    truth = truth[(truth.kind == "situation") & (truth.label == label)]
    truth = truth[truth.t_ms % (FRAME * EVERY_FRAME) == 0]
    held: dict[Place, int] = {}
    for row in truth.itertuples():
        one, other = sorted(row.members.split())[:2]
        for start in windows_at(row.t_ms):
            place = (row.video, one, other, start)
            held[place] = held.get(place, 0) + 1
    return {place for place, n in held.items() if 2 * n >= places.get(place, n + n + 1)}


# Judgement ------------------------------------------------------------------------------------


def quality(found: set[Place], true: set[Place]) -> Quality:
    """Return precision, recall and F1."""
    hits = len(found & true)
    precision = hits / len(found) if found else 0.0
    recall = hits / len(true) if true else 0.0
    f1 = 2.0 * hits / (len(found) + len(true)) if found or true else 0.0
    return Quality(precision, recall, f1)


def above(scores: Scores, threshold: float, places: Iterable[Place]) -> set[Place]:
    """Return the windows that reach a threshold."""
    return {place for place in places if scores.get(place, 0.0) >= threshold}


def by_held_out_video(scores: Scores, places: Iterable[Place], true: set[Place]) -> set[Place]:
    """Return what is found where each video's threshold is chosen on the others."""
    chosen: set[Place] = set()
    for video in sorted({place[0] for place in places}):
        others = [place for place in places if place[0] != video]
        theirs = {place for place in true if place[0] != video}
        best = max(THRESHOLDS, key=lambda t: quality(above(scores, t, others), theirs).f1)
        chosen |= above(scores, best, [place for place in places if place[0] == video])
    return chosen


def measured(query: str, noise: str) -> dict[str, Any]:
    """Return the figures of one kind of situation."""
    events = tracked(noise)
    places = judged(events)
    true = true_windows(places, LABELS[query])
    start = time.process_time()
    scores = asked(events, query)
    seconds = time.process_time() - start
    few, all_frames = (asked(crisp(tracked(noise, each)), query) for each in (EVERY_FRAME, 1))
    certain = asked(tracked("clean"), query)
    curve = {t: quality(above(scores, t, places), true) for t in THRESHOLDS}
    return {
        "windows": len(places),
        "true_windows": len(true),
        "processor_seconds": round(seconds, 1),
        "by_threshold": {f"{t:.4g}": _told(each) for t, each in curve.items()},
        "probabilistic_threshold_from_other_videos": _told(
            quality(by_held_out_video(scores, list(places), true), true)
        ),
        "only_events_above_one_half": _told(quality(above(few, 0.5, places), true)),
        "only_events_above_one_half_of_all_frames": _told(
            quality(above(all_frames, 0.5, places), true)
        ),
        "without_noise": _told(quality(above(certain, 0.5, places), true)),
    }


def _told(each: Quality) -> dict[str, float]:
    return {name: round(value, 4) for name, value in each._asdict().items()}


def main() -> None:
    """Measure, write the figures down, and draw."""
    noise = sys.argv[1] if len(sys.argv) > 1 else "smooth-noise"
    if not DATA.exists():
        raise SystemExit(f"the recordings are not at {DATA}")
    figures = {query: measured(query, noise) for query in LABELS}
    record("hierarchy_caviar", {"noise": noise, "reach": REACH, **figures})
    for query, own in figures.items():
        curve = list(zip(POWERS, own["by_threshold"].values(), strict=True))
        flat = own["only_events_above_one_half_of_all_frames"]["f1"]
        series = {name: [(x, each[name]) for x, each in curve] for name in Quality._fields}
        series["F1, events > 0.5"] = [(x, flat) for x in POWERS]
        title = f"CAVIAR, {noise}: {query.replace('_', ' ')}, two people"
        draw(f"hierarchy_caviar_{query}", title, "threshold, as a power of ten", series)


if __name__ == "__main__":
    main()
