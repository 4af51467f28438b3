"""How types meet: the common type of operands, and the casts there are."""

from __future__ import annotations

from augury.analysis.declarations.catalog import DataType
from augury.errors import NOWHERE, Span
from augury.planning.expressions.typed import Apply, Constant, Typed
from augury.planning.refusal import CANNOT_COMPILE, PlanError

_WIDER = {
    frozenset({DataType.LONG, DataType.DOUBLE}): DataType.DOUBLE,
    frozenset({DataType.DATE, DataType.TIMESTAMP}): DataType.TIMESTAMP,
}

_B, _L, _D, _S = DataType.BOOLEAN, DataType.LONG, DataType.DOUBLE, DataType.STRING
# INTERVAL from DOUBLE arises from scaling an interval; people cannot write that cast.
CASTS = frozenset(
    {
        (_L, _D),
        (_D, _L),
        (_B, _L),
        (_B, _D),
        (_L, _B),
        (_D, _B),
        (_L, _S),
        (_B, _S),
        (_S, _L),
        (_S, _D),
        (_S, _B),
        (DataType.DATE, DataType.TIMESTAMP),
        (DataType.TIMESTAMP, DataType.DATE),
        (DataType.DATE, _S),
        (DataType.TIMESTAMP, _S),
        (_D, _S),
        (_S, DataType.DATE),
        (_S, DataType.TIMESTAMP),
        (DataType.INTERVAL, _D),
        (_D, DataType.INTERVAL),
    }
)


def refuse(message: str, span: Span = NOWHERE) -> PlanError:
    """Return the error for an expression that cannot be compiled."""
    return PlanError(CANNOT_COMPILE, message, "", span)


def common_type(values: tuple[Typed, ...]) -> DataType | None:
    """Return the type that all values can have; None where there is none."""
    found = DataType.NULL
    for value in values:
        if found is DataType.NULL or found is value.type:
            found = value.type
        elif value.type is not DataType.NULL:
            wider = _WIDER.get(frozenset({found, value.type}))
            if wider is None:
                return None
            found = wider
    return found


def to_common_type(values: tuple[Typed, ...], span: Span) -> tuple[Typed, ...]:
    """Return the values in their common type."""
    target = common_type(values)
    if target is None:
        kinds = " and ".join(dict.fromkeys(v.type.value for v in values))
        raise refuse(f"{kinds} cannot be compared", span)
    return tuple(cast(value, target, span) for value in values)


def cast(value: Typed, target: DataType, span: Span = NOWHERE) -> Typed:
    """Return the value in another type; constants are converted now."""
    if value.type is target:
        return value
    if value.type is DataType.NULL:
        return Constant(target, None)
    if (value.type, target) not in CASTS:
        raise refuse(f"{value.type.value} cannot become {target.value}", span)
    if isinstance(value, Constant) and isinstance(value.value, int) and target is DataType.DOUBLE:
        return Constant(target, float(value.value))
    return Apply(target, "cast", (value,))


def is_of(values: tuple[Typed, ...], *types: DataType) -> bool:
    """Return whether any value has one of the types."""
    return any(value.type in types for value in values)
