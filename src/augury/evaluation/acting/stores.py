"""The tables of a session that lie in stores: loaded once, and written as moments are settled.

A pushing session commits what it has settled itself; in a run over many machines their firings
become rows (`written`), which the driver commits, one transaction per store and batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, TableSchema
from augury.errors import RowsWarning, StoreError, warn
from augury.evaluation.acting.letters import letter_of, letters_of, store_of
from augury.evaluation.acting.tables import rows_table
from augury.evaluation.acting.version import script_hash
from augury.operator import NEVER_YET
from augury.rules.contents import Row
from augury.rules.stage import Firing
from augury.stores.layout import StoredTable
from augury.stores.letter import OUTBOX, Letter
from augury.stores.place import StoreAddress
from augury.stores.postman import Postman, Target
from augury.stores.store import Mark, Position, RowChange, Store, as_position


@dataclass
class Stores:
    """The stores of the tables that a world uses, by name in lower case.

    `rows` are the tables' at the start, and `reached` up to which moment each store was written.
    `script` is the hash of what was declared; `postmen` bring firings to webhooks, by store.
    """

    stores: Mapping[str, Store]
    tables: Mapping[str, TableSchema]
    script: str = ""
    postmen: Mapping[str, Postman] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    reached: dict[str, Position | None] = field(default_factory=dict)

    @classmethod
    def of(cls, catalog: Catalog, names: Iterable[str]) -> Stores:
        """Return the stores in which some of the tables lie; nothing is asked of them yet."""
        found = [catalog.tables[name.lower()] for name in names]
        tables = {table.name: table for table in found if table.store is not None}
        stores = {}
        for name, declared in catalog.stores.items():
            own = {t.name: stored_table(t) for t in tables.values() if _store_of(t) == name}
            if own:
                stores[name] = Store(StoreAddress(declared.name, declared.url), own)
        targets = {name: targets_of(catalog, name) for name in stores}
        postmen = {n: Postman(stores[n].place, own) for n, own in targets.items() if own}
        return cls(stores, tables, script_hash(catalog), postmen)

    def load(self) -> None:
        """Read all tables, and how far they were written."""
        for name, store in self.stores.items():
            rows, self.reached[name] = store.load()
            self.rows |= rows

    def succeed(self, other: Stores) -> None:
        """Go on as the writer that another was, of the same stores and perhaps more tables."""
        for name, store in self.stores.items():
            if name in other.stores:
                store.succeed(other.stores[name])
        for postman in other.postmen.values():
            postman.close(retries=0)

    def newer_than(self, then: Mapping[str, Sequence[Any] | None]) -> list[str]:
        """Return the stores that were written after some moments; refuse those that were not yet.

        `then` is up to which moment each was written.
        """
        newer = []
        for name, position in self.reached.items():
            old = then.get(name)
            was = None if old is None else as_position(old)
            if was is not None and (position is None or position < was):
                raise StoreError(
                    f"store {name} was written up to a moment before that of the checkpoint: it "
                    "is an older copy; restore a later one, or an older checkpoint"
                )
            if position is not None and (was is None or position > was):
                newer.append(name)
        return newer

    def claim(self) -> None:
        """Become the only writer of the tables."""
        for name, store in self.stores.items():
            store.claim()
            if name in self.postmen:
                # An earlier run may have left letters.
                self.postmen[name].wake()

    def moments(self) -> dict[str, int]:
        """Return before which moment all is written, by store."""
        return {name: int(at[0]) for name, at in self.reached.items() if at is not None}

    def readers(self) -> dict[str, Callable[[Row], Row | None]]:
        """Return, of every table with a KEY, how a row is asked for by it, from any thread."""
        return {
            name: store.reader(name)
            for store in self.stores.values()
            for name, table in store.tables.items()
            if table.key
        }

    def bound(self) -> dict[str, pa.Table]:
        """Return the rows of the tables as if they were bound, by name in lower case."""
        return {
            name.lower(): rows_table(self.tables[name], rows) for name, rows in self.rows.items()
        }

    def since(self, used: Mapping[str, frozenset[str]]) -> dict[str, Position]:
        """Return up to which moment a query was settled before, by the tables that it uses."""
        found = {}
        for query, names in used.items():
            stores = {_store_of(self.tables[name]) for name in names if name in self.tables}
            known = [at for name in stores if (at := self.reached[name]) is not None]
            if known:
                found[query] = max(known)
        return found

    def letters(
        self, firings: Sequence[Firing], catalog: Catalog, queries: Mapping[str, CheckedQuery]
    ) -> list[Letter]:
        """Return what webhooks are told of firings."""
        return letters_of(firings, catalog, queries)

    def commit(
        self,
        firings: Iterable[Firing],
        position: Position,
        letters: Sequence[Letter] = (),
        *,
        always: bool = False,
    ) -> None:
        """Write what firings changed, and their letters, up to a moment: one transaction a store.

        Where nothing changed the moment is not worth a transaction, but if it must be there
        `always`: other rules than now would settle it differently.
        """
        changes = [
            RowChange(c.table, c.before, c.after)
            for firing in firings
            for c in firing.changes
            if c.table in self.tables
        ]
        if changes or letters or always:
            self._commit(changes, Mark(position, script=self.script), letters, always=always)

    def commit_rows(
        self,
        rows: pa.Table,
        horizon: int,
        run: str,
        batch: int,
        done: Mapping[str, int] | None = None,
    ) -> None:
        """Write the changes of a batch (`written`), from all shards; all before `horizon` is done.

        A batch of the run that was written before is left alone, and so are changes before the
        moment up to which a store is `done`.
        """
        before = done or {}
        told = rows.sort_by([("ts", "ascending"), ("number", "ascending")]).to_pylist()
        changes = [
            RowChange(each["table"], _row(each["before"]), _row(each["after"]))
            for each in told
            if each["table"] != OUTBOX
            and each["ts"] >= before.get(_store_of(self.tables[each["table"]]), NEVER_YET)
        ]
        letters = [letter_of(each) for each in told if each["table"] == OUTBOX]
        letters = [each for each in letters if each.ts >= before.get(each.store, NEVER_YET)]
        self._commit(changes, Mark((horizon,), run, batch, self.script), letters)

    def _commit(
        self,
        changes: Sequence[RowChange],
        mark: Mark,
        letters: Sequence[Letter],
        *,
        always: bool = False,
    ) -> None:
        for name, store in self.stores.items():
            own = [each for each in changes if each.table in store.tables]
            mine = [each for each in letters if each.store == name]
            # A batch is counted where it changed nothing, too.
            if own or mine or always or mark.batch is not None:
                store.commit(own, mark, mine)
                self.reached[name] = mark.position
            if mine:
                self.postmen[name].wake()

    def release(self) -> None:
        """Bring what is in outboxes, and let others write the tables."""
        for name, postman in self.postmen.items():
            postman.close()
            for target, said in postman.left.items():
                warn(
                    f"firings were not taken by {target} ({said}); they stay in {OUTBOX} of store "
                    f"{name}, and go with the next run",
                    RowsWarning,
                )
        for store in self.stores.values():
            store.release()


def targets_of(catalog: Catalog, store: str) -> dict[str, Target]:
    """Return where the firings go of rules that write tables of a store, by address."""
    return {
        str(each.path): Target(str(each.path), each.settings.get("secret"))
        for name, targets in catalog.hooks.items()
        if store_of(catalog.rules[name], catalog) == store
        for each in targets
    }


def stored_table(table: TableSchema) -> StoredTable:
    """Return a declared table as stores know it."""
    columns = tuple((column.name, column.type.value) for column in table.columns)
    return StoredTable(table.name, columns, table.key)


def _store_of(table: TableSchema) -> str:
    return (table.store or "").lower()


def _row(text: str | None) -> Row | None:
    return None if text is None else tuple(json.loads(text))
