"""What a scene is: a world with known truth, queries over it, a judgement, and parts of a report.

A scene is one module (or one folder) and one line in `SCENES`. Its own types travel from step to
step: the world that it simulates, the answer that a session gave, the verdict on that answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar

from augury.session import Session

World = TypeVar("World")
Answer = TypeVar("Answer")
Verdict = TypeVar("Verdict")


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
    `wanted`, and the head has figures with the ids accused, precision and recall.
    """

    head: tuple[Figure, ...]
    sections: tuple[Section, ...]
    data: dict[str, Any]
    cut: Cut | None = None


class Scene(Protocol[World, Answer, Verdict]):
    """A world whose truth is known, and what augury makes of it."""

    name: str
    title: str
    lead: str

    def simulate(self, seed: int) -> World:
        """Return the world of a seed: always the same one."""

    def run(self, world: World, session: Session) -> Answer:
        """Declare, bind and query; the session is new."""

    def judge(self, world: World, answer: Answer) -> Verdict:
        """Hold the answer against the truth."""

    def lines(self, world: World, verdict: Verdict) -> list[str]:
        """Return what the terminal shows."""

    def figures(self, world: World, verdict: Verdict) -> dict[str, Any]:
        """Return the same for programs."""

    def story(self, world: World, answer: Answer, verdict: Verdict) -> Story:
        """Return what the page shows."""


SCENES = {"store": "augury.demo.store.play", "building": "augury.demo.building.play"}


def scene_named(name: str) -> Scene[Any, Any, Any]:
    """Return a scene of `SCENES`; its module is loaded only now."""
    scene: Scene[Any, Any, Any] = import_module(SCENES[name]).scene()
    return scene
