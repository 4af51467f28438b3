"""What the page tells about the building: the question, a person's time, and the figures."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from augury.demo.building.judgement import THRESHOLDS, Verdict
from augury.report.charts.plot import UNIT_TICKS, Axis, Plot
from augury.report.charts.script_text import marked
from augury.report.parts import Figure, Section, Story
from augury.report.sections import percent

NAMES = {
    "filtered": "filtered, as it happens",
    "mle": "most likely place of each second",
    "smoothed": "smoothed, with correlation",
    "map": "most likely path",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """How large the world is, and the script that asked."""

    people: int
    seconds: int
    reads: int
    script: str


def story(facts: Facts, verdict: Verdict) -> Story:
    """Return the whole page of the building."""
    best = verdict.scores["smoothed", THRESHOLDS[1]]
    decided = verdict.scores["map", THRESHOLDS[1]]
    head = (
        Figure("visits", f"{verdict.visits:,}", f"of {facts.people} people"),
        Figure("readings", f"{facts.reads:,}", f"in {facts.seconds:,} seconds"),
        Figure("F1, smoothed", f"{best.f1:.2f}", f"above {THRESHOLDS[1]}"),
        Figure("F1, most likely path", f"{decided.f1:.2f}", "decided first"),
    )
    sections = (_question(facts), _time(facts, verdict), _curves(verdict), _table(verdict))
    return Story(head, sections, {})


def _question(facts: Facts) -> Section:
    lead = (
        "A model says how people walk and what antennas hear. Four streams are inferred from the "
        "readings, and each is asked the same."
    )
    return Section("The question", lead, f"<pre>{marked(facts.script)}</pre>")


def _time(facts: Facts, verdict: Verdict) -> Section:
    """Return the probability over time beside the truth, of the one with most visits."""
    person = verdict.busiest
    ticks = [(float(t), f"{t} s") for t in range(0, facts.seconds + 1, facts.seconds // 6)]
    plot = Plot(Axis("second", ticks, 0.0, float(facts.seconds)), Axis("P", UNIT_TICKS))
    smoothed = enumerate(verdict.chances["smoothed"][person])
    filtered = enumerate(verdict.chances["filtered"][person])
    pieces = [
        plot.curve(((float(t), p) for t, p in filtered), "recall"),
        plot.curve(((float(t), p) for t, p in smoothed), "precision"),
        *(
            plot.dot((float(t), 1.0), 5.0, "theft", f"went in at second {t}")
            for t in verdict.there[person]
        ),
    ]
    lead = (
        f"How likely {escape(person)} went into the coffee room at each second, smoothed and "
        "filtered; the dots above are the truth."
    )
    name = f"the probability of {person} over time beside the truth"
    return Section("One person, second by second", lead, plot.drawn(pieces, name))


def _curves(verdict: Verdict) -> Section:
    ticks = [(t, f"{t}") for t in THRESHOLDS]
    plot = Plot(Axis("threshold", ticks, THRESHOLDS[0], THRESHOLDS[-1]), Axis("F1", UNIT_TICKS))
    kinds = {"smoothed": ("precision", -8), "filtered": ("recall", 18)}
    pieces = []
    for name, (kind, lower) in kinds.items():
        points = [(t, verdict.scores[name, t].f1) for t in THRESHOLDS]
        pieces.append(plot.curve(points, kind))
        pieces.append(plot.label(points[1], NAMES[name], "name", (0, lower)))
    best = (THRESHOLDS[-1], verdict.scores["map", THRESHOLDS[-1]].f1)
    pieces.append(plot.dot(best, 5.5, "other", f"{NAMES['map']}: {best[1]:.2f}"))
    pieces.append(plot.label(best, NAMES["map"], "name end", (-10, 18)))
    lead = "A second is told if its probability is above the threshold, and right near a visit."
    return Section("By threshold", lead, plot.drawn(pieces, "F1 by threshold"))


def _table(verdict: Verdict) -> Section:
    rows = "".join(
        f"<tr><th>{escape(NAMES[name])}</th><td>{threshold}</td><td>{percent(score.precision)}</td>"
        f"<td>{percent(score.recall)}</td><td>{score.f1:.2f}</td></tr>"
        for name, threshold in verdict.shown
        if (score := verdict.scores[name, threshold])
    )
    head = (
        "<thead><tr><th>by</th><th>above</th><th>precision</th><th>recall</th><th>F1</th></tr>"
        "</thead>"
    )
    return Section(
        "Against the truth",
        "",
        f'<div class="scroll"><table>{head}<tbody>{rows}</tbody></table></div>',
    )
