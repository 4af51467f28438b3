"""Firings as they are told to webhooks: one letter for each firing and target of its rule.

On its way to who commits it, a letter is a row among the changes of tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.evaluation.acting.tables import firings_table, head_of
from augury.language.tree import CreateRule
from augury.rules.stage import Firing
from augury.stores.letter import OUTBOX, Letter


def store_of(rule: CreateRule, catalog: Catalog) -> str | None:
    """Return the store of the tables that a rule writes, in lower case; None if there is none."""
    stores = (catalog.tables[change.table.lower()].store for change in rule.changes)
    return next((store.lower() for store in stores if store is not None), None)


def letters_of(
    firings: Sequence[Firing], catalog: Catalog, queries: Mapping[str, CheckedQuery]
) -> list[Letter]:
    """Return the letters of firings, in their order."""
    found = []
    for name, targets in catalog.hooks.items():
        rule = catalog.rules[name]
        store = store_of(rule, catalog) or ""
        own = [(k, each) for k, each in enumerate(firings) if each.rule == rule.name]
        head = head_of(rule, catalog, queries)
        rows = firings_table(rule.name, [each for _, each in own], head, catalog).to_pylist()
        for (number, firing), row in zip(own, rows, strict=True):
            body = json.dumps(row, default=str, ensure_ascii=False)
            found += [
                Letter(firing.firing_id, str(each.path), firing.ts, number, body, store)
                for each in targets
            ]
    return found


def with_letters(rows: pa.Table, letters: Iterable[Letter]) -> pa.Table:
    """Return changes as they travel, and letters among them."""
    held = list(letters)
    columns = {
        "ts": [each.ts for each in held],
        "number": [rows.num_rows + each.number for each in held],
        "table": [OUTBOX for _ in held],
        "before": [each.store for each in held],
        "after": [json.dumps([x.firing_id, x.target, x.number, x.body]) for x in held],
    }
    return pa.concat_tables([rows, pa.table(columns, schema=rows.schema)])


def letter_of(row: Mapping[str, object]) -> Letter:
    """Return the letter that a row is."""
    firing_id, target, number, body = json.loads(str(row["after"]))
    ts = row["ts"]
    assert isinstance(ts, int)
    return Letter(firing_id, target, ts, number, body, str(row["before"]))
