"""Write docs/scaling.md from the figures in docs/benchmarks.

python benchmarks/chain/page.py
"""

from __future__ import annotations

import json
from typing import Any

from matching.harness import DOCS

PAGE = """# How the chain scales

Written by `benchmarks/chain/page.py` from the JSON files in `docs/benchmarks`. What the chain is:
[the chain](chain.md). Measured on one machine of two cores that did other work beside: take the
ratios. Nothing here was measured on a cluster.

## What grows with what

| | time | state | sharded by |
|---|---|---|---|
| owners | events, and states of a ward: who may have done what is young | the same | `BY` |
| policies | events, live prefixes | prefixes by equated values | what all its queries equate |
| matches over owners | events, for each person of a match | tracks of people | the ward |
| rules | candidates | rows of tables, matches told again | the KEY of tables |

Wards that know nothing of each other cost their sum and can go to as many shards. One ward cannot
be cut: who did what in it hangs together. Rules that look into a table by something else than its
KEY are one shard, whatever is above them, and EXPLAIN says so; so are tables whose KEY does not
begin with the ward, for nobody knows that a person is of one ward only. Each query over owners
follows the people of its matches by itself: the cost grows with queries. It grows faster than
people and than unread badges do, for both make worlds, and with WITHIN of the owners.

## What it costs

`benchmarks/chain/scaling.py`, {half_hours} hours of the simulated ward, milliseconds of one core
for a thousand events. The second column of stages is one query over owners, the third three more
with the rules that listen.

| | events | owners and policy | one query | three more, and rules | events a second |
|---|---|---|---|---|---|
{rows}

## Violations, and whether confidences are true

`benchmarks/chain/hospital.py`, {wards} simulated wards of {hours:g} hours each, {unread} of the
badges unread, {events} events, {violations} violations. F1 of each ward at the threshold that is
best for the others ({threshold} over all), and by how much the chain is ahead on the same wards,
with 95 % intervals over the wards.

| | F1 | the chain is ahead by |
|---|---|---|
{pipelines}

*Likeliest owners* takes each event for that of whoever it was with the greatest probability in the
end. Plain matching can do two things with an unread badge: leave it out (*badges that were read*),
or let it be anybody's who was read beside it (*unread is anybody*).

{kept}
The expected calibration error of {matches} matches is {error}. In this ward when somebody does
something next hangs on the place alone, as the model has it. Where people have habits (a
dispenser is used before a door), worlds are no longer alike and confidences are off: say who is
likelier with `PREFER`, or take them as an order only.

## A week, and from an event to its badge

{week}
{latency}
## A cluster, on paper

{cluster}
"""
KEPT = """The policy leaves {public:.0%} of the public matches ({before:,.0f} before, by their
confidence) and {private:,} of {secret:,.0f} private ones among what is published, as it was first
told. The forecast is made of badges that were read: of the {warnings:,} violations that it stands
before, half are told {half:.0f} seconds before they happen ({low:.0f} to {high:.0f} in eight of
ten). People on this ward do what they do next at random, so there is little to foresee: its log
loss is {loss:.3f} against {base:.3f} of always saying how often it happens, and its expected
calibration error {error:.3f}.
"""
WEEK = """`benchmarks/chain/week.py`, {hours:g} hours of {corridors} corridors with {people} people,
{events:,} events, in batch on Spark: {rate:,} events a second on two cores ({seconds:,.0f} s), and
{alone:,} on one core in one process. {target}
"""
LATENCY = """`benchmarks/chain/latency.py`, {wards} corridors with {people:,} people whose time goes
{faster:g} times as fast, {rate:,} events a second for {seconds} seconds on Spark streaming, the
whole script, badges in PostgreSQL: half of the badges are committed {p50:.1f} s after the event,
99 % after {p99:.1f} s, the last after {most:.1f} s. When the last event had come, the oldest one
not committed was {behind:.1f} s old. Memory of Python and Java after the first, middle and last ten
seconds: {memory} MB. {target}
"""
CLUSTER = """10,000 wards and 1,000,000 events a second, 100 a ward: at {name} ({rate:,} events a
core and second) that is {cores:,.0f} cores, if wards are even and shards whole. The state of a
ward is small (what its people may have done within WITHIN), so cores, not memory, are what is
bought. Rows, their shuffle, the state store and the network between machines come on top: this is
a bound from below.
"""
UNMEASURED = """`benchmarks/chain/{what}.py` has not been run on a machine of its own; the aim is
{aim}.
"""
# What is asked of it.
WEEK_RATE, LATENCY_S = 10_000, 5.0


def main() -> None:
    """Write the page."""
    scaling = _read("chain_scaling")
    hospital = _read("chain_hospital")
    rates = {name: _rate(case) for name, case in scaling["cases"].items()}
    text = PAGE.format(
        half_hours=scaling["hours"],
        hours=hospital["hours"],
        rows="\n".join(_row(name, case) for name, case in scaling["cases"].items()),
        wards=hospital["wards"],
        unread=f"{hospital['unread']:.0%}",
        events=f"{hospital['events']:,}",
        violations=f"{hospital['violations']:,}",
        threshold=hospital["threshold"],
        pipelines="\n".join(_pipeline(name, hospital) for name in hospital["pipelines"]),
        matches=f"{hospital['matches']:,}",
        error=f"{hospital['calibration error']:.3f}",
        kept=_kept(hospital),
        week=_week(),
        latency=_latency(),
        cluster=_cluster(rates),
    )
    (DOCS / "scaling.md").write_text(text, encoding="utf-8")


def _kept(hospital: dict[str, Any]) -> str:
    if "forecast" not in hospital:
        return ""
    soon, public, private = (hospital[name] for name in ("forecast", "public", "private"))
    seconds = soon["seconds of warning"]
    return KEPT.format(
        public=public["left"] / public["before"],
        before=public["before"],
        private=private["left"],
        secret=private["before"],
        warnings=soon["warnings"],
        half=seconds["50 %"],
        low=seconds["10 %"],
        high=seconds["90 %"],
        loss=soon["log loss"],
        base=soon["base log loss"],
        error=soon["calibration error"],
    )


def _week() -> str:
    found = _measured("week")
    if found is None:
        return UNMEASURED.format(what="week", aim=f"{WEEK_RATE:,} events a second in batch")
    return WEEK.format(
        **found,
        rate=found["events_per_second"],
        seconds=found["seconds_on_two_cores"],
        alone=found["events_per_core_second"],
        target=_against(found["events_per_second"] >= WEEK_RATE, f"{WEEK_RATE:,} events a second"),
    )


def _latency() -> str:
    found = _measured("latency")
    if found is None:
        aim = f"{LATENCY_S:g} s for 99 % at 1,000 events a second"
        return UNMEASURED.format(what="latency", aim=aim)
    parts = found["memory_mb"]
    shown = [parts[0], parts[len(parts) // 2], parts[-1]]
    return LATENCY.format(
        **{name: found[name] for name in ("wards", "people", "faster", "rate", "seconds")},
        p50=found["p50_s"],
        p99=found["p99_s"],
        most=found["most_s"],
        behind=found["behind_at_the_end_s"],
        memory=", ".join(
            f"{each.get('python', 0):,} and {each.get('java', 0):,}" for each in shown
        ),
        target=_against(found["p99_s"] <= LATENCY_S, f"{LATENCY_S:g} s for 99 % at 1,000 events/s"),
    )


def _against(is_met: bool, target: str) -> str:
    return f"The aim is {target}: {'met' if is_met else 'not met'}."


def _cluster(rates: dict[str, float]) -> str:
    name = "4 corridors of 8"
    return CLUSTER.format(
        name=f"the rate of {name}", rate=round(rates[name]), cores=1_000_000 / rates[name]
    )


def _measured(name: str) -> Any:
    """Return figures that take a machine of their own; None where they were not taken."""
    path = DOCS / "benchmarks" / f"chain_{name}.json"
    return _read(f"chain_{name}") if path.exists() else None


def _read(name: str) -> Any:
    return json.loads((DOCS / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))


def _pipeline(name: str, hospital: dict[str, Any]) -> str:
    ahead = hospital["chain beats by"].get(name)
    own = _interval(hospital["pipelines"][name])
    return f"| {name} | {own} | {_interval(ahead) if ahead else ''} |"


def _interval(own: dict[str, float]) -> str:
    return f"{own['mean']:.4f} \N{PLUS-MINUS SIGN} {own['half']:.4f}"


def _rate(case: dict[str, Any]) -> float:
    return float(case["events"] / sum(case["seconds"].values()))


def _row(name: str, case: dict[str, Any]) -> str:
    parts = [f"{1e6 * each / case['events']:,.0f}" for each in case["seconds"].values()]
    return f"| {name} | {case['events']:,} | {' | '.join(parts)} | {_rate(case):,.0f} |"


if __name__ == "__main__":
    main()
