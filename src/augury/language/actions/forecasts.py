"""Actions of CREATE FORECAST."""

from __future__ import annotations

from augury.errors import Span
from augury.language.actions.clauses import Clause, clause, gather, name_clause, value_clause
from augury.language.actions.words import Parts, whole
from augury.language.findings import Findings
from augury.language.machine import Action
from augury.language.tree import CreateForecast, Future, Having, Window


def _create_forecast(parts: Parts, span: Span, findings: Findings) -> CreateForecast:
    name, query, *clauses = parts
    given = gather(clauses, findings)
    return CreateForecast(name.text, query.text, **given.fields, places=given.places, span=span)


def _within_stream(parts: Parts, span: Span, findings: Findings) -> Clause:
    window = Window(whole(parts[0], findings), events=True, span=span)
    return Clause("WITHIN", {"within": window, "of_stream": True}, span)


def _markov(parts: Parts, span: Span, findings: Findings) -> Clause:
    future = Future("MARKOV", whole(parts[0], findings), span=span)
    return Clause("USING", {"future": future}, span)


def _independent(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("USING", {"future": Future("MARKOV", span=span)}, span)


def _edges(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("USING", {"future": Future("EDGES", span=span)}, span)


def _model(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("USING", {"future": Future("MODEL", model=parts[0].text, span=span)}, span)


def _smoothing(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("SMOOTHING", {"smoothing": float(parts[0])}, span)


def _fading(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("ONLINE", {"online": True, "half_life": parts[0]}, span)


def _having(parts: Parts, span: Span, findings: Findings) -> Clause:
    comparator, threshold = parts
    having = Having("FORECAST", float(threshold), comparator == ">", span=span)
    return Clause("HAVING", {"having": having}, span)


ACTIONS: dict[str, Action] = {
    "create_forecast": _create_forecast,
    "within_stream": _within_stream,
    "using_markov": _markov,
    "using_independent": _independent,
    "using_edges": _edges,
    "using_model": _model,
    "smoothing_clause": _smoothing,
    "learn_from_clause": name_clause("LEARN FROM", "learn_from"),
    "online_clause": clause("ONLINE", "online", True),
    "fading_clause": _fading,
    "by_clause": value_clause("BY", "by"),
    "poisson_clause": clause("ARRIVALS", "arrivals", "POISSON"),
    "steady_clause": clause("ARRIVALS", "arrivals", "STEADY"),
    "having_forecast": _having,
    "return_forecast": clause("RETURN", "by_time", False),
    "return_forecast_by_time": clause("RETURN", "by_time", True),
}
