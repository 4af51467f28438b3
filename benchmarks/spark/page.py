"""Write docs/benchmarks/spark.md from the figures that the benchmarks wrote down.

No figure is typed in: a part that was not measured says so. Run: python benchmarks/spark/page.py
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import FIGURES

Figures = dict[str, Any]
Row = tuple[str, str, str]

HEAD = """# Benchmarks on Spark

`AUGURY_BENCH_SCALE=1 make bench` measures all of this anew; `make bench` tries it out on a tenth
of the events. Figures are medians of three, after a warm-up, on local Spark with all
cores of the machine. *Clock* is what a user waits; *processor* is the work of the driver, its JVM
and all Python workers together, which neighbours on the same machine do not lengthen. Where the
two disagree, the machine was busy: *load* says how busy. Spark ends Python workers that had nothing
to do for a minute, and never its JVM. Plain queries take that long: beside them augury runs once
more, unmeasured, before each measurement. Who asks once in a while waits one to two seconds longer.

Events: 1,000 keys, 8 types, one event per tick, each with a probability; the pattern is
`SEQ(A a, B b, C c)` per key in a window of about ten events per key. This page is written by
`benchmarks/spark/page.py` from the JSON files beside it.
"""


def both(ratio: Figures) -> str:
    """Return a ratio as the clock and the processor see it."""
    return f"{ratio['clock']:g} (processor {ratio['processor']:g})"


def floor(f: Figures) -> list[Row]:
    """Return the rows of the floor."""
    return [
        ("events per second, 10 M events", f"{f['augury_events_per_second']:,}", ""),
        ("times the seconds of bare Spark", both(f["floor_ratio"]), "at most 1.15"),
        ("the same where Spark reads", both(f["floor_ratio_through_spark"]), "at most 1.15"),
    ]


def selective(f: Figures) -> list[Row]:
    """Return the rows of the selective query."""
    queries = {"pattern": "1 % of the events relevant", "few_matches": "the same, few matches"}
    ways = {"by_workers": "read by workers", "through_spark": "read by Spark"}
    return [
        (f"{query}: times faster, {way}", both(f[name][f"times_faster_{by}"]), "at least 5")
        for name, query in queries.items()
        for by, way in ways.items()
    ]


def plain_spark(f: Figures) -> list[Row]:
    """Return the rows against plain Spark."""
    named = {
        "self_join": "a self-join, every match",
        "binned_self_join": "a self-join in time bins, every match",
        "frames_ahead": "window functions that look ahead as far as the window, next match",
        "lead": "LEAD, next match",
        "window_functions": "window functions over rows sorted backwards, next match",
    }
    rows = [
        (
            f"{own['events'] // 10**6} M events: times faster than {named[k]}",
            both(ratio),
            "at least 10",
        )
        for size in ("few", "many", "most")
        for own in f[size].values()
        for k, ratio in own["times_faster_than"].items()
    ]
    for steps in (3, 7):
        more = f[f"seq_of_{steps}"]
        what = f"{more['events'] // 10**6} M events, SEQ of {steps}: times faster than a self-join"
        rows.append((what, both(more["times_faster"]), "at least 10"))
        bare = both(more["bare_spark_times_faster"])
        rows.append(
            (f"the same, bare Spark that moves SEQ of 3: {more['events'] // 10**6} M", bare, "")
        )
    return rows


def flink(f: Figures) -> list[Row]:
    """Return the rows against Flink."""
    targets = {"spark": "at least 40", "local": "at least 100"}
    rows = []
    for name, target in targets.items():
        rows.append(
            (f"{name}: times the throughput of Flink", both(f["times_flink"][name]), target)
        )
        fastest = both(f["times_fastest_flink"][name])
        rows.append((f"{name}: the same, Flink given only A, B and C", fastest, ""))
    bare = both(f["bare_spark_times_flink"])
    rows.append(("bare Spark that moves the rows and computes nothing", bare, ""))
    speeds = f["events_per_second"]
    return rows + [(f"events per second, {name}", f"{n:,}", "") for name, n in speeds.items()]


def streaming(f: Figures) -> list[Row]:
    """Return the rows of streaming."""
    full, half = f["full_speed"], f["half_load"]
    waits = ", ".join(f"{name} {s:g} s" for name, s in half["latency_seconds"].items())
    bare = both(full["ratio_to_bare_operator"])
    per_event = f"{f['state']['state_bytes_per_live_event']:g}"
    return [
        ("events per second, 1 M a micro-batch", f"{full['events_per_second']:,}", ""),
        (f"latency at {half['offered_events_per_second']:,} events/s", waits, ""),
        ("bytes of state per live event", per_event, "at most 150"),
        ("times the bare stateful operator", bare, "at most 1.3"),
        ("the same, all columns of a match", both(full["ratio_with_all_columns"]), ""),
    ]


def memory(f: Figures) -> list[Row]:
    """Return the rows of memory."""
    stream = f["streaming"]
    tenths = stream["median_mib_by_tenth"]
    flat = f"{tenths[-1] / tenths[4]:.2f}"
    return [
        *(
            (
                f"peak of {f[k]['events']:,} events in batch",
                f"{f[k]['peak_mib']:,} MiB",
                "6,144 MiB",
            )
            for k in ("batch_50m", "batch_100m")
        ),
        (f"streaming, {stream['events']:,} events: last tenth to fifth", flat, "flat"),
        ("streaming: peak", f"{stream['peak_mib']:,} MiB", ""),
    ]


def windows(f: Figures) -> list[Row]:
    """Return the rows of windows of different lengths."""
    rows = []
    for name, own in f["queries"].items():
        seconds = ", ".join(f"{s:g} s" for s in own["seconds_a_batch"].values())
        times = f"{own['longest_to_shortest']:g}"
        rows += [
            (f"{name.replace('_', ' ')}: a micro-batch", seconds, ""),
            (f"{name.replace('_', ' ')}: longest window to shortest", times, "at most 1.5"),
        ]
        stored = f"{own['stored_to_new']:g}"
        rows.append((f"{name.replace('_', ' ')}: bytes stored to new ones", stored, "at most 3"))
    kill = f["kill"]
    same = f"{kill['matches']:,} of {kill['expected']:,}"
    return [*rows, (f"matches after {kill['kills']} kills", same, "all")]


def operators(f: Figures) -> list[Row]:
    """Return the rows of the bare stateful operators."""
    return [
        (name.replace("_", ": ", 1), f"{value['rows_per_second']:,} rows/s", "")
        for name, value in f.items()
        if isinstance(value, dict) and "rows_per_second" in value
    ]


PARTS: list[tuple[str, str, str, Callable[[Figures], list[Row]]]] = [
    ("Floor", "floor", "spark_floor", floor),
    ("Selective query", "selective", "spark_selective", selective),
    ("Against plain Spark", "against_plain_spark", "spark_against_plain_spark", plain_spark),
    ("Against Flink", "against_flink", "spark_against_flink", flink),
    ("Streaming", "streaming", "spark_streaming", streaming),
    ("Windows", "windows", "spark_windows", windows),
    ("Stateful operators, bare", "stateful", "spark_stateful_operators", operators),
    ("Memory", "memory", "spark_memory", memory),
]


def told(script: str) -> str:
    """Return what a script says that it measures."""
    text = ast.get_docstring(ast.parse(Path(__file__).with_name(f"{script}.py").read_text()))
    return (text or "").partition("Run: ")[0].strip()


def section(title: str, script: str, name: str, rows: Callable[[Figures], list[Row]]) -> str:
    """Return one part of the page."""
    start = f"## {title}\n\n{told(script)}\n\n`benchmarks/spark/{script}.py`"
    path = FIGURES / f"{name}.json"
    if not path.exists():
        return f"{start}: not measured yet.\n"
    figures = json.loads(path.read_text())
    on = figures["measured_on"]
    where = f" on {on['cores']} cores, load {on['load']:g} at the end ([figures]({name}.json)).\n"
    table = ["| what | measured | target |", "|---|---|---|"]
    table += [f"| {what} | {value} | {target} |" for what, value, target in rows(figures)]
    return start + where + "\n" + "\n".join(table) + "\n"


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(section(*part) for part in PARTS)])


def main() -> None:
    """Write the page."""
    (FIGURES / "spark.md").write_text(page())


if __name__ == "__main__":
    main()
