"""The class of a query: what its answer costs, and why (Lahar, definitions 3.1-3.8, Algorithm 1).

deterministic: nothing is uncertain. enumerated: matches, each with its confidence. Of queries that
return a probability: regular (one automaton), extended regular (one automaton per key value), safe
(a plan that only multiplies independent probabilities), hard (none is known; it is sampled).
Where Definition 3.8 and Algorithm 1 disagree, the algorithm decides. Markov links change nothing.
"""

from __future__ import annotations

from dataclasses import replace

from augury.analysis.checked import Verdict
from augury.analysis.classes.join_plan import dpcep_plan, join_plan
from augury.analysis.classes.safe_plan import Planner
from augury.analysis.classes.subgoals import LaharView, Subgoal, Variable, view
from augury.analysis.draft import Draft
from augury.analysis.findings import listing


def classify(draft: Draft) -> Verdict:
    """Return the class of a resolved query, with its reasons and its safe plan."""
    if draft.statement.scoring == "DPCEP" and draft.returns_probability:
        return _by_paper(draft)
    verdict, join = _classify(draft), join_plan(draft)
    if join is None:
        return verdict
    text = join.text(tuple(c.name for c in draft.components))
    if verdict.kind == "hard":
        return Verdict("safe", (_SAFE,), text, join)
    return replace(verdict, plan=text if verdict.kind == "safe" else None, join=join)


def _by_paper(draft: Draft) -> Verdict:
    """Return the verdict of a query that takes DPCEP's formulas for the truth."""
    join = dpcep_plan(draft)
    text = join.text(tuple(c.name for c in draft.components)) if join else None
    reason = "SCORING DPCEP takes events as independent, and their types apart from their order"
    return Verdict("safe", (reason,), text, join)


def _classify(draft: Draft) -> Verdict:
    if not _is_uncertain(draft):
        reason = (
            "no stream of ON is uncertain and nothing may be missed, so every answer is certain"
        )
        return Verdict("deterministic", (reason,))
    if not draft.returns_probability:
        return Verdict("enumerated", (_enumerated_reason(draft),))
    derived = [s.name for s in draft.streams if s.query and s.is_uncertain]
    if derived:
        reason = f"events of {listing(derived)} are derived and may share base events"
        return Verdict("hard", (f"{reason}, so they are not independent",))
    verdict = _probability_class(draft, view(draft), ())
    if verdict.kind in ("regular", "extended regular") or not draft.group_by:
        return verdict
    grouped = _probability_class(draft, view(draft, groups_are_fixed=True), _group_reason(draft))
    return grouped if _COST[grouped.kind] < _COST[verdict.kind] else verdict


_COST = {
    "deterministic": 0,
    "enumerated": 0,
    "regular": 1,
    "extended regular": 2,
    "safe": 3,
    "hard": 4,
}


def _is_uncertain(draft: Draft) -> bool:
    if any(s.is_uncertain for s in draft.streams) or draft.allow:
        return True
    # A negated component may have happened unread, if it has a gap and a miss rate.
    timed = {g.earlier if g.backward else g.later for g in draft.gaps}
    rated = [c.index for c in draft.components if c.negated and draft.miss_rates[c.index]]
    return bool(rated) and (draft.learn_gaps_from is not None or bool(timed & set(rated)))


def _enumerated_reason(draft: Draft) -> str:
    returns = draft.statement.returns
    if returns is not None and returns.kind in ("COUNT", "TOTAL COUNT"):
        return "RETURN COUNT counts matches, so the query asks for matches, not for a probability"
    return "the query returns matches, each with its own confidence"


def _probability_class(draft: Draft, lahar: LaharView, fixed: tuple[str, ...]) -> Verdict:
    every = tuple(range(len(draft.components)))
    shared = lahar.shared(every)
    planner = Planner(draft, lahar)
    fixed = (*fixed, *(_confined_reason(name) for name in lahar.confined))
    if lahar.distant:
        return Verdict("hard", (*fixed, *_distant_reasons(draft, lahar)))
    if not shared:
        return Verdict("regular", (*fixed, _REGULAR))
    failing = [v for v in shared if not planner.is_independent(v, every, strictly=True)]
    if not failing:
        return Verdict("extended regular", (*fixed, *(_key_reason(v) for v in shared)))
    obstacles = [_obstacle(planner, v) for v in failing]
    plan = planner.plan()
    if plan is not None:
        not_regular = (f"not extended regular: {o}" for o in obstacles)
        return Verdict("safe", (*fixed, *not_regular, _SAFE), plan)
    return Verdict("hard", (*fixed, *obstacles, *planner.obstacles[-1:], _HARD))


_REGULAR = (
    "no variable is shared between components and every condition looks at one component, "
    "so one automaton carries the probability"
)
_SAFE = "a safe plan exists: each of its steps combines independent probabilities"
_HARD = "no safe plan was found, so no exact evaluation in polynomial time is known"


def _confined_reason(name: str) -> str:
    return (
        f"{name} is shared, but only between alternatives of one object: "
        f"the automaton remembers the values of {name} under way"
    )


def _group_reason(draft: Draft) -> tuple[str, ...]:
    names = listing([f"{g.component}.{g.name}" for g in draft.group_by])
    return (f"judged for one value of GROUP BY {names}, which counts as a constant",)


def _key_reason(variable: Variable) -> str:
    return (
        f"{variable.name} is shared by all components and is in the key of each, "
        "so its values are independent: one automaton for each value"
    )


def _distant_reasons(draft: Draft, lahar: LaharView) -> tuple[str, ...]:
    reasons = []
    for conjunct in lahar.distant:
        span = conjunct.span
        text = " ".join(draft.findings.source.text[span.start : span.end].split())
        names = listing([lahar.subgoals[c].label for c in conjunct.components])
        many = len(conjunct.components) > 1
        what = "several components" if many else "several events of the repetition"
        reasons.append(f"the condition {text} looks at {what} ({names}), so it is not local")
    return tuple(reasons)


def _obstacle(planner: Planner, variable: Variable) -> str:
    """Return why a query is not extended regular on account of a variable."""
    subgoals = planner.view.subgoals
    missing = [g.label for g in subgoals if g.component.index not in variable.columns]
    if missing:
        verb = "does" if len(missing) == 1 else "do"
        return f"{variable.name} is shared, but {listing(missing)} {verb} not have it"
    coupling = planner.coupling(variable)
    if coupling is not None:
        return f"{variable.name} is shared, but {coupling}"
    outside = [g.label for g in subgoals if not _is_in_key(g, variable)]
    if outside:
        return f"{variable.name} is shared, but is not in the key of {listing(outside)}"
    return f"{variable.name} is shared, but stands at different key positions of one stream"


def _is_in_key(goal: Subgoal, variable: Variable) -> bool:
    column = variable.columns[goal.component.index]
    return all(column in s.key and column not in s.alternatives for s in goal.streams)
