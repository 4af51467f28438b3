"""What is said of rows that were put aside: how many of a stream, and why the first of them."""

from __future__ import annotations

# What became of rows, by the kind under which they are kept.
_FATES = {"rejected": "rejected", "late": "left out because {they} came too late"}


def announcement(stream: str, kind: str, count: int, first: str) -> str:
    """Return the sentence for the rows of a stream that were put aside.

    >>> announcement("reads", "rejected", 3, "tag is null")
    '3 rows of stream reads were rejected; the first: tag is null'
    """
    rows, verb = ("row", "was") if count == 1 else ("rows", "were")
    fate = _FATES[kind].format(they="it" if count == 1 else "they")
    which = "" if count == 1 else " the first:"
    return f"{count:,} {rows} of stream {stream} {verb} {fate};{which} {first}"
