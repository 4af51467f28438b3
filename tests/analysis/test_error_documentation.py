"""docs/errors.md explains every code of the language and the analysis; its examples are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from augury.analysis.codes import CODES
from augury.analysis.script import check_text
from augury.language.codes import TITLES

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
PRELUDE = re.findall(r"^```sql\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)[0]
SECTIONS = dict(
    re.findall(r"^### ([AW]\d{3}): (.*?)(?=^##|\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
)
EXAMPLES = {
    code: found.group(1)
    for code, text in SECTIONS.items()
    if (found := re.search(r"```\n(.*?)```", text, re.DOTALL))
}
# Nesting beyond measure would fill a page.
WITHOUT_EXAMPLE = {"A007"}
SHOWN_BY_EXPLAIN_ONLY = {"W003", "W004", "W011"}


def test_the_declarations_before_the_examples_are_clean() -> None:
    assert check_text(PRELUDE).diagnostics == ()


def test_every_code_has_a_section_with_its_title() -> None:
    titles = {code: text.splitlines()[0] for code, text in SECTIONS.items()}
    assert titles == {**TITLES, **CODES}


def test_every_section_has_an_example_and_says_what_to_do() -> None:
    assert set(SECTIONS) - set(EXAMPLES) == WITHOUT_EXAMPLE
    assert [c for c, text in SECTIONS.items() if "What to do: " not in text] == []


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_an_example_produces_its_code_and_no_other_error(code: str) -> None:
    checked = check_text(PRELUDE + EXAMPLES[code])
    notes = (w for q in checked.queries for w in q.warnings)
    found = {d.code for d in (*checked.diagnostics, *notes)}
    assert code in found
    assert {c for c in found if c.startswith("A")} <= {code}


def test_every_code_that_the_analysis_uses_has_a_title() -> None:
    sources = (ROOT / "src" / "augury" / "analysis").glob("*.py")
    used = {c for s in sources for c in re.findall(r'"([AW]\d{3})"', s.read_text(encoding="utf-8"))}
    assert used == set(CODES)


def test_every_code_of_the_analysis_occurs_in_a_faulty_script() -> None:
    twins = (ROOT / "tests" / "queries" / "invalid").glob("*.txt")
    lines = (line for t in twins for line in t.read_text(encoding="utf-8").splitlines())
    shown = {found.group(1) for line in lines if (found := re.match(r"\w+\[(\w+)\]", line))}
    assert set(CODES) - shown == SHOWN_BY_EXPLAIN_ONLY
