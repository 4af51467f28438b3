"""SEQ of 7 in windows of 1,000 to 10,000 events: what one event costs (DPCEP, figures 12, 13, 15).

One stream (figure 12) or four (figure 15), one event per tick, 25 types; a twentieth of the events
enters the queues, as in the paper. A threshold of 0.45 prunes: time per event should then not grow
with the window, although candidate paths grow with its seventh power. A threshold of 0.4 lets some
matches through in large windows. Figure 13 has four streams, a window of 3,000, 10 to 100 types.

The baseline is `plain.py`: partial matches in plain Python. Both start from the same Arrow table,
and must find the same matches; what turning rows into Python objects takes is said apart. It is
measured as long as it takes seconds, not hours, with a threshold of 0.2, so that there are matches.
Run: PYTHONPATH=benchmarks python benchmarks/hierarchy/windows.py [events, 200,000]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.evaluation.evaluator import Evaluator
from hierarchy import plain
from lahar.lines import draw
from matching.harness import chart, checked, median_seconds, on_one_core, record, sized

TYPES = tuple("ABCDEFG")
SHARE, PRUNES, LETS_THROUGH, COMPARED = 0.05, 0.45, 0.4, 0.2
WINDOWS = (1000, 2000, 3000, 5000, 7000, 10_000)
# As many as plain Python takes in seconds, so that planning, which is done once, does not decide.
FOR_PLAIN = {1000: sized(1_000_000, 800), 2000: sized(20_000, 800), 3000: sized(10_000, 800)}
KINDS = (10, 25, 50, 100)
PATTERN = "SEQ(" + ", ".join(f"{kind} {kind.lower()}" for kind in TYPES) + ")"


@dataclass(frozen=True)
class Task:
    """What is measured: how many streams and types, the window, and the threshold."""

    streams: int = 1
    window: int = 3000
    kinds: int = 25
    threshold: float = PRUNES

    @property
    def most(self) -> float:
        """The bound on `v` by which a twentieth of all events enters the queues."""
        return SHARE * self.kinds / len(TYPES)


def script(task: Task) -> str:
    """Return the query over one stream or several."""
    names = [f"s{k}" for k in range(task.streams)]
    declared = "".join(
        f"CREATE STREAM {name} (id LONG, kind STRING, t LONG, p DOUBLE, v DOUBLE) "
        "ID id TIME t TYPE kind PROBABILITY p;"
        for name in names
    )
    enter = " AND ".join(f"{kind.lower()}.v <= {task.most!r}" for kind in TYPES)
    return (
        f"{declared} CREATE QUERY q ON {', '.join(names)} PATTERN {PATTERN} WHERE {enter} "
        f"WITHIN {task.window} HAVING CONFIDENCE >= {task.threshold};"
    )


def events(n: int, kinds: int) -> pa.Table:
    """Return one event per tick, of types that are equally frequent."""
    rng = np.random.default_rng(7)
    names = [*TYPES, *(f"Z{k}" for k in range(kinds - len(TYPES)))]
    kind = np.array(names)[rng.integers(0, kinds, n)]
    return pa.table(
        {
            "id": np.arange(n),
            "kind": kind,
            "t": np.arange(n),
            "p": rng.uniform(0.3, 0.9, n),
            "v": rng.uniform(0.0, 1.0, n),
        }
    )


def bound(table: pa.Table, streams: int) -> dict[str, pa.Table]:
    """Return the events dealt out to the streams in turn."""
    turn = np.arange(table.num_rows) % streams
    return {f"s{k}": table.filter(pa.array(turn == k)) for k in range(streams)}


def measured(table: pa.Table, task: Task) -> dict[str, Any]:
    """Return what augury takes for one event, and what it finds."""
    catalog, queries = checked(script(task))
    dealt = bound(table, task.streams)
    seconds, found = median_seconds(lambda: Evaluator(catalog, queries, dict(dealt)).table("q"))
    return {
        "window": task.window,
        "types": task.kinds,
        "matches": found.num_rows,
        "microseconds_per_event": _each(seconds.processor, table.num_rows),
        "found": found,
    }


def figures_of(table: pa.Table, task: Task) -> dict[str, Any]:
    """Return the same without the matches."""
    own = measured(table, task)
    del own["found"]
    print(own, flush=True)
    return own


def _each(seconds: float, n: int) -> float:
    return round(seconds / n * 1e6, 4)


def against_plain(table: pa.Table, task: Task) -> dict[str, Any]:
    """Return the same of plain Python, after checking that both find the same."""
    ours = measured(table, task)
    found, n = ours.pop("found"), table.num_rows
    reading, rows = _timed(lambda: rows_of(table))
    figures = {**ours, "events": n, "reading_rows_microseconds_per_event": _each(reading, n)}
    for name, early in (("plain", False), ("plain_early", True)):
        sequence = plain.PlainSequence(TYPES, task.window, task.threshold, task.most, early)
        seconds, theirs = _timed(lambda sequence=sequence: sequence.matches(rows))
        refuse_difference(found, theirs)
        each = _each(seconds, n)
        figures[f"{name}_microseconds_per_event"] = each
        figures[f"{name}_takes_times"] = round(each / ours["microseconds_per_event"], 1)
    print(figures, flush=True)
    return figures


def rows_of(table: pa.Table) -> list[plain.Event]:
    """Return the events as Python objects."""
    columns = (table.column(name).to_pylist() for name in ("id", "kind", "t", "p", "v"))
    return list(zip(*columns, strict=True))


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def refuse_difference(found: pa.Table, theirs: plain.Found) -> None:
    """Stop where the two do not find the same matches with the same confidences."""
    ours = {
        tuple(int(item["event_id"]) for item in row["events"]): row["confidence"]
        for row in found.select(["events", "confidence"]).to_pylist()
    }
    wanted = dict(theirs)
    if set(ours) != set(wanted) or any(abs(ours[k] - wanted[k]) > 1e-9 for k in ours):
        raise SystemExit("augury and the plain evaluation find different matches")


def main() -> None:
    """Measure, write the figures down, and draw."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else sized(200_000, 3_000)
    on_one_core()
    table = events(n, 25)
    figures_of(table.slice(0, 2000), Task(window=1000))
    figures = {
        "one_stream": [figures_of(table, Task(1, w)) for w in WINDOWS],
        "four_streams": [figures_of(table, Task(4, w)) for w in WINDOWS],
        "one_stream_threshold_0.4": [
            figures_of(table, Task(1, w, threshold=LETS_THROUGH)) for w in WINDOWS
        ],
        "by_types": [figures_of(events(n, kinds), Task(4, 3000, kinds)) for kinds in KINDS],
        "against_plain_python": [
            against_plain(events(size, 25), Task(1, w, threshold=COMPARED))
            for w, size in FOR_PLAIN.items()
        ],
    }
    record(
        "hierarchy_windows",
        {"events": n, "threshold": PRUNES, "share_that_enters": SHARE, **figures},
    )
    _draw(figures)


def _line(rows: list[dict[str, Any]], x: str, y: str) -> list[tuple[float, float]]:
    return [(row[x], row[y]) for row in rows]


def _draw(figures: dict[str, Any]) -> None:
    each = "microseconds_per_event"
    named = {"one stream": "one_stream", "four streams": "four_streams"}
    named["one, threshold 0.4"] = "one_stream_threshold_0.4"
    draw(
        "hierarchy_windows",
        "SEQ of 7, threshold 0.45: microseconds for one event",
        "events in the window",
        {label: _line(figures[name], "window", each) for label, name in named.items()},
    )
    draw(
        "hierarchy_types",
        "SEQ of 7 over four streams, window 3,000: microseconds for one event",
        "types of events",
        {"four streams": _line(figures["by_types"], "types", each)},
    )
    own = figures["against_plain_python"]
    labels = {
        "augury": each,
        "plain Python": f"plain_{each}",
        "dropping early": f"plain_early_{each}",
    }
    chart(
        "hierarchy_plain_python",
        "SEQ of 7, threshold 0.2: augury and plain Python",
        ("events in the window", "microseconds for one event"),
        {label: _line(own, "window", name) for label, name in labels.items()},
    )


if __name__ == "__main__":
    main()
