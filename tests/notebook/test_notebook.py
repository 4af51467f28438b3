"""Cells and answers in a notebook: tables with bars, pictures, and carets in mistakes."""

from __future__ import annotations

from typing import Any

import pytest

import augury
from augury.notebook import run_cell

STREAM = """CREATE STREAM s (id STRING, kind STRING, t LONG, p DOUBLE)
ID id TIME t TYPE kind PROBABILITY p;"""
QUERY = "CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WITHIN 10 RETURN a.id AS first;"
ROWS = [
    {"id": "<b>a1</b>", "kind": "A", "t": 1, "p": 0.5},
    {"id": "a2", "kind": "A", "t": 2, "p": 1.0},
    {"id": "b3", "kind": "B", "t": 3, "p": 0.5},
]


def test_an_answer_is_a_table_with_bars_its_surest_row_first() -> None:
    ag = augury.Session(engine="local")
    ag.sql(STREAM + QUERY)
    ag.bind("s", ROWS)
    shown = ag.display("ab")
    assert "ab: 2 rows" in shown.html
    assert shown.html.index("50.0%") < shown.html.index("25.0%")
    assert "&lt;b&gt;a1&lt;/b&gt;" in shown.html
    assert shown._repr_html_() == shown.html
    assert repr(shown).splitlines()[0] == "ab: 2 rows"


def test_cells_declare_explain_and_answer() -> None:
    namespace: dict[str, Any] = {}
    assert run_cell(namespace, "", STREAM).html == ""
    namespace["ag"].bind("s", ROWS)
    assert "ab: 2 rows" in run_cell(namespace, "", QUERY).html
    assert "<svg" in run_cell(namespace, "", "EXPLAIN ab;").html
    assert run_cell(namespace, "other", STREAM).html == ""
    assert sorted(namespace) == ["ag", "other"]


def test_a_cell_that_ends_with_a_private_query_shows_a_public_one() -> None:
    ag = augury.Session(engine="local")
    ag.sql("CREATE STREAM seen (id LONG, kind STRING, t LONG) ID id TIME t TYPE kind;")
    ag.bind("seen", [{"id": k, "kind": kind, "t": k} for k, kind in enumerate("ABC")])
    cell = """CREATE QUERY clean ON seen PATTERN SEQ(A a, B b) WITHIN 10;
    CREATE QUERY therapy ON seen PATTERN SEQ(A a, C c) WITHIN 10;
    CREATE POLICY discreet ON seen PUBLIC clean PRIVATE therapy USING GREEDY;"""
    assert repr(run_cell({"ag": ag}, "", cell)).startswith("clean: 1 row\n")


def test_a_mistake_shows_its_caret() -> None:
    shown = run_cell({}, "", "CREATE STREAM s (kind STRNG, t LONG) TIME t;")
    assert "^^^^^" in shown.html
    assert "A0" in shown.text


class Shell:
    """As much of IPython as the magic needs."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[str, Any] = {}

    def register_magic_function(self, function: Any, magic_kind: str) -> None:
        assert magic_kind == "cell"
        self.magics[function.__name__] = function


def test_the_extension_brings_the_magic() -> None:
    shell = Shell()
    augury.load_ipython_extension(shell)
    shell.magics["augury"]("", STREAM)
    assert shell.user_ns["ag"].streams == ("s",)


@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs_from_end_to_end() -> None:
    """In an environment with nbclient and ipykernel, which are not among the tools of all tests."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [
        "%load_ext augury",
        f"%%augury\n{STREAM}",
        f"ag.bind('s', {ROWS!r})",
        f"%%augury\n{QUERY}",
        "%%augury\nEXPLAIN ab;",
        "ag.display('ab')",
    ]
    code = [nbformat.v4.new_code_cell(cell) for cell in cells]
    book = nbformat.v4.new_notebook(cells=code)
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = [
        "".join(out.get("data", {}).get("text/html", "") for out in cell.outputs)
        for cell in book.cells
    ]
    assert "ab: 2 rows" in shown[3]
    assert "<svg" in shown[4]
    assert "50.0%" in shown[5]
