"""Compiled kernels are found by what they depend on, and serve all that can run them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from augury.kernels import jit, kept
from augury.kernels.rows.sorting import is_sorted

NAME, NEEDED = kept.BASELINES["x86_64"]
FEATURES = ",".join(f"+{each}" for each in (*NEEDED, "avx512f"))


def codegen(processor: str, features: str) -> Any:
    return SimpleNamespace(magic_tuple=lambda: ("x86_64-linux", processor, features))


@pytest.fixture(autouse=True)
def x86(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kept.platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("AUGURY_KERNEL_CACHE", str(tmp_path))
    kept.fingerprint.cache_clear()


def names(processor: str, features: str) -> list[str]:
    return [folder.name for folder in kept._folders(codegen(processor, features))]


def test_a_processor_with_the_instructions_of_the_baseline_takes_what_was_shipped() -> None:
    shipped, *_ = kept._folders(codegen("some", FEATURES))
    assert shipped == kept.SHIPPED / kept.fingerprint() / NAME


def test_a_processor_without_them_takes_what_was_compiled_for_it() -> None:
    (own,) = names("old", "+sse3,-sse4.2")
    assert own.startswith("old-")
    assert names("old", "+sse3,-sse4.2") != names("old", "-sse3,-sse4.2")


def test_who_compiles_for_the_baseline_does_not_take_what_another_wheel_brought() -> None:
    assert names(NAME, "") == [NAME]


def test_another_source_has_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = kept.fingerprint()
    (tmp_path / "changed.py").write_text("one = 2")
    monkeypatch.setattr(kept, "SOURCES", tmp_path)
    kept.fingerprint.cache_clear()
    assert kept.fingerprint() != before


def test_what_was_compiled_once_is_not_compiled_again(tmp_path: Path) -> None:
    first, second = jit.kernel(is_sorted.py_func), jit.kernel(is_sorted.py_func)
    numbers = np.arange(3)
    assert first(numbers, numbers)
    assert len(list(tmp_path.rglob("*.nbc"))) == 1
    assert second(numbers, numbers)
    assert (sum(first.stats.cache_misses.values()), second.stats.cache_misses) == (1, {})


def test_arrays_that_may_not_be_written_need_no_code_of_their_own() -> None:
    kernel = jit.kernel(is_sorted.py_func)
    plain, constant = np.arange(3), np.arange(3)
    constant.flags.writeable = False
    assert kernel(plain, constant)
    assert kernel(constant, constant)
    assert not kernel(constant[::-1].copy(), plain)
    assert len(kernel.overloads) == 1


def test_where_nothing_can_be_written_kernels_work_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AUGURY_KERNEL_CACHE", str(tmp_path / "file"))
    assert jit.kernel(is_sorted.py_func)(np.arange(3), np.arange(3))
    assert "in each process" in kept.how_long()
