"""Write docs/scaling.md from the figures in docs/benchmarks.

python benchmarks/chain/page.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
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

`benchmarks/chain/scaling.py`, {hours} hours of the simulated ward, milliseconds of one core for a
thousand events. The second column of stages is one query over owners, the third three more with
the rules that listen.

| | events | owners and policy | one query | three more, and rules | events a second |
|---|---|---|---|---|---|
{rows}

## Violations, and whether confidences are true

`benchmarks/chain/hospital.py`, {wards} simulated hours of a ward of four corridors, {unread} of
the badges unread, {events} events. F1 at the best threshold over these same hours, with 95 %
intervals over them.

| | F1 | threshold |
|---|---|---|
{pipelines}

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
        hours=scaling["hours"],
        rows="\n".join(_row(name, case) for name, case in scaling["cases"].items()),
        wards=hospital["wards"],
        unread=f"{hospital['unread']:.0%}",
        events=f"{hospital['events']:,}",
        pipelines="\n".join(
            f"| {name} | {own['f1']:.3f} \N{PLUS-MINUS SIGN} {own['half']:.3f} | "
            f"{own['threshold'] if name == 'chain' else ''} |"
            for name, own in hospital["pipelines"].items()
        ),
        matches=f"{hospital['matches']:,}",
        error=f"{hospital['calibration error']:.3f}",
        cores=f"{1_000_000 / rates['4 corridors of 8']:,.0f}",
    )
    (DOCS / "scaling.md").write_text(text, encoding="utf-8")


def _read(name: str) -> Any:
    return json.loads((DOCS / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))


def _rate(case: dict[str, Any]) -> float:
    return float(case["events"] / sum(case["seconds"].values()))


def _row(name: str, case: dict[str, Any]) -> str:
    parts = [f"{1e6 * each / case['events']:,.0f}" for each in case["seconds"].values()]
    return f"| {name} | {case['events']:,} | {' | '.join(parts)} | {_rate(case):,.0f} |"


if __name__ == "__main__":
    main()
