"""What the page tells about discretion: the policy, the trade, and the acts that went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augury.demo.discretion.acts import ACTS
from augury.report.charts.plot import PERCENT_TICKS, Axis, Plot
from augury.report.charts.script_text import marked
from augury.report.parts import Figure, Section, Story

# So much of a half is drawn act by act.
MINUTES = 90


@dataclass(frozen=True, slots=True)
class Content:
    """All that the page shows: by half, shares of public worth kept and of private matches left."""

    script: str
    weights: Sequence[str]
    trade: Mapping[str, Sequence[tuple[float, float]]]
    acts: Mapping[str, Sequence[tuple[Mapping[str, Any], bool]]]
    private: Mapping[str, int]


def story(content: Content) -> Story:
    """Return the chapter."""
    parts = [_script(content), *(_trade(content, half) for half in content.trade)]
    return Story(_head(content), (*parts, *(_acts(content, half) for half in content.acts)), {})


def _head(content: Content) -> tuple[Figure, ...]:
    figures = [
        Figure(f"private matches by {half}", f"{count:,}", "that could be put together")
        for half, count in content.private.items()
    ]
    for half, trade in content.trade.items():
        kept, left = trade[-1]
        figures.append(Figure(f"kept by {half}", f"{kept:.0%}", f"and {left:.0%} of the private"))
    return tuple(figures)


def _script(content: Content) -> Section:
    return Section(
        "What is public, and what is private",
        "Each public match is worth its weight; a private one costs its own, or must never be.",
        f'<div class="question"><pre>{marked(content.script)}</pre></div>',
    )


def _trade(content: Content, half: str) -> Section:
    """Return what is kept and what is left as the private weight grows."""
    places = [(float(k), weight) for k, weight in enumerate(content.weights)]
    plot = Plot(
        Axis("what a private match costs", places, 0.0, float(len(places) - 1)),
        Axis("", PERCENT_TICKS),
    )
    kept = [(float(k), share) for k, (share, _) in enumerate(content.trade[half])]
    left = [(float(k), share) for k, (_, share) in enumerate(content.trade[half])]
    pieces = [plot.curve(kept, "precision"), plot.curve(left, "recall")]
    for (k, weight), (public, private) in zip(places, content.trade[half], strict=True):
        tip = (
            f"{weight}: {public:.0%} of the public worth is kept, {private:.0%} of the private left"
        )
        pieces.append(plot.dot((k, public), 4, "band", tip))
    pieces.append(plot.label(kept[1], "public worth kept", "name", (8, -8)))
    pieces.append(plot.label(left[1], "private matches left", "name", (8, -8)))
    name = f"public worth kept and private matches left by {half}"
    return Section(
        f"By {half}: what is kept, and what can be put together",
        "The more a private match costs, the less of them is left, and the less of the public.",
        plot.drawn(pieces, name),
        wide=False,
    )


def _acts(content: Content, half: str) -> Section:
    """Return the acts of the first while, those that are withheld in another colour."""
    begin = content.acts[half][0][0]["at"]
    minutes = [
        ((act["at"] - begin).total_seconds() / 60, act, gone) for act, gone in content.acts[half]
    ]
    rows = {act: float(len(ACTS) - k) for k, act in enumerate(ACTS)}
    plot = Plot(
        Axis("minutes", [(float(m), str(m)) for m in range(0, MINUTES + 1, 15)], 0.0, MINUTES),
        Axis("", [(at, act.lower()) for act, at in rows.items()], 0.5, len(ACTS) + 0.5),
        200,
    )
    pieces = [
        plot.dot(
            (at, rows[act["act"]]),
            5,
            "nothing" if gone else "theft",
            f"{act['act']} at {act['at']:%H:%M:%S}: {'withheld' if gone else 'published'}",
        )
        for at, act, gone in minutes
        if at <= MINUTES
    ]
    count = sum(gone for _, _, gone in minutes)
    return Section(
        f"By {half}: which acts are withheld",
        f"Under NEVER, {count:,} of {len(minutes):,}: circles are withheld, dots published. As "
        "secret as the raw acts.",
        plot.drawn(pieces, f"acts by {half}, published and withheld"),
    )
