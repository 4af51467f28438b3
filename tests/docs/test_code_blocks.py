"""Every code block of the documents does what it shows."""

from __future__ import annotations

import doctest
import json
import re
from importlib import resources
from pathlib import Path

import pytest

from augury import Session
from augury.cli.cases import failures, read_cases
from augury.errors import Source
from augury.language.parser import parse
from augury.language.printer import script_text
from docs.console import TUTORIAL, dialogue, printed_by
from docs.markdown import DOCUMENTS, ROOT, Block, blocks, name

WITH_SQL = [document for document in DOCUMENTS if blocks(document, "sql")]
PYTHON = [block for document in DOCUMENTS for block in blocks(document, "python")]
CONSOLE = [
    block for document in DOCUMENTS if document != TUTORIAL for block in blocks(document, "console")
]
JSON = [block for document in DOCUMENTS for block in blocks(document, "json")]
# How a script begins that does not stand beside those before it.
APART = "-- in a session of its own"
TOML = [block for document in DOCUMENTS for block in blocks(document, "toml")]
KNOWN = {"", "sql", "python", "console", "json", "toml"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_code_block_is_of_a_language_that_is_run(document: Path) -> None:
    languages = set(re.findall(r"^```(\w+)$", document.read_text(encoding="utf-8"), re.MULTILINE))
    assert languages <= KNOWN


@pytest.mark.parametrize("document", WITH_SQL, ids=name)
def test_the_scripts_of_a_document_are_right_one_after_the_other(document: Path) -> None:
    ag = Session(engine="local")
    apart = list[Session]()
    for block in blocks(document, "sql"):
        if block.code.startswith(APART):
            apart.append(Session(engine="local"))
        (apart[-1] if block.code.startswith(APART) else ag).sql(block.code, name=str(block))
    for each in (ag, *apart):
        assert each.warnings == ()
        assert all(each.explain(query) for query in each.queries)


@pytest.mark.parametrize("document", WITH_SQL, ids=name)
def test_the_scripts_of_a_document_print_back_to_equal_trees(document: Path) -> None:
    for block in blocks(document, "sql"):
        first = parse(Source(str(block), block.code))
        again = parse(Source("printed", script_text(first.statements)))
        assert first.diagnostics == again.diagnostics == ()
        assert again.statements == first.statements


def is_about_spark(block: Block) -> bool:
    return "Session(spark)" in block.code


@pytest.mark.parametrize("block", [b for b in PYTHON if not is_about_spark(b)], ids=str)
def test_python_runs_as_shown(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    run_dialogue(block, {})


@pytest.mark.rotating(2)
@pytest.mark.spark
@pytest.mark.parametrize("block", [b for b in PYTHON if is_about_spark(b)], ids=str)
def test_python_runs_on_spark_as_shown(
    block: Block, monkeypatch: pytest.MonkeyPatch, spark: object
) -> None:
    monkeypatch.chdir(ROOT)
    run_dialogue(block, {"spark": spark})


def run_dialogue(block: Block, known: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, known, str(block), None, block.line)
    assert test.examples, "a Python block shows a dialogue with >>>"
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert report == []


@pytest.mark.parametrize("block", CONSOLE, ids=str)
def test_commands_print_what_is_shown(block: Block) -> None:
    spoken = dialogue(block.code)
    assert spoken, "a console block shows commands after $"
    for command, shown in spoken:
        assert shown == printed_by(command), "`make docs` writes outputs anew"


@pytest.mark.slow
@pytest.mark.rotating(2, 0)
def test_the_tutorial_shows_what_its_commands_print_one_after_the_other(tmp_path: Path) -> None:
    for block in blocks(TUTORIAL, "console"):
        for command, shown in dialogue(block.code):
            assert printed_by(command, tmp_path) == shown, "`make docs` writes outputs anew"


@pytest.mark.parametrize("block", JSON, ids=str)
def test_json_can_be_read(block: Block) -> None:
    assert json.loads(block.code)


@pytest.mark.parametrize("block", TOML, ids=str)
def test_cases_hold_for_the_script_that_augury_init_makes(block: Block, tmp_path: Path) -> None:
    starter = resources.files("augury.cli") / "starter"
    (tmp_path / "thefts.sql").write_text((starter / "thefts.sql").read_text("utf-8"))
    (tmp_path / "thefts.test.toml").write_text(block.code)
    found = read_cases(tmp_path / "thefts.test.toml")
    assert found
    assert [failures(case) for case in found] == [[]] * len(found)
