"""Compiled kernels in files: those that came with the package, and those compiled on this machine.

A folder is named by a hash of all that its code depends on: every kernel source, Numba's version,
Python's and the platform; in it is one folder for each kind of processor, and in that one file for
each kernel and signature. So processes that write at once write the same thing, each file in one
step, and no index has to be kept: Numba's own cache has one, and processes have crashed on it
(numba#4807, numba#10128).

A wheel brings kernels for a baseline (`BASELINES`), which every processor runs that has its
instructions. Where they do not fit, because Numba is another version, kernels are compiled for this
processor, once, and kept in `AUGURY_KERNEL_CACHE` (docs/settings.md).
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

SOURCES = Path(__file__).parent
SHIPPED = SOURCES / "compiled"
# What kernels are shipped for, by machine: a processor by LLVM's name, and what it has by LLVM's
# names, too. Nearly all of x86 since 2009 has these instructions; newer ones make no kernel faster.
_X86 = ("x86-64-v2", ("cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"))
_ARM = ("generic", ())
BASELINES = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}


class Kept(NullCache):
    """Finds and keeps the compiled code of one kernel; Numba asks it before and after compiling."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.source = function.__code__.co_filename
        self.name = f"{function.__module__}.{function.__qualname__}"

    @property
    def cache_path(self) -> str:
        return str(written())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None."""
        target_context.refresh()
        for folder in _folders(target_context.codegen()):
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                found = (folder / self._file(sig)).read_bytes()
                return CompileResult._rebuild(target_context, *pickle.loads(found))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code for a signature where that is possible."""
        # The annotation is the text of the source, with its path, for people who look at types.
        content = dumps(data._replace(type_annotation="")._reduce())
        with suppress(OSError):
            folder = written() / _own(data.codegen)
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / self._file(sig), content)

    def _file(self, sig: Any) -> str:
        digest = sha256(_content(self.source) + str(sig).encode()).hexdigest()[:16]
        return f"{self.name}-{digest}.nbc"


def written() -> Path:
    """Return the folder for kernels that are compiled on this machine."""
    root = os.environ.get("AUGURY_KERNEL_CACHE") or Path.home() / ".cache" / "augury"
    return Path(root) / fingerprint()


def how_long() -> str:
    """Say how long kernels that are compiled here will last."""
    folder = written()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if os.access(folder, os.W_OK):
        return "once on this machine"
    return f"in each process, because {folder} cannot be written (docs/settings.md)"


def baseline() -> str | None:
    """Return what kernels are shipped for on machines like this one; None where for nothing."""
    return BASELINES.get(platform.machine().lower(), (None, ()))[0]


@cache
def fingerprint() -> str:
    """Return the name of the folder of exactly these sources, this Numba, Python and platform."""
    about = (numba.__version__, sys.implementation.cache_tag, sys.platform, platform.machine())
    digest = sha256(" ".join(map(str, about)).encode())
    for source in sorted(SOURCES.rglob("*.py")):
        digest.update(source.read_bytes())
    return f"kernels-{digest.hexdigest()[:16]}"


def _folders(codegen: Any) -> list[Path]:
    """Return where code may be that this processor runs, the likeliest first."""
    own, has = _own(codegen), codegen.magic_tuple()[2].split(",")
    name, needs = BASELINES.get(platform.machine().lower(), (own, ()))
    fits = name != own and all(f"+{each}" in has for each in needs)
    shipped = [SHIPPED / fingerprint() / name, written() / name] if fits else []
    return [*shipped, written() / own]


def _own(codegen: Any) -> str:
    """Return a name for the processor that Numba compiles for here."""
    _, processor, features = codegen.magic_tuple()
    return f"{processor}-{sha256(features.encode()).hexdigest()[:8]}" if features else processor


@cache
def _content(source: str) -> bytes:
    return Path(source).read_bytes()


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step."""
    beside = path.with_name(f"{path.name}.{uuid4().hex[:16]}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
