"""Random cases as an operator and its events: what the match stage is held to its contract with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from augury.analysis.declarations.catalog import DataType
from augury.analysis.script import check_text
from augury.evaluation.encoding import Encoder, declaration_of
from augury.evaluation.stream_rows import StreamRows
from augury.matching.codec import Codebook
from augury.matching.matcher import ALWAYS, Matcher, MatchState
from augury.planning.expressions.link import link
from augury.planning.match_plan import MatchPlan, plan_match
from augury.records import Events, Matches
from augury.sources.rows import conform
from matching.as_text import Case, bindings, script


@dataclass(frozen=True)
class Stage:
    """A matcher, all events it is asked about, and what their codes stand for."""

    plan: MatchPlan
    matcher: Matcher
    events: Events
    codebook: Codebook


def stage_of(case: Case) -> Stage:
    """Return the match stage of the last query of a case, which reads base streams only."""
    text = script(case)
    checked = check_text(text)
    plan = plan_match(checked.queries[-1], checked.catalog)
    bound = bindings(case)
    tables = {
        name: list(zip(*bound[name].to_pydict().values(), strict=True))
        for name in checked.catalog.tables
    }
    encoder = Encoder(plan, tables)
    parts, first = [], 0
    for stream in plan.query.streams:
        table = conform(bound[stream.name.lower()], declaration_of(stream))
        groups = StreamRows(stream, table, table.slice(0, 0)).groups()
        parts.append(encoder.encode(stream, table, first, groups))
        first += table.num_rows
    predicates = link(plan.programs, encoder.strings.known, tables)
    texts = [k for k, c in enumerate(plan.programs.columns) if c.type is DataType.STRING]
    book = Codebook(
        tuple(encoder.strings.known),
        tuple(encoder.keys.known),
        tuple(encoder.partitions.known),
        tuple(texts),
        encoder.alone,
    )
    events = reduce(Events.joined, parts)
    return Stage(plan, Matcher(plan.pattern, predicates, identity=text), events, book)


def in_batches(stage: Stage, size: int) -> tuple[list[Any], list[MatchState]]:
    """Return the answers of a run over batches of so many events, and its states."""
    events = stage.events.take(np.argsort(stage.events.time, kind="stable"))
    matcher, answers, states = stage.matcher, list[Any](), list[MatchState]()
    state = matcher.start(events)
    for first in range(0, len(events), size):
        batch = events.take(slice(first, first + size))
        # All before the last time of the batch are there; equal ones may still come.
        state, found = matcher.advance(state, batch, int(batch.time[-1]))
        answers += facts(found)
        states.append(state)
    _, found = matcher.finish(state)
    return answers + facts(found), states


def at_once(stage: Stage) -> list[Any]:
    """Return the answers of a run over all events in one batch."""
    state = stage.matcher.start(stage.events)
    return facts(stage.matcher.advance(state, stage.events, ALWAYS)[1])


def facts(matches: Matches) -> list[Any]:
    """Return each match as plain values; items and absences in one order."""
    found = []
    for m in range(len(matches)):
        items = slice(matches.first_item[m], matches.first_item[m + 1])
        pairs = zip(matches.component[items].tolist(), matches.row[items].tolist(), strict=True)
        absents = slice(matches.first_absent[m], matches.first_absent[m + 1])
        absent = sorted(matches.absent_row[absents].tolist())
        confidence = round(float(matches.confidence[m]), 9)
        found.append((tuple(sorted(pairs)), absent, confidence, int(matches.report_time[m])))
    return found
