"""The stores of what acts, if there are any; databases are loaded only then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from augury.analysis.declarations.catalog import Catalog
from augury.evaluation.stages.act import ActStage
from augury.planning.acting.shards import tables_used

if TYPE_CHECKING:
    from augury.evaluation.acting.stores import Stores


def opened(catalog: Catalog, names: Iterable[str]) -> Stores | None:
    """Return the stores in which some tables lie; None if none do. Nothing is asked of them yet."""
    own = [name for name in names if catalog.tables[name.lower()].store is not None]
    if not own:
        return None
    from augury.evaluation.acting.stores import Stores

    return Stores.of(catalog, own)


def with_stores(stage: ActStage) -> ActStage:
    """Return a stage that begins with what its stores hold, and goes on after their moments."""
    acting = stage.acting
    stores = opened(stage.catalog, acting.world.tables)
    if stores is None:
        return stage
    stores.load()
    since = stores.since(tables_used(acting, stage.catalog, stage.queries))
    names = {name: made.name for name, made in acting.candidates.items()}
    after = {names[name]: moment for name, moment in since.items()}
    return replace(stage, bound={**stage.bound, **stores.bound()}, since=after)
