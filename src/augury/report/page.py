"""One page of HTML that needs nothing else: styles, script, data and pictures are inside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from augury.report.parts import Cut, Figure, Section, Story


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around a story: its title, its lead, how it was made and how to make it again."""

    title: str
    lead: str
    made: str
    command: str


def page(frame: Frame, story: Story, chapters: Sequence[tuple[Frame, Story]] = ()) -> str:
    """Return the page of a story, with further ones as chapters; only the first may have a cut."""
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(frame.title)} \N{MIDDLE DOT} augury</title>",
            f"<style>\n{_own('page.css')}</style>\n</head>\n<body>",
            _top(frame, story),
            "<main>",
            '<div class="parts">',
            *map(_section, story.sections),
            "</div>",
            *(_chapter(*chapter) for chapter in chapters),
            "</main>",
            f"<footer><p>{escape(frame.made)}</p><p>Made again by <code>{escape(frame.command)}"
            "</code></p></footer>",
            '<div id="tip" hidden></div>',
            f'<script type="application/json" id="data">{_safe(json.dumps(story.data))}</script>',
            f"<script>\n{_own('page.js')}</script>\n</body>\n</html>\n",
        )
    )


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _safe(text: str) -> str:
    # A closing tag inside the data would end the script.
    return text.replace("<", "\\u003c")


def _top(frame: Frame, story: Story) -> str:
    figures = "".join(map(_figure, story.head))
    return (
        '<header class="top"><div class="bar"><span class="brand">augury</span>'
        '<button id="theme" aria-label="light or dark">\N{FIRST QUARTER MOON SYMBOL}</button></div>'
        f'<h1>{escape(frame.title)}</h1><p class="lead">{escape(frame.lead)}</p>'
        f'<p class="made">{escape(frame.made)}</p>'
        f'<div class="figures">{figures}</div>{_cut(story.cut)}</header>'
    )


def _chapter(frame: Frame, story: Story) -> str:
    return "\n".join(
        (
            f'<div class="top chapter"><h1>{escape(frame.title)}</h1>'
            f'<p class="lead">{escape(frame.lead)}</p><p class="made">{escape(frame.made)}</p>'
            f'<div class="figures">{"".join(map(_figure, story.head))}</div></div>',
            '<div class="parts">',
            *map(_section, story.sections),
            "</div>",
        )
    )


def _cut(cut: Cut | None) -> str:
    if cut is None:
        return ""
    return (
        f'<label class="cut-bar"><span>{escape(cut.says)} '
        f'<output id="cut-value">{cut.at:.2f}</output></span>'
        f'<input id="cut" type="range" min="{cut.lowest}" max="0.99" step="0.01" '
        f'value="{cut.at}"></label>'
    )


def _figure(figure: Figure) -> str:
    mark = f' id="figure-{figure.id}"' if figure.id else ""
    return (
        f'<div class="figure{" live" if figure.id else ""}"{mark}><span>{escape(figure.label)}'
        f"</span><b>{escape(figure.value)}</b><small>{escape(figure.note)}</small></div>"
    )


def _section(section: Section) -> str:
    lead = f'<p class="lead">{section.lead}</p>' if section.lead else ""
    kind = "wide" if section.wide else "half"
    return f'<section class="{kind}"><h2>{escape(section.title)}</h2>{lead}{section.body}</section>'
