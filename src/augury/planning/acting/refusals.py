"""What rules and active conjuncts cannot do, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from augury.analysis.checked import Branch, CheckedQuery, Conjunct, Shape
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.expressions.walk import walk_into
from augury.analysis.settled import dynamic_tables
from augury.language import expressions as ex
from augury.planning.acting.whom import forbidden_by_edges, reads
from augury.planning.refusal import NOT_EVALUATED, PlanError

if TYPE_CHECKING:
    from augury.planning.acting.world import Acting


def not_evaluated(
    message: str, hint: str = "docs/status.md lists what can be evaluated"
) -> PlanError:
    """Return the error for what is well said, and is not evaluated for the reason in `message`."""
    return PlanError(NOT_EVALUATED, message, hint)


def refuse_places(tables: Iterable[str], catalog: Catalog, heard: str | None = None) -> None:
    """Refuse tables that are in each world by themselves, where that is not told.

    `heard` are rows that are no matches, if a rule hears them.
    """
    for name in tables:
        table = catalog.tables[name.lower()]
        if not table.uncertain:
            continue
        if not table.key:
            raise not_evaluated(
                f"table {table.name} is UNCERTAIN and has no KEY: what worlds differ in is told as "
                "the alternatives of a key",
                "declare a KEY",
            )
        if heard is not None:
            raise not_evaluated(
                f"table {table.name} is UNCERTAIN, and a rule writes it for rows of {heard}: these "
                "say how likely something is, and are true in no world and false in none",
                "let the rule listen to matches, or leave UNCERTAIN out",
            )
        others = [catalog.tables[each] for each in dynamic_tables(catalog)]
        certain = sorted(each.name for each in others if not each.uncertain)
        if certain:
            raise not_evaluated(
                f"table {table.name} is UNCERTAIN and table {certain[0]}, which acts beside it, is "
                "the same in all worlds: one match would act in some worlds on the one, in all on "
                "the other, and what either says beside the other has no weight",
                "declare both in one way, or in two sessions",
            )


def refused_in_worlds(query: CheckedQuery, table: str) -> PlanError:
    """Return why matches that are taken in turn do not act on a table of each world."""
    return not_evaluated(
        f"query {query.name} takes matches one after the other, AFTER MATCH, and table {table} is "
        "UNCERTAIN: every world says which are taken, by all events of it, and all of these worlds "
        "would be gone through one by one",
        "leave AFTER MATCH out, or UNCERTAIN",
    )


def refuse_worlds(acting: Acting) -> None:
    """Refuse tables that are in each world by themselves, over rows that have no end."""
    if acting.uncertain:
        raise not_evaluated(
            f"table {acting.uncertain} is UNCERTAIN, and is settled over all rows at once: as rows "
            "come, worlds would double with every event that hangs together by it",
            "run it over rows that have an end",
        )


def refuse_unsettled(
    query: CheckedQuery, conjuncts: tuple[Conjunct, ...], over_tested: bool, catalog: Catalog
) -> None:
    """Refuse queries whose matches are not candidates that are tested one by one."""
    several = answered_by_several(conjuncts, catalog)
    if several is not None and query.returns != "MATCHES":
        raise _by_several(query, several)
    what = "a condition that reads what rules write" if conjuncts else "matches that are tested"
    if query.returns != "MATCHES":
        raise not_evaluated(
            f"query {query.name} returns {query.returns} of {what}: what rules write is one "
            "record, which is of no world, so nothing weighs what it lets through",
            "return the matches, and count their rows; of a table that is UNCERTAIN their "
            "confidence is the weight of the worlds in which they pass",
        )
    if query.each_event:
        raise not_evaluated(
            f"query {query.name} acts or is tested, and has a row per event: that is no match, of "
            "which each acts once",
            "leave ALL EVENTS PER MATCH out",
        )
    if over_tested and not _takes_any(query):
        raise not_evaluated(
            f"query {query.name} selects, forbids or counts matches that are tested by what rules "
            "write: what it finds would hang on what they wrote, and that on what it finds",
            "read such matches under SKIP TILL ANY MATCH, without negation and NEXT; or let a rule "
            "write them into a table, and ask that",
        )


def answered_by_several(conjuncts: Iterable[Conjunct], catalog: Catalog) -> Conjunct | None:
    """Return the first that reads nothing that changes: several rows may answer its subquery."""
    dynamic = dynamic_tables(catalog)
    return next((each for each in conjuncts if not reads(each, dynamic)), None)


def _by_several(query: CheckedQuery, conjunct: Conjunct) -> PlanError:
    return PlanError(
        NOT_EVALUATED,
        f"query {query.name} searches by a subquery that several rows may answer, which would stop "
        "the run or not by how far the search has looked",
        "name the whole KEY of its table, or ask for MIN, MAX or COUNT(*)",
        conjunct.span,
    )


def _takes_any(query: CheckedQuery) -> bool:
    """Return whether leaving out an event leaves out the matches with it, and nothing else."""
    counted = query.within is not None and query.within.events
    negated = any(component.negated for component in query.components)
    return query.strategy == "ANY" and not counted and not negated and not _has_next(query.shape)


def _has_next(shape: Shape) -> bool:
    if not isinstance(shape, Branch):
        return False
    return shape.operator == "NEXT" or any(map(_has_next, shape.parts))


def refuse_selection(
    query: CheckedQuery, conjuncts: tuple[Conjunct, ...], catalog: Catalog
) -> None:
    """Refuse conjuncts that would choose events, or that are about no single one."""
    dynamic = dynamic_tables(catalog)
    # FIRST and LAST say of what they forbid what is said of the event itself.
    forbidden = forbidden_by_edges(query)
    negates = any(not forbidden.isdisjoint(each.components) for each in query.lookups)
    for conjunct in conjuncts:
        chooses = (query.strategy != "ANY" or negates) and not conjunct.after
        if chooses and conjunct.components and not reads(conjunct, dynamic):
            raise _by_several(query, conjunct)
        for index in conjunct.components:
            component = query.components[index]
            many = component.maximum != 1 and _names_each(conjunct, component.name)
            if component.negated or many:
                raise PlanError(
                    NOT_EVALUATED,
                    f"the condition on {component.name} {_why_later(conjunct, dynamic)}, so it is "
                    "tested on whole matches, where that has no single event",
                    f"name a positive component, or LAST({component.name})",
                    conjunct.span,
                )


def _why_later(conjunct: Conjunct, dynamic: frozenset[str]) -> str:
    if reads(conjunct, dynamic):
        return "reads a table that rules write"
    return "has a subquery that several rows may answer"


def _names_each(conjunct: Conjunct, component: str) -> bool:
    return any(
        isinstance(node, ex.Attribute)
        and node.component == component
        and (node.index is None or node.index.kind in ("each", "previous"))
        for node in walk_into(conjunct.expression)
    )
