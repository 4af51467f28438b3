"""Where people of a ward may have been over time, by what was told of who did what.

How likely somebody is in a place changes by how likely it was they who entered or left; so what is
told of each event is all it takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augury.analysis.declarations.moves import REVISION, P
from augury.report.charts.lanes import Lanes, Piece

# So many events of a ward are shown, those with the most doubt, and so many people.
MOST_EVENTS, MOST_PEOPLE = 40, 12
SURE = 1.0 - 1e-9

Owners = dict[Any, float]
# By person and place how likely it is to be there.
Whereabouts = dict[Any, dict[Any, float]]


@dataclass(frozen=True)
class Move:
    """A move of somebody from a place to another, with its owners as first and last told."""

    at: Any
    origin: Any
    place: Any
    first: Owners
    last: Owners

    @property
    def doubt(self) -> float:
        return 1.0 - max(self.first.values())


def lanes_of(ag: Any, name: str) -> Lanes | None:
    """Return where people may have been, in the ward with the most doubt; None without a hall."""
    catalog = ag._declared.catalog
    model = catalog.moves[catalog.identified[name.lower()].statement.model.lower()]
    node = model.statement
    if node.doors is not None:
        return None
    wards = _events_of(ag.revisions(name).to_pylist(), node, catalog.streams[name.lower()])
    if not wards:
        return None
    unit, events = max(wards.items(), key=lambda each: sum(move.doubt for move in each[1]))
    named = [each.name for each in (model.owner, model.place, model.by) if each is not None]
    staff = ag._bound.local_runner().bound[node.objects.lower()].select(named).to_pylist()
    begins = {
        person: node.hall if place is None else place
        for person, place, *by in (tuple(row.values()) for row in staff)
        if by in ([], [unit])
    }
    return drawn_of(events, begins, node.hall)


def _events_of(log: Sequence[Mapping[str, Any]], node: Any, own: Any) -> dict[Any, list[Move]]:
    """Return the events of each ward in the order of time."""
    tellings: dict[Any, dict[int, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in log:
        tellings[row[own.id]][row[REVISION]].append(row)
    found: dict[Any, list[Move]] = defaultdict(list)
    (owner,), where = own.alternatives, own.column(node.place).name
    by = None if node.by is None else own.column(node.by).name
    for rows in tellings.values():
        first, last = ({row[owner]: row[P] for row in rows[which]} for which in (0, max(rows)))
        row = rows[0][0]
        place, kind = row[where], row[own.type]
        ways = {node.enter: (node.hall, place), node.exit: (place, node.hall)}
        origin, goal = ways.get(kind, (place, place))
        found[None if by is None else row[by]].append(
            Move(row[own.time], origin, goal, first, last)
        )
    for events in found.values():
        events.sort(key=lambda each: each.at)
    return found


def drawn_of(events: Sequence[Move], begins: Mapping[Any, Any], hall: Any) -> Lanes:
    """Return the lanes of a ward over the events that were most in doubt."""
    doubts = [each.doubt for each in events]
    starts = range(max(1, len(events) - MOST_EVENTS + 1))
    start = max(starts, key=lambda k: sum(doubts[k : k + MOST_EVENTS]))
    shown = range(start, min(start + MOST_EVENTS, len(events)))
    meant = defaultdict[Any, float](float)
    for k in shown:
        for person, p in events[k].first.items():
            meant[person] += min(p, 1.0 - p) + 1e-6
    chosen = sorted(meant, key=lambda person: (-meant[person], str(person)))[:MOST_PEOPLE]
    people = sorted(chosen, key=str)
    first, last = (_begun(begins), _begun(begins))
    pieces = list[Piece]()
    for k, event in enumerate(events):
        _moved(first, event, event.first)
        _moved(last, event, event.last)
        if k in shown and k + 1 in shown:
            span = event.at, events[k + 1].at
            pieces += _pieces(people, (first, last), span, hall)
    places = sorted({each.place for each in pieces})
    times = events[shown[0]].at, events[shown[-1]].at
    return Lanes([str(person) for person in people], places, _joined(pieces), times)


def _begun(begins: Mapping[Any, Any]) -> Whereabouts:
    return {person: {place: 1.0} for person, place in begins.items()}


def _moved(at: Whereabouts, event: Move, owners: Owners) -> None:
    for person, p in owners.items():
        own = at.setdefault(person, {})
        if p >= SURE:
            # That says where it is, whatever was told before: also after a reset.
            at[person] = {event.place: 1.0}
        elif event.origin != event.place:
            own[event.origin] = max(0.0, own.get(event.origin, 0.0) - p)
            own[event.place] = min(1.0, own.get(event.place, 0.0) + p)


def _pieces(
    people: Sequence[Any], at: tuple[Whereabouts, Whereabouts], span: tuple[Any, Any], hall: Any
) -> Iterable[Piece]:
    for lane, person in enumerate(people):
        first, last = (_level(each.get(person, {})) for each in at)
        under = [0.0, 0.0]
        for place in sorted({*first, *last} - {hall}, key=str):
            p, q = first.get(place, 0.0), last.get(place, 0.0)
            if max(p, q) > 1e-6:
                yield Piece(lane, *span, str(place), p, q, (under[0], under[1]))
                under = [under[0] + p, under[1] + q]


def _level(places: Mapping[Any, float]) -> dict[Any, float]:
    """Return how likely places are, together no more than certain: tellings are of many moments."""
    total = max(1.0, sum(places.values()))
    return {place: p / total for place, p in places.items()}


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Return pieces that follow each other, and are alike, as one."""
    found, open_ones = list[Piece](), dict[Any, int]()
    for each in pieces:
        what = each.lane, each.place, each.first, each.last, each.under
        k = open_ones.get(what)
        if k is not None and found[k].until == each.since:
            before = found[k]
            found[k] = Piece(
                each.lane, before.since, each.until, each.place, each.first, each.last, each.under
            )
        else:
            open_ones[what] = len(found)
            found.append(each)
    return found
