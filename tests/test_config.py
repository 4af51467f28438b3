"""Settings: defaults, overrides from the environment, and values that make no sense."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from augury.config import SETTINGS, Setting, value_of
from augury.errors import AuguryError

SOURCE = Path(__file__).resolve().parents[1] / "src"


def test_a_setting_has_its_default_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AUGURY_MATCH_LIMIT", raising=False)
    assert value_of("match_limit") == 1_000_000
    monkeypatch.setenv("AUGURY_MATCH_LIMIT", "7")
    assert value_of("match_limit") == 7


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "1.5", "\N{SUPERSCRIPT TWO}"])
def test_a_value_that_makes_no_sense_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_MATCH_LIMIT", text)
    with pytest.raises(AuguryError, match="AUGURY_MATCH_LIMIT"):
        value_of("match_limit")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_used(setting: Setting) -> None:
    used = [
        path
        for path in SOURCE.rglob("*.py")
        if path.name != "config.py"
        and re.search(rf'value_of\("{setting.name}"\)', path.read_text(encoding="utf-8"))
    ]
    assert used
