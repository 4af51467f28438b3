"""The scalar functions of the language: one table of names, parameters and results.

Parameters are kinds: `number`, `string`, `integer`, `any` (all `any` of one call must be
comparable). `repeats` lets the last parameter occur again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from augury.analysis.declarations.catalog import DataType

Kind = Literal["number", "string", "integer", "any"]
Result = Literal["same", "LONG", "DOUBLE", "STRING"]


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes and gives; `same` is the common type of what it takes."""

    parameters: tuple[Kind, ...]
    result: Result
    optional: int = 0
    repeats: bool = False

    def accepts_count(self, count: int) -> bool:
        least = len(self.parameters) - self.optional
        return count >= least and (self.repeats or count <= len(self.parameters))

    def kind_at(self, position: int) -> Kind:
        return self.parameters[min(position, len(self.parameters) - 1)]


FUNCTIONS: dict[str, Signature] = {
    "ABS": Signature(("number",), "same"),
    "ROUND": Signature(("number", "integer"), "same", optional=1),
    "FLOOR": Signature(("number",), "LONG"),
    "CEIL": Signature(("number",), "LONG"),
    "SQRT": Signature(("number",), "DOUBLE"),
    "LEAST": Signature(("any", "any"), "same", repeats=True),
    "GREATEST": Signature(("any", "any"), "same", repeats=True),
    "COALESCE": Signature(("any", "any"), "same", optional=1, repeats=True),
    "NULLIF": Signature(("any", "any"), "same"),
    "LOWER": Signature(("string",), "STRING"),
    "UPPER": Signature(("string",), "STRING"),
    "LENGTH": Signature(("string",), "LONG"),
}


def fits(kind: Kind, type_: DataType) -> bool:
    """Return whether a value of the type may stand for a parameter of the kind."""
    if type_ is DataType.NULL or kind == "any":
        return True
    if kind == "number":
        return type_.is_number
    return type_ is (DataType.STRING if kind == "string" else DataType.LONG)


def describe(name: str) -> str:
    """Return the call as the documentation writes it: `ROUND(number, integer)`."""
    signature = FUNCTIONS[name]
    parameters = list(signature.parameters)
    for i in range(len(parameters) - signature.optional, len(parameters)):
        parameters[i] = f"[{parameters[i]}]"  # type: ignore[call-overload]
    return f"{name}({', '.join(parameters)}{', ...' if signature.repeats else ''})"
