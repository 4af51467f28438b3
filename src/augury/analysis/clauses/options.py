"""OPTIONS of a query: the few that exist, each at most once, with values they can have."""

from __future__ import annotations

from augury.analysis.draft import Draft
from augury.analysis.findings import listing, suggest

KNOWN = ("movement", "partitions", "unlisted")
MOVEMENTS = ("events", "results")
# Each range is a task of Spark and an entry of its plan.
MOST_PARTITIONS = 10_000


def options_are_known(draft: Draft) -> None:
    """OPTIONS has known keys, each once: what is misspelt would be ignored."""
    seen: set[str] = set()
    for option in draft.statement.options:
        key = option.key.lower()
        span = option.span if option.span.end else draft.clause("OPTIONS")
        if key not in KNOWN:
            hint = suggest(key, KNOWN, f"the options are {listing(KNOWN)}")
            draft.findings.error("A079", f"option {option.key} is unknown", span, hint)
        elif key in seen:
            message = f"option {option.key} is given twice"
            draft.findings.error("A079", message, span, "keep one of them")
        elif wrong := _wrong_value(key, option.value):
            message = f"option {option.key} is {option.value!r}"
            draft.findings.error("A079", message, span, wrong)
        seen.add(key)


def _wrong_value(key: str, value: object) -> str:
    """Return what an option may be, if it is something else."""
    if key == "movement" and str(value).lower() not in MOVEMENTS:
        return f"write one of {listing(tuple(repr(each) for each in MOVEMENTS))}"
    if key == "partitions" and (type(value) is not int or not 1 <= value <= MOST_PARTITIONS):
        return f"write a whole number from 1 to {MOST_PARTITIONS}"
    return ""
