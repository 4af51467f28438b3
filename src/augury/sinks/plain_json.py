"""Values as JSON, also those that JSON has no number for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def as_json(value: Any) -> str:
    """Return a value as JSON; what JSON has no number for is text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(finite(value), ensure_ascii=False)


def finite(value: Any) -> Any:
    """Return a value whose numbers JSON has."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return value
