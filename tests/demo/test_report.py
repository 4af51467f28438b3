"""The report is one page that needs nothing else, and shows what was found."""

from __future__ import annotations

import re
from base64 import b64decode
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from augury.demo.store.cases import KINDS, choose, sum_of
from augury.demo.store.play import Store
from augury.report.page import Frame, page
from augury.report.parts import Section, Story
from demo.conftest import Played

VOID = {"meta", "img", "input", "line", "circle", "rect", "path"}


@pytest.fixture(scope="module")
def report(played: Played) -> str:
    story = Store().story(*played)
    frame = Frame("A <store>", "lead", "made", "augury demo")
    return page(frame, story)


def test_the_report_reaches_for_nothing_outside_itself(report: str) -> None:
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', report)
    inside = report + "".join(b64decode(each).decode() for each in pictures)
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", inside))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    sources = re.findall(r"(?:src|href|srcset|action)=\"([^\"]*)\"", report)
    assert sources
    assert all(source.startswith("data:") for source in sources)
    assert not re.search(r"@import|<link|url\(", report)


def test_every_element_is_closed(report: str) -> None:
    opened: list[str] = []

    class Nesting(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in VOID:
                opened.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            assert tag in VOID

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Nesting().feed(report)
    assert opened == []


def test_the_picture_of_the_automaton_can_be_read(report: str) -> None:
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', report)
    assert ElementTree.fromstring(b64decode(picture)).tag.endswith("svg")


def test_a_story_without_a_threshold_has_no_slider() -> None:
    plain = page(Frame("t", "l", "m", "c"), Story((), (Section("s", "", "<p>b</p>"),), {}))
    assert 'type="range"' not in plain
    assert "<h2>s</h2><p>b</p>" in plain


def test_data_cannot_end_the_script() -> None:
    plain = page(Frame("t", "l", "m", "c"), Story((), (), {"note": "</script><b>"}))
    assert plain.count("</script>") == 2


def test_every_match_is_on_the_day_chart(report: str, played: Played) -> None:
    shown = re.findall(r'data-c="([\d.]+)"', report)
    assert shown == [f"{match.confidence:.4f}" for match in played[1].matches]


def test_texts_are_escaped(report: str) -> None:
    assert "A &lt;store&gt;" in report
    assert "A <store>" not in report


def test_the_numbers_of_the_head_are_those_of_the_judgement(report: str, played: Played) -> None:
    verdict = played[2]
    here = verdict.at(0.8)
    assert here.precision is not None
    assert here.recall is not None
    for name, value in (
        ("accused", f"{here.accused:,}"),
        ("precision", f"{100 * here.precision:.1f} %"),
        ("recall", f"{100 * here.recall:.1f} %"),
    ):
        found = re.search(rf'id="figure-{name}"><span>[^<]*</span><b>([^<]*)</b>', report)
        assert found
        assert found.group(1) == value


def test_each_kind_of_case_is_shown_with_its_truth(report: str, played: Played) -> None:
    day, _, verdict = played
    cases = choose(verdict)
    assert {case.kind for case in cases} == set(KINDS)
    assert all(case.stolen == (case.tag in day.stolen) for case in cases)
    assert all(f"<h3>{case.tag}</h3>" in report for case in cases)


def test_the_product_that_a_case_shows_gives_its_confidence(played: Played) -> None:
    for case in choose(played[2]):
        if case.match is not None:
            factors = sum_of(played[2], case.match).split(" \N{MULTIPLICATION SIGN} ")
            product = 1.0
            for factor in factors:
                number = float(factor.strip("()").removeprefix("1 \N{MINUS SIGN} "))
                product *= 1 - number if factor.startswith("(") else number
            assert product == pytest.approx(case.match.confidence, abs=1e-9)
