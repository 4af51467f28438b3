"""Nothing that users meet is undocumented: keywords, codes, settings, commands, options."""

from __future__ import annotations

import re

import click
import pytest

from augury.analysis import codes as analysis_codes
from augury.cli.main import cli
from augury.config import SETTINGS, Setting
from augury.language import codes as language_codes
from augury.language.keywords import AGGREGATES, EXPLAIN_FORMATS, GAP_FAMILIES, KEYWORDS
from augury.planning import refusal
from docs.markdown import read

LANGUAGE = read("docs/language.md")
ERRORS = read("docs/errors.md")
COMMAND_LINE = read("docs/command-line.md")


def code_in(text: str) -> str:
    """Return what stands in backquotes and code blocks."""
    fenced = re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)
    return " ".join(fenced + re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", text))


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_every_keyword_is_documented(word: str) -> None:
    assert re.search(rf"\b{word}\b", code_in(LANGUAGE))


@pytest.mark.parametrize("word", sorted({*AGGREGATES, *GAP_FAMILIES}))
def test_every_aggregate_and_gap_family_is_documented(word: str) -> None:
    assert re.search(rf"\b{word}\b", code_in(LANGUAGE))


@pytest.mark.parametrize("word", EXPLAIN_FORMATS)
def test_every_format_of_explain_is_documented(word: str) -> None:
    assert f"FORMAT {word.lower()}" in LANGUAGE


PLANNING_CODES = {
    value
    for value in vars(refusal).values()
    if isinstance(value, str) and re.fullmatch(r"P\d{3}", value)
}
CODES = sorted({*analysis_codes.CODES, *language_codes.TITLES, *PLANNING_CODES})


@pytest.mark.parametrize("code", CODES)
def test_every_error_code_is_documented(code: str) -> None:
    assert re.search(rf"\b{code}\b", ERRORS)


def test_no_code_is_used_by_two_phases() -> None:
    assert len(CODES) == (
        len(analysis_codes.CODES) + len(language_codes.TITLES) + len(PLANNING_CODES)
    )


def test_no_document_explains_a_code_that_does_not_exist() -> None:
    headings = re.findall(r"^#+ +`?([A-Z]\d{3})\b", ERRORS, re.MULTILINE)
    assert set(headings) <= set(CODES)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_documented(setting: Setting) -> None:
    cells = f"`{setting.name}`", f"`{setting.variable}`", str(setting.default), setting.meaning
    assert f"| {' | '.join(cells)} |" in read("docs/settings.md")


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_command_is_documented(command: str) -> None:
    assert f"## `augury {command}`" in COMMAND_LINE


OPTIONS = sorted(
    {
        (command.name or "", option.opts[-1])
        for command in cli.commands.values()
        for option in command.params
        if isinstance(option, click.Option)
    }
)


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_every_option_of_a_command_is_documented(command: str, option: str) -> None:
    section = COMMAND_LINE.split(f"## `augury {command}`")[1].split("\n## ")[0]
    assert f"`{option}" in section


def test_no_document_names_a_command_that_does_not_exist() -> None:
    named = set(re.findall(r"`augury ([a-z]+)", COMMAND_LINE + read("README.md")))
    assert named <= set(cli.commands)
