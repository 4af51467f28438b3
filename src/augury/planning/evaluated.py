"""What is checked and explained, but not evaluated yet: EXPLAIN says it, engines refuse it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from augury.analysis.checked import Branch, CheckedQuery, Negated, Shape
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.analysis.declarations.moves import TOLD
from augury.analysis.expressions.walk import attributes, attributes_into
from augury.analysis.unread import scores_unseen
from augury.matching.pattern import MOST_COMPONENTS
from augury.planning.entangled import entangled
from augury.planning.missed.unscored import unscored
from augury.planning.pattern.sequence import unsuited
from augury.planning.refusal import NOT_EVALUATED, PlanError, Refused


def unevaluated(query: CheckedQuery) -> str | None:
    """Return what a query uses that no engine evaluates yet, or None."""
    asks_whether = query.returns in ("PROBABILITY", "PROBABILITY BY TIME")
    if reads_owners(query):
        refused = _unfollowed(query)
        return None if refused is None else refused.what
    return None if asks_whether and unsuited(query) is None else unmatched(query)


def unmatched(query: CheckedQuery) -> str | None:
    """Return what a query uses that cannot be evaluated by listing its matches, or None."""
    refused = _refused(query)
    return None if refused is None else refused.what


def _refused(query: CheckedQuery) -> Refused | None:
    if query.strategy == "NEXT" and _ends_by_until(query.shape) and _may_not_happen(query):
        hint = "ask under SKIP TILL ANY MATCH, STRICT or PARTITION CONTIGUITY"
        what = "UNTIL under next-match selection of events that may not happen (all that a run "
        what += "takes later hangs on whether the repetition has ended, in every world)"
        return Refused(what, hint)
    if query.after_match is not None and any(stream.markov for stream in query.streams):
        hint = "ask for all matches, or read the stream without MARKOV"
        return Refused("AFTER MATCH SKIP over a MARKOV stream", hint)
    if len(query.components) > MOST_COMPONENTS:
        return Refused(f"a pattern of more than {MOST_COMPONENTS} components")
    return (
        _hanging_together(query)
        or _taken_in_worlds(query)
        or _without_lineage(query)
        or entangled(query)
        or (_unseen(query) if scores_unseen(query) else None)
    )


def _ends_by_until(shape: Shape) -> bool:
    if isinstance(shape, Negated):
        return shape.within is not None
    return isinstance(shape, Branch) and any(map(_ends_by_until, shape.parts))


def _may_not_happen(query: CheckedQuery) -> bool:
    return any(stream.is_uncertain for stream in query.streams)


def reads_owners(query: CheckedQuery) -> bool:
    """Return whether a query, or one below it, reads events whose owners are in doubt."""
    return any(stream.is_identified or stream.of_owners for stream in query.streams)


def without_owners(query: CheckedQuery) -> CheckedQuery:
    """Return the query that lists all that may be a match, whoever the owners are."""
    streams = tuple(replace(s, is_identified=False, of_owners=False) for s in query.streams)
    return replace(query, streams=streams, having=None)


def refuse_unfollowed(below: Mapping[str, CheckedQuery]) -> None:
    """Raise where a query asks for more of owners than the tracks of people tell.

    The first is the query, the others are all below it.
    """
    query, *lower = below.values()
    owned = {s.name: s for each in below.values() for s in each.streams if s.is_identified}
    if not owned:
        return
    refused = None
    if len(owned) > 1:
        names = " and ".join(sorted(owned))
        hint = "put their places into one model: DOORS is a graph with as many halls as you like"
        refused = Refused(f"the owners of {names} together, each a closed world of its own", hint)
    for each in (query, *lower):
        if reads_owners(each):
            refused = refused or _unfollowed(each)
    for each in lower:
        if each.having is not None:
            hint = f"remove HAVING from {each.name}, and ask for it above"
            what = f"HAVING of {each.name}, whose matches pass or not as more is known of owners"
            refused = refused or Refused(what, hint)
    if refused is not None:
        raise _refusal(query, refused)


def refuse_unrevised(query: CheckedQuery) -> None:
    """Raise where an answer over owners in doubt would have to be taken back, and cannot be."""
    if query.returns != "MATCHES":
        message = (
            f"query {query.name} returns {query.returns} over owners in doubt: every later read "
            "may change it, and such answers are not told again"
        )
        raise PlanError(NOT_EVALUATED, message, "ask for it over bound rows, or for its matches")


def _unfollowed(query: CheckedQuery) -> Refused | None:
    first, why = query.streams[0], None
    hint = f"ask for matches of {first.name} alone, or for its table"
    if scores_unseen(query) or query.allow:
        why = "together with missed events, of which its worlds have none"
        hint = "leave that out: an event that nobody reported shows as a reset of its owner"
    elif query.correlated_by is not None:
        why = "together with CORRELATED BY, while their model says how events hang together"
        hint = "remove CORRELATED BY"
    elif query.after_match is not None:
        why = "together with AFTER MATCH SKIP, where each match hangs on who did all before it"
        hint = "remove AFTER MATCH, and choose among the matches that are told"
    elif query.each_event:
        why = "together with ALL EVENTS PER MATCH"
        hint = "read the column `events`, which has them"
    elif query.looks_beside:
        why = "together with PREV or NEXT outside the match"
    elif query.strategy == "NEXT" and _ends_by_until(query.shape):
        why = "together with UNTIL under next-match selection"
    if why is None and (column := _revised_column(query)) is not None:
        hint = "ask for sure matches with HAVING CONFIDENCE, which is revised as they are"
        return Refused(f"a condition on {column}, which is told again as more is known", hint)
    return None if why is None else Refused(f"the owners of {first.name} {why}", hint)


def _revised_column(query: CheckedQuery) -> str | None:
    """Return what a condition reads of a telling, which is no property of an event; or None.

    That is what is told of owners, and how likely matches over them are.
    """
    nodes = [node for each in query.conjuncts for node in attributes_into(each.expression)]
    nodes += [node for each in query.group_by for node in attributes(each)]
    read = [(node.component or "", node.name) for node in nodes]
    for equality in query.equalities:
        read += [(query.components[c].name, column) for c, column in equality.members]
    revised = {name for s in query.streams if s.is_identified for name in TOLD}
    revised |= {s.probability.lower() for s in query.streams if s.of_owners and s.probability}
    return next((f"{own}.{name}" for own, name in read if name.lower() in revised), None)


def _hanging_together(query: CheckedQuery) -> Refused | None:
    """Return whose owners a query would take as independent; or None."""
    for stream in query.streams:
        if stream.is_identified or stream.of_owners:
            hint = f"ask for the table of {stream.name} with the local engine"
            return Refused(f"the owners of {stream.name}, which hang together", hint)
    return None


def _taken_in_worlds(query: CheckedQuery) -> Refused | None:
    """Return whose matches differ from world to world by what was taken before them; or None."""
    for stream in query.streams:
        if stream.skips and stream.is_uncertain:
            hint = f"remove AFTER MATCH from query {stream.name}, or ask for its own table"
            what = f"the matches of query {stream.name}, which has AFTER MATCH SKIP"
            return Refused(f"{what} and whose events may not have happened", hint)
    return None


def hangs_on_all(query: CheckedQuery) -> bool:
    """Return whether matches that are taken in turn, in each world, hang on all before them."""
    if query.after_match is not None:
        return any(s.is_uncertain or s.query is not None for s in query.streams)
    return any(stream.skips for stream in query.streams)


def refuse_idle(streams: Iterable[StreamSchema]) -> None:
    """Raise where nobody would tell Spark that a stream beside others is silent."""
    read = list(streams)
    for stream in read:
        if stream.idle is not None and len(read) > 1:
            message = f"stream {stream.name} is IDLE AFTER a while, beside other streams: Spark's "
            message += "watermark is that of the slowest, and no row of a silent one moves it"
            hint = "augury run watches over its streams and goes by the clock, and so does push; "
            hint += "or leave IDLE AFTER out"
            raise PlanError(NOT_EVALUATED, message, hint)


def refuse_endless_skips(query: CheckedQuery) -> None:
    """Raise where matches that are taken in turn cannot be told as rows come."""
    if hangs_on_all(query):
        message = (
            f"query {query.name} takes matches one after the other, AFTER MATCH, in every world of "
            "uncertain events, or reads such matches: that needs all rows at once"
        )
        hint = "bind its rows and ask for its table, or leave AFTER MATCH out and take all matches"
        raise PlanError(NOT_EVALUATED, message, hint)
    ahead = [each for s in query.streams for each in s.neighbours if each.places > 0]
    if any(each.reach is None for each in ahead):
        message = (
            f"query {query.name} reads NEXT({ahead[0].of.name}) without a WITHIN in time: of an "
            "object that falls silent the next event could be waited for without end"
        )
        raise PlanError(NOT_EVALUATED, message, "add WITHIN as a length of time, or bind its rows")


def _without_lineage(query: CheckedQuery) -> Refused | None:
    """Return whose matches, which have no lineage, a query would need it of; or None."""
    if query.scoring == "DPCEP":
        return None
    hint = "write SCORING DPCEP, which takes matches as independent events"
    for stream in query.streams:
        if not stream.has_lineage:
            what = f"the matches of query {stream.name}, whose confidences are products, and no "
            return Refused(f"{what}weights of worlds in which others could be true, too", hint)
        if query.correlated_by is not None and stream.query is not None:
            what = f"CORRELATED BY over the matches of query {stream.name}, which may share events"
            return Refused(what, hint)
    return None


def _unseen(query: CheckedQuery) -> Refused | None:
    """Return what keeps a query from scoring what was not read, or None."""
    if query.allow and query.strategy != "ANY":
        return Refused("ALLOW ... MISSED with a selection other than SKIP TILL ANY MATCH")
    if query.allow and query.within is not None and query.within.events:
        return Refused("ALLOW ... MISSED in a window of events")
    if query.correlated_by is not None:
        return Refused("missed events with CORRELATED BY")
    if query.returns not in ("MATCHES", "COUNT"):
        return Refused(f"RETURN {query.returns} with a negation that may have been missed")
    return unscored(query)


def unevaluated_note(query: CheckedQuery) -> str | None:
    """Return a sentence that says why a query is not evaluated, with the code; or None."""
    what = unevaluated(query)
    return what and f"not evaluated yet: it uses {what} ({NOT_EVALUATED})"


def refuse_inferred(query: CheckedQuery, catalog: Catalog) -> None:
    """Raise where matches, or counts of them, would be told of what is inferred as rows come."""
    for stream in query.streams:
        if stream.name.lower() in catalog.inferred:
            message = (
                f"query {query.name} reads stream {stream.name}, which is inferred, and returns "
                f"{query.returns} as rows come: steps of a key that falls silent are known when "
                "its next reading comes, long after the windows of other keys have passed"
            )
            group = f" with GROUP BY {', '.join(stream.key)}" if stream.key else ""
            hint = f"return PROBABILITY BY TIME{group}, which is told key by key, or bind the "
            hint += "readings and ask for its table"
            raise PlanError(NOT_EVALUATED, message, hint)


def refuse_late_steps(reader: str, name: str, forecasts: Mapping[str, CheckedForecast]) -> None:
    """Raise where something must hear a forecast in time that is told behind time."""
    forecast = forecasts.get(name.lower())
    if forecast is not None and forecast.future.kind == "MODEL":
        message = f"{reader} reads forecast {forecast.name}, USING MODEL, as rows come: steps "
        message += "without a reading are known when the next reading comes, which is too late"
        raise PlanError(NOT_EVALUATED, message, "bind all rows in a Session(engine='local')")


def refuse_identified(queries: Iterable[CheckedQuery]) -> None:
    """Raise where a query reads a stream whose events get owners."""
    for query in queries:
        refused = _hanging_together(query)
        if refused is not None:
            raise _refusal(query, refused)


def refuse_unevaluated(query: CheckedQuery) -> None:
    """Raise where a query's matches cannot be listed yet."""
    refused = _refused(query)
    if query.lookups:
        # What a local session searches are candidates, which have none.
        hint = "leave out the condition on the table"
        refused = Refused("what a table says at the moment of a match, where none acts", hint)
    if refused is not None:
        raise _refusal(query, refused)


def _refusal(query: CheckedQuery, refused: Refused) -> PlanError:
    message = f"query {query.name} uses {refused.what}: that is checked and explained, but not "
    return PlanError(NOT_EVALUATED, message + "evaluated", refused.hint)
