"""Actions of CREATE POLICY, and of CREATE STREAM ... AS SUPPRESS."""

from __future__ import annotations

from augury.errors import Span
from augury.language.actions.clauses import Clause, clause, gather, name_clause, value_clause
from augury.language.actions.words import Parts
from augury.language.findings import Findings
from augury.language.machine import Action
from augury.language.tree import CreatePolicy, SuppressStream, WeightedQuery


def _create_policy(parts: Parts, span: Span, findings: Findings) -> CreatePolicy:
    name, stream, *clauses = parts
    given = gather(clauses, findings)
    return CreatePolicy(name.text, stream.text, **given.fields, places=given.places, span=span)


def _queries(keyword: str, field: str) -> Action:
    return lambda parts, span, findings: Clause(keyword, {field: tuple(parts)}, span)


def _weighted(parts: Parts, span: Span, findings: Findings) -> WeightedQuery:
    query, *weight = parts
    return WeightedQuery(query.text, float(weight[0]) if weight else None, span=span)


def _never(parts: Parts, span: Span, findings: Findings) -> WeightedQuery:
    return WeightedQuery(parts[0].text, never=True, span=span)


def _learn_online(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("LEARN FROM", {"learn_from": parts[0].text, "online": True}, span)


def _patience(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("PATIENCE", {"patience": float(parts[0])}, span)


def _create_suppressed(parts: Parts, span: Span, findings: Findings) -> SuppressStream:
    name, stream, policy = (token.text for token in parts)
    return SuppressStream(name, stream, policy, span=span)


ACTIONS: dict[str, Action] = {
    "create_policy": _create_policy,
    "public_clause": _queries("PUBLIC", "public"),
    "private_clause": _queries("PRIVATE", "private"),
    "weighted": _weighted,
    "never": _never,
    "policy_method_clause": value_clause("USING", "method"),
    "types_method": lambda parts, span, findings: "TYPES",
    "greedy_method": lambda parts, span, findings: "GREEDY",
    "hybrid_method": lambda parts, span, findings: "HYBRID",
    "rates_method": lambda parts, span, findings: "HYBRID RATES",
    "periodic_method": lambda parts, span, findings: "HYBRID PERIODIC",
    "period_clause": value_clause("PERIOD", "period"),
    "learn_from_clause": name_clause("LEARN FROM", "learn_from"),
    "learn_from_online_clause": _learn_online,
    "learn_online_clause": clause("LEARN ONLINE", "online", True),
    "learn_over_clause": value_clause("OVER", "over"),
    "learn_by_clause": name_clause("BY", "by"),
    "estimates_wang_clause": clause("ESTIMATES", "wang", True),
    "patience_clause": _patience,
    "patience_learned_clause": clause("PATIENCE", "patience", "LEARNED"),
    "create_suppressed": _create_suppressed,
}
