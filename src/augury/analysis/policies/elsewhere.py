"""Whether two declarations read the same rows: the same topic, file or folder."""

from __future__ import annotations

from fnmatch import fnmatch
from posixpath import normpath

from augury.language.tree import External


def is_one_place(one: External, other: External) -> bool:
    """Whether some rows may come from both: paths may be patterns, or folders of one another."""
    if "kafka" in (one.format, other.format):
        same = one.format == other.format and _servers(one) == _servers(other)
        return same and bool(_topics(one) & _topics(other))
    if one.path is None or other.path is None:
        return False
    mine, its = _place(one.path), _place(other.path)
    return _holds(mine, its) or _holds(its, mine)


def _place(path: str) -> str:
    bare = path.removeprefix("file://") if path.startswith("file:///") else path
    # A scheme has two slashes, which are one to who makes paths short.
    return bare.rstrip("/") if "://" in bare else normpath(bare)


def _holds(one: str, other: str) -> bool:
    """Whether a path is another one, a pattern of it, or a folder that it lies in."""
    return one == other or fnmatch(other, one) or other.startswith(f"{one.rstrip('/')}/")


def _servers(place: External) -> str | None:
    return place.settings.get("kafka.bootstrap.servers")


def _topics(place: External) -> set[str]:
    own = place.path or place.settings.get("subscribe", "")
    return {topic for topic in own.split(",") if topic}
