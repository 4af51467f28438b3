"""What the page tells about readers that miss reads: the question, the gain, the calibration."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from augury.report.charts.judgement import against_each_other, calibration
from augury.report.charts.script_text import marked
from augury.report.parts import Figure, Section, Story
from augury.report.scores import Band, Score
from augury.report.sections import percent

LOWEST = 0.1


@dataclass(frozen=True, slots=True)
class Content:
    """All that the page shows; `found` gives the score from a threshold on."""

    found: Callable[[float], Score]
    thresholds: tuple[float, ...]
    plain: Score
    as_precise: Score
    calibration: Sequence[Band]
    script: str
    automaton: str
    items: int
    unheard: int
    summary: str


def story(content: Content) -> Story:
    """Return the chapter of the readers."""
    sections = (_question(content), _gain(content), _trust(content), _table(content))
    return Story(_head(content), sections, {})


def _head(content: Content) -> tuple[Figure, ...]:
    plain, own = content.plain, content.as_precise
    return (
        Figure("really stolen", f"{plain.relevant:,}", f"of {content.items:,} items"),
        Figure("reads missed", f"{content.unheard:,}", "nobody knows which"),
        Figure("plain matching finds", f"{plain.right:,}", f"{percent(plain.precision)} is right"),
        Figure("augury finds", f"{own.right:,}", f"{percent(own.precision)} is right"),
    )


def _question(content: Content) -> Section:
    picture = b64encode(content.automaton.encode()).decode()
    asked = content.script.split("-- The same question")[0].strip()
    return Section(
        "The question, with missed reads",
        "Dashed edges do without a read; each is weighed by how probable it is that the read was "
        "missed, given all that was heard and all that was not.",
        f'<div class="pair question"><pre>{marked(asked)}</pre>'
        f'<div class="picture"><img alt="the automaton with missed reads" '
        f'src="data:image/svg+xml;base64,{picture}"></div></div>',
    )


def _gain(content: Content) -> Section:
    others = {"plain matching": content.plain}
    drawn = against_each_other(
        content.found, LOWEST, content.as_precise.threshold, others, is_moved=False
    )
    return Section(
        "What comes back",
        f"{escape(content.summary)}. The large dot is that threshold.",
        drawn,
        wide=False,
    )


def _trust(content: Content) -> Section:
    return Section(
        "Are the confidences true?",
        "Items by their most confident match: the share that was really stolen, with 95 % "
        "intervals. On the diagonal, augury says what is so.",
        calibration(content.calibration),
        wide=False,
    )


def _table(content: Content) -> Section:
    rows = [_row("plain matching", content.plain, ' class="other"')]
    rows += [
        _row(f"confidence \N{GREATER-THAN OR EQUAL TO} {t}", content.found(t))
        for t in content.thresholds
    ]
    return Section(
        "In numbers, with missed reads",
        "Items accused, by the most confident match of each, against what really happened.",
        '<div class="scroll"><table><thead><tr><th>accused when</th><th>items</th><th>right</th>'
        "<th>wrong</th><th>precision</th><th>recall</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>",
    )


def _row(name: str, found: Score, kind: str = "") -> str:
    numbers = (found.accused, found.right, found.accused - found.right)
    cells = "".join(f"<td>{number:,}</td>" for number in numbers)
    shares = "".join(
        f'<td class="share {what}"><i style="width:{100 * (share or 0):.1f}%"></i>'
        f"<span>{percent(share)}</span></td>"
        for what, share in (("precision", found.precision), ("recall", found.recall))
    )
    return f"<tr{kind}><th>{escape(name)}</th>{cells}{shares}</tr>"
