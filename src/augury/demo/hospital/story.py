"""What the page tells about the ward: the script, what comes back, the trust, and the alarms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from augury.demo.hospital.by_unread import AUGURY, DROPPED, LIKELIEST, THRESHOLD, Share
from augury.report.charts.judgement import against_each_other, calibration
from augury.report.charts.lanes import Lanes
from augury.report.charts.plot import UNIT_TICKS, Axis, Plot
from augury.report.charts.script_text import marked
from augury.report.parts import Figure, Section, Story
from augury.report.scores import Band, Score, f1
from augury.report.sections import people, percent, table

LOWEST = 0.05
SHOWN = 12


@dataclass(frozen=True, slots=True)
class Told:
    """All that the page shows; `found` gives the score from a threshold on."""

    found: Callable[[float], Score]
    best: Score
    others: dict[str, Score]
    calibration: Sequence[Band]
    by_unread: Sequence[Share]
    lanes: Lanes | None
    script: str
    alarms: Sequence[Mapping[str, Any]]
    suppressed: int
    unread: int
    events: int
    summary: str


def story(told: Told) -> Story:
    """Return the chapter of the ward."""
    lanes = () if told.lanes is None else (people(told.lanes, "known"),)
    judged = (_gain(told), _trust(told), _by_unread(told))
    return Story(_head(told), (_script(told), *lanes, *judged, _alarms(told)), {})


def _head(told: Told) -> tuple[Figure, ...]:
    best = told.best
    return (
        Figure("violations", f"{best.wanted:,}", f"in {told.events:,} events"),
        Figure("badges not read", f"{told.unread:,}", "nobody knows whose"),
        Figure("augury finds", f"{best.right:,}", f"of {best.accused:,} that it accuses"),
        Figure("kept private", f"{told.suppressed:,}", "events that nobody reads"),
    )


def _script(told: Told) -> Section:
    return Section(
        "The whole chain, in one script",
        "Who it may have been; what was done with unclean hands; the badge, which is green, yellow "
        "or red; and what is not published.",
        f'<div class="question"><pre>{marked(told.script.strip())}</pre></div>',
    )


def _gain(told: Told) -> Section:
    drawn = against_each_other(told.found, LOWEST, told.best.threshold, told.others, is_moved=False)
    lead = f"{escape(told.summary)}. The large dot is that threshold."
    return Section("What comes back", lead, drawn, wide=False)


def _trust(told: Told) -> Section:
    return Section(
        "Are the confidences true, end to end?",
        "Matches by their last confidence: the share that really was a violation by that person, "
        "with 95 % intervals.",
        calibration(told.calibration),
        wide=False,
    )


def _by_unread(told: Told) -> Section:
    shares = [each.unread for each in told.by_unread]
    ticks = [(share, f"{share:.0%}") for share in shares]
    plot = Plot(Axis("badges not read", ticks, 0.0, shares[-1]), Axis("F1", UNIT_TICKS))
    pieces = []
    ways = ((AUGURY, "precision", -10), (LIKELIEST, "recall", 20), (DROPPED, "other", -10))
    for name, kind, lower in ways:
        scores = [each.scores[name] for each in told.by_unread]
        points = [(share, f1(found)) for share, found in zip(shares, scores, strict=True)]
        pieces.append(plot.curve(points, kind))
        for point, found in zip(points, scores, strict=True):
            says = f"{name}: precision {percent(found.precision)}, recall {percent(found.recall)}"
            pieces.append(plot.dot(point, 4, "other" if kind == "other" else "band", says))
        pieces.append(plot.label(points[-1], name, "name end", (-8, lower)))
    return Section(
        "With worse badge readers",
        f"The same hours of another ward, as more badges go unread; accused is from confidence "
        f"{THRESHOLD:g} on. The likeliest owner is taken for the owner, and "
        "what is dropped is never found.",
        plot.drawn(pieces, "F1 by the share of unread badges"),
        wide=False,
    )


def _alarms(told: Told) -> Section:
    rows = [(f"{each['at']:%H:%M:%S}", each["person"], each["room"]) for each in told.alarms]
    return Section(
        "The alarms",
        f"The first of {len(told.alarms):,}. A rule fires once for a match, when it is told "
        "surely enough, also if that is later.",
        table(("at", "who", "where"), rows[:SHOWN]),
    )
