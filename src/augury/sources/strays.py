"""Files of a folder that are no data: a readme among the CSV files is skipped, with a word.

Where some file has the ending of its format, those without it are strays. Where none has, as in
`part-0`, every file is data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from augury.errors import RowsWarning, warn

# By format, the endings of its files, in front of that of a compression.
ENDINGS = {
    "parquet": (".parquet", ".parq", ".pq"),
    "csv": (".csv", ".tsv"),
    "json": (".json", ".jsonl", ".ndjson"),
}
_MOST_NAMED = 3


def own_files(form: str, paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the paths of a format's files, and those of strays.

    >>> own_files("csv", ["in/a.csv.gz", "in/B.CSV", "in/readme.txt"])
    (['in/a.csv.gz', 'in/B.CSV'], ['in/readme.txt'])
    """
    every = list(paths)
    own = [path for path in every if _has_ending(path, ENDINGS[form])]
    strays = [path for path in every if path not in set(own)]
    return (own, strays) if own else (every, [])


def _has_ending(path: str, endings: Sequence[str]) -> bool:
    return any(suffix.lower() in endings for suffix in PurePosixPath(path).suffixes[-2:])


def glob(form: str) -> str:
    """Return what the names of a format's files look like, for the option pathGlobFilter.

    >>> glob("csv")
    '*.{[cC][sS][vV],[tT][sS][vV]}*'
    """
    words = ["".join(f"[{c}{c.upper()}]" for c in end[1:]) for end in ENDINGS[form]]
    return f"*.{{{','.join(words)}}}*"


def warn_of_strays(name: str, form: str, place: str, strays: Sequence[str]) -> None:
    """Say which files of a folder are not read."""
    names = [PurePosixPath(stray).name for stray in strays]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    verb = "is" if len(names) == 1 else "are"
    warn(
        f"{', '.join(names[:_MOST_NAMED])}{more} in {place!r} {verb} skipped, because {name} is "
        f"read from the {form} files there",
        RowsWarning,
    )
