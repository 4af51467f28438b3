"""Whoever waits for kernels to be compiled is told; what takes a moment is not mentioned."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from augury.kernels import progress


class Terminal(io.StringIO):
    """A stream with people before it."""

    def isatty(self) -> bool:
        return True


def event_of(module: str) -> Any:
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


def said(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *seconds: float) -> str:
    """Return what is said on a stream after so many seconds of compiling."""
    monkeypatch.setattr(sys, "stderr", stream)
    told = progress.Progress()
    for each in seconds:
        told.tell(each)
    return stream.getvalue()


def test_a_terminal_sees_the_seconds_go_by_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    line = said(monkeypatch, Terminal(), 3.0, 4.0)
    assert "0 functions in 3 s" in line
    assert "0 functions in 4 s" in line
    assert "\n" not in line


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = said(monkeypatch, io.StringIO(), 3.0, 4.0, 14.0).splitlines()
    assert [line.split(" in ")[-1].split(",")[0] for line in lines] == ["3 s", "14 s"]


def test_a_moment_is_not_mentioned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, Terminal(), 1.0) == ""


def test_what_others_compile_is_not_counted() -> None:
    told = progress.Progress()
    for module in ("augury.kernels.search.search", "somebody.else"):
        told.on_start(event_of(module))
        told.on_end(event_of(module))
    assert (told.depth, told.done) == (0, 1)
    assert told.idle.is_set()
