"""What a page is made of: figures, sections, and a threshold that its reader may move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the report's head; `id` lets the page's script change it."""

    label: str
    value: str
    note: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report; `lead` and `body` are HTML, the title is text."""

    title: str
    lead: str
    body: str
    wide: bool = True


@dataclass(frozen=True, slots=True)
class Cut:
    """A threshold that the page lets its reader move, from `lowest` on; `says` stands before it."""

    says: str
    at: float
    lowest: float


@dataclass(frozen=True, slots=True)
class Story:
    """All that a page shows of a scene; `data` is for the page's script.

    With a cut, the data has `items` (pairs of a confidence and 1 or 0 for right or not) and
    `relevant`, and the head has figures with the ids accused, precision and recall.
    """

    head: tuple[Figure, ...]
    sections: tuple[Section, ...]
    data: dict[str, Any]
    cut: Cut | None = None
