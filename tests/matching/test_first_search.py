"""Before the search is compiled, people at a terminal are told; nobody else is."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from augury.matching import first_search


class Terminal(io.StringIO):
    """A stream with people before it."""

    def isatty(self) -> bool:
        return True


def said(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, folder: Path | None, known: bool = False
) -> str:
    """Return what is said on a stream at the first search."""

    class Kernel:
        overloads = {"signature": 1} if known else {}
        stats = SimpleNamespace(cache_path=folder and str(folder))

        def __call__(self, *arguments: int) -> int:
            return sum(arguments)

    monkeypatch.setattr(first_search, "kernel", Kernel())
    monkeypatch.setattr(sys, "stderr", stream)
    assert first_search.search(1, 2) == 3
    return stream.getvalue()


def test_a_terminal_is_told_that_the_search_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert said(monkeypatch, Terminal(), tmp_path) == first_search.ONCE
    assert said(monkeypatch, Terminal(), None) == first_search.EACH_TIME


def test_nothing_is_said_where_the_search_is_compiled_already(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert said(monkeypatch, Terminal(), tmp_path, known=True) == ""
    (tmp_path / "search.search-249.py311.nbi").touch()
    assert said(monkeypatch, Terminal(), tmp_path) == ""


def test_a_stream_that_is_no_terminal_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert said(monkeypatch, io.StringIO(), tmp_path) == ""


def test_numba_keeps_the_search_under_the_name_that_is_looked_for() -> None:
    folder = first_search.kernel.stats.cache_path
    assert folder is None or Path(folder).name.startswith("kernels_")
    assert (first_search.kernel.__module__, first_search.kernel.__name__) == (
        "augury.kernels.search.search",
        "search",
    )
