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
class Content:
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


def story(content: Content) -> Story:
    """Return the chapter of the ward."""
    lanes = () if content.lanes is None else (people(content.lanes, "known"),)
    judged = (_gain(content), _trust(content), _by_unread(content))
    return Story(_head(content), (_script(content), *lanes, *judged, _alarms(content)), {})


def _head(content: Content) -> tuple[Figure, ...]:
    best = content.best
    return (
        Figure("violations", f"{best.relevant:,}", f"in {content.events:,} events"),
        Figure("badges not read", f"{content.unread:,}", "nobody knows whose"),
        Figure("augury finds", f"{best.right:,}", f"of {best.accused:,} that it accuses"),
        Figure("kept private", f"{content.suppressed:,}", "events that nobody reads"),
    )


def _script(content: Content) -> Section:
    return Section(
        "The whole chain, in one script",
        "Who it may have been; what was done with unclean hands; the badge, which is green, yellow "
        "or red; and what is not published.",
        f'<div class="question"><pre>{marked(content.script.strip())}</pre></div>',
    )


def _gain(content: Content) -> Section:
    drawn = against_each_other(
        content.found, LOWEST, content.best.threshold, content.others, is_moved=False
    )
    lead = f"{escape(content.summary)}. The large dot is that threshold."
    return Section("What comes back", lead, drawn, wide=False)


def _trust(content: Content) -> Section:
    return Section(
        "Are the confidences true, end to end?",
        "Matches by their last confidence: the share that really was a violation by that person, "
        "with 95 % intervals.",
        calibration(content.calibration),
        wide=False,
    )


def _by_unread(content: Content) -> Section:
    shares = [each.unread for each in content.by_unread]
    ticks = [(share, f"{share:.0%}") for share in shares]
    plot = Plot(Axis("badges not read", ticks, 0.0, shares[-1]), Axis("F1", UNIT_TICKS))
    pieces = []
    ways = ((AUGURY, "precision", -10), (LIKELIEST, "recall", 20), (DROPPED, "other", -10))
    for name, kind, lower in ways:
        scores = [each.scores[name] for each in content.by_unread]
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


def _alarms(content: Content) -> Section:
    rows = [(f"{each['at']:%H:%M:%S}", each["person"], each["room"]) for each in content.alarms]
    return Section(
        "The alarms",
        f"The first of {len(content.alarms):,}. A rule fires once for a match, when it is told "
        "surely enough, also if that is later.",
        table(("at", "who", "where"), rows[:SHOWN]),
    )
