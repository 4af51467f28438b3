"""The search kernel, with a word to people before it is compiled, for that takes most of a minute.

A terminal that is silent for so long looks as if something were broken. Programs and logs are left
alone: nothing is said unless standard error is a terminal.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from augury.kernels.search.search import search as kernel

ONCE = "augury: compiling the search, once on this machine; it takes about a minute\n"
EACH_TIME = (
    "augury: compiling the search takes about a minute, in each process, because no folder to keep "
    "it in can be written; see AUGURY_KERNEL_CACHE in docs/settings.md\n"
)


def search(*arguments: Any) -> Any:
    """Call the kernel; see `kernels.search`."""
    # Where Numba is switched off there are no overloads, and nothing to wait for.
    if not getattr(kernel, "overloads", True):
        _tell(kernel.stats.cache_path)
    return kernel(*arguments)


def _tell(folder: str | None) -> None:
    if sys.stderr is None or not sys.stderr.isatty():
        return
    if folder is None:
        sys.stderr.write(EACH_TIME)
    elif not any(Path(folder).glob("search.search-*.nbi")):
        sys.stderr.write(ONCE)
