"""Write docs/scaling.md from the figures in docs/benchmarks.

python benchmarks/chain/page.py
"""

from __future__ import annotations

import json
from typing import Any

from matching.harness import DOCS

PAGE = """# How the chain scales

Written by `benchmarks/chain/page.py` from the JSON files in `docs/benchmarks`. What the chain is:
[the chain](chain.md). Measured on the local engine, on a machine that did other work beside: take
the ratios. Nothing here was measured on a cluster.

## What grows with what

| | time | state | sharded by |
|---|---|---|---|
| owners | events, and states of a ward: who may have done what is young | the same | `BY` |
| policies | events, live prefixes | prefixes by equated values | what all its queries equate |
| matches over owners | events, for each person of a match | tracks of people | the ward |
| rules | candidates | rows of tables, matches told again | the KEY of tables |

Wards that know nothing of each other cost their sum and can go to as many shards. One ward cannot
be cut: who did what in it hangs together. Rules that look into a table by something else than its
KEY are one shard, whatever is above them, and EXPLAIN says so.

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

The expected calibration error of {matches} matches is {error}. In this ward when somebody does
something next hangs on the place alone, as the model has it. Where people have habits (a
dispenser is used before a door), worlds are no longer alike and confidences are off: say who is
likelier with `PREFER`, or take them as an order only.

## A cluster, on paper

At the rate of the four corridors above, 1,000,000 events a second need about {cores} cores, if
wards are even and shards whole; rows, their shuffle and the state store come on top and were not
measured for the chain. So this is a bound from below.
"""


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
        cores=f"{1_000_000 / rates['4 corridors of 8']:,.0f}",
    )
    (DOCS / "scaling.md").write_text(text, encoding="utf-8")


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
