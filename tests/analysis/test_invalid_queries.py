"""Every script in tests/queries/invalid gives exactly the findings that its .txt twin holds.

After a deliberate change of messages, run the tests with AUGURY_UPDATE_FIXTURES=1, which writes the
twins anew, and read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from augury.analysis.script import check_text

INVALID = Path(__file__).parents[1] / "queries" / "invalid"
SCRIPTS = sorted(INVALID.glob("*.sql"))


def rendered(script: Path) -> str:
    checked = check_text(script.read_text(), script.name)
    return "".join(d.render() + "\n" for d in checked.diagnostics)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.stem)
def test_a_faulty_script_gives_exactly_the_expected_findings(script: Path) -> None:
    twin = script.with_suffix(".txt")
    found = rendered(script)
    if os.environ.get("AUGURY_UPDATE_FIXTURES"):
        twin.write_text(found)
    assert found == twin.read_text()
    assert found


def test_there_are_many_faulty_scripts() -> None:
    assert len(SCRIPTS) >= 70
