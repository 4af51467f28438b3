"""Near-miss suggestions: the known word that someone most likely meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word closest to `word`, or None if none is close; case does not count.

    >>> nearest("PATERN", ["PATTERN", "WITHIN"])
    'PATTERN'
    >>> nearest("dor", ["tag", "door"])
    'door'
    >>> nearest("x", ["y", "z"]) is None
    True
    """
    limit = max(1, len(word) // 3) if len(word) > 2 else 0
    best, best_rank = None, (limit + 1, 0)
    for candidate in known:
        longer = abs(len(candidate) - len(word))
        if longer <= best_rank[0]:
            rank = (edits(word.lower(), candidate.lower()), longer)
            if rank < best_rank:
                best, best_rank = candidate, rank
    return best


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean ...?`, or nothing."""
    found = nearest(word, known)
    return f"did you mean {found}?" if found else ""


def edits(left: str, right: str) -> int:
    """Return how many insertions, deletions, replacements or swaps of neighbours lead to `right`.

    >>> edits("HOUSR", "HOURS"), edits("CREAT", "CREATE")
    (1, 1)
    """
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left):
        earlier, before, row = before, row, [i + 1]
        for j, b in enumerate(right):
            cost = min(before[j] + (a != b), before[j + 1] + 1, row[j] + 1)
            if i and j and a == right[j - 1] and left[i - 1] == b:
                cost = min(cost, earlier[j - 1] + 1)
            row.append(cost)
    return row[-1]
