"""CREATE QUERY: from the statement to a checked query, through resolution, rules and class."""

from __future__ import annotations

from dataclasses import dataclass, replace

from augury.analysis.checked import CheckedQuery, Verdict
from augury.analysis.checks import LATE_RULES, RULES
from augury.analysis.classes.lahar import lower
from augury.analysis.classes.query_class import classify
from augury.analysis.clauses.conjuncts import read_conjuncts
from augury.analysis.clauses.on_clause import read_streams
from augury.analysis.clauses.pattern import read_pattern
from augury.analysis.clauses.returns import output_schema
from augury.analysis.declarations.gaps import read_gaps
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.draft import Draft
from augury.analysis.expressions.equalities import close_equalities
from augury.analysis.findings import Findings
from augury.analysis.unread import unread_of
from augury.language.tree import CreateQuery, Subgoals

# What a query returns, by what RETURN says; a count in total is one without keys.
_RETURNS = {"COLUMNS": "MATCHES", "STAR": "MATCHES", "TOTAL COUNT": "COUNT"}


def read_query(
    name: str,
    statement: CreateQuery,
    ledger: Ledger,
    findings: Findings,
    gap_findings: Findings | None = None,
) -> CheckedQuery | None:
    """Return the checked query; None where something is wrong, or cannot be judged.

    `gap_findings` takes findings about gaps where these stand in another text than the query.
    """
    warned, noted = len(findings.found), len(findings.notes)
    checked = _read(_Task(name, statement, ledger, findings, gap_findings or findings))
    if checked is None:
        findings.drop_warnings_since(warned)
        return None
    return replace(checked, warnings=(*findings.found[warned:], *findings.notes[noted:]))


@dataclass(frozen=True, slots=True)
class _Task:
    """What `read_query` was asked to do."""

    name: str
    statement: CreateQuery
    ledger: Ledger
    findings: Findings
    gap_findings: Findings


def _read(task: _Task) -> CheckedQuery | None:
    before = task.findings.error_count
    draft = draft_query(task.name, task.statement, task.ledger, task.findings)
    if draft is None or draft.shape is None or not draft.complete:
        return None
    if task.findings.error_count > before or not _read_gaps(draft, task):
        return None
    for rule in LATE_RULES:
        rule(draft)
    verdict = classify(draft)
    _judge_verdict(draft, verdict)
    if task.findings.error_count > before:
        return None
    checked = _checked(draft, verdict)
    if checked.output_schema is None:
        return checked
    derived = any(s.query is not None for s in checked.streams)
    known = checked.correlated_by is None and not (derived and checked.scoring == "DPCEP")
    skips = checked.after_match is not None or any(s.skips for s in checked.streams)
    output = replace(
        checked.output_schema,
        unread=unread_of(checked),
        has_lineage=known,
        skips=skips,
        of_owners=any(s.is_identified or s.of_owners for s in checked.streams),
    )
    return replace(checked, output_schema=output)


def _read_gaps(draft: Draft, task: _Task) -> bool:
    """Fill the draft's gaps; return whether they are right."""
    gaps = [g for g in task.ledger.gaps.values() if g.query.lower() == task.name.lower()]
    before = task.gap_findings.error_count
    draft.findings = task.gap_findings
    read_gaps(draft, gaps)
    draft.findings = task.findings
    return task.gap_findings.error_count == before


def draft_query(
    name: str, statement: CreateQuery, ledger: Ledger, findings: Findings
) -> Draft | None:
    """Return the query with names resolved and rules applied; None where it cannot be read."""
    draft = _start(name, statement, ledger, findings)
    if draft is None:
        return None
    read_streams(draft)
    read_pattern(draft)
    read_conjuncts(draft)
    close_equalities(draft)
    for rule in RULES:
        rule(draft)
    return draft


def _start(name: str, statement: CreateQuery, ledger: Ledger, findings: Findings) -> Draft | None:
    if not isinstance(statement.pattern, Subgoals):
        return Draft(name, statement, ledger, findings)
    lowered = lower(statement, ledger, findings)
    if lowered is None:
        return None
    return Draft(name, lowered.statement, ledger, findings, lowered.variables, from_subgoals=True)


def _judge_verdict(draft: Draft, verdict: Verdict) -> None:
    """Refuse hard queries without APPROXIMATE; say where it is not needed, or may become so.

    A query for windows is small where its windows are, so it is let through: what is too entangled
    is refused when it is met. Time steps have no end.
    """
    approximate = draft.statement.approximate
    if verdict.kind == "hard" and approximate is None and not draft.by_time:
        message = (
            f"query {draft.name} has no safe plan: it is answered from the lineage of all its "
            "matches, and refused where that is too large"
        )
        hint = "allow sampling there with APPROXIMATE (0.01, 0.05)"
        draft.findings.warning("W014", message, draft.statement.pattern.span, hint)
    elif verdict.kind == "hard" and approximate is None:
        draft.findings.error(
            "A066",
            f"query {draft.name} is hard to answer exactly: {'; '.join(verdict.reasons[:2])}",
            draft.statement.pattern.span,
            "allow sampling with APPROXIMATE (0.01, 0.05)",
        )
    elif verdict.kind != "hard" and approximate is not None and draft.returns_probability:
        message = (
            f"query {draft.name} is {verdict.kind}, so its answer is exact and nothing is sampled"
        )
        draft.findings.warning("W006", message, draft.clause("APPROXIMATE"), "remove APPROXIMATE")


def _checked(draft: Draft, verdict: Verdict) -> CheckedQuery:
    statement = draft.statement
    kind = statement.returns.kind if statement.returns else "COLUMNS"
    assert draft.shape is not None
    components = draft.components
    if draft.from_subgoals:
        components = tuple(replace(c, named=False) for c in components)
    return CheckedQuery(
        name=draft.name,
        streams=draft.streams,
        components=components,
        shape=draft.shape,
        conjuncts=draft.conjuncts,
        equalities=draft.equalities,
        strategy=statement.strategy or "ANY",
        within=draft.within,
        every=draft.every
        or (None if draft.by_time or not draft.returns_probability else draft.within),
        allow=draft.allow,
        may_miss=draft.may_miss,
        miss_rates=draft.miss_rates,
        gaps=draft.gaps,
        correlated_by=statement.correlated_by,
        group_by=draft.group_by,
        having=None if draft.after_match else statement.having,
        returns=_RETURNS.get(kind, kind),  # type: ignore[arg-type]
        outputs=draft.outputs,
        keys=() if kind == "TOTAL COUNT" else draft.keys,
        approximate=statement.approximate,
        match_limit=statement.match_limit,
        scoring=statement.scoring or "LAW",
        options=statement.options,
        verdict=verdict,
        output_schema=output_schema(draft, verdict.kind == "deterministic"),
        span=statement.span,
        learn_gaps_from=draft.learn_gaps_from,
        group_names=draft.group_names,
        over=draft.over.length if draft.over else None,
        lookups=draft.lookups,
        after_match=draft.after_match,
        each_event=statement.each_event,
    )
