"""The class of a query: what its answer costs, and why (Lahar, definitions 3.1-3.8, Algorithm 1).

deterministic: nothing is uncertain. enumerated: matches, each with its confidence. Of queries that
return a probability: regular (one automaton), extended regular (one automaton per key value), safe
(a plan that only multiplies independent probabilities), hard (none is known; it is sampled).
Where Definition 3.8 and Algorithm 1 disagree, the algorithm decides. Markov links change nothing.
"""

from __future__ import annotations

from augury.analysis.checked import Verdict
from augury.analysis.draft import Draft
from augury.analysis.findings import listing
from augury.analysis.safe_plan import Planner
from augury.analysis.subgoals import LaharView, Variable, view


def classify(draft: Draft) -> Verdict:
    """Return the class of a resolved query, with its reasons and its safe plan."""
    if not _is_uncertain(draft):
        reason = "no stream of ON is uncertain and nothing may be missed, so every answer is certain"
        return Verdict("deterministic", (reason,))
    if not draft.returns_probability:
        return Verdict("enumerated", (_enumerated_reason(draft),))
    derived = [s.name for s in draft.streams if s.query and s.is_uncertain]
    if derived:
        return Verdict("hard", (f"events of {listing(derived)} are derived and may share base events, so they are not independent",))
    return _probability_class(draft, view(draft))


def _is_uncertain(draft: Draft) -> bool:
    if any(s.is_uncertain for s in draft.streams) or draft.allow:
        return True
    # A negated component may have happened unread, if it has a gap and a miss rate.
    timed = {g.earlier if g.backward else g.later for g in draft.gaps}
    rated = [c.index for c in draft.components if c.negated and draft.miss_rates[c.index]]
    return bool(rated) and (draft.learn_gaps_from is not None or bool(timed & set(rated)))


def _enumerated_reason(draft: Draft) -> str:
    returns = draft.statement.returns
    if returns is not None and returns.kind == "COUNT":
        return "RETURN COUNT counts matches, so the query asks for matches, not for a probability"
    return "the query returns matches, each with its own confidence"


def _probability_class(draft: Draft, lahar: LaharView) -> Verdict:
    every = tuple(range(len(draft.components)))
    shared = lahar.shared(every)
    planner = Planner(draft, lahar)
    fixed = _group_reason(draft)
    if lahar.distant:
        return Verdict("hard", (*fixed, *_distant_reasons(draft, lahar)))
    if not shared:
        reason = "no variable is shared between components and every condition looks at one component, so one automaton carries the probability"
        return Verdict("regular", (*fixed, reason))
    if all(planner.is_independent(v, every, strictly=True) for v in shared):
        return Verdict("extended regular", (*fixed, *(_key_reason(v) for v in shared)))
    obstacles = _obstacles(draft, planner, shared, every)
    plan = planner.plan()
    if plan is not None:
        return Verdict("safe", (*fixed, *(f"not extended regular: {o}" for o in obstacles), _SAFE), plan)
    return Verdict("hard", (*fixed, *obstacles, _HARD))


_SAFE = "a safe plan exists: each of its steps combines independent probabilities"
_HARD = "Algorithm 1 finds no safe plan, so no exact evaluation in polynomial time is known"


def _group_reason(draft: Draft) -> tuple[str, ...]:
    if not draft.group_by:
        return ()
    names = listing([f"{g.component}.{g.name}" for g in draft.group_by])
    return (f"judged for one value of GROUP BY {names}, which counts as a constant",)


def _key_reason(variable: Variable) -> str:
    return f"{variable.name} is shared by all components and is in the key of each, so its values are independent: one automaton for each value"


def _distant_reasons(draft: Draft, lahar: LaharView) -> tuple[str, ...]:
    reasons = []
    for conjunct in lahar.distant:
        span = conjunct.span
        text = " ".join(draft.findings.source.text[span.start : span.end].split())
        names = listing([draft.components[c].name for c in conjunct.components])
        what = "several components" if len(conjunct.components) > 1 else "several events of the repetition"
        reasons.append(f"the condition {text or 'on ' + names} looks at {what} ({names}), so it is not local")
    return tuple(reasons)


def _obstacles(
    draft: Draft, planner: Planner, shared: tuple[Variable, ...], every: tuple[int, ...]
) -> list[str]:
    failing = [v for v in shared if not planner.is_independent(v, every, strictly=True)]
    return [_obstacle(draft, planner, v, every) for v in failing]


def _obstacle(draft: Draft, planner: Planner, variable: Variable, every: tuple[int, ...]) -> str:
    missing = [draft.components[i].name for i in every if i not in variable.columns]
    if missing:
        verb = "does" if len(missing) == 1 else "do"
        return f"{variable.name} is shared, but {listing(missing)} {verb} not have it"
    coupling = planner.coupling(variable)
    if coupling is not None:
        return f"{variable.name} is shared, but {coupling}"
    outside = [
        f"{draft.components[i].name}.{column}"
        for i, column in sorted(variable.columns.items())
        for s in draft.streams_of(i)
        if column not in s.key or column in s.alternatives
    ]
    if outside:
        verb = "is" if len(outside) == 1 else "are"
        return f"{variable.name} is shared, but {listing(outside)} {verb} not in the key"
    return f"{variable.name} is shared, but stands at different key positions of one stream"
