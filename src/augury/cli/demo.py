"""`augury demo`: a simulated world with known truth, a query over it, and a report to look at."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from augury.cli.doctor import installed, java_version
from augury.errors import AuguryError

if TYPE_CHECKING:
    from augury.demo.engine import Engine
    from augury.demo.scene import Scene

SCENE_NAMES = ("store", "building")
ENGINES: tuple[Engine, ...] = ("spark", "local")
ENGINE_NAMES = {"spark": "local Spark", "local": "the local engine"}


@click.command()
@click.option(
    "--scene",
    "scene_name",
    type=click.Choice(SCENE_NAMES),
    default="store",
    show_default=True,
    help="What is simulated.",
)
@click.option("--out", default="out/demo.html", show_default=True, help="Where the report goes.")
@click.option("--engine", type=click.Choice(ENGINES), help="Spark where there is Java, else local.")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, another world.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def demo(scene_name: str, out: str, engine: Engine | None, seed: int, as_json: bool) -> None:
    """Simulate a world with known truth, query it, and write a report.

    The store: RFID readers that are never quite sure, shoppers, and some who do not pay. The
    building: people with tags, antennas in the corridor, and who went for coffee. Prints what was
    found, and precision and recall against what really happened; writes one HTML page.

    \b
    augury demo
    augury demo --engine local --seed 7 --out day7.html
    """
    from augury.demo.scene import scene_named

    chosen = choose_engine(engine)
    played = play(scene_named(scene_name), chosen, seed)
    report = _write(Path(out), played.page(seed))
    if as_json:
        about = {"scene": scene_name, "seed": seed, "engine": chosen.name, "report": str(report)}
        click.echo(json.dumps(about | played.figures, indent=2))
    else:
        click.echo("\n".join([*played.opening, *played.lines, "", f"wrote {report}"]))


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that will be used, and why, where it is not the one to be expected."""

    name: Engine
    reason: str = ""


def choose_engine(wanted: Engine | None) -> Choice:
    """Return the engine: the one that is wanted, else Spark where it can be started."""
    missing = _missing_for_spark()
    if wanted == "spark" and missing:
        raise AuguryError(f"{missing}; use --engine local, or see: augury doctor")
    if wanted is not None:
        return Choice(wanted)
    if missing:
        return Choice("local", f"{missing}, so Spark was not used")
    return Choice("spark")


def _missing_for_spark() -> str:
    if installed("pyspark") is None:
        return "pyspark is not installed"
    if java_version() is None:
        return "no Java was found"
    return ""


@dataclass(frozen=True, slots=True)
class Played:
    """A scene that was played: what is told, and the page."""

    scene: Scene[Any, Any, Any]
    opening: list[str]
    lines: list[str]
    figures: dict[str, Any]
    story: Any
    made: str

    def page(self, seed: int) -> str:
        """Return the report."""
        from augury.demo.report import Frame, page

        command = f"augury demo --scene {self.scene.name} --seed {seed}"
        frame = Frame(self.scene.title, self.scene.lead, self.made, command)
        return page(frame, self.story)


def play(scene: Scene[Any, Any, Any], engine: Choice, seed: int) -> Played:
    """Simulate, run and judge a scene, with progress on a terminal."""
    from augury.demo.engine import opened

    with _progress() as say:
        say("simulating")
        world = scene.simulate(seed)
        say(f"starting {ENGINE_NAMES[engine.name]}")
        with opened(engine.name) as session:
            say("answering the queries; the first time, kernels are compiled for a minute")
            before = perf_counter()
            answer = scene.run(world, session)
            seconds = perf_counter() - before
        say("holding the answers against the truth")
        verdict = scene.judge(world, answer)
        story = scene.story(world, answer, verdict)
    made = f"Seed {seed}; answered by {ENGINE_NAMES[engine.name]} in {seconds:.1f} s"
    made += f" ({engine.reason})." if engine.reason else "."
    figures = scene.figures(world, verdict) | {"seconds": round(seconds, 3)}
    lines = scene.lines(world, verdict)
    return Played(scene, [scene.title, made], lines, figures, story, made)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show what is going on, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    # A stream of its own: standard error itself is led elsewhere while Spark starts.
    with (
        os.fdopen(os.dup(2), "w", encoding="utf-8") as terminal,
        Console(file=terminal).status("") as status,
    ):
        yield lambda text: status.update(f"{text} ...")


def _write(path: Path, page: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise AuguryError(f"{path} cannot be written: {error.strerror}") from error
    return path
