"""KEY, STORE and UNCERTAIN of a table."""

from __future__ import annotations

from augury.analysis import places
from augury.analysis.declarations.catalog import TableSchema
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.misnamed import what_it_is
from augury.analysis.findings import Findings, listing, suggest
from augury.language.tree import CreateTable


def check_keys(statement: CreateTable, table: TableSchema, ledger: Ledger, found: Findings) -> None:
    """Report KEY, STORE and UNCERTAIN of a table where they do not fit."""

    def report(word: str, message: str, hint: str) -> None:
        span = places.word(found.source, statement.span, word)
        found.error("A110", f"table {table.name} {message}", span, hint)

    for name in statement.key:
        if table.column(name) is None:
            names = [c.name for c in table.columns]
            hint = suggest(name, names, f"it has {listing(names)}")
            report(name, f"has KEY {name}, which is no column of it", hint)
    if len({name.lower() for name in statement.key}) < len(statement.key):
        report("KEY", "names a KEY column twice", "name each column once")
    store = statement.store
    if store is not None and store.lower() not in ledger.stores and not ledger.has_failed(store):
        known = [each.name for each in ledger.stores.values()]
        hint = suggest(store, known, "declare it with CREATE STORE")
        report(store, f"lies in store {store}, which {what_it_is(store, 'store', ledger)}", hint)
    if store is not None and statement.uncertain:
        report("UNCERTAIN", "is UNCERTAIN and lies in a STORE", "a store holds one world only")
    if store is not None and statement.source is not None:
        report("FROM", "has FROM and STORE", "its rows are those of the store; leave FROM out")
