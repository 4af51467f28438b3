"""Every script of tests/queries/valid passes its checks and can be explained in every format."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from augury.analysis.script import check_text
from augury.session import Session
from language.mutation import PARSES, VALID


def session_of(script: Path) -> Session:
    session = Session(engine="local")
    session.sql(script.read_text(encoding="utf-8"), name=script.name)
    return session


@pytest.mark.parametrize("script", VALID, ids=lambda script: script.stem)
def test_a_valid_script_has_no_errors(script: Path) -> None:
    found = check_text(script.read_text(encoding="utf-8"), script.name).diagnostics
    assert [d.render() for d in found if d.severity == "error"] == []


@pytest.mark.parametrize("script", VALID, ids=lambda script: script.stem)
def test_every_query_of_a_valid_script_is_explained(script: Path) -> None:
    session = session_of(script)
    for name in session.queries:
        assert session.explain(name).startswith(f"{name}: ")
        assert json.loads(session.explain(name, "json"))["query"] == name
        assert session.explain(name, "mermaid")
        ElementTree.fromstring(session.explain(name, "svg"))


def test_most_valid_scripts_hold_queries() -> None:
    assert [s.stem for s in VALID if not session_of(s).queries] == ["streams"]


@pytest.mark.parametrize("script", PARSES, ids=lambda script: script.stem)
def test_a_script_that_only_parses_is_refused_by_the_analysis(script: Path) -> None:
    assert check_text(script.read_text(encoding="utf-8"), script.name).has_errors
