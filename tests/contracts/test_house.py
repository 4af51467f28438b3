"""Habits of the source that no linter knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "augury"
MODULES = sorted(SOURCE.rglob("*.py"))
BAGS = {"utils", "util", "helpers", "common", "misc", "base", "core", "manager", "handler"}


@cache
def tree_of(module: Path) -> ast.Module:
    """Return the syntax tree of a module, which several habits are looked for in."""
    return ast.parse(module.read_text(encoding="utf-8"))


def test_no_module_is_a_bag() -> None:
    names = {
        part for module in MODULES for part in module.relative_to(SOURCE).with_suffix("").parts
    }
    assert not names & BAGS


def test_every_module_opens_with_what_it_is() -> None:
    silent = [
        str(module.relative_to(SOURCE))
        for module in MODULES
        if not ast.get_docstring(tree_of(module))
    ]
    assert silent == []


def test_nine_functions_in_ten_have_at_most_35_lines() -> None:
    lengths = [
        node.end_lineno - node.lineno + 1
        for module in MODULES
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    assert sum(length <= 35 for length in lengths) >= 0.9 * len(lengths)


def test_what_a_query_returns_is_looked_at_where_it_is_planned() -> None:
    """How a query is executed is decided by its plan: by the stages of its graph."""
    planning = {"language", "analysis", "planning"}
    branching = [
        f"{module.relative_to(SOURCE)}:{node.lineno}"
        for module in MODULES
        if module.relative_to(SOURCE).parts[0] not in planning
        for test in _conditions(tree_of(module))
        for node in ast.walk(test)
        if isinstance(node, ast.Attribute) and node.attr == "returns"
    ]
    assert branching == []


def _conditions(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all that decides which way to go, or what to compare."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.Match):
            yield node.subject
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.Compare | ast.Subscript | ast.BoolOp):
            yield node


def test_no_folder_has_more_modules_than_a_newcomer_can_read() -> None:
    folders = [folder for folder in (SOURCE, *SOURCE.rglob("*")) if folder.is_dir()]
    sizes = {
        str(folder.relative_to(SOURCE)): len(list(folder.glob("*.py")))
        for folder in folders
        if folder.name != "__pycache__"
    }
    assert {name: size for name, size in sizes.items() if size > 25} == {}
