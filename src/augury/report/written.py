"""The page about a session's own script and rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from augury.errors import AuguryError
from augury.report import sections
from augury.report.cases import cases
from augury.report.fan import drawn, fan_of
from augury.report.gathered import (
    Answer,
    StreamRows,
    answers_of,
    check_truth,
    script_of,
    streams_of,
)
from augury.report.page import Frame, page
from augury.report.parts import Cut, Figure, Section, Story
from augury.report.people import lanes_of
from augury.report.scores import score
from augury.report.sections import counted, percent

HEADLINE = 0.8


def page_about(ag: Any, *, title: str, truth: str | None) -> str:
    """Return the page about all that a local session has declared and was given."""
    if ag.engine != "local":
        raise AuguryError("a report is made of a Session(engine='local'); bind its rows there")
    if truth is not None:
        check_truth(ag, truth)
    answers, streams = answers_of(ag, truth), streams_of(ag)
    first = next((each for each in answers if each.rows), answers[0] if answers else None)
    others = [each for each in answers if each is not first]
    opening = [
        sections.asked(script_of(ag), first),
        *([sections.rows_in(streams)] if streams else []),
    ]
    rows = counted(sum(each.good for each in streams), "row", "rows")
    lead = f"{rows}, {counted(len(answers), 'query', 'queries')}"
    story = _story(ag, first, streams, opening, is_first=True)
    frame = Frame(title, f"{lead}.", _made(first), "augury report")
    chapters = [
        (Frame(each.name, _lead(each), "", ""), _story(ag, each, [], [], is_first=False))
        for each in others
    ]
    more = list(_others(ag))
    if more:
        beside = Story((), tuple(more), {})
        chapters.append(
            (Frame("Beside the queries", "What else the script declares.", "", ""), beside)
        )
    return page(frame, story, chapters)


def _made(first: Answer | None) -> str:
    return "" if first is None else f"Query {first.name}: {_lead(first)}"


def _lead(answer: Answer) -> str:
    if answer.error:
        return f"It has no answer: {answer.error.splitlines()[0]}"
    if answer.kind != "matches":
        return f"{len(answer.rows):,} rows."
    matches = counted(len(answer.rows), "match", "matches")
    if not answer.rows:
        return f"{matches}."
    if _is_certain(answer):
        return f"{matches}, certain."
    expected = sum(row["confidence"] for row in answer.rows)
    return f"{matches}, of which {expected:,.1f} are to be expected true."


def _story(
    ag: Any,
    answer: Answer | None,
    streams: list[StreamRows],
    opening: list[Section],
    *,
    is_first: bool,
) -> Story:
    if answer is None:
        return Story((), tuple(opening), {})
    cut = HEADLINE if answer.threshold is None else max(answer.threshold, HEADLINE)
    has_slider = is_first and answer.kind == "matches" and not _is_certain(answer)
    own = [*opening, *_sections(ag, answer, cut, is_moved=has_slider)]
    if not opening and answer.picture:
        own.insert(0, sections.asked(answer.statement, answer))
    head = tuple(_head(answer, streams, cut, has_slider=has_slider))
    data: dict[str, Any] = {}
    if has_slider and answer.truth is not None:
        data = {"items": _pairs(answer.truth.judged), "relevant": answer.truth.relevant}
    elif has_slider:
        data = {"items": _pairs((row["confidence"], True) for row in answer.rows)}
    slider = Cut("Answers with confidence of at least", cut, 0.0) if has_slider else None
    return Story(head, tuple(own), data, slider)


def _is_certain(answer: Answer) -> bool:
    """Whether no threshold would make a difference."""
    return all(row["confidence"] == 1 for row in answer.rows)


def _pairs(judged: Any) -> list[list[float]]:
    return [[round(confidence, 9), int(right)] for confidence, right in judged]


def _sections(ag: Any, answer: Answer, cut: float, *, is_moved: bool) -> Iterator[Section]:
    if answer.kind == "probabilities":
        yield sections.probabilities(answer)
    elif answer.kind == "counts":
        yield sections.plain_rows("Counts", "", list(answer.rows))
    elif answer.rows:
        if answer.truth is not None:
            yield from sections.against_truth(answer.truth, cut, is_moved=is_moved)
        yield sections.over_time(answer, cut, is_moved=is_moved)
        keyed = sections.by_key(answer)
        if keyed is not None:
            yield keyed
        section = cases(ag, answer)
        if section is not None:
            yield section
    elif not answer.error:
        yield from _why_none(ag, answer.name)


def _why_none(ag: Any, query: str) -> Iterator[Section]:
    try:
        explanation = ag.why_not(query)
    except AuguryError:
        return
    if not explanation.found:
        yield sections.why_none(explanation)


def _head(
    answer: Answer, streams: list[StreamRows], cut: float, *, has_slider: bool
) -> Iterator[Figure]:
    if streams:
        aside = sum(count for each in streams for count in each.rejected.values())
        yield Figure("rows", f"{sum(s.good for s in streams):,}", f"{aside:,} rejected")
    if answer.kind != "matches":
        yield Figure("answers", f"{len(answer.rows):,}", answer.name)
        return
    sure = sum(row["confidence"] >= cut - 1e-9 for row in answer.rows)
    yield Figure("matches", f"{len(answer.rows):,}", answer.name)
    mark = "accused" if has_slider else ""
    if answer.truth is None and _is_certain(answer):
        return
    if answer.truth is None:
        noted = f"of {len(answer.rows):,}"
        yield Figure("sure enough", f"{sure:,}", noted, id=mark)
        return
    found = score(answer.truth.judged, answer.truth.relevant, cut)
    wrong = f"{found.accused - found.right:,} wrongly"
    yield Figure(f"sure enough, by {answer.truth.what}", f"{found.accused:,}", wrong, id=mark)
    for name, share, note in (
        ("precision", found.precision, "of these are right"),
        ("recall", found.recall, f"of {answer.truth.relevant:,} are found"),
    ):
        yield Figure(name, percent(share), note, id=name if has_slider else "")


# Beside the queries -------------------------------------------------------------------------------


def _others(ag: Any) -> Iterator[Section]:
    """Yield what is to be told of forecasts, rules, policies and owners."""
    catalog = ag._declared.catalog
    for name in ag.forecasts:
        yield from _rows_of(ag, name, f"Forecast {name}", "The likeliest first.", "forecast")
        yield from _fan(ag, name)
    for rule in catalog.rules.values():
        yield from _rows_of(ag, rule.name, f"Rule {rule.name}", "Its firings, in order.", None)
    for table in {change.table for rule in catalog.rules.values() for change in rule.changes}:
        yield from _rows_of(ag, table, f"Table {table}", "As rules left it.", None)
    for name in catalog.suppressed:
        stream = catalog.streams[name].name
        lead = "What the policy publishes; of what it keeps back nothing is told."
        yield from _rows_of(ag, stream, f"Published: {stream}", lead, None)
    for name in catalog.identified:
        stream = catalog.streams[name].name
        yield from _rows_of(
            ag, stream, f"Owners: {stream}", "Who did it, as far as one knows.", None
        )
        if name not in catalog.guarded:
            yield from _people(ag, stream)


def _fan(ag: Any, forecast: str) -> Iterator[Section]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fan_of(ag, forecast)
    except AuguryError:
        return
    if found is not None:
        yield drawn(found, forecast)


def _people(ag: Any, stream: str) -> Iterator[Section]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lanes = lanes_of(ag, stream)
    except AuguryError:
        return
    if lanes is not None:
        yield sections.people(lanes, stream)


def _rows_of(ag: Any, name: str, title: str, lead: str, order: str | None) -> Iterator[Section]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = ag.table(name)
    except AuguryError as problem:
        yield sections.plain_rows(title, f"It has no rows: {str(problem).splitlines()[0]}", [])
        return
    if order is not None and order in table.column_names:
        table = table.sort_by([(order, "descending")])
    first = table.slice(0, sections.MOST_LINES).to_pylist()
    yield sections.plain_rows(title, lead, first, table.num_rows)
