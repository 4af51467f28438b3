"""The compiled worlds tell what the plain ones know, in wards that no enumeration could hold."""

from __future__ import annotations

import random

import pytest

from augury.identity.admission import Admission, meant
from augury.identity.identifier import Identifier, dump, load
from augury.identity.owners import Owners, begin
from augury.identity.telling import Strategy
from augury.identity.ward import Row, Ward, Ways

NO_LIMIT = 10**6


def walked(seed: int, people: int, rooms: int, n: int, unread: float) -> list[Row]:
    """Let people walk about, some of whose badges are not read; now and then one is lost."""
    rng = random.Random(seed)
    at: dict[str, str | None] = {f"p{k}": None for k in range(people)}
    rows, time = [], 0
    for number in range(n):
        time += rng.choice((0, 1, 1, 2))
        person = rng.choice(list(at))
        room = at[person]
        kind = "EXIT" if room else "ENTER"
        place = room or f"r{rng.randrange(rooms)}"
        at[person] = None if room else place
        if rng.random() < 0.01:
            continue
        shown = None if rng.random() < unread else person
        rows.append(Row(number, time, shown, kind, place))
    return rows


def known_by_step(ward: Ward, rows: list[Row], within: int) -> dict[tuple[int, int], list[float]]:
    """Return P(owner) of every young event after each step, from the plain worlds."""
    owners, worlds, found, acts = Owners(ward), begin(ward), {}, 0
    time_of: dict[int, tuple[int, int]] = {}
    for time in sorted({row.time for row in rows}):
        admission = Admission(owners, worlds, False)
        own = meant(ward, [row for row in rows if row.time == time], acts)
        admission.take(own)
        acts += len(own)
        time_of |= {act.number: (row.id, row.time) for row, act in admission.admitted}
        owners.forget(worlds, [k for k in worlds.tracked if time_of[k][1] < time - within])
        for k, known in zip(
            worlds.tracked, owners.posterior(worlds, worlds.tracked).tolist(), strict=True
        ):
            found[time, time_of[k][0]] = known
        owners.close_step(worlds)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_what_is_told_is_what_plain_worlds_know(seed: int) -> None:
    rows = walked(seed, people=12, rooms=8, n=160, unread=0.3)
    staff = [(f"p{k}", None) for k in range(12)]
    ward = Ward.of(staff, Ways("ENTER", "EXIT", "H"), 1)
    identifier = Identifier({None: ward}, 60, Strategy("ANY"), state_limit=NO_LIMIT)
    known = known_by_step(ward, rows, 60)
    state, told, half = identifier.start(), [], rows[80].time
    for part in ([r for r in rows if r.time < half], [r for r in rows if r.time >= half]):
        state, news = identifier.advance(load(dump(state)), [(None, row) for row in part], half)
        told += list(news.told)
        half = 10**9
    unread = {row.id for row in rows if row.person is None}
    seen = [each for each in told if each.id in unread]
    assert len(seen) > len(unread)
    for each in seen:
        shown = dict(each.owners)
        for person, p in enumerate(known[each.as_of, each.id]):
            assert shown.get(person, 0.0) == pytest.approx(p, abs=1e-9)


def test_a_sample_is_near_and_says_how_near() -> None:
    rows = [(None, row) for row in walked(5, people=16, rooms=20, n=300, unread=0.25)]
    staff = [(f"p{k}", None) for k in range(16)]
    wards = {None: Ward.of(staff, Ways("ENTER", "EXIT", "H"), 1)}
    exact = Identifier(wards, 60, Strategy("ANY"), state_limit=30_000)
    few = Identifier(wards, 60, Strategy("ANY"), state_limit=64)
    truth = {
        (each.id, each.as_of): dict(each.owners)
        for each in exact.advance(exact.start(), rows)[1].told
        if each.method == "exact"
    }
    told = list(few.advance(few.start(), rows)[1].told)
    assert told == list(few.advance(few.start(), rows)[1].told)
    sampled = [t for t in told if t.method == "sampled" and (t.id, t.as_of) in truth]
    assert len(sampled) > 100
    off = []
    for each in sampled:
        own = truth[each.id, each.as_of]
        off.append(max(abs(p - own.get(person, 0.0)) for person, p in each.owners))
    outside = [far > t.error_bound + 1e-9 for far, t in zip(off, sampled, strict=True)]
    assert sum(outside) <= 0.01 * len(sampled)
    assert sum(t.error_bound for t in sampled) < 0.2 * len(sampled)


def test_more_chains_than_can_be_listed_are_drawn() -> None:
    # One room, in and out: somebody who was not read for long has too many ways to list.
    staff = [(f"p{k}", None) for k in range(12)]
    wards = {None: Ward.of(staff, Ways("ENTER", "EXIT", "H"), 1)}
    rows = [Row(k, k, None, ("ENTER", "EXIT")[k % 2], "r") for k in range(43)]
    rows.append(Row(100, 100, "p0", "EXIT", "r"))
    identifier = Identifier(wards, 1000, Strategy("ANY"), state_limit=200)
    _, news = identifier.advance(identifier.start(), [(None, row) for row in rows])
    assert not news.resets
    (last,) = [each for each in news.told if each.id == 42 and each.revision == 1]
    assert last.method == "sampled"
    assert max(last.owners, key=lambda each: each[1]) == (0, pytest.approx(1.0))
    for each in news.told:
        assert sum(p for _, p in each.owners) == pytest.approx(1.0)
