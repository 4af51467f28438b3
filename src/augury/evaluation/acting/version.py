"""What tells the version of a script: a hash of all that finds matches and acts on them."""

from __future__ import annotations

from augury.analysis.declarations.catalog import Catalog
from augury.evaluation.codec import fingerprint
from augury.language.printer import to_text


def script_texts(catalog: Catalog) -> list[str]:
    """Return the queries, forecasts and rules, as they are printed."""
    declared = (catalog.queries, catalog.forecasts, catalog.rules)
    return [to_text(each) for known in declared for each in known.values()]


def script_hash(catalog: Catalog) -> str:
    """Return the hash that stands with every firing, and in `augury_runs`."""
    return fingerprint(script_texts(catalog)).hex()[:16]
