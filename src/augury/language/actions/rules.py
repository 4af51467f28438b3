"""Actions of CREATE RULE and of the changes in it."""

from __future__ import annotations

from augury.errors import Span
from augury.language.actions.clauses import Clause, clause, gather, name_clause, value_clause
from augury.language.actions.words import Parts, whole
from augury.language.expressions import Expression
from augury.language.findings import Findings
from augury.language.machine import Action
from augury.language.tree import Change, CreateRule, Delete, Insert, Setting, Throttle, Update


def _rule(replaces: bool) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> CreateRule:
        name, query, *clauses, body = parts
        changes = tuple(part for part in body if not isinstance(part, Clause))
        clauses += [part for part in body if isinstance(part, Clause)]
        fields = gather(clauses, findings).fields
        fields.pop("each", None)
        return CreateRule(
            name.text, query.text, changes, **fields, replaces=replaces, query_span=query.span,
            span=span,
        )  # fmt: skip

    return action


def _throttle(parts: Parts, span: Span, findings: Findings) -> Clause:
    most, per, *by = parts
    found = Throttle(whole(most, findings), per, *by, span=span)
    return Clause("THROTTLE", {"throttle": found}, span)


def _body(parts: Parts, span: Span, findings: Findings) -> tuple[Change | Clause, ...]:
    return tuple(parts)


def _insert(parts: Parts, span: Span, findings: Findings) -> Insert:
    table, rows, *conflict = parts
    return Insert(table.text, rows, (), *(conflict[0] if conflict else ()), span=span)


def _insert_columns(parts: Parts, span: Span, findings: Findings) -> Insert:
    table, columns, rows, *conflict = parts
    return Insert(table.text, rows, columns, *(conflict[0] if conflict else ()), span=span)


def _rows(parts: Parts, span: Span, findings: Findings) -> tuple[tuple[Expression, ...], ...]:
    return tuple(parts)


def _row(parts: Parts, span: Span, findings: Findings) -> tuple[Expression, ...]:
    return tuple(parts)


def _conflict(kind: str) -> Action:
    return lambda parts, span, findings: (kind, *parts)


def _settings(parts: Parts, span: Span, findings: Findings) -> tuple[Setting, ...]:
    return tuple(parts)


def _setting(parts: Parts, span: Span, findings: Findings) -> Setting:
    return Setting(parts[0].text, parts[1], span=span)


def _update(parts: Parts, span: Span, findings: Findings) -> Update:
    table, settings, *condition = parts
    return Update(table.text, settings, *condition, span=span)


def _delete(parts: Parts, span: Span, findings: Findings) -> Delete:
    table, *condition = parts
    return Delete(table.text, *condition, span=span)


ACTIONS: dict[str, Action] = {
    "create_rule": _rule(replaces=False),
    "replace_rule": _rule(replaces=True),
    "referencing_clause": name_clause("REFERENCING", "event"),
    "for_each_clause": clause("FOR EACH EVENT", "each", value=True),
    "after_revisions_clause": clause("AFTER REVISIONS", "waits", value=True),
    "throttle_clause": _throttle,
    "when_clause": value_clause("WHEN", "when"),
    "reject_clause": clause("ON ERROR REJECT", "rejects", value=True),
    "rule_body": _body,
    "insert": _insert,
    "insert_columns": _insert_columns,
    "new_rows": _rows,
    "new_row": _row,
    "conflict_nothing": _conflict("NOTHING"),
    "conflict_replace": _conflict("REPLACE"),
    "conflict_update": _conflict("UPDATE"),
    "settings": _settings,
    "setting": _setting,
    "update": _update,
    "delete": _delete,
}
