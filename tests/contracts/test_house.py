"""Habits of the source that no linter knows."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "augury"
MODULES = sorted(SOURCE.rglob("*.py"))
BAGS = {"utils", "util", "helpers", "common", "misc", "base", "core", "manager", "handler"}


def test_no_module_is_a_bag() -> None:
    names = {
        part for module in MODULES for part in module.relative_to(SOURCE).with_suffix("").parts
    }
    assert not names & BAGS


def test_every_module_opens_with_what_it_is() -> None:
    silent = [
        str(module.relative_to(SOURCE))
        for module in MODULES
        if not ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_nine_functions_in_ten_have_at_most_35_lines() -> None:
    lengths = [
        node.end_lineno - node.lineno + 1
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    assert sum(length <= 35 for length in lengths) >= 0.9 * len(lengths)
