"""OPTIONS of a query: the few that exist, each at most once."""

from __future__ import annotations

from augury.analysis.draft import Draft
from augury.analysis.findings import listing, suggest

KNOWN = ("movement", "partitions", "unlisted")


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
        seen.add(key)
