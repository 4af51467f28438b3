"""Write docs/benchmarks/identities.md from the figures beside it.

python benchmarks/identity/page.py
"""

from __future__ import annotations

import json
from typing import Any

from matching.harness import FIGURES

PAGE = """# Benchmarks of identities

Written by `benchmarks/identity/page.py` from the JSON files beside it, and measured anew by
`AUGURY_BENCH_SCALE=1 make bench`. What is told, and how: [identities](../identities.md).
A simulated ward: 32 people, 30 rooms, stays of 10 minutes in a room and 5 in the hall on average,
Gaussian; other settings stand in
`benchmarks/identity/ward.py`. Rates are events a second of one core's work, on a machine of {cores}
cores under a load of {load}.

## How fast, and how near

`benchmarks/identity/feasibility.py`, {n} events, `REVISE ANY`, three seeds
([figures](identity_feasibility.json)).

| | measured | target |
|---|---|---|
| 25 % unread, rows to tellings | {rates} | 20,000 |
| the same, from table to table | {tables} | |
| tellings of it that are sampled | {sampled} | none |
| 45 % unread | {sampled_rates} | 2,000 |
| total variation against ten times the states, told first | {first} | .02 |
| the same, all that is told at the same moment | {all} | .02 |
| 30 % unread, 64 to 128 states: tellings further off than their bound | {outside} of {told} | |
| the mean of those bounds | {bound} | |

## The thesis's figures

`benchmarks/identity/figures.py` ([figures](identity_figures.json)). Mean probability on the true
owner: as told last (smoothed), as told first (filter), and by multiple-hypothesis tracking with 12
hypotheses.

| unread | smoothed | filter | MHT |
|---|---|---|---|
{precision}

![probability on the true owner](identity_precision.svg)

Above MHT by {above} percentage points on average from 5 to 60 % (target 40), by {above_45} from 5
to 45 % (target 45). With one event in a hundred lost and 25 % unread: {lost} (target .74). Certain
revisions are {certain} of all. Beyond the limit on states a change within the bound is not told, so
that what was told last falls off there.

Against plain forward-backward, which computes its window anew at every event with the same kernel
(target 15):

| unread | window, minutes | times as fast |
|---|---|---|
{speeds}

## Calibration

`benchmarks/identity/calibration.py`, {events} events, 12 people and 10 rooms
([figures](identity_calibration.json)). The law takes all worlds for equally likely; they are where
stays have no memory. Expected calibration error (target .01):

| stays | error |
|---|---|
{calibration}

![how often it was them](identity_calibration.svg)
"""

APART = """
Matches over owners (visits: in and out of a room by the same person),
`benchmarks/identity/matches.py`, {match_events} events in wards of 6 people and 10 rooms,
{matches} matches in doubt: {match_first} as told first, {match_last} as told last (target .01)
([figures](identity_matches.json)). From rows to tellings of matches: {match_rate}.

## From outside

`benchmarks/identity/outside.py`: one step of several unread badges and people who prefer rooms,
against the marginals of Stone Soup's exact joint association (`JPDAwithEHM`). In {outside_cases}
random wards they are at most {outside_apart:.0e} apart ([figures](identity_outside.json)).

## A thousand wards on Spark

`benchmarks/identity/wards.py`: {wards} wards, {ward_events} events, in one streaming run of
micro-batches. Every telling was that of the local engine ([figures](identity_wards.json)). Most of
the time is what Spark needs to begin a run and its micro-batches, whatever is in them.

| | tellings | events a second in the stream | in its fastest batch | locally |
|---|---|---|---|---|
{wards_told}
"""


def read(name: str) -> dict[str, Any]:
    """Return figures."""
    found: dict[str, Any] = json.loads((FIGURES / f"identity_{name}.json").read_text())
    return found


def several(values: list[float], form: str = ",.0f") -> str:
    """Return figures of several seeds, in a row."""
    return ", ".join(format(each, form) for each in values)


def beside() -> dict[str, Any]:
    """Return what was measured of matches, against others, and of many wards."""
    matches, outside, wards = read("matches"), read("outside"), read("wards")
    return {
        "match_events": format(matches["events"], ","),
        "matches": format(matches["matches in doubt"], ","),
        "match_first": matches["error, told first"],
        "match_last": matches["error, told last"],
        "match_rate": rate_of(matches),
        "outside_cases": outside["cases"],
        "outside_apart": outside["furthest apart"],
        "wards": format(wards["wards"], ","),
        "ward_events": format(wards["events"], ","),
    }


def rate_of(matches: dict[str, Any]) -> str:
    """Return how fast matches were told, and by which clock."""
    if "events a core-second" in matches:
        return f"{matches['events a core-second']:,} events a second"
    load = matches["measured_on"]["load"]
    return f"{matches['events a second']:,} events a second by the clock, under a load of {load}"


def shown(rate: float | None) -> str:
    """Return a rate, if there is one."""
    return "not measured" if rate is None else format(rate, ",")


def wards_told(wards: dict[str, Any]) -> str:
    """Return a row for each of what was told of the wards."""
    names = [each.removeprefix("tellings of ") for each in wards if each.startswith("tellings")]
    return "\n".join(
        f"| {name} | {wards[f'tellings of {name}']:,} "
        f"| {wards[f'{name}, events a second in the stream']:,} "
        f"| {shown(wards.get(f'{name}, events a second in its fastest batch'))} "
        f"| {wards[f'{name}, events a second locally']:,} |"
        for name in names
    )


def main() -> None:
    """Write the page."""
    speed, own, sure = read("feasibility"), read("figures"), read("calibration")
    quarter, sampled = speed["25 %"], speed["45 %"]
    (bounds,) = [each for name, each in speed.items() if name.startswith("30 %")]
    errors = [(name, each) for name, each in sure.items() if name.startswith("stays")]
    text = PAGE.format(
        cores=speed["measured_on"]["cores"],
        load=speed["measured_on"]["load"],
        n=format(speed["events"], ","),
        rates=several([each["events a second"] for each in quarter]),
        tables=several([each["table to table"] for each in quarter]),
        sampled=several([each["sampled share"] for each in quarter], ".0%"),
        sampled_rates=several([each["events a second"] for each in sampled]),
        first=several([each["total variation"]["told first"] for each in sampled], ".4f"),
        all=several([each["total variation"]["all told"] for each in sampled], ".4f"),
        outside=sum(each["outside"] for each in bounds),
        told=format(sum(each["sampled tellings"] for each in bounds), ","),
        bound=several([each["mean bound"] for each in bounds], ".3f"),
        precision="\n".join(
            f"| {each['unread']:.0%} | {each['smoothed']:.3f} | {each['filter']:.3f} "
            f"| {each['MHT']:.3f} |"
            for each in own["5.5 by unread share"]
        ),
        above=own["points above MHT, 5 to 60 %"],
        above_45=own["points above MHT, 5 to 45 %"],
        lost=own["smoothed, 25 % unread, 1 % lost"],
        certain=format(own["5.8 certain revisions as a share of all"], ".1%"),
        speeds="\n".join(
            f"| {each['unread']:.0%} | {each['minutes']} | {each['times']:.0f} |"
            for each in own["5.6, 5.7 times the plain way"]
        ),
        events=format(sure["events"], ","),
        calibration="\n".join(
            f"| {name.removeprefix('stays ')} | {each['expected calibration error']:.4f} |"
            for name, each in errors
        ),
    )
    text += APART.format(**beside(), wards_told=wards_told(read("wards")))
    (FIGURES / "identities.md").write_text(text)


if __name__ == "__main__":
    main()
