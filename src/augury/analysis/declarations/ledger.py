"""What a script has declared so far: the catalog while it grows.

A catalog is immutable and copies itself for each addition; a script of a thousand queries adds to a
ledger and makes one catalog at the end. The ledger also remembers names whose declaration failed,
so that what refers to them is not judged on that account.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from augury.analysis.declarations.catalog import (
    Catalog,
    Identified,
    Inferred,
    ModelSchema,
    MovesSchema,
    PolicySchema,
    StreamSchema,
    TableSchema,
)
from augury.errors import Source
from augury.language.tree import (
    CreateCorrelation,
    CreateForecast,
    CreateGaps,
    CreateQuery,
    CreateRule,
    CreateStore,
    External,
    SuppressStream,
)


@dataclass(slots=True)
class Ledger:
    """Declarations by lower-case name; `later` has the kinds of what the script declares later."""

    streams: dict[str, StreamSchema]
    tables: dict[str, TableSchema]
    queries: dict[str, CreateQuery]
    gaps: dict[str, CreateGaps]
    outputs: dict[str, StreamSchema]
    sources: dict[str, Source]
    models: dict[str, ModelSchema] = field(default_factory=dict)
    inferred: dict[str, Inferred] = field(default_factory=dict)
    correlations: dict[str, CreateCorrelation] = field(default_factory=dict)
    forecasts: dict[str, CreateForecast] = field(default_factory=dict)
    stores: dict[str, CreateStore] = field(default_factory=dict)
    rules: dict[str, CreateRule] = field(default_factory=dict)
    moves: dict[str, MovesSchema] = field(default_factory=dict)
    identified: dict[str, Identified] = field(default_factory=dict)
    policies: dict[str, PolicySchema] = field(default_factory=dict)
    suppressed: dict[str, SuppressStream] = field(default_factory=dict)
    forecast_streams: dict[str, StreamSchema] = field(default_factory=dict)
    hooks: dict[str, tuple[External, ...]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    later: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, catalog: Catalog) -> Ledger:
        return cls(
            dict(catalog.streams),
            dict(catalog.tables),
            dict(catalog.queries),
            dict(catalog.gaps),
            dict(catalog.outputs),
            dict(catalog.sources),
            dict(catalog.models),
            dict(catalog.inferred),
            dict(catalog.correlations),
            dict(catalog.forecasts),
            dict(catalog.stores),
            dict(catalog.rules),
            dict(catalog.moves),
            dict(catalog.identified),
            dict(catalog.policies),
            dict(catalog.suppressed),
            dict(catalog.forecast_streams),
            dict(catalog.hooks),
        )

    def catalog(self) -> Catalog:
        return Catalog(
            MappingProxyType(self.streams),
            MappingProxyType(self.tables),
            MappingProxyType(self.queries),
            MappingProxyType(self.gaps),
            MappingProxyType(self.outputs),
            MappingProxyType(self.sources),
            MappingProxyType(self.models),
            MappingProxyType(self.inferred),
            MappingProxyType(self.correlations),
            MappingProxyType(self.forecasts),
            MappingProxyType(self.stores),
            MappingProxyType(self.rules),
            MappingProxyType(self.moves),
            MappingProxyType(self.identified),
            MappingProxyType(self.policies),
            MappingProxyType(self.suppressed),
            MappingProxyType(self.forecast_streams),
            MappingProxyType(self.hooks),
        )

    def readable(self, name: str) -> StreamSchema | None:
        """Return what ON may read under that name: a stream, a query's output, or a forecast."""
        own = name.lower()
        return self.streams.get(own) or self.outputs.get(own) or self.forecast_streams.get(own)

    def is_table(self, name: str) -> bool:
        """Return whether the name is a table's, declared so far or later in the script."""
        return name.lower() in self.tables or self.later.get(name.lower()) == "table"

    def has_failed(self, name: str) -> bool:
        return name.lower() in self.failed

    def holder(self, name: str) -> str | None:
        """Return what kind of thing already has the name."""
        kinds: tuple[tuple[str, Mapping[str, object]], ...] = (
            ("stream", self.streams),
            ("table", self.tables),
            ("query", self.queries),
            ("model", self.models),
            ("model", self.moves),
            ("correlation", self.correlations),
            ("forecast", self.forecasts),
            ("store", self.stores),
            ("rule", self.rules),
            ("policy", self.policies),
        )
        return next((kind for kind, names in kinds if name.lower() in names), None)
