"""What the page tells about logins: the forecast, one attack, the warnings, and the reliability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from augury.report.charts.plot import PERCENT_TICKS, UNIT_TICKS, Axis, Plot
from augury.report.charts.script_text import marked
from augury.report.parts import Figure, Section, Story

# Logins: minutes from the break-in, the forecast after it, and its status.
Trace = Sequence[tuple[float, float, str]]


@dataclass(frozen=True, slots=True)
class Content:
    """All that the page shows; `bins` are what was claimed, what came, and of how many."""

    script: str
    warnings: Sequence[float]
    break_ins: int
    alarms: int
    false: int
    bins: Sequence[tuple[float, float, int]]
    skill: float
    traced: Trace


def story(content: Content) -> Story:
    """Return the chapter."""
    warnings = content.warnings
    middle = warnings[len(warnings) // 2] if warnings else 0.0
    head = (
        Figure("break-ins", f"{content.break_ins:,}", f"{len(warnings):,} of them forecast"),
        Figure("minutes of warning", f"{middle:.1f}", "in the middle"),
        Figure("alarms", f"{content.alarms:,}", f"{content.false:,} of them false"),
        Figure("skill", f"{content.skill:.0%}", "of the base rate's log loss is saved"),
    )
    return Story(head, (_script(content), _trace(content), _reliability(content)), {})


def _script(content: Content) -> Section:
    return Section(
        "What is forecast",
        "Three denials in a row and then a success, of one address: how likely within ten logins?",
        f'<div class="question"><pre>{marked(content.script)}</pre></div>',
    )


def _trace(content: Content) -> Section:
    """Return the forecast around one break-in, login by login."""
    minutes = [at for at, _, _ in content.traced]
    low, high = min(minutes), max(*minutes, 1.0)
    apart = next(each for each in (5, 10, 30, 60, 120, 240, -low) if -low <= 6 * each)
    ticks = [(-apart * k, f"{-apart * k:.0f}") for k in range(int(-low // apart) + 1)]
    plot = Plot(Axis("minutes from the break-in", ticks, low, high), Axis("", PERCENT_TICKS))
    pieces = [plot.curve([(at, forecast) for at, forecast, _ in content.traced], "precision")]
    pieces += [
        plot.dot(
            (at, forecast),
            5,
            "theft" if status == "DENIED" else "nothing",
            f"{status} {at:+.1f} minutes: a break-in within ten logins with {forecast:.0%}",
        )
        for at, forecast, status in content.traced
    ]
    return Section(
        "One attack",
        "The chance of a break-in within the next ten logins of the address, after each login.",
        plot.drawn(pieces, "the forecast before and after a break-in"),
    )


def _reliability(content: Content) -> Section:
    """Return what was claimed beside what came."""
    plot = Plot(Axis("what was claimed", UNIT_TICKS), Axis("what came", UNIT_TICKS))
    pieces = [plot.line((0.0, 0.0), (1.0, 1.0), "ideal")]
    for claimed, happened, count in content.bins:
        tip = f"of {count:,} forecasts of about {claimed:.0%}, {happened:.0%} came true"
        pieces.append(plot.dot((claimed, happened), 4 + min(6.0, count / 500), "band", tip))
    return Section(
        "Can the numbers be taken at their word?",
        "Each dot is a tenth of the scale: what forecasts claimed, and how many of them came true.",
        plot.drawn(pieces, "reliability of forecasts"),
        wide=False,
    )
