"""What is said of a run: in numbers while it goes on, at its end what was put aside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from augury.cli import findings
from augury.cli.progress import Reporter

if TYPE_CHECKING:
    from augury.cli.job import Job
    from augury.runners.request import Request


class Counts(Protocol):
    """The totals of a run, by kind and name, and why the first row was put aside."""

    @property
    def totals(self) -> Mapping[tuple[str, str], int]: ...
    @property
    def first_reasons(self) -> Mapping[tuple[str, str], str]: ...

    def total(self, kind: str) -> int: ...


def sum_up(delivery: Counts, aside: str, reporter: Reporter) -> None:
    """Say how many matches there were, and where the rows are that were put aside."""
    counts = {kind: delivery.total(kind) for kind in ("match", "late", "rejected")}
    reporter.tell("end", matches=counts["match"], late=counts["late"], rejected=counts["rejected"])
    if reporter.is_terminal:
        reporter.note(findings.number(counts["match"], "match"))
    for (kind, name), count in sorted(delivery.totals.items()):
        if kind in ("late", "rejected") and count:
            rows, first = findings.number(count, "row"), delivery.first_reasons.get((kind, name))
            place = f"{aside}/{kind}/{name}"
            reporter.announce(f"{rows} of {name} {kind}: see {place}; the first: {first}")


def tell_ties(delivery: Counts, job: Job, reporter: Reporter) -> None:
    """Say of each query how many of its events are in no sequence, for want of a tie-breaker."""
    from augury.evaluation.ties import tie_notice

    for query in job.checked.queries:
        count = delivery.totals.get(("tied", query.name.lower()), 0)
        if count:
            reporter.tell("tied", query=query.name, events=count)
            reporter.note(f"warning: {tie_notice(query, count)}")


def measure(reporter: Reporter, job: Job, request: Request, place: str | None) -> None:
    """Serve the numbers of a run where that is asked for."""
    if place is None:
        return
    from augury.runners.metrics import Metrics, served

    names = {request.place(name)[1]: name for name in job.queries}
    reporter.metrics = Metrics(names, frozenset(job.checked.catalog.rules))
    served(reporter.metrics, place)
