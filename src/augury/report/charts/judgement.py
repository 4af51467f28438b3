"""The three charts on how good answers are: by threshold, against each other, and calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from augury.report.charts.plot import PERCENT_TICKS, UNIT_TICKS, Axis, Plot, Point
from augury.report.scores import Band, Score

Scorer = Callable[[float], Score]


def _steps(low: float) -> list[float]:
    return [k / 100 for k in range(round(low * 100), 101)]


def by_threshold(at: Scorer, low: float, cut: float) -> str:
    """Return precision and recall over the threshold; `low` is the lowest that was asked for."""
    plot = Plot(Axis("accused from this confidence on", UNIT_TICKS), Axis("", PERCENT_TICKS))
    scores = [at(threshold) for threshold in _steps(low)]
    precision = [(s.threshold, s.precision) for s in scores if s.precision is not None]
    recall = [(s.threshold, s.recall) for s in scores if s.recall is not None]
    pieces = [
        plot.curve(precision, "precision"),
        plot.curve(recall, "recall"),
        plot.line((cut, 0), (cut, 1), "cut", ' data-cut="x"'),
    ]
    return plot.drawn(pieces, "precision and recall by threshold")


def against_each_other(
    at: Scorer, low: float, cut: float, others: dict[str, Score], *, is_moved: bool = True
) -> str:
    """Return precision over recall, with other ways to accuse as single points.

    `is_moved`: the page's slider moves the dot of the threshold.
    """
    plot = Plot(Axis("recall", PERCENT_TICKS), Axis("precision", PERCENT_TICKS))
    here = at(cut)
    pieces = [plot.curve([p for t in _steps(low) if (p := _point(at(t)))], "precision")]
    placed: list[Point] = []
    for name, found in others.items():
        if point := _point(found):
            pieces.append(_other(plot, name, point, _lower(point, placed)))
            placed.append(point)
    if point := _point(here):
        moved = ' data-cut="curve"' if is_moved else ""
        pieces.append(plot.dot(point, 6, "here", "this threshold", moved))
    return plot.drawn(pieces, "precision against recall")


def _point(found: Score) -> Point | None:
    if found.recall is None or found.precision is None:
        return None
    return found.recall, found.precision


def _lower(point: Point, placed: Sequence[Point]) -> float:
    """Return by how much a name goes down where others stand at its height."""
    return 16.0 * sum(abs(y - point[1]) < 0.06 and abs(x - point[0]) < 0.5 for x, y in placed)


def _other(plot: Plot, name: str, point: Point, lower: float) -> str:
    tip = f"{name}: precision {point[1]:.1%}, recall {point[0]:.1%}"
    return plot.dot(point, 5.5, "other", tip) + plot.label(
        point, name, "name end", (-10, 4 + lower)
    )


def calibration(bands: Sequence[Band]) -> str:
    """Return the share of true statements over the confidence, with 95 % intervals."""
    plot = Plot(Axis("confidence", UNIT_TICKS), Axis("really true", PERCENT_TICKS), 310)
    pieces = [plot.line((0, 0), (1, 1), "ideal")]
    for each in bands:
        low, high = each.interval
        tip = (
            f"{each.count} matches with confidence {each.low:.1f} to {each.high:.1f}, on average "
            f"{each.mean:.2f}: {each.right} are real, {each.share:.0%}"
        )
        pieces.append(plot.line((each.mean, low), (each.mean, high), "whisker"))
        pieces.append(plot.dot((each.mean, each.share), _radius(each.count), "band", tip))
    return plot.drawn(pieces, "calibration: share of real matches by confidence")


def _radius(count: int) -> float:
    return float(min(3.5 + 0.35 * count**0.5, 9.0))
