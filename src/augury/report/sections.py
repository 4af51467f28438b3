"""The parts of a page about answers: what was asked, rows, answers over time and by key."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from augury.report.charts.judgement import against_each_other, by_threshold, calibration
from augury.report.charts.lanes import Lanes
from augury.report.charts.plot import UNIT_TICKS, Axis, Plot
from augury.report.charts.script_text import marked
from augury.report.gathered import Answer, Row, StreamRows, Truth
from augury.report.parts import Section
from augury.report.scores import Score, bands, score
from augury.why.explanation import WhyNot

MOST_DOTS = 1_500
MOST_LINES = 25
MOST_KEYS = 12
BARS = 40


def asked(script: str, first: Answer | None) -> Section:
    """Return what was asked, and the automaton of the first query."""
    picture = "" if first is None else automaton(first)
    body = f'<div class="pair question"><pre tabindex="0">{marked(script)}</pre>{picture}</div>'
    lead = "All that was asked, and the automaton that the engine made of it."
    return Section("The question", lead, body)


def automaton(answer: Answer) -> str:
    """Return the picture of a query's automaton."""
    if not answer.picture:
        return ""
    data = b64encode(answer.picture.encode()).decode()
    name = escape(f"the automaton of {answer.name}")
    return f'<div class="picture"><img alt="{name}" src="data:image/svg+xml;base64,{data}"></div>'


def rows_in(streams: Sequence[StreamRows]) -> Section:
    """Return how many rows came, and why some were put aside."""
    lines = [
        (
            each.name,
            f"{each.good:,}",
            "not told" if each.is_guarded else f"{sum(each.rejected.values()):,}",
            shown(each.first),
            shown(each.last),
        )
        for each in streams
    ]
    reasons = [
        (each.name, f"{count:,}", reason)
        for each in streams
        for reason, count in list(each.rejected.items())[:MOST_LINES]
    ]
    body = table(("stream", "rows", "rejected", "first", "last"), lines)
    if reasons:
        body += "<h3>Why rows were rejected</h3>" + table(("stream", "rows", "reason"), reasons)
    return Section("The rows", "Rows that readers see, and those that were put aside.", body)


def over_time(answer: Answer, cut: float, *, is_moved: bool) -> Section:
    """Return matches by time and confidence."""
    if all(row["confidence"] == 1 for row in answer.rows):
        return _certain(answer)
    kept = sorted(answer.rows, key=lambda row: -row["confidence"])[:MOST_DOTS]
    across = axis_of([row["end_ts"] for row in kept])
    plot = Plot(across, Axis("confidence", UNIT_TICKS), 230)
    dots = [
        plot.dot(
            (place(row["end_ts"]), row["confidence"]),
            3.6,
            "theft",
            _tip(answer, row),
            f' data-c="{row["confidence"]:.4f}"' if is_moved else "",
        )
        for row in kept
    ]
    if is_moved:
        dots.append(plot.line((across.low, cut), (across.high, cut), "cut", ' data-cut="y"'))
    few = f" The surest {MOST_DOTS:,} are shown." if len(answer.rows) > MOST_DOTS else ""
    return Section(
        "Answers over time",
        f"Every match at the time of its last event, by its confidence.{few}",
        plot.drawn(dots, f"matches of {answer.name} over time") + years(kept),
        wide=False,
    )


def _certain(answer: Answer) -> Section:
    """Return how many matches there are over time; all of them are certain."""
    across = axis_of([row["end_ts"] for row in answer.rows])
    width = (across.high - across.low) / BARS
    counts = Counter(
        min(BARS - 1, int((place(row["end_ts"]) - across.low) / width)) for row in answer.rows
    )
    top = max(counts.values())
    plot = Plot(across, Axis("matches", [(0, "0"), (top, f"{top:,}")], 0, top), 230)
    bars = [
        plot.bar(
            (across.low + width * (k + 0.08), 0),
            (across.low + width * (k + 0.92), count),
            "count",
            f"{count:,} matches",
        )
        for k, count in sorted(counts.items())
    ]
    drawn = plot.drawn(bars, f"matches of {answer.name} over time")
    lead = "How many matches end when; all of them are certain."
    return Section("Answers over time", lead, drawn + years(answer.rows), wide=False)


def why_none(explanation: WhyNot) -> Section:
    """Return why a query has no match."""
    body = f'<pre tabindex="0">{escape(str(explanation))}</pre>'
    lead = "The nearest miss, and the least that lets one through."
    return Section("Why there is none", lead, body)


def years(rows: Sequence[Row]) -> str:
    """Return from when to when the matches are, in words."""
    if not rows:
        return ""
    times = [row["end_ts"] for row in rows]
    return f'<p class="key">from {escape(shown(min(times)))} to {escape(shown(max(times)))}</p>'


def _tip(answer: Answer, row: Row) -> str:
    key = ", ".join(str(row[name]) for name in answer.keys)
    at = shown(row["end_ts"])
    return ", ".join(filter(None, (key, at, f"confidence {row['confidence']:.3f}")))


def by_key(answer: Answer) -> Section | None:
    """Return the keys with the most matches to expect."""
    if not answer.keys:
        return None
    groups: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row in answer.rows:
        groups[tuple(row[name] for name in answer.keys)].append(row["confidence"])
    first = sorted(groups.items(), key=lambda each: (-sum(each[1]), str(each[0])))[:MOST_KEYS]
    lines = [
        (*map(shown, key), f"{len(found):,}", f"{sum(found):.2f}", f"{max(found):.3f}")
        for key, found in first
    ]
    head = (*answer.keys, "matches", "to expect", "surest")
    return Section(
        "By key",
        f"{counted(len(groups), 'key has', 'keys have')} matches. To expect: the sum of the "
        "confidences.",
        table(head, lines, bar=len(head) - 1),
        wide=len(answer.keys) > 1,
    )


# Truth --------------------------------------------------------------------------------------------


def against_truth(truth: Truth, cut: float, *, is_moved: bool) -> list[Section]:
    """Return precision, recall and calibration against a column of truth."""

    def at(threshold: float) -> Score:
        return score(truth.judged, truth.relevant, threshold)

    key = (
        '<p class="key"><span><i class="k line precision"></i>precision</span>'
        '<span><i class="k line recall"></i>recall</span></p>'
    )
    curves = (
        f'<div class="pair"><div>{key}{by_threshold(at, 0.0, cut)}</div>'
        f"<div>{against_each_other(at, 0.0, cut, {}, is_moved=is_moved)}</div></div>"
    )
    numbers = [(f"{t:g}", at(t)) for t in (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)]
    lines = [
        (f"confidence \N{GREATER-THAN OR EQUAL TO} {name}", f"{found.accused:,}",
         f"{found.right:,}", percent(found.precision), percent(found.recall))
        for name, found in numbers
    ]  # fmt: skip
    return [
        Section(
            "How many, and how many rightly",
            f"By {escape(truth.column)}, of {escape(truth.what)}: precision is the share of those "
            "that are right among the answers, recall that of the answers among those to be found.",
            curves,
        ),
        Section(
            "Can the confidences be trusted?",
            "Of all answers with confidence about 0.8, about 80 % must be right. Each dot is a "
            "band of confidences, larger where it holds more; the line through it is where the "
            "true share lies, with 95 % certainty.",
            calibration(bands(truth.judged)),
            wide=False,
        ),
        Section(
            "In numbers",
            "Each by its surest match.",
            table(("answers", "all", "right", "precision", "recall"), lines),
            wide=False,
        ),
    ]


# Other answers ------------------------------------------------------------------------------------


def probabilities(answer: Answer) -> Section:
    """Return probabilities over time, group by group, and the highest of them."""
    timed = [row for row in answer.rows if row["ts"] is not None]
    drawn = ""
    if timed:
        plot = Plot(axis_of([row["ts"] for row in timed]), Axis("probability", UNIT_TICKS), 230)
        groups: dict[Any, list[tuple[float, float]]] = defaultdict(list)
        for row in sorted(timed, key=lambda row: place(row["ts"])):
            group = tuple(row[name] for name in answer.keys)
            groups[group].append((place(row["ts"]), row["probability"]))
        kinds = ("precision", "recall")
        first = sorted(groups.items(), key=lambda each: -max(p for _, p in each[1]))[:2]
        curves = [plot.curve(points, kinds[k]) for k, (_, points) in enumerate(first)]
        drawn = plot.drawn(curves, f"probabilities of {answer.name} over time")
    highest = sorted(answer.rows, key=lambda row: -row["probability"])[:MOST_LINES]
    lines = [
        (*(shown(row[name]) for name in answer.keys), shown(row["ts"]), f"{row['probability']:.4f}")
        for row in highest
    ]
    head = (*answer.keys, "time", "probability")
    return Section(
        "Probabilities",
        "How likely the query holds; the curves are of the likeliest groups, the table has the "
        "highest values.",
        drawn + table(head, lines, bar=len(head) - 1),
    )


def people(lanes: Lanes, stream: str) -> Section:
    """Return where people may have been, as told first and as told last."""
    lead = (
        "Where each may have been, over the events that were most in doubt: as told at first, and "
        "as told last, when badges that were read later had said more."
    )
    return Section(f"Who was where: {stream}", lead, lanes.drawn(f"where people of {stream} were"))


def plain_rows(title: str, lead: str, rows: Sequence[Row], total: int | None = None) -> Section:
    """Return rows as they are; the first ones, where they are many."""
    columns = [name for name in (rows[0] if rows else {}) if name not in ("events", "changes")]
    lines = [[shown(row[name]) for name in columns] for row in rows[:MOST_LINES]]
    count = len(rows) if total is None else total
    more = f" The first {MOST_LINES} of {count:,}." if count > MOST_LINES else f" {count:,} in all."
    return Section(title, escape(lead) + more, table(columns, lines))


# Tables and axes ----------------------------------------------------------------------------------


def table(head: Iterable[str], lines: Iterable[Iterable[str]], bar: int | None = None) -> str:
    """Return a table of texts; column `bar` has shares that are drawn, too."""
    rows = [list(line) for line in lines]
    # Numbers and times stand below each other by their last digits, words by their first letter.
    words = {
        k for row in rows for k, cell in enumerate(row) if k and not _NUMERIC.fullmatch(cell)
    } - {bar}
    heads = "".join(
        f'<th scope="col"{_of_words(k in words)}>{escape(each)}</th>' for k, each in enumerate(head)
    )
    body = "".join(_line(row, bar, words) for row in rows)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


# Numbers, shares, times, and the dash of what is not there.
_NUMERIC = re.compile(r"[\d\s.,:%+e\N{EN DASH}-]*")


def _of_words(is_of_words: bool) -> str:
    return ' class="words"' if is_of_words else ""


def _line(cells: Sequence[str], bar: int | None, words: set[int]) -> str:
    first = f'<th scope="row">{escape(cells[0])}</th>' if cells else ""
    rest = "".join(
        _share(cell) if k == bar else f"<td{_of_words(k in words)}>{escape(cell)}</td>"
        for k, cell in enumerate(cells[1:], 1)
    )
    return f"<tr>{first}{rest}</tr>"


def _share(text: str) -> str:
    width = 100 * min(1.0, max(0.0, float(text)))
    return f'<td class="share"><i style="width:{width:.1f}%"></i><span>{escape(text)}</span></td>'


def place(at: Any) -> float:
    """Return a time as a number."""
    return at.timestamp() if isinstance(at, datetime) else float(at)


def axis_of(times: Sequence[Any]) -> Axis:
    """Return an axis over times, with five marks."""
    if not times:
        return Axis("", ())
    low, high = place(min(times)), place(max(times))
    high = high if high > low else low + 1
    is_clock = isinstance(times[0], datetime)
    apart = (high - low) / 4 if is_clock else max(1.0, (high - low) // 4)
    steps = [low + apart * k for k in range(5) if low + apart * k <= high]
    form = "%H:%M:%S" if high - low < 600 else "%H:%M"
    form = form if high - low < 2 * 86_400 else "%m-%d" if high - low < 400 * 86_400 else "%Y-%m"
    ticks = [
        (at, f"{datetime.fromtimestamp(at, UTC):{form}}" if is_clock else f"{at:,.0f}")
        for at in steps
    ]
    return Axis("", ticks, low, high)


def counted(number: int, one: str, several: str) -> str:
    """Return `1 query`, `2 queries`."""
    return f"{number:,} {one if number == 1 else several}"


def percent(share: float | None) -> str:
    """Return a share for people."""
    return "\N{EN DASH}" if share is None else f"{share:.1%}".replace("%", " %")


def shown(value: Any) -> str:
    """Return a value for people, as text."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
    return f"{value:.6g}" if isinstance(value, float) else str(value)
