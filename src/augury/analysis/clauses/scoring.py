"""SCORING: the formulas of a paper, under its name, in the place of the law.

AYAC has formulas for what was missed, DPCEP for matches and for type and rank queries: a match is
the product of its events (definition 4.1), derived ones too, as if they were independent; a type is
there as likely as some event of it (4.3), all of them as likely as the product (4.4), and a group
by the plan that projects, joins what WHERE equates and projects again (4.5). Order does not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis.classes.join_plan import dpcep_plan
from augury.analysis.clauses.correlation import beyond_products
from augury.analysis.draft import Draft


def scoring_fits(draft: Draft) -> None:
    """SCORING replaces the confidence of what a paper has formulas for; there must be some."""
    if draft.statement.scoring == "AYAC" and not draft.allow and not any(draft.miss_rates):
        message = "SCORING AYAC scores missed events, but nothing can be missed"
        hint = "add ALLOW 1 MISSED, or MISS RATE on the stream"
        draft.findings.error("A064", message, draft.clause("SCORING"), hint)
    if draft.statement.scoring == "DPCEP":
        for what, hint in (*beyond_products(draft), *_beyond_formulas(draft)):
            message = f"SCORING DPCEP {what}"
            draft.findings.error("A064", message, draft.clause("SCORING"), hint)


def _beyond_formulas(draft: Draft) -> Iterator[tuple[str, str]]:
    if draft.statement.after_match is not None:
        yield "says nothing of what AFTER MATCH SKIP takes", "remove AFTER MATCH SKIP"
    if draft.by_time:
        yield "has formulas for windows, and none BY TIME", "write RETURN PROBABILITY"
    elif draft.returns_probability and dpcep_plan(draft) is None:
        yield (
            "has formulas for AND and SEQ of single types, in groups where WHERE equates all types",
            "use SCORING LAW, or ask of two types with a.x = b.x",
        )
