"""Actions of CREATE MODEL ... MOVES, and of CREATE STREAM ... AS IDENTIFY."""

from __future__ import annotations

from augury.errors import Span
from augury.language.actions.clauses import Clause, clause, gather, name_clause, value_clause
from augury.language.actions.words import Parts
from augury.language.findings import Findings
from augury.language.machine import Action
from augury.language.tree import CreateMoves, IdentifyStream


def _create_moves(parts: Parts, span: Span, findings: Findings) -> CreateMoves:
    name, *others = parts
    given = gather((part for part in others if isinstance(part, Clause)), findings)
    return CreateMoves(name.text, **given.fields, span=span)


def _create_identified(parts: Parts, span: Span, findings: Findings) -> IdentifyStream:
    name, readings, model, *others = parts
    given = gather((part for part in others if isinstance(part, Clause)), findings)
    return IdentifyStream(name.text, readings.text, model.text, **given.fields, span=span)


def _table_clause(keyword: str, field: str) -> Action:
    """Return the action of a clause of a table and some of its columns."""

    def action(parts: Parts, span: Span, findings: Findings) -> Clause:
        return Clause(keyword, {field: tuple(token.text for token in parts)}, span)

    return action


def _revise_by(parts: Parts, span: Span, findings: Findings) -> Clause:
    return Clause("REVISE", {"revise": "BY", "by": float(parts[0])}, span)


ACTIONS: dict[str, Action] = {
    "create_moves": _create_moves,
    "objects_part": name_clause("OBJECTS", "objects"),
    "owner_part": name_clause("OWNER", "owner"),
    "place_part": name_clause("PLACE", "place"),
    "enter_part": value_clause("ENTER", "enter"),
    "exit_part": value_clause("EXIT", "exit"),
    "hall_part": value_clause("HALL", "hall"),
    "doors_part": _table_clause("DOORS", "doors"),
    "from_place_part": name_clause("FROM_PLACE", "from_place"),
    "by_part": name_clause("BY", "by"),
    "prefer_part": _table_clause("PREFER", "prefer"),
    "impossible_part": clause("IMPOSSIBLE REJECT", "rejects_impossible", True),
    "moves_step_part": value_clause("STEP", "step"),
    "create_identified": _create_identified,
    "revise_any": clause("REVISE", "revise", "ANY"),
    "revise_certain": clause("REVISE", "revise", "CERTAIN"),
    "revise_never": clause("REVISE", "revise", "NEVER"),
    "revise_by": _revise_by,
}
