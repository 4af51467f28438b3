"""Actions of CREATE MODEL, and of CREATE STREAM ... AS an inference."""

from __future__ import annotations

from augury.errors import Span
from augury.language.actions.clauses import Clause, gather, name_clause, value_clause
from augury.language.actions.words import Parts, whole
from augury.language.findings import Findings
from augury.language.machine import Action
from augury.language.tree import CreateModel, InferStream


def _create_model(parts: Parts, span: Span, findings: Findings) -> CreateModel:
    name, *others = parts
    given = gather((part for part in others if isinstance(part, Clause)), findings)
    return CreateModel(name.text, **given.fields, span=span)


def _create_positions(parts: Parts, span: Span, findings: Findings) -> CreateModel:
    name, *others = parts
    given = gather((part for part in others if isinstance(part, Clause)), findings)
    return CreateModel(name.text, kind="POSITIONS", **given.fields, span=span)


def _real(keyword: str, field: str) -> Action:
    return lambda parts, span, findings: Clause(keyword, {field: float(parts[0])}, span)


def _learning(parts: Parts, span: Span, findings: Findings) -> Clause:
    names = [token.text for token in parts]
    fields = dict(zip(("learn_from", "learn_on"), names, strict=False))
    return Clause("LEARN FROM", fields, span)


def _create_inferred(parts: Parts, span: Span, findings: Findings) -> InferStream:
    name, method, readings, model, *others = parts
    if isinstance(method, Clause):
        others, method = [method, *others], method.keyword
    given = gather((part for part in others if isinstance(part, Clause)), findings)
    return InferStream(name.text, method, readings.text, model.text, **given.fields, span=span)


def _lag(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("LAG", {"lag": whole(parts[0], findings)}, span)


def _particles(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("PARTICLES", {"particles": whole(parts[0], findings)}, span)


ACTIONS: dict[str, Action] = {
    "create_model": _create_model,
    "states_part": name_clause("STATES", "states"),
    "initial_part": name_clause("INITIAL", "initial"),
    "transition_part": name_clause("TRANSITION", "transition"),
    "emission_part": name_clause("EMISSION", "emission"),
    "create_positions": _create_positions,
    "cells_part": name_clause("CELLS", "cells"),
    "walls_part": name_clause("WALLS", "walls"),
    "antennas_part": name_clause("ANTENNAS", "antennas"),
    "speed_part": _real("SPEED", "speed"),
    "rest_part": _real("REST", "rest"),
    "step_part": value_clause("STEP", "step"),
    "learning": _learning,
    "create_inferred": _create_inferred,
    "filter_method": lambda parts, span, findings: "FILTER",
    "smooth_method": lambda parts, span, findings: "SMOOTH",
    "mle_method": lambda parts, span, findings: "MLE",
    "viterbi_method": lambda parts, span, findings: "VITERBI",
    "lag_clause": _lag,
    "prune_clause": _real("PRUNE", "prune"),
    "particles_method": _particles,
    "correlated_clause": lambda parts, span, findings: Clause(
        "CORRELATED", {"correlated": True}, span
    ),
    "smoothed_clause": lambda parts, span, findings: Clause("SMOOTHED", {"smoothed": True}, span),
}
