"""What the page tells about the store: the numbers, the question, cases, charts, the day."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from dataclasses import replace
from datetime import datetime
from html import escape
from math import ceil

from augury.demo.store.cases import KINDS, Case, choose, sum_of, truth_of
from augury.demo.store.truth import HEADLINE, THRESHOLDS, Answers, Day, Found, Judgement
from augury.demo.store.visits import OPENING, Read
from augury.report.charts.judgement import against_each_other, by_threshold, calibration
from augury.report.charts.plot import UNIT_TICKS, Axis, Plot
from augury.report.charts.script_text import marked
from augury.report.charts.timeline import Mark, Span, Timeline
from augury.report.parts import Cut, Figure, Section, Story
from augury.report.scores import Score
from augury.report.sections import percent

LANES = ("SHELF", "COUNTER", "EXIT")
LOWEST = THRESHOLDS[0]


def story(day: Day, answers: Answers, verdict: Judgement) -> Story:
    """Return the whole page of the store."""
    sections = (
        _question(answers),
        _curves(verdict),
        _calibration(verdict),
        _day(day, verdict),
        _cases(verdict),
        _table(verdict),
        _making(day),
    )
    items = sorted(verdict.items, reverse=True)
    data = {
        "items": [[round(confidence, 9), int(right)] for confidence, right in items],
        "relevant": len(day.stolen),
    }
    cut = Cut("Accuse when the confidence is at least", HEADLINE, LOWEST)
    return Story(_head(day, verdict), sections, data, cut)


def _head(day: Day, verdict: Judgement) -> tuple[Figure, ...]:
    here = verdict.at(HEADLINE)
    about = verdict.about_headline
    share = percent(about.share if about else None)
    counted = f"{about.right:,} of {about.count:,} are real" if about else "there are none"
    return (
        Figure("really stolen", f"{len(day.stolen):,}", f"of {len(day.by_tag):,} items"),
        Figure(
            "accused", f"{here.accused:,}", f"{here.accused - here.right:,} wrongly", id="accused"
        ),
        Figure("precision", percent(here.precision), "of the accused are thefts", id="precision"),
        Figure("recall", percent(here.recall), "of the thefts are found", id="recall"),
        Figure(f"matches of about {HEADLINE}", share, counted),
    )


# Cases -------------------------------------------------------------------------------------------


def _cases(verdict: Judgement) -> Section:
    cases = choose(verdict)
    shown = {kind: sum(case.kind == kind for case in cases) for kind in KINDS}
    chips = "".join(
        f'<button class="chip" data-kind="{kind}">{escape(name)}</button>'
        for kind, name in KINDS.items()
        if shown[kind]
    )
    cards = "".join(_card(verdict, case) for case in cases)
    return Section(
        "Item by item",
        "The most telling cases. Each mark is a read, sized by how sure the reader was: filled "
        "if the tag was really there, hollow if the read was a ghost. Bars are matches, stronger "
        "where more certain, with their confidence.",
        f'<div class="chips"><button class="chip on" data-kind="">All</button>{chips}</div>'
        f"{_KEY}<div class='cases'>{cards}</div>",
    )


_KEY = (
    '<p class="key"><span><i class="k l0"></i>shelf</span><span><i class="k l1"></i>counter</span>'
    '<span><i class="k l2"></i>door</span><span><i class="k hollow"></i>ghost</span>'
    '<span class="ramp">confidence 0'
    '<i class="c0"></i><i class="c1"></i><i class="c2"></i><i class="c3"></i><i class="c4"></i>'
    "1</span></p>"
)


def _card(verdict: Judgement, case: Case) -> str:
    truth = "stolen" if case.stolen else "not stolen"
    return (
        f'<article class="case" data-kind="{case.kind}"><header>'
        f"<h3>{escape(case.tag)}</h3>"
        f'<span class="pill {case.kind}">{KINDS[case.kind]}</span>'
        f'<span class="truth {"bad" if case.stolen else "good"}">{truth}</span></header>'
        f"{_timeline(verdict, case).drawn(f'reads and matches of item {case.tag}')}"
        f"<p>{escape(truth_of(verdict, case))}</p>{_formula(verdict, case)}</article>"
    )


def _formula(verdict: Judgement, case: Case) -> str:
    if case.match is None:
        return '<p class="sum">no match with confidence 0.1 or more</p>'
    product = escape(sum_of(verdict, case.match))
    return f'<p class="sum">{product} = <b>{case.match.confidence:.3f}</b></p>'


def _timeline(verdict: Judgement, case: Case) -> Timeline:
    marks = {read.id: _mark(read) for read in verdict.day.by_tag[case.tag]}
    matches = [match for match in verdict.answers.matches if match.tag == case.tag]
    return Timeline(LANES, tuple(marks.values()), [_span(m, marks) for m in matches[:3]])


def _mark(read: Read) -> Mark:
    door = f" {read.door}" if read.door else ""
    truth = "the tag was there" if read.real else "a ghost"
    tip = f"{read.reader}{door} at {read.at:%H:%M:%S}, probability {read.p:g}: {truth}"
    return Mark(read.at, LANES.index(read.reader), read.p, read.real, tip)


def _span(match: Found, marks: dict[int, Mark]) -> Span:
    truth = "real" if match.real else "not real"
    tip = (
        f"taken {match.taken.at:%H:%M}, gone {match.gone.at:%H:%M}: "
        f"confidence {match.confidence:.3f}, {truth}"
    )
    first, last = marks[match.taken.id], marks[match.gone.id]
    return Span(first, last, match.confidence, match.real, tip)


# Charts ------------------------------------------------------------------------------------------


def _others(verdict: Judgement) -> dict[str, Score]:
    return {
        "every read believed": verdict.believed(verdict.answers.every_read),
        "reads \N{GREATER-THAN OR EQUAL TO} 0.5 believed": verdict.believed(
            verdict.answers.likely_reads
        ),
    }


def _curves(verdict: Judgement) -> Section:
    left = by_threshold(verdict.at, LOWEST, HEADLINE)
    right = against_each_other(verdict.at, LOWEST, HEADLINE, _others(verdict))
    key = (
        '<p class="key"><span><i class="k line precision"></i>precision</span>'
        '<span><i class="k line recall"></i>recall</span></p>'
    )
    return Section(
        "How many, and how many rightly",
        "Precision is the share of thefts among the accused, recall the share of the accused among "
        "the thefts. With confidences you choose: few accusations that hold, or many that miss "
        "little. Reads that are taken as certain give one point, and no choice.",
        f'<div class="pair"><div>{key}{left}</div><div><p class="key"><span><i class="k other">'
        f"</i>the same query with certain reads</span></p>{right}</div></div>",
    )


def _calibration(verdict: Judgement) -> Section:
    return Section(
        "Can the confidences be trusted?",
        "Of all matches with confidence about 0.8, about 80 % must be real. Each dot is a band of "
        "confidences, larger where it holds more matches; the line through it is where the true "
        "share lies, with 95 % certainty. On the diagonal, augury says what is so.",
        calibration(verdict.calibration),
        wide=False,
    )


def _hour(at: datetime) -> float:
    return (at - OPENING).total_seconds() / 3600 + OPENING.hour


def _day(day: Day, verdict: Judgement) -> Section:
    first, last = OPENING.hour, ceil(max(_hour(read.at) for read in day.reads))
    hours = [(float(h), f"{h}:00") for h in range(first, last + 1, 2)]
    across = Axis("", hours, first, last)
    return Section(
        "The day",
        "Every match at the time the item left: filled where it was a theft, hollow where not. "
        "Below, how many reads came in, by reader.",
        _strip(replace(across, ticks=()), verdict) + _load(across, day),
        wide=False,
    )


def _strip(across: Axis, verdict: Judgement) -> str:
    plot = Plot(across, Axis("confidence", UNIT_TICKS), 230)
    dots = [
        plot.dot(
            (_hour(match.gone.at), match.confidence),
            3.6,
            "theft" if match.real else "nothing",
            f"{match.tag}, gone {match.gone.at:%H:%M}, confidence {match.confidence:.3f}: "
            f"{'a theft' if match.real else 'no theft'}",
            f' data-c="{match.confidence:.4f}"',
        )
        for match in verdict.answers.matches
    ]
    cut = plot.line((across.low, HEADLINE), (across.high, HEADLINE), "cut", ' data-cut="y"')
    return plot.drawn([*dots, cut], "matches through the day")


def _load(across: Axis, day: Day) -> str:
    counts = Counter((int(_hour(read.at) * 4), read.reader) for read in day.reads)
    quarters = sorted({quarter for quarter, _ in counts})
    highest = max(sum(counts[q, lane] for lane in LANES) for q in quarters)
    top = -(-highest // 100) * 100
    plot = Plot(across, Axis("reads", [(0, "0"), (top, f"{top:,}")], 0, top), 90)
    bars = []
    for quarter in quarters:
        below = 0
        for k, lane in enumerate(LANES):
            above = below + counts[quarter, lane]
            left, right = quarter / 4 + 0.02, (quarter + 1) / 4 - 0.02
            clock = f"{quarter // 4}:{quarter % 4 * 15:02d}"
            tip = f"{clock}, {lane}: {above - below:,} reads in 15 minutes"
            bars.append(plot.bar((left, below), (right, above), f"l{k}", tip))
            below = above
    return plot.drawn(bars, "reads per quarter of an hour")


# Words and numbers -------------------------------------------------------------------------------


def _table(verdict: Judgement) -> Section:
    rows = "".join(
        _row(f"confidence \N{GREATER-THAN OR EQUAL TO} {t}", verdict.at(t), t) for t in THRESHOLDS
    )
    rows += "".join(_row(name, found) for name, found in _others(verdict).items())
    return Section(
        "In numbers",
        "Items accused, by the most confident match of each, against what really happened.",
        '<div class="scroll"><table><thead><tr><th>accused when</th><th>items</th><th>right</th>'
        "<th>wrong</th><th>precision</th><th>recall</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>",
    )


def _row(name: str, found: Score, threshold: float | None = None) -> str:
    mark = f' data-t="{threshold}"' if threshold is not None else ' class="other"'
    numbers = (found.accused, found.right, found.accused - found.right)
    cells = "".join(f"<td>{number:,}</td>" for number in numbers)
    shares = "".join(
        f'<td class="share {kind}"><i style="width:{100 * (share or 0):.1f}%"></i>'
        f"<span>{percent(share)}</span></td>"
        for kind, share in (("precision", found.precision), ("recall", found.recall))
    )
    return f"<tr{mark}><th>{escape(name)}</th>{cells}{shares}</tr>"


def _question(answers: Answers) -> Section:
    picture = b64encode(answers.automaton.encode()).decode()
    asked = answers.script.split("-- The same reads")[0].strip()
    return Section(
        "The question",
        "All that was asked, and the automaton that the engine made of it.",
        f'<div class="pair question"><pre>{marked(asked)}</pre>'
        f'<div class="picture"><img alt="the automaton of the query" '
        f'src="data:image/svg+xml;base64,{picture}"></div></div>',
    )


def _making(day: Day) -> Section:
    return Section(
        "How the truth is known",
        "",
        f"<p>The store is simulated. {len(day.by_tag):,} items are bought, put back, sent back by "
        f"staff or carried past the counters; {len(day.reads):,} reads come of it. Each read "
        "carries the reader\N{RIGHT SINGLE QUOTATION MARK}s probability that the tag was really "
        "there, and a coin of exactly that weight decides whether it was: "
        f"{day.ghosts:,} reads are ghosts. The engine never sees the coins. A match is real if "
        "both its reads are, and no real read at a counter lies between them.</p>",
    )
