"""The page docs/benchmarks/privacy.md: figures and what they say, none of them typed by hand."""

from __future__ import annotations

from typing import Any

HEAD = """# What policies keep

Written by `benchmarks/privacy/figures.py`; the wards are described in
`benchmarks/privacy/rounds.py`. Utility is what the public matches among the kept events weigh less
what the private ones do, summed over {seeds} seeds. Ratios are of these sums, with the interval
that holds 95 % of ratios over seeds drawn again. PATIENCE is 1 unless it says *learned*. *True* is
the hybrid with the true future in the place of an expectation.

Settings were chosen on other seeds (1000 to 1015), as some in which the methods differ, and written
down before the first run. **In most random settings the cycle gains nothing over rates**: a part
below says in how many.
"""


def page(figures: dict[str, Any]) -> str:
    """Return the page."""
    results = figures["results"]
    parts = [HEAD.format(seeds=figures["seeds"]), _targets(results), _table(results)]
    parts += [
        _limits(results, figures["limits"]),
        _left(figures["by_weight"]),
        _drawn(figures["drawn"]),
        _periods(figures["periods"]),
    ]
    parts.append(
        "## Charts\n\n"
        "![by periodicity](privacy_periodicity.svg)\n\n![by length](privacy_length.svg)\n\n"
        "![by number of private patterns](privacy_private.svg)"
    )
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _ratio(own: dict[str, float]) -> str:
    return f"{own['ratio']:.2f} ({own['from']:.2f} to {own['to']:.2f})"


def _targets(results: dict[str, Any]) -> str:
    """Return what was aimed at, and what came out."""
    lines = [
        ("irregular: rates over types", 1.15, results["day"]["rates_over_types"]),
        ("regular, weight 100: periodic over rates", 1.2, results["night"]["periodic_over_rates"]),
        (
            "regular, weight 1000: periodic over rates",
            1.4,
            results["night, weight 1000"]["periodic_over_rates"],
        ),
        (
            "long patterns and windows: periodic over greedy",
            1.8,
            results["long"]["periodic_over_greedy"],
        ),
    ]
    for each in ("0.9", "1"):
        own = results[f"periodicity {each}"]["periodic_over_true"]
        lines.append((f"periodicity {each}: periodic over true", 0.95, own))
    for length, least in zip((2, 3, 4, 5), (0.95, 0.88, 0.85, 0.78), strict=True):
        own = results[f"length {length}"]["periodic_over_true"]
        lines.append((f"periodicity 0.4, length {length}: periodic over true", least, own))
    lines.append(
        (
            "periodicity 0.4, weight 100: periodic, patience learned over 1",
            1.05,
            results["weight 100"]["learned"]["periodic"],
        )
    )
    more = results["periodicity 0.4"]["learned"]["periodic"]
    what = "the same with 12 private patterns instead of 4: patience learned over 1"
    lines.append((what, 1.05, more))
    worst = min(
        (own["ratio"], name, method)
        for name, result in results.items()
        for method, own in result["learned"].items()
    )
    rows = [
        f"| {what} | {least} | {_ratio(own)} | {'yes' if own['ratio'] >= least else '**no**'} |"
        for what, least, own in lines
    ]
    rows.append(
        f"| patience learned over 1, the least of all settings ({worst[1]}, {worst[2]}) | 0.98 | "
        f"{worst[0]:.2f} | {'yes' if worst[0] >= 0.98 else '**no**'} |"
    )
    none = results["periodicity 0"]["periodic_over_rates"]
    rows.append(f"| periodicity 0: periodic over rates | equal | {_ratio(none)} | |")
    head = "## What was aimed at\n\n| | at least | ratio | reached |\n|---|---|---|---|\n"
    return head + "\n".join(rows)


def _limits(results: dict[str, Any], limits: dict[str, dict[str, Any]]) -> str:
    """Return what a longer history gains, and what patience does."""
    rows = []
    for name in ("periodicity 0.9", "weight 100"):
        for each in (name, f"{name}, history of 100 cycles"):
            own = results[each]
            rows.append(
                f"| {each} | {_ratio(own['periodic_over_true'])} | "
                f"{_ratio(own['learned']['periodic'])} |"
            )
    head = (
        "## What holds the periodic hybrid back\n\nNot what it knows of the cycle: with a history "
        "five times as long it keeps as much. With PATIENCE 1 a private match that is likely costs "
        "now, though it may be stopped later at less cost; *true* pays only for those that come. "
        "That is what patience is for, and it is learned of the history.\n\n| setting | periodic "
        "over true | periodic, patience learned over 1 |\n|---|---|---|\n"
    )
    return "\n\n".join((head + "\n".join(rows), _over_more_seeds(limits)))


def _over_more_seeds(limits: dict[str, dict[str, Any]]) -> str:
    """Return the two targets that are missed over more seeds, and what else was tried."""
    names = {
        "periodic_over_true": "periodic over true, both with PATIENCE 1",
        "of_400_cycles_over_true": "the same with a history twenty times as long",
        "learned_over_true": "periodic with its patience learned, over true with PATIENCE 1",
        "learned_over_true_learned": "both with their patience learned",
        "learned_over_one": "periodic, patience learned over 1",
        "half_over_one": "the same, learned on half of the history with statistics of the other",
        "hindsight_over_one": "the best patience of each ward in hindsight, over 1",
    }
    rows = [
        f"| {what} | {' | '.join(_ratio(own[key]) for own in limits.values())} |"
        for key, what in names.items()
    ]
    seeds = next(iter(limits.values()))["seeds"]
    head = (
        "Acts of a round come each by a coin of its own, so nothing of the past tells which do: a "
        "history that goes on and on gives the expectation itself, and the rule that charges it in "
        "full with PATIENCE 1 stays below the one that sees the future. With the default, PATIENCE "
        "LEARNED, the hybrid keeps about as much as that one. What patience can gain is at most "
        "what its best value in hindsight is, and most of that is found. The same over "
        f"{seeds} seeds, the longer history over {seeds // 5}:\n\n"
        f"| | {' | '.join(limits)} |\n|---|{'---|' * len(limits)}\n"
    )
    return head + "\n".join(rows)


def _table(results: dict[str, Any]) -> str:
    """Return the utilities of all settings."""
    names = list(next(iter(results.values()))["utility"])
    head = (
        f"## Utilities\n\n| setting | {' | '.join(names)} | learned, rates | learned, periodic |\n"
        f"|---|{'---|' * (len(names) + 2)}\n"
    )
    rows = []
    for name, result in results.items():
        cells = [f"{result['utility'][each]:,.0f}" for each in names]
        more = [_ratio(result["learned"][each]) for each in ("rates", "periodic")]
        rows.append(f"| {name} | {' | '.join([*cells, *more])} |")
    return head + "\n".join(rows)


def _left(by_weight: dict[str, dict[str, float]]) -> str:
    """Return the matches that are left as the private weight grows."""
    rows = [
        f"| {cost} | {own['public']:,.0f} | {own['private']:,.0f} |"
        for cost, own in by_weight.items()
    ]
    head = (
        "## Matches that are left\n\nPeriodicity 0.4, the periodic hybrid; public weights are 1 to "
        "10.\n\n| private weight | public matches | private matches |\n|---|---|---|\n"
    )
    return head + "\n".join(rows)


def _drawn(drawn: dict[str, Any]) -> str:
    """Return how often methods differ where settings are drawn."""
    lines = [
        f"- {pair}: more by a fiftieth in {own['more']} of {drawn['settings']}, less in "
        f"{own['less']}, the same in {drawn['settings'] - own['more'] - own['less']}"
        for pair, own in drawn.items()
        if isinstance(own, dict)
    ]
    head = (
        "## Settings at random\n\nNumbers of types and acts, of patterns, their lengths, windows "
        f"and weights, and the periodicity are drawn; {drawn['seeds_each']} seeds each.\n\n"
    )
    return head + "\n".join(lines)


def _periods(found: dict[str, Any]) -> str:
    """Return in how many streams the period is found."""
    rows = [
        f"| {each} | {own['streams']} | {own['found']} | {own['another']} | "
        f"{own['ticks_off_after_20_cycles']} |"
        for each, own in found.items()
    ]
    head = (
        "## Periods\n\nThe test is described in `src/augury/privacy/period.py`. A cycle has 10,000 "
        "ticks.\n\n| periodicity | streams | found | another period | most ticks off after 20 "
        "cycles |\n|---|---|---|---|---|\n"
    )
    return head + "\n".join(rows)
