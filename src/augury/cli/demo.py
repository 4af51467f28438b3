"""`augury demo`: a simulated world with known truth, a query over it, and a report to look at."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from augury.cli.doctor import installed, java_version
from augury.cli.report import write
from augury.demo import SCENES
from augury.errors import AuguryError

if TYPE_CHECKING:
    from augury.demo.engine import Engine
    from augury.demo.scene import Scene
    from augury.session import Session

ENGINES: tuple[Engine, ...] = ("spark", "local")
ENGINE_NAMES = {"spark": "local Spark", "local": "the local engine"}


@click.command(short_help="Simulated worlds, queried, and a report to look at.")
@click.option(
    "--scene",
    "scene_names",
    type=click.Choice(tuple(SCENES)),
    multiple=True,
    help="What is simulated; may be given several times. Unless it is, all scenes are played.",
)
@click.option("--out", default="out/demo.html", show_default=True, help="Where the report goes.")
@click.option("--engine", type=click.Choice(ENGINES), help="Spark where there is Java, else local.")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, another world.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def demo(
    scene_names: tuple[str, ...], out: str, engine: Engine | None, seed: int, as_json: bool
) -> None:
    """Simulate worlds with known truth, query them, and write a report.

    The store: RFID readers that are never quite sure, shoppers, and some who do not pay; and the
    same with readers that miss reads. The building: people with tags, antennas in the corridor,
    and who went for coffee. The hospital: a ward where some badges are not
    read, and the whole chain, from owners to alarms. Discretion: what a policy keeps of what
    the ward publishes, and what it withholds. The logins: an alarm before somebody breaks in.
    Prints what was found, and precision and recall against what really happened; writes one
    HTML page.

    \b
    augury demo
    augury demo --scene store --engine local --seed 7 --out day7.html
    """
    from augury.demo.scene import scene_named

    chosen, names = choose_engine(engine), scene_names or tuple(SCENES)
    played = play([scene_named(name) for name in dict.fromkeys(names)], chosen, seed)
    report = write(Path(out), _page(played, seed))
    if as_json:
        about = {"seed": seed, "engine": chosen.name, "report": str(report)}
        figures = {each.scene.name: each.figures for each in played}
        click.echo(json.dumps(about | figures, indent=2))
    else:
        lines = [line for each in played for line in (*each.opening, *each.lines, "")]
        click.echo("\n".join([*lines, f"wrote {report}"]))


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that will be used, and why, where it is not the one to be expected."""

    name: Engine
    reason: str = ""


def choose_engine(requested: Engine | None) -> Choice:
    """Return the engine: the one that is wanted, else Spark where it can be started."""
    missing = _missing_for_spark()
    if requested == "spark" and missing:
        raise AuguryError(f"{missing}; use --engine local, or see: augury doctor")
    if requested is not None:
        return Choice(requested)
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


def _page(played: list[Played], seed: int) -> str:
    """Return the report on all scenes: the first one leads, the others are chapters."""
    from augury.report.page import Frame, page

    chosen = " ".join(f"--scene {each.scene.name}" for each in played)
    command = f"augury demo {chosen} --seed {seed}"
    first, *others = [
        (Frame(each.scene.title, each.scene.lead, each.made, command), each.story)
        for each in played
    ]
    return page(*first, others)


def play(scenes: Sequence[Scene[Any, Any, Any]], engine: Choice, seed: int) -> list[Played]:
    """Simulate, run and judge scenes, with progress on a terminal."""
    from augury.demo.engine import another, opened

    with _progress() as say:
        say(f"starting {ENGINE_NAMES[engine.name]}")
        with opened(engine.name) as session:
            return [_play(scene, another(session), engine, seed, say) for scene in scenes]


def _play(
    scene: Scene[Any, Any, Any],
    session: Session,
    engine: Choice,
    seed: int,
    say: Callable[[str], None],
) -> Played:
    say(f"{scene.name}: simulating")
    world = scene.simulate(seed)
    say(f"{scene.name}: answering the queries; the first time, kernels are compiled for a minute")
    before = perf_counter()
    answer = scene.run(world, session)
    seconds = perf_counter() - before
    verdict = scene.judge(world, answer)
    name: Engine = "local" if scene.only_local else engine.name
    made = f"Seed {seed}; answered by {ENGINE_NAMES[name]} in {seconds:.1f} s"
    made += f" ({engine.reason})." if engine.reason else "."
    return Played(
        scene,
        [scene.title, made],
        scene.lines(world, verdict),
        scene.figures(world, verdict) | {"seconds": round(seconds, 3)},
        scene.story(world, answer, verdict),
        made,
    )


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
