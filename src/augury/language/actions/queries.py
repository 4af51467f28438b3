"""Actions of CREATE QUERY and of queries that stand bare, in the language and in the dialects.

A body sets the pattern and its `dialect`. What a dialect leaves unsaid is filled in at the end:
AYAC's SEQUENCE takes every match and lets everything be missed; DPCEP's EVENT without instance
names asks for a probability; Lahar's `;` is next-match selection, with a probability for each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from typing import Literal as Choice

from augury.errors import Span
from augury.language import codes
from augury.language.actions.clauses import Clause, clause, gather, name_clause, value_clause
from augury.language.actions.patterns import alone
from augury.language.actions.words import Parts, whole
from augury.language.expressions import Attribute, Expression
from augury.language.findings import Findings
from augury.language.keywords import EXPLAIN_FORMATS, GAP_FAMILIES
from augury.language.lexer import Token
from augury.language.machine import Action
from augury.language.nearest import did_you_mean
from augury.language.tree import (
    Allow,
    Approximate,
    Component,
    CreateCorrelation,
    CreateGaps,
    CreateQuery,
    Edge,
    Explain,
    Gap,
    Group,
    Having,
    Not,
    Pattern,
    Return,
    ReturnColumn,
    Skip,
    SkipTo,
    Strategy,
    Subgoals,
    Window,
    Write,
)

STRATEGIES: dict[str, Strategy] = {
    "SKIP-TILL-ANY-MATCH": "ANY",
    "SKIP-TILL-NEXT-MATCH": "NEXT",
    "STRICT-CONTIGUITY": "STRICT",
    "PARTITION-CONTIGUITY": "PARTITION",
}

# The statement -----------------------------------------------------------------------------------


def _create_query(parts: Parts, span: Span, findings: Findings) -> CreateQuery | None:
    return _query(parts[0].text, parts[1:], span, findings)


def _bare_query(parts: Parts, span: Span, findings: Findings) -> CreateQuery | None:
    return _query(None, parts, span, findings)


def _query(name: str | None, parts: Parts, span: Span, findings: Findings) -> CreateQuery | None:
    given = gather((_as_clause(part) for part in parts), findings)
    fields = given.fields
    if "pattern" not in fields:
        message = f"query {name} has no pattern"
        findings.refuse(
            codes.INCOMPLETE, span, message, "add PATTERN, for example PATTERN SEQ(A a, B b)"
        )
        return None
    dialect, conf = fields.pop("dialect"), fields.pop("conf", False)
    for field, value in _implied(dialect, fields["pattern"]).items():
        fields.setdefault(field, value)
    if conf and dialect == "EVENT" and fields.get("returns") == _TYPE_QUERY:
        fields["having"] = replace(fields["having"], measure="PROBABILITY")
    return CreateQuery(name, fields.pop("streams", ()), **fields, places=given.places, span=span)


def _as_clause(part: Any) -> Clause:
    if isinstance(part, Subgoals):
        return Clause("PATTERN", {"pattern": part, "dialect": "LAHAR"}, part.span)
    assert isinstance(part, Clause)
    return part


_TYPE_QUERY = Return("PROBABILITY")


def _implied(dialect: str, pattern: Pattern) -> dict[str, Any]:
    """Return what the dialect means where the query does not say otherwise."""
    if dialect == "SEQUENCE":
        return {"strategy": "ANY", "allow": Allow(None)}
    if dialect == "LAHAR":
        return {"strategy": "NEXT", "returns": Return("PROBABILITY BY TIME")}
    if dialect == "EVENT" and all(part.name is None for part in _components(pattern)):
        return {"returns": _TYPE_QUERY}
    return {}


def _components(pattern: Pattern) -> Iterator[Component]:
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Component):
            yield part
        elif isinstance(part, Group):
            waiting.extend(part.parts)
        elif isinstance(part, Not):
            waiting.append(part.part)
        elif isinstance(part, Edge):
            waiting.append(part.component)


# Bodies ------------------------------------------------------------------------------------------


def _body(dialect: Choice["PATTERN", "EVENT"]) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> Clause:
        pattern = alone(parts[0], findings)
        return Clause("PATTERN", {"pattern": pattern, "dialect": dialect}, span)

    return action


def _sequence_body(parts: Parts, span: Span, findings: Findings) -> Clause:
    own = (_untyped(alone(part, findings)) for part in parts)
    pattern = Group("SEQ", tuple(own), span=span)
    return Clause("PATTERN", {"pattern": pattern, "dialect": "SEQUENCE"}, span)


def _untyped(part: Pattern) -> Pattern:
    """Read AYAC's bare words as names of any type: its simple events have no types."""
    if isinstance(part, Not):
        return replace(part, part=_untyped(part.part)) if isinstance(part.part, Component) else part
    if isinstance(part, Component) and part.name is None and part.word != "_":
        return replace(part, word="_", name=part.word)
    return part


# Clauses -----------------------------------------------------------------------------------------


def _where_strategy(parts: Parts, span: Span, findings: Findings) -> Clause:
    word, *condition = parts
    fields: dict[str, Any] = {"strategy": _strategy(word)}
    if condition:
        fields["where"] = condition[0]
    return Clause("WHERE", fields, span)


def _where_strategy_over(parts: Parts, span: Span, findings: Findings) -> Clause:
    word, over, condition = parts
    fields = {"strategy": _strategy(word), "where": condition, "strategy_over": over}
    return Clause("WHERE", fields, span)


def _strategy_word(parts: Parts, span: Span, findings: Findings) -> Strategy:
    return _strategy(parts[0])


def _strategy(token: Token) -> Strategy:
    return STRATEGIES[token.text.upper().replace("_", "-")]


def _skip(to: SkipTo) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> Skip:
        return Skip(to, parts[0].text if parts else None, span=span)

    return action


def _window(parts: Parts, span: Span, findings: Findings) -> Window:
    return Window(parts[0], span=span)


def _window_of_events(parts: Parts, span: Span, findings: Findings) -> Window:
    return Window(whole(parts[0], findings), events=True, span=span)


def _allow(parts: Parts, span: Span, findings: Findings) -> Clause:
    count, *of = parts
    allowed = Allow(whole(count, findings), of[0] if of else (), span=span)
    return Clause("ALLOW", {"allow": allowed}, span)


def _allow_all(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("ALLOW", {"allow": Allow(None, parts[0] if parts else (), span=span)}, span)


def _miss_rates(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("MISS RATE", {"miss_rates": tuple(parts)}, span)


def _group_by(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("GROUP BY", {"group_by": tuple(parts)}, span)


def _group_item(parts: Parts, span: Span, findings: Findings) -> Attribute:
    *owner, name = (token.text for token in parts)
    return Attribute(owner[0] if owner else None, name, span=span)


def _having(parts: Parts, span: Span, findings: Findings) -> Clause:
    measure, sign, threshold = parts
    about: Any = "CONFIDENCE" if measure == "CONF" else measure
    fields: dict[str, Any] = {"having": Having(about, float(threshold), sign == ">", span=span)}
    if measure == "CONF":
        fields["conf"] = True
    return Clause("HAVING", fields, span)


def _threshold(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("THRESHOLD", {"having": Having("CONFIDENCE", float(parts[0]), span=span)}, span)


def _returns(
    kind: Choice["STAR", "COUNT", "TOTAL COUNT", "PROBABILITY", "PROBABILITY BY TIME"],
) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> Clause:
        over = parts[0] if parts else None
        return Clause("RETURN", {"returns": Return(kind, over=over, span=span)}, span)

    return action


def _return_columns(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("RETURN", {"returns": Return("COLUMNS", tuple(parts), span=span)}, span)


def _return_column(parts: Parts, span: Span, findings: Findings) -> ReturnColumn:
    value, *alias = parts
    shown: Expression = value
    return ReturnColumn(shown, alias[0].text if alias else None, span=span)


def _approximate(parts: Parts, span: Span, findings: Findings) -> Clause:
    bound = Approximate(float(parts[0]), float(parts[1]), span=span)
    return Clause("APPROXIMATE", {"approximate": bound}, span)


def _match_limit(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("MATCH LIMIT", {"match_limit": whole(parts[0], findings)}, span)


# Gaps and explain --------------------------------------------------------------------------------


def _learn_gaps(parts: Parts, span: Span, findings: Findings) -> CreateGaps:
    name, query, history = (token.text for token in parts)
    return CreateGaps(name, query, history, span=span)


def _create_gaps(parts: Parts, span: Span, findings: Findings) -> CreateGaps:
    name, query, *gaps = parts
    return CreateGaps(name.text, query.text, None, tuple(gaps), span=span)


def _create_correlation(parts: Parts, span: Span, findings: Findings) -> CreateCorrelation:
    name, history = (token.text for token in parts)
    return CreateCorrelation(name, history, span=span)


def _gap(backward: bool) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> Gap:
        earlier, later, (family_name, parameters), *reaches = parts
        chance = float(reaches[0]) if reaches else None
        return Gap(earlier.text, later.text, backward, family_name, parameters, chance, span=span)

    return action


def _family(parts: Parts, span: Span, findings: Findings) -> tuple[str, tuple[Any, ...]]:
    name, *parameters = parts
    chosen = _one_of(name, GAP_FAMILIES, "a family of gaps", findings)
    return chosen, tuple(parameters)


def _explain(parts: Parts, span: Span, findings: Findings) -> Explain:
    query, *form = parts
    if not form:
        return Explain(query.text, span=span)
    chosen: Any = _one_of(form[0], EXPLAIN_FORMATS, "a format of EXPLAIN", findings)
    return Explain(query.text, chosen, span=span)


def _explain_measured(parts: Parts, span: Span, findings: Findings) -> Explain:
    """Read EXPLAIN ANALYZE: a query may be named so, hence it is no keyword."""
    _one_of(parts[0], ("ANALYZE",), "what EXPLAIN does", findings)
    return replace(_explain(parts[1:], span, findings), measured=True)


def _write(parts: Parts, span: Span, findings: Findings) -> Write:
    return Write(parts[0].text, parts[1], span=span)


def _one_of(token: Token, known: tuple[str, ...], what: str, findings: Findings) -> str:
    word = token.text.upper()
    if word in known:
        return word
    hint = did_you_mean(word, known) or f"one of {', '.join(known)}"
    findings.refuse(codes.FORM, token.span, f"{token.text} is not {what}", hint)
    return known[0]


ACTIONS: dict[str, Action] = {
    "create_query": _create_query,
    "bare_query": _bare_query,
    "on": value_clause("ON", "streams"),
    "pattern_body": _body("PATTERN"),
    "event_body": _body("EVENT"),
    "sequence_body": _sequence_body,
    "where": value_clause("WHERE", "where"),
    "where_strategy": _where_strategy,
    "where_strategy_over": _where_strategy_over,
    "after_where": value_clause("AFTER WHERE", "after_where"),
    "after_match": value_clause("AFTER MATCH", "after_match"),
    "skip_past_last": _skip("PAST LAST"),
    "skip_to_next": _skip("NEXT"),
    "skip_to_first": _skip("FIRST"),
    "skip_to_last": _skip("LAST"),
    "each_event": clause("ALL EVENTS PER MATCH", "each_event", True),
    "using": value_clause("USING", "strategy"),
    "any_strategy": lambda parts, span, findings: "ANY",
    "next_strategy": lambda parts, span, findings: "NEXT",
    "strict_strategy": lambda parts, span, findings: "STRICT",
    "partition_strategy": lambda parts, span, findings: "PARTITION",
    "strategy_word": _strategy_word,
    "within": value_clause("WITHIN", "within"),
    "every": value_clause("EVERY", "every"),
    "window": _window,
    "window_of_events": _window_of_events,
    "allow": _allow,
    "allow_all": _allow_all,
    "miss_rates": _miss_rates,
    "correlated_by": name_clause("CORRELATED BY", "correlated_by"),
    "group_by": _group_by,
    "group_item": _group_item,
    "having": _having,
    "confidence": lambda parts, span, findings: "CONFIDENCE",
    "conf": lambda parts, span, findings: "CONF",
    "probability": lambda parts, span, findings: "PROBABILITY",
    "threshold": _threshold,
    "return_star": _returns("STAR"),
    "return_count": _returns("COUNT"),
    "return_total": _returns("TOTAL COUNT"),
    "return_probability": _returns("PROBABILITY"),
    "return_by_time": _returns("PROBABILITY BY TIME"),
    "return_columns": _return_columns,
    "return_column": _return_column,
    "approximate": _approximate,
    "match_limit": _match_limit,
    "scoring_ayac": clause("SCORING", "scoring", "AYAC"),
    "scoring_dpcep": clause("SCORING", "scoring", "DPCEP"),
    "scoring_law": clause("SCORING", "scoring", "LAW"),
    "options_clause": value_clause("OPTIONS", "options"),
    "learn_gaps": _learn_gaps,
    "create_gaps": _create_gaps,
    "create_correlation": _create_correlation,
    "gap": _gap(backward=False),
    "gap_before": _gap(backward=True),
    "family": _family,
    "explain": _explain,
    "explain_measured": _explain_measured,
    "write": _write,
}
