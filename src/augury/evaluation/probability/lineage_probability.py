"""How likely a query holds: at least one match, from the lineage of all of them.

`RETURN PROBABILITY` asks whether a match exists, not which one, so the matches' lineages are joined
by OR, each base event counted once: 1 - P(no match is an answer). Exact, and meant for small
inputs: lineage that is too entangled is refused (setting `lineage_limit`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.errors import DataError
from augury.evaluation.answers.match_answers import Inputs, gather, moment_type, rows_of
from augury.evaluation.answers.windows import EACH, windows_of
from augury.evaluation.encoding import keys_of
from augury.evaluation.enumeration import Enumeration, Kept
from augury.evaluation.probability.beliefs import KeyedBeliefs
from augury.evaluation.probability.chain_inputs import ChainInputs
from augury.evaluation.probability.chains import (
    plain_rows,
    rows_by_time,
    rows_by_window,
    sampled_rows,
    seed_of,
)
from augury.evaluation.probability.sampled_worlds import Hidden, one_group_per, sampled_worlds
from augury.evaluation.probability.unfolded import is_unfolded
from augury.language.expressions import Attribute
from augury.language.tree import Approximate
from augury.matching.lineage import (
    TRUE,
    Formula,
    HangingTogether,
    TooEntangledError,
    conjunction,
    disjunction,
    negation,
    probability,
)
from augury.matching.sampled import FormulaSampler, sample_size, share
from augury.matching.step_limits import TooManyMatchesError
from augury.planning.answer_kinds import Tells
from augury.planning.chain_plan import ChainPlan
from augury.planning.match_plan import MatchPlan
from augury.records import Matches, Words, chance
from augury.sources.columns import ARROW_TYPES

TOLERANCE = 1e-9
# Cases after which a query that may be sampled is.
FEW_CASES = 2000
# So many possible matches are listed before a query that may be sampled is.
FEW_MATCHES = 1000
Valuation = Callable[[Iterable[Formula]], float]
Row = tuple[tuple[Any, ...], int | None, float]


def probability_table(evaluation: Enumeration, inputs: Inputs, hidden: Hidden) -> pa.Table:
    """Return the answer of a probability query: one row per group and time or window.

    A hard query that may be sampled is valued exactly where that is soon done; its windows are
    often small. `hidden` are the objects of Markovian streams, whose events have no lineage.
    """
    query = evaluation.plan.query
    rows = _by_time if evaluation.plan.tells == "times" else _by_window
    if not _may_be_sampled(evaluation, hidden):
        return answer_table(query, _refusing(rows(evaluation, inputs, _exactly(evaluation)), query))
    if evaluation.plan.tells != "times":
        try:
            few = evaluation.with_few_matches(FEW_MATCHES)
            return answer_table(query, list(rows(few, inputs, _exactly(few, FEW_CASES))))
        except (TooEntangledError, TooManyMatchesError):
            _refuse_together(evaluation.plan.tells, evaluation.window)
    assert query.approximate is not None
    return answer_table(query, _sampled_rows(evaluation, inputs, hidden), query.approximate.error)


class LargeWindowError(Exception):
    """Worlds are to be sampled of windows, which is done window by window."""


def _refuse_together(asked: Tells, window: int | None) -> None:
    """Raise where worlds of several windows would be sampled together."""
    if window == EACH and asked == "windows":
        raise LargeWindowError


def _may_be_sampled(evaluation: Enumeration, hidden: Hidden) -> bool:
    """Whether worlds of the events can be drawn, and the query asks for it and needs it.

    Where events hang together, worlds are drawn of rows, not of what matches are made of.
    """
    query = evaluation.plan.query
    if query.approximate is None or is_unfolded(evaluation.plan):
        return False
    if isinstance(evaluation.chances, HangingTogether):
        return bool(hidden) and all(source.formulas is None for source in evaluation.sources)
    return query.verdict.kind == "hard"


def _sampled_rows(evaluation: Enumeration, inputs: Inputs, hidden: Hidden) -> Iterator[Row]:
    """Yield the rows from sampled worlds; matches of matches are sampled by their lineage."""
    query = evaluation.plan.query
    asked = query.approximate
    assert asked is not None
    if any(source.formulas is not None for source in evaluation.sources):
        rows = _by_time if evaluation.plan.tells == "times" else _by_window
        return rows(evaluation, inputs, _sampled(evaluation, asked))
    size = sample_size(asked.error, asked.risk)
    return sampled_worlds(evaluation, inputs, hidden, size, seed_of(query.name, evaluation.window))


def _exactly(evaluation: Enumeration, cases: int | None = None) -> Valuation:
    return lambda formulas: any_of(formulas, evaluation.chances, cases)


def _sampled(evaluation: Enumeration, asked: Approximate) -> Valuation:
    """Return how P(some formula is true) is estimated, from one set of worlds for all rows."""
    size, seed = (
        sample_size(asked.error, asked.risk),
        seed_of(evaluation.plan.query.name, evaluation.window),
    )
    sampler = FormulaSampler(evaluation.chances, size, np.random.default_rng(seed))
    return lambda formulas: share(sampler.of(disjunction(formulas)))


def _refusing(rows: Iterator[Row], query: CheckedQuery) -> Iterator[Row]:
    """Yield the rows; say what else can be done where one is too entangled."""
    try:
        yield from rows
    except TooEntangledError as error:
        raise DataError(
            f"query {query.name}: {error}; or allow sampling with APPROXIMATE (0.01, 0.05)"
        ) from error


def plain_table(plan: ChainPlan, keyed: KeyedBeliefs, times: Words) -> pa.Table | None:
    """Return the answer of plain chains by their operator; None where it would be too large."""
    rows = plain_rows(plan, keyed, times)
    return None if rows is None else answer_table(plan.query, rows)


def chain_table(inputs: ChainInputs, times: Words, window: int | None) -> pa.Table:
    """Return the answer by following chains: exactly, or sampled where the query is hard."""
    query = inputs.plan.query
    if query.approximate is not None and query.verdict.kind == "hard":
        return sampled_table(inputs, times, window)
    if inputs.plan.by_time:
        return answer_table(query, rows_by_time(inputs, times))
    return answer_table(query, rows_by_window(inputs, times, window))


def sampled_table(inputs: ChainInputs, times: Words, window: int | None) -> pa.Table:
    """Return the answer from sampled worlds, as many as APPROXIMATE asks for."""
    asked = inputs.plan.query.approximate
    _refuse_together(inputs.plan.tells, window)
    assert asked is not None
    size = sample_size(asked.error, asked.risk)
    return answer_table(inputs.plan.query, sampled_rows(inputs, times, size, window), asked.error)


def probability_schema(query: CheckedQuery) -> pa.Schema:
    """Return the columns of a probability."""
    return answer_table(query, ()).schema


def _passes(query: CheckedQuery, value: float) -> bool:
    if query.having is None:
        return True
    if query.having.strict:
        return value > query.having.threshold + TOLERANCE
    return value >= query.having.threshold - TOLERANCE


def _by_time(evaluation: Enumeration, inputs: Inputs, value: Valuation) -> Iterator[Row]:
    """Yield P(some match's last event is at t, or in the time OVER it), for each time of rows."""
    keeps: Kept = "ends" if one_group_per("ends", evaluation.plan) else "all"
    matches, formulas = _found(evaluation, keeps)
    ends = _ends(matches, inputs)
    groups = _groups(evaluation.plan, matches, inputs)
    found: dict[tuple[tuple[Any, ...], int], list[Formula]] = {}
    for group, end, formula in zip(groups, ends.tolist(), formulas, strict=True):
        found.setdefault((group, end), []).append(formula)
    over, times = evaluation.plan.query.over or 1, np.unique(inputs.time)
    for group in sorted(set(groups), key=repr) or ([] if evaluation.plan.query.group_by else [()]):
        for t in times.tolist():
            recent = times[(times > t - over) & (times <= t)].tolist()
            yield group, t, value([f for end in recent for f in found.get((group, end), ())])


def _by_window(evaluation: Enumeration, inputs: Inputs, value: Valuation) -> Iterator[Row]:
    """Yield P(at least one match) for each window that holds an event, seen as the whole input."""
    events = evaluation.events
    for start, span in windows_of(evaluation.plan.query, inputs.time, evaluation.window):
        inside = evaluation
        if span is not None:
            held = (events.time >= span[0]) & (events.time < span[1])
            inside = replace(evaluation, events=events.take(held))
        keeps: Kept = "starts" if one_group_per("starts", evaluation.plan) else "all"
        matches, formulas = _found(inside, keeps)
        groups = _groups(evaluation.plan, matches, inputs)
        by_group: dict[tuple[Any, ...], list[Formula]] = {}
        for group, formula in zip(groups, formulas, strict=True):
            by_group.setdefault(group, []).append(formula)
        if not evaluation.plan.query.group_by:
            by_group.setdefault((), [])
        for group in sorted(by_group, key=repr):
            yield group, start, value(by_group[group])


def _found(evaluation: Enumeration, keeps: Kept) -> tuple[Matches, list[Formula]]:
    """Return matches and when they are answers: always, where every event is certain."""
    if not evaluation.has_one_world:
        return evaluation.matches()
    matches = evaluation.in_one_world(keeps)
    return matches, [TRUE] * len(matches)


def any_of(
    formulas: Iterable[Formula],
    chances: Mapping[Any, Mapping[Any, float]],
    cases: int | None = None,
) -> float:
    """Return the probability that at least one of the formulas is true."""
    return 1.0 - probability(conjunction(negation(f) for f in formulas), chances, cases)


def _ends(matches: Matches, inputs: Inputs) -> Words:
    if not len(matches):
        return np.zeros(0, np.int64)
    ends: Words = np.maximum.reduceat(inputs.time[matches.row], matches.first_item[:-1])
    return ends


def _groups(plan: MatchPlan, matches: Matches, inputs: Inputs) -> list[tuple[Any, ...]]:
    """Return the GROUP BY values of each match."""
    columns = [_group_column(plan.query, node, matches, inputs) for node in plan.query.group_by]
    return list(zip(*columns, strict=True)) if columns else [()] * len(matches)


def _group_column(
    query: CheckedQuery, node: Any, matches: Matches, inputs: Inputs
) -> Sequence[Any]:
    """Return one attribute of each match: of the first component that is there."""
    assert isinstance(node, Attribute)
    component = query.component_of(node)
    kind = query.type_of_attribute(component, node.name)
    rows = rows_of(matches, component, "each", 1)
    values = keys_of(gather(inputs, node.name, rows, kind))
    if node.default is None:
        return values
    others = _group_column(query, node.default, matches, inputs)
    pairs = zip(rows.tolist(), values, others, strict=True)
    return [value if row >= 0 else other for row, value, other in pairs]


def answer_table(query: CheckedQuery, found: Iterable[Row], error: float = 0.0) -> pa.Table:
    """Return the rows that pass HAVING; `error` is the bound of what was sampled, 0 if exact."""
    clipped = ((group, ts, chance(value)) for group, ts, value in found)
    rows = [row for row in clipped if _passes(query, row[2])]
    columns: dict[str, Any] = {"query": pa.array([query.name] * len(rows), pa.string())}
    for k, (name, node) in enumerate(zip(query.group_names, query.group_by, strict=True)):
        assert isinstance(node, Attribute)
        component = query.component_of(node)
        kind = ARROW_TYPES[query.type_of_attribute(component, node.name).value]
        columns[name] = pa.array([group[k] for group, _, _ in rows], kind)
    columns["ts"] = pa.array([ts for _, ts, _ in rows], pa.int64()).cast(moment_type(query))
    columns["probability"] = pa.array([value for _, _, value in rows], pa.float64())
    columns["method"] = pa.array(["sampled" if error else "exact"] * len(rows), pa.string())
    columns["error_bound"] = pa.array([error] * len(rows), pa.float64())
    return pa.table(columns)
