"""What a process and all those below it take: resident memory, and seconds of processor.

Seconds of processor count the work itself; a busy neighbour slows the clock and not them. A Spark
driver has a JVM and Python workers below it, so both figures are of the whole family. Those that
have ended count in the parent that waited for them.
"""

from __future__ import annotations

import os
from pathlib import Path

PAGE, TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


def family(root: int) -> set[int]:
    """Return a process and all those below it."""
    entries = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    parents = {pid: int((_stat(pid) or ["", "0"])[1]) for pid in entries}
    found, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found, grown = found | more, bool(more)
    return found


def resident(root: int) -> int:
    """Return the resident bytes of a family; shared pages count in each process."""
    return sum(_resident(pid) for pid in family(root))


def processor(root: int) -> float:
    """Return the seconds of processor that a family has used, ended children included."""
    return sum(sum(map(int, _stat(pid)[11:15])) for pid in family(root)) / TICKS


def _stat(pid: int) -> list[str]:
    """Return the fields of a process after its name; none if it has just ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0
