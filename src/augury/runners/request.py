"""What a run is asked for by name: answers of queries, and what other stages give.

A forecast has its rows, a rule its firings, a table its changes, a stream AS SUPPRESS what is kept,
a stream AS IDENTIFY what is told of its owners (as last told where the rows have an end). Where
rules act they act whole, whatever is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.evaluation.asked import ACTED, Asked
from augury.planning.acting.whom import acting_names, tested_names
from augury.planning.acting.world import Acting, acting_of
from augury.planning.refusal import NOT_EVALUATED, PlanError

# The changes of tables that lie in stores, for who commits them.
WRITTEN = Asked("written", "stores")


@dataclass(frozen=True)
class Request:
    """What a run is asked for: `plain` queries, and what else by the name it is known under."""

    plain: tuple[str, ...]
    asked: Mapping[str, Asked]
    acting: Acting

    @property
    def acts(self) -> bool:
        """Whether rules act, or tables that they write decide what is found."""
        return bool(self.acting.candidates)

    @property
    def of_acting(self) -> list[Asked]:
        """What is asked for of what acts."""
        return [each for each in self.asked.values() if each.kind in ACTED]

    @property
    def others(self) -> list[Asked]:
        """What is asked for beside it."""
        return [each for each in self.asked.values() if each.kind not in ACTED]

    def place(self, name: str) -> tuple[str, str]:
        """Return under which kind and name the rows of something are given."""
        known = self.asked.get(name.lower())
        return ("match", name.lower() if known is None else known.key.lower())


def request_of(
    catalog: Catalog,
    queries: Mapping[str, CheckedQuery],
    names: Iterable[str],
    *,
    streaming: bool,
    audits: bool = False,
) -> Request:
    """Return what some names ask for, in lower case; raise for what is not evaluated."""
    plain, asked = list[str](), dict[str, Asked]()
    acting = Acting()
    chosen = [name.lower() for name in names]
    if catalog.rules or any(name in tested_names(catalog, queries) for name in chosen):
        acting = _acting(catalog, queries)
    for name in chosen:
        if name in queries and name not in acting.candidates:
            plain.append(name)
        else:
            asked[name] = _asked(catalog, queries, name, streaming)
    for policy in catalog.policies if audits else ():
        asked[f"audit {policy}"] = Asked("audit", policy)
    if any(catalog.tables[each.lower()].store for each in acting.world.tables):
        asked["written"] = WRITTEN
    return Request(tuple(plain), asked, acting)


def _acting(catalog: Catalog, queries: Mapping[str, CheckedQuery]) -> Acting:
    """Return what acts; raise where something that it rests on is not evaluated."""
    acting = acting_of(catalog, queries)
    if acting.fault is not None or acting.refused:
        fault = acting.fault or min(acting.refused)
        raise acting.refused[fault]
    return acting


def _asked(
    catalog: Catalog, queries: Mapping[str, CheckedQuery], name: str, streaming: bool
) -> Asked:
    if name in queries:
        return Asked("settled", name)
    if name in catalog.rules:
        return Asked("firings", name)
    if name in catalog.forecasts:
        return Asked("forecast", name)
    if (policy := catalog.is_history(name)) is not None:
        message = f"{name} is the history of the policy {policy}, and as private as its stream"
        raise PlanError("A125", message, "read it in a run without the policy")
    if name in catalog.identified:
        return Asked("revisions" if streaming else "stream", name)
    if name in catalog.suppressed:
        return Asked("stream", name)
    if name in catalog.tables and acting_names(catalog, queries):
        # Each world has changes of its own: such a table is given as it is at the end.
        return Asked("contents" if catalog.tables[name].uncertain else "changes", name)
    message = f"{name} is nothing that a run can give"
    raise PlanError(NOT_EVALUATED, message, "name a query, a forecast, a rule or a made stream")
