"""EXPLAIN for tools: one JSON object with stable keys.

| key | value |
|---|---|
| query, class, reasons, safe_plan | the query's name, its class and why |
| pattern, strategy, after_match, within, every, over | what was asked |
| having, allow_missed, returns | which answers were asked for, and in what form |
| not_evaluated | what it uses that no engine evaluates yet, or null |
| components | index, name, negated, minimum, maximum, played_by, miss_rate, may_be_missed |
| plan | steps in data order: name, runs_on, does |
| stages | the names of the stages that the engine enters, in order |
| automaton | states, transitions, skips, guards |
| predicates | spark, queues, search, active: where each is tested |
| partitioning | kind, reason, key, lookback, lookahead |
| moved | bytes_per_row, columns, share (a guess) by stream |
| movement | for a query that time cuts: chosen, and by plan the rows and bytes it moves; or null |
| state | what is kept, as a sentence |
| network | for each query of the hierarchy, what it reads |
| warnings | as `augury check --json` gives them |

Lengths are in microseconds, or ticks where time is a LONG.
"""

from __future__ import annotations

import json
from typing import Any

from augury.analysis.checked import CheckedWindow
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.unread import can_be_missed
from augury.language.text.expressions import expression_text
from augury.planning.distribution.movement import Priced
from augury.planning.evaluated import unevaluated
from augury.planning.explain.estimates import share_of_rows, state_text
from augury.planning.explain.movement import movement_facts
from augury.planning.explain.network import network_of
from augury.planning.explain.stages import plan_steps, stage_names
from augury.planning.explain.words import after_match_text, guard_text, shape_text, threshold_of
from augury.planning.physical import PhysicalPlan
from augury.planning.predicates import Predicate

Facts = dict[str, Any]


def explain_as_json(
    plan: PhysicalPlan, catalog: Catalog | None = None, priced: Priced | None = None
) -> str:
    """Return the explanation as a JSON object."""
    return json.dumps(facts_of(plan, catalog, priced), indent=2, ensure_ascii=False)


def facts_of(plan: PhysicalPlan, catalog: Catalog | None, priced: Priced | None) -> Facts:
    """Return the explanation as plain values."""
    return {
        **_asked(plan),
        "components": [_component(plan, k) for k in range(len(plan.query.components))],
        "plan": [
            {"name": o.name, "runs_on": o.runs_on, "does": o.does}
            for o in plan_steps(plan, catalog)
        ],
        "stages": stage_names(plan, catalog),
        "automaton": _automaton(plan),
        "predicates": _predicates(plan),
        "partitioning": _partitioning(plan),
        "moved": _moved(plan),
        "movement": movement_facts(plan, priced),
        "state": state_text(plan),
        "network": {name: list(read) for name, read in network_of(plan.query, catalog)},
        "warnings": [warning.as_dict() for warning in plan.query.warnings],
    }


def _asked(plan: PhysicalPlan) -> Facts:
    query = plan.query
    having = threshold_of(query)
    return {
        "query": query.name,
        "class": query.verdict.kind,
        "reasons": list(query.verdict.reasons),
        "safe_plan": query.verdict.plan,
        "pattern": shape_text(query.shape, query.components),
        "strategy": query.strategy,
        "after_match": None if query.after_match is None else after_match_text(query),
        "within": _window(query.within),
        "every": _window(query.every),
        "over": query.over,
        "having": None
        if having is None
        else {"measure": having.measure, "threshold": having.threshold, "strict": having.strict},
        "allow_missed": query.allow,
        "returns": query.returns,
        "not_evaluated": unevaluated(query),
    }


def _window(window: CheckedWindow | None) -> Facts | None:
    return None if window is None else {"length": window.length, "events": window.events}


def _component(plan: PhysicalPlan, index: int) -> Facts:
    part = plan.query.components[index]
    return {
        "index": part.index,
        "name": part.name,
        "negated": part.negated,
        "minimum": part.minimum,
        "maximum": part.maximum,
        "played_by": [{"stream": by.stream, "type": by.type} for by in part.played_by],
        "miss_rate": plan.query.miss_rates[index],
        "may_be_missed": index in plan.query.may_miss and can_be_missed(plan.query, index),
    }


def _automaton(plan: PhysicalPlan) -> Facts:
    automaton, components = plan.automaton, plan.query.components
    names = [c.name for c in components]
    return {
        "states": [
            {"index": s.index, "label": s.label, "accepting": s.accepting} for s in automaton.states
        ],
        "transitions": [
            {
                "source": t.source,
                "target": t.target,
                "component": names[t.component],
                "again": t.again,
                "adjacent_to": [names[c] for c in t.adjacent_to],
            }
            for t in automaton.transitions
        ],
        "skips": [
            {
                "source": s.source,
                "target": s.target,
                "components": [names[c] for c in s.components],
                "best": s.best,
                "removed": s.removed,
            }
            for s in automaton.skips
        ],
        "guards": [
            {"forbids": shape_text(g.part, components), "means": guard_text(g, components)}
            for g in automaton.guards
        ],
    }


def _predicates(plan: PhysicalPlan) -> Facts:
    names = [c.name for c in plan.query.components]
    return {
        "spark": [
            {
                "component": names[play.component],
                "stream": play.stream.name,
                "bit": play.bit,
                "sql": play.sql,
                "predicates": [p.text for p in play.pushed],
            }
            for play in plan.plays
        ],
        "queues": [_predicate(p, names) for play in plan.plays for p in play.on_arrival],
        "search": [_predicate(p, names) for p in plan.search.predicates],
        "active": [expression_text(each.expression) for each in plan.query.lookups],
    }


def _predicate(predicate: Predicate, names: list[str]) -> Facts:
    return {
        "predicate": predicate.text,
        "components": [names[c] for c in predicate.components],
        "after": predicate.conjunct.after,
        "derived": predicate.conjunct.derived,
        "selectivity_guess": round(predicate.selectivity, 6),
    }


def _partitioning(plan: PhysicalPlan) -> Facts:
    cut = plan.partitioning
    return {
        "kind": cut.kind,
        "reason": cut.reason,
        "key": {stream: list(columns) for stream, columns in cut.columns},
        "lookback": cut.lookback,
        "lookahead": cut.lookahead,
    }


def _moved(plan: PhysicalPlan) -> Facts:
    return {
        "bytes_per_row": plan.moved.bytes_per_row,
        "columns": dict(plan.moved.columns),
        "share_guess": {s.name: round(share_of_rows(plan, s.name), 6) for s in plan.query.streams},
    }
