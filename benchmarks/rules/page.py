"""Writes docs/benchmarks/rules.md from the figures that were measured.

PYTHONPATH=benchmarks python benchmarks/rules/page.py
"""

from __future__ import annotations

import json
from typing import Any

from matching import harness

PAGE = """# Rules, measured

[What rules are](../rules.md). Written by `benchmarks/rules/page.py` from the JSON files beside it;
`AUGURY_BENCH_SCALE=1 make bench` measures anew.

## Schedulers over a store (the thesis's figures 3.5 to 3.8)

`benchmarks/rules/schedulers.py` ([figures](rules_schedulers.json)), {cores} cores, under a load of
{load}. Moments a second: each reads `readN` tables by key in PostgreSQL on the same machine, and a
part of them, `writeN`, also writes; {moments} are there at once, 32 of them in flight. The clock
runs while they are settled and committed; of {rounds} rounds in turns the fastest counts, since
whatever else the machine does makes one slower (and single cells still differ by what it did). With
1 ms added to every read the store is as one in the next room.

| over readN 1 to 6, writeN .25 | LWM to SEI | to S2PL | at least, to SEI | target |
|---|---|---|---|---|
{ratios}

{figures}

## When which scheduler matters

- *What is read far away* is what schedulers hide: a moment that waits for an answer leaves the
  processor to others. With 1 ms a read and locks on rows, LWM does the reads of many moments in the
  time of one, and what it gains grows with `readN` until the processor is busy: some
  {processor} ms of Python and driver a moment at `readN` 6.
- *Locks on tables* let writers wait for each other. No scheduler can then be faster than
  1 / `writeN` times SEI, since the writers alone, one after another, take `writeN` of SEI's time:
  4 times at `writeN` .25, whatever `readN` is. The thesis's 4.5 times at `readN` 6 cannot be had;
  a cell beyond 4 says how far off a single cell may be.
  At `writeN` 1 all three are one after another.
- *With a store near by* a read takes no longer than to hand it to a thread. So moments are settled
  one after another, whatever the scheduler is called, unless side by side is seen to be faster;
  the three differ by what a busy machine makes of them.
- *S2PL* lets a writer wait for the readers before it, and LWM does not: it matters with locks on
  tables, where every moment is such a reader, and hardly with locks on rows, where few are.

## Latency, and what is kept (figures 3.9 to 3.12)

`benchmarks/rules/latency.py` ([figures](rules_latency.json)), under a load of {latency_load}.
Events come at a steady rate, whether or not those before are done with; what is there is pushed
together. `readN` 1, `writeN` .25, locks on rows, 1 ms a read. Mean milliseconds from the arrival of
the event that makes a match known until it is told, its writes committed; rounds in turns, of which
the best counts: {latency_rounds}.

Far below saturation, {slow} events a second, by the length of the sequence:

| length | {heads} |
|---|---|---|---|
{by_length}

Sequences of three, by events a second; in brackets the most events that waited at a time:

| events a second | {heads} |
|---|---|---|---|
{by_rate}

![latency by length](rules_latency_by_length.svg)
![latency by rate](rules_latency_by_rate.svg)
![kept by rate](rules_kept_by_rate.svg)

Far below saturation hardly any two moments are there together, so that schedulers have nothing to
choose, and what is seen is the commit of each push. (The thesis's SEI also searched for matches in
that turn; here the search is before, under every scheduler.) Above it the input waits, and
SEI falls behind first. What was written is kept in versions until its push ends, under
every scheduler: at most as many rows as those moments write that were pushed together; where the
input waits, it is the most of what is kept, as in the thesis.

## Contents in the run's state

Two queries read a table, two rules write it ([figures](rules_contents.json),
[on Spark](rules_on_spark_batch.json)).

| | events | keys | without rules | with rules | target |
|---|---|---|---|---|---|
{contents}

Events a second: of one core's work locally (`benchmarks/rules/contents.py`), by the clock on Spark
(`benchmarks/rules/on_spark.py`, {spark_cores} cores, under a load of {spark_load} by others). A run
with rules takes {batch} times the time of the same queries without in batch, {stream}
(target: at most 1.5). In batch those queries alone, with Spark's own reading and shuffling, are the
floor.

What a stream keeps from batch to batch grows with keys, not with firings: {first_bytes:,} bytes
after {first_firings:,} firings, {last_bytes:,} after {last_firings:,}, over {state_keys:,} keys.
(What grows is `seq`, a number for each key that was ever changed.)
"""
Figures = dict[str, Any]
SCHEDULERS = ("sei", "s2pl", "lwm")
TARGETS = {
    "row locks, 1 ms added": ("7 to SEI", "lwm_to_sei", 7.0),
    "table locks, 1 ms added": ("2.5 to SEI, 1.5 to S2PL", "lwm_to_sei", 2.5),
    "row locks, 0 ms added": ("never below .77 to SEI", "least_lwm_to_sei", 1 / 1.3),
    "table locks, 0 ms added": ("never below .77 to SEI", "least_lwm_to_sei", 1 / 1.3),
}


def read(name: str) -> Figures:
    """Return the figures of a benchmark."""
    found: Figures = json.loads((harness.FIGURES / f"{name}.json").read_text())
    return found


def line(*cells: Any) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(str(each) for each in cells)} |"


def ratios(found: Figures) -> str:
    """Return what LWM gains, by locks and distance."""
    lines = []
    for name, (target, _, _) in TARGETS.items():
        own = found[name]
        means = own["lwm_to_sei"], own["lwm_to_s2pl"], own["least_lwm_to_sei"]
        lines.append(line(name, *means, target))
    return "\n".join(lines)


def figures(found: Figures) -> str:
    """Return a table for each kind of locks and distance."""
    parts = []
    for name in TARGETS:
        cells = found[name]["by_reads"] + found[name]["by_writes"]
        parts += [f"{name.capitalize()}:", "", "| readN | writeN | SEI | S2PL | LWM |"]
        parts.append("|---|---|---|---|---|")
        parts += [line(c["reads"], c["writes"], *(c[s] for s in SCHEDULERS)) for c in cells]
        parts.append("")
    return "\n".join(parts).rstrip()


def latency(cells: Figures, *, kept: bool) -> str:
    """Return milliseconds by scheduler, and how many events waited."""
    lines = []
    for name, each in cells.items():
        told = [f"{each[s]['milliseconds']:,.0f}" for s in SCHEDULERS]
        if kept:
            told = [
                f"{t} ({each[s]['most_waiting_events']:,})"
                for t, s in zip(told, SCHEDULERS, strict=True)
            ]
        lines.append(line(f"{int(name):,}", *told))
    return "\n".join(lines)


def contents(found: dict[str, Figures]) -> str:
    """Return what rules cost where contents are the run's own."""
    lines = []
    for (name, each), target in zip(found.items(), ("500,000", "300,000", ""), strict=False):
        sizes = f"{each['events']:,}", f"{each['keys']:,}"
        rates = each["without_events_per_second"], each["with_events_per_second"]
        lines.append(line(name, *sizes, *(f"{rate:,}" for rate in rates), target))
    return "\n".join(lines)


def main() -> None:
    """Write the page."""
    found, waits = read("rules_schedulers"), read("rules_latency")
    here = read("rules_contents")
    batch, stream = read("rules_on_spark_batch"), dict[str, Figures]()
    if (harness.FIGURES / "rules_on_spark_stream.json").exists():
        stream["Spark, stream"] = read("rules_on_spark_stream")
    in_a_stream = [f"and {each['times_the_time']} times in a stream" for each in stream.values()]
    fast = max(each["lwm"] for each in found["row locks, 1 ms added"]["by_reads"][-1:])
    first, last = here["state"][0], here["state"][-1]
    page = PAGE.format(
        cores=found["measured_on"]["cores"],
        load=found["measured_on"]["load"],
        moments=found["moments"],
        rounds=found["rounds"],
        ratios=ratios(found),
        figures=figures(found),
        processor=f"{1e3 / fast:.1f}",
        latency_load=waits["measured_on"]["load"],
        latency_rounds=waits["rounds"],
        slow=waits["slow"],
        heads=" | ".join(each.upper() for each in SCHEDULERS),
        by_length=latency(waits["by_length"], kept=False),
        by_rate=latency(waits["by_rate"], kept=True),
        contents=contents({"local": here, "Spark, batch": batch, **stream}),
        spark_cores=batch["measured_on"]["cores"],
        spark_load=batch["measured_on"]["load"],
        batch=batch["times_the_time"],
        stream=(*in_a_stream, "and has no figure in a stream yet")[0],
        first_bytes=first["bytes"],
        first_firings=first["firings"],
        last_bytes=last["bytes"],
        last_firings=last["firings"],
        state_keys=here["keys"],
    )
    (harness.FIGURES / "rules.md").write_text(page)


if __name__ == "__main__":
    main()
