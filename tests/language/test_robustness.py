"""No text, however broken, gives anything but diagnostics."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.language.codes import TITLES
from augury.language.printer import script_text
from language.mutation import VALID, excerpt, mutate
from language.reading import read

SCRIPTS = [path.read_text(encoding="utf-8") for path in VALID]
EXAMPLES = int(os.environ.get("AUGURY_FUZZ_EXAMPLES", "300"))


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**64 - 1))
def test_damaged_scripts_give_diagnostics_and_nothing_else(seed: int) -> None:
    rng = Random(seed)
    text = mutate(excerpt(rng.choice(SCRIPTS), rng), rng)
    parsed = read(text)
    for diagnostic in parsed.diagnostics:
        assert diagnostic.code in TITLES
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        assert diagnostic.render()


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**64 - 1))
def test_what_could_be_read_of_a_damaged_script_prints_back(seed: int) -> None:
    rng = Random(seed)
    parsed = read(mutate(excerpt(rng.choice(SCRIPTS), rng), rng))
    if not parsed.diagnostics:
        assert read(script_text(parsed.statements)).statements == parsed.statements


@given(st.text(max_size=200))
def test_any_text_at_all_is_read_or_refused(text: str) -> None:
    parsed = read(text)
    assert all(diagnostic.render() for diagnostic in parsed.diagnostics)


@pytest.mark.parametrize(
    "where",
    [
        "(" * 5000 + "a.x" + ")" * 5000 + " = 1",
        "a.x" + " + 1" * 5000 + " = 1",
        "NOT " * 5000 + "a.x",
        "- " * 5000 + "a.x = 1",
        "a.x" + "[a.x" * 3000 + "]" * 3000 + " = 1",
        "CASE WHEN a.x THEN " * 2000 + "1" + " END" * 2000 + " = 1",
        "ABS(" * 3000 + "a.x" + ")" * 3000 + " = 1",
    ],
    ids=["parentheses", "sum", "not", "minus", "default", "case", "call"],
)
def test_deep_nesting_is_never_a_crash(where: str) -> None:
    parsed = read(f"PATTERN SEQ(A a, B b) WHERE {where}")
    assert {diagnostic.code for diagnostic in parsed.diagnostics} <= {"A007"}


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN " + "SEQ(" * 101 + "A" + ")" * 101,
        "PATTERN " + "!" * 101 + "A",
        "PATTERN SEQ(A a, B b) WHERE a.x" + " + 1" * 101 + " = 1",
        "PATTERN SEQ(A a, B b) WHERE " + "NOT " * 101 + "a.x",
    ],
    ids=["group", "negation", "sum", "not"],
)
def test_a_hundred_levels_are_the_most(text: str) -> None:
    parsed = read(text)
    assert [diagnostic.code for diagnostic in parsed.diagnostics] == ["A007"]
    assert parsed.statements == ()


def test_long_chains_of_and_are_flat_and_not_deep() -> None:
    chain = " AND ".join(f"a.x + {number} > 0" for number in range(2000))
    parsed = read(f"PATTERN SEQ(A a, B b) WHERE {chain}")
    assert parsed.diagnostics == ()
    assert len(parsed.statements[0].where.operands) == 2000
