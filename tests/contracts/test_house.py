"""Habits of the source that no linter knows."""

from __future__ import annotations

import ast
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
    """How a query is executed is decided by its plan: by the stages of its graph.

    Elsewhere `returns` may be written, but not read, and nobody asks planning what it says.
    """
    planning = {"language", "analysis", "planning"}
    reading = [
        f"{module.relative_to(SOURCE)}:{node.lineno}"
        for module in MODULES
        if module.relative_to(SOURCE).parts[0] not in planning
        for node in ast.walk(tree_of(module))
        if _reads_returns(node)
    ]
    assert reading == []


def _reads_returns(node: ast.AST) -> bool:
    """Whether a node reads what a query returns, or takes in what does that for a query."""
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return bool({name.name for name in node.names} & _telling(node.module))
    if isinstance(node, ast.Constant):
        return node.value == "returns"
    return isinstance(node, ast.Attribute) and node.attr == "returns"


@cache
def _telling(module: str) -> frozenset[str]:
    """Return the functions of a module of planning that say nothing but what a query returns."""
    path = (SOURCE.parent / module.replace(".", "/")).with_suffix(".py")
    if not module.startswith("augury.planning") or not path.exists():
        return frozenset()
    functions = (node for node in tree_of(path).body if isinstance(node, ast.FunctionDef))
    return frozenset(each.name for each in functions if _only_returns(each))


def _only_returns(function: ast.FunctionDef) -> bool:
    """Whether a function of one query says yes or no, or which, by what the query returns."""
    of_query = [each.arg for each in function.args.args] == ["query"]
    says = isinstance(function.returns, ast.Name) and function.returns.id in ("bool", "Tells")
    nodes = list(ast.walk(function))
    return (
        of_query and says and any(isinstance(n, ast.Attribute) and _reads_returns(n) for n in nodes)
    )


def test_no_folder_has_more_modules_than_a_newcomer_can_read() -> None:
    folders = [folder for folder in (SOURCE, *SOURCE.rglob("*")) if folder.is_dir()]
    sizes = {
        str(folder.relative_to(SOURCE)): len(list(folder.glob("*.py")))
        for folder in folders
        if folder.name != "__pycache__"
    }
    assert {name: size for name, size in sizes.items() if size > 25} == {}
