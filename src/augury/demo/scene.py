"""What a scene is: a world with known truth, queries over it, a judgement, and parts of a report.

A scene is one module (or one folder) and one line in `SCENES`. Its own types travel from step to
step: the world that it simulates, the answer that a session gave, the verdict on that answer.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, TypeVar

from augury.demo import SCENES
from augury.report.parts import Story
from augury.session import Session

World = TypeVar("World")
Answer = TypeVar("Answer")
Verdict = TypeVar("Verdict")


class Scene(Protocol[World, Answer, Verdict]):
    """A world whose truth is known, and what augury makes of it."""

    name: str
    # Whether it is answered in this process, whatever the engine; the page says by which it was.
    only_local: bool
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
        """Return what `--json` shows."""

    def story(self, world: World, answer: Answer, verdict: Verdict) -> Story:
        """Return what the page shows."""


def scene_named(name: str) -> Scene[Any, Any, Any]:
    """Return a scene of `SCENES`; its module is loaded only now."""
    scene: Scene[Any, Any, Any] = import_module(SCENES[name]).scene()
    return scene
