"""Actions: one function per alternative of the grammar, from the values of its parts to a node.

An action has the name of its alternative in `grammar.lark` and the form
`action(parts, span, findings)`. What it must refuse it adds to `findings`, and it still returns a
node, so that reading goes on. `ACTIONS` collects them all.
"""

from __future__ import annotations

from augury.language.actions import (
    expressions,
    forecasts,
    lahar,
    models,
    moves,
    patterns,
    policies,
    queries,
    rules,
    streams,
    subscriptions,
    words,
)
from augury.language.machine import Action

ACTIONS: dict[str, Action] = {
    **words.ACTIONS,
    **expressions.ACTIONS,
    **patterns.ACTIONS,
    **lahar.ACTIONS,
    **subscriptions.ACTIONS,
    **streams.ACTIONS,
    **queries.ACTIONS,
    **models.ACTIONS,
    **forecasts.ACTIONS,
    **rules.ACTIONS,
    **moves.ACTIONS,
    **policies.ACTIONS,
}
