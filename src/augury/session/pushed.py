"""Pushed rows: events one at a time in this process, with what they leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from augury.errors import AuguryError

if TYPE_CHECKING:
    from augury.analysis.checked import CheckedQuery
    from augury.analysis.declarations.catalog import Catalog
    from augury.analysis.script import Checked
    from augury.evaluation.identifying import Identities
    from augury.planning.acting.world import Acting
    from augury.rules.locks import Grain, Scheduler
    from augury.runners.live.acting import Used
    from augury.runners.live.runner import LiveRunner
    from augury.runners.local.expired import Expired
    from augury.session.bound import BoundRows
    from augury.session.declared import Declared
    from augury.session.notices import Notices


class PushedRows:
    """The live runner of a session, made when it is first needed, and told what is declared."""

    def __init__(
        self,
        declared: Declared,
        bound: BoundRows,
        notices: Notices,
        flying: tuple[Scheduler | None, Grain],
        *,
        partly: bool,
    ) -> None:
        self._declared, self._bound, self._notices = declared, bound, notices
        self._flying, self.partly = flying, partly
        self.live: LiveRunner | None = None
        self._is_current = False

    @cached_property
    def expired(self) -> Expired:
        """The partial matches that ran out of time, of queries that are watched for it."""
        from augury.runners.local.expired import Expired

        return Expired()

    def runner(self) -> LiveRunner:
        """Return the runner, which knows all that is declared."""
        if self._bound.engine != "local":
            raise AuguryError("events are pushed in process; make a Session(engine='local') for it")
        if self.live is None:
            from augury.runners.live.runner import LiveRunner

            self.live = LiveRunner(partly=self.partly)
        if not self._is_current:
            self._declare(self.live)
            self._is_current = True
        return self.live

    def _declare(self, live: LiveRunner) -> None:
        declared = self._declared
        catalog, rows = declared.catalog, self._bound.rows
        live.tables |= {name: each for name, each in rows.items() if name not in catalog.guarded}
        live.open_streams(catalog)
        live.forecasts = declared.checked_forecasts
        acting, queries = declared.acting_for(), declared.checked_queries
        queries |= acting.searched
        live.refused = acting.refused
        if acting.candidates:
            live.act(self.used(acting, live.tables))
        live.open_policies(catalog, queries, rows)
        for name in queries:
            if catalog.is_private(name) is None:
                live.declare(name, catalog, queries)
        for forecast, _ in declared.forecasts.values():
            live.declare_forecast(forecast, catalog)
        for name in catalog.identified:
            live.declare_identified(name, catalog, queries)

    def used(self, acting: Acting, bound: Mapping[str, Any]) -> Used:
        """Return what acts with all that it uses; stores are not asked yet."""
        from augury.evaluation.acting.opened import opened
        from augury.runners.live.acting import Used

        catalog = self._declared.catalog
        stores = opened(catalog, acting.world.tables)
        return Used(acting, catalog, self._declared.checked_queries, bound, stores, *self._flying)

    # What is declared or bound after events came --------------------------------------------------

    def renew(self) -> None:
        """Tell the runner before the next event that more is declared."""
        self._is_current = False

    def refuse_bound(self, name: str) -> None:
        """Raise where new rows come too late for what has read the old ones."""
        if self.live is None:
            return
        if self.live.acting is not None and name in self.live.acting.state.tables:
            raise AuguryError(
                f"table {name} is read by what acts on pushed events; bind it before them"
            )
        if self._declared.catalog.policies:
            self.live.refuse_used(name)
            self.renew()

    def refuse_late_rules(self, checked: Checked) -> None:
        """Raise before a rule is taken in that would concern what has seen events without it."""
        from augury.planning.acting.world import acting_of

        if self.live is None:
            return
        new = {query.name.lower(): query for query in checked.queries}
        queries = self._declared.checked_queries | new
        self._refuse_late_readers(new, queries, checked.catalog)
        if checked.catalog.rules:
            self.live.refuse_late(acting_of(checked.catalog, queries))

    def _refuse_late_readers(
        self, new: Mapping[str, CheckedQuery], queries: Mapping[str, CheckedQuery], catalog: Catalog
    ) -> None:
        """Raise where a query would have to know what a policy decided before it was declared."""
        from augury.planning.base_streams import owned_streams

        if not self.live or not any(each.is_used for each in self.live.owners_kept.values()):
            return
        for query in new.values():
            for name in owned_streams(query, queries):
                if catalog.owners_of(name) in self.live.owners_kept:
                    raise AuguryError(
                        f"query {query.name} reads {name}, of which the policy has decided about "
                        "rows that were pushed; declare it before them, or in another session"
                    )

    def streams_pushed(self) -> set[str]:
        """Return the streams of which events came."""
        return set() if self.live is None else self.live.streams_pushed()

    def forget(self) -> None:
        """Begin anew where no event came yet, since policies are others."""
        if not self.streams_pushed():
            self.live = None

    # Events ---------------------------------------------------------------------------------------

    def push(self, stream: str, rows: Any) -> list[dict[str, Any]]:
        """Let events happen; see `Session.push`."""
        made = self._bound.told_by(stream)
        if made is not None:
            how, source = made
            raise AuguryError(f"stream {stream} is {how}; push rows of {source}")
        live, name = self.runner(), self._declared.stream_name(stream)
        catalog = self._declared.catalog
        identified = [
            n for n, each in catalog.identified.items() if each.statement.readings.lower() == name
        ]
        self._bound.decided |= {n for n in (name, *identified) if catalog.policy_of(n) is not None}
        # A script that `expired` declares meanwhile is known to the runner before the rows are.
        if isinstance(rows, Mapping):
            rows = (rows,)
        elif not isinstance(rows, list | tuple):
            from augury.sources.tables import plain_rows

            rows = plain_rows(stream, rows)
        found = self.expired.aside(live.push(name, rows))
        if live.has_put_aside(name):
            self._notices.announce(live.put_aside(name))
        self._announce_acts(live, again=False)
        return found

    def advance(self, time: Any, stream: str | None) -> list[dict[str, Any]]:
        """Let time pass without an event; see `Session.advance`."""
        named = None if stream is None else self._declared.stream_name(stream)
        return self.expired.aside(self.runner().advance(time, named))

    def finish(self) -> list[dict[str, Any]]:
        """End all streams; see `Session.finish`."""
        live = self.runner()
        found = self.expired.aside(live.finish())
        for name in live.entrances:
            self._notices.announce(live.put_aside(name), again=True)
        self._announce_acts(live, again=True)
        self._notices.say(live.notices())
        return found

    def _announce_acts(self, live: LiveRunner, *, again: bool) -> None:
        if live.acting is not None:
            self._notices.announce_firings(live.acting.state, again=again)
            self._notices.announce_passed_over(live.acting.passed_over, again=again)

    def checkpoint(self) -> bytes:
        """Return all that events have left behind."""
        from augury.runners.live import state

        return state.dump(self.runner())

    def restore(self, data: bytes) -> None:
        """Go on where `checkpoint` was called."""
        from augury.runners.live import state

        live = self.runner()
        state.load(live, data)
        # What a policy has decided there is decided here: nothing may bind more from now on.
        self._bound.decided |= live.streams_pushed() & set(live.gates)
        self._bound.decided |= {n for n, each in live.owners_kept.items() if each.is_used}

    def owners(self, name: str) -> Identities | None:
        """Return what is told of owners over pushed rows; None where the rows are bound."""
        catalog = self._declared.catalog
        known = catalog.owners_of(name)
        if known is None or self.live is None:
            return None
        if catalog.identified[known].statement.readings.lower() in self._bound.rows:
            return None
        return self.live.identified(known)
