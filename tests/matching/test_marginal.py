"""The operator of chains keeps the laws of operators, and gives Lahar's printed symbols."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.errors import StateError
from augury.evaluation.probability.beliefs import KeyedBeliefs
from augury.evaluation.probability.quiet_steps import with_quiet_steps
from augury.matching.marginal import (
    BEGINNING,
    NOWHERE,
    Beliefs,
    Chances,
    Marginaliser,
    MarginalState,
    mask_step,
)
from augury.matching.waiting_line import Node, Sign, WaitingLine
from augury.matching.worlds import Move, Step, lasting_probabilities

SEEDS = st.integers(min_value=0, max_value=10**6)
AB = WaitingLine((Node(0, 0, (1,), False), Node(1, 0, (), True)), (0,), "NEXT")
ABC = WaitingLine(
    (Node(0, 0, (1,), False), Node(1, 0, (1, 2), False), Node(2, 0, (), True)), (0,), "NEXT"
)
LINES = (AB, ABC, WaitingLine(ABC.nodes, (0,), "ANY"), WaitingLine(ABC.nodes, (0,), "STRICT"))


def symbol(matches: int, accepted: int) -> int:
    return matches | accepted << 31


def test_example_3_12_moves_the_automaton_by_its_symbols() -> None:
    """{m1 a1}, {}, {m2 a2} is accepted; {m1 a1 m2}, {m2}, {m2 a2} is not."""
    accepted = []
    for word in (
        [symbol(0b01, 0b01), symbol(0, 0), symbol(0b10, 0b10)],
        [symbol(0b11, 0b01), symbol(0b10, 0), symbol(0b10, 0b10)],
    ):
        state, done = 0, False
        for each in word:
            state, done = mask_step(AB, state, each)
        accepted.append(done)
    assert accepted == [True, False]


def columns(rows: list[tuple[int, ...]], p: list[float]) -> Beliefs:
    table = np.array(rows, np.int64).reshape(-1, 7)
    return Beliefs(*table[:, :5].T, np.array(p), *table[:, 5:].T)


def independent_rows(seed: int, chains: int = 3, steps: int = 6) -> Beliefs:
    rng = np.random.default_rng(seed)
    rows, p = [], []
    for k in range(chains * steps):
        chain, time = divmod(k, steps)
        for group in range(rng.integers(0, 3)):
            shares = rng.dirichlet(np.ones(3))[:2]
            for share in shares:
                matches = int(rng.integers(0, 8))
                accepted = matches & int(rng.integers(0, 8))
                rows.append((chain, time, 10 * k + group, 0, 0, matches, accepted))
                p.append(float(share))
    return columns(rows, p)


def markovian_rows(seed: int, chains: int = 3, steps: int = 6) -> Beliefs:
    rng = np.random.default_rng(seed)
    rows, p = [], []
    for chain in range(chains):
        before = [BEGINNING]
        for time in range(steps):
            here = sorted({NOWHERE, *(2 + rng.choice(4, 2)).tolist()})
            signs = {value: rng.integers(0, 8, 2).tolist() for value in here}
            for origin in before:
                for value, share in zip(here, rng.dirichlet(np.ones(len(here))), strict=True):
                    m, a = signs[value] if value else (0, 0)
                    rows.append((chain, time, len(rows), origin, value, m, m & a))
                    p.append(float(share))
            before = here
    return columns(rows, p)


ROWS = {False: independent_rows, True: markovian_rows}


def whole_run(operator: Marginaliser, rows: Beliefs) -> dict[tuple[int, int], float]:
    return told(operator.finish(operator.advance(operator.start(rows), rows, 0)[0])[1])


def told(found: Chances) -> dict[tuple[int, int], float]:
    places = zip(found.chain.tolist(), found.time.tolist(), strict=True)
    return dict(zip(places, found.p.tolist(), strict=True))


def assert_close(found: dict[tuple[int, int], float], other: dict[tuple[int, int], float]) -> None:
    assert set(found) == set(other)
    for place, value in found.items():
        assert other[place] == pytest.approx(value, abs=1e-12)


def sign(rows: Beliefs, k: int, line: WaitingLine) -> Sign | None:
    matches, accepted = int(rows.matches[k]), int(rows.accepted[k])
    return Sign(matches, accepted) if matches or line.sees_everything else None


def by_worlds(line: WaitingLine, rows: Beliefs, over: int = 1) -> dict[tuple[int, int], float]:
    """Return what the slow twin finds: the mapping of states, over independent rows."""
    found = {}
    for chain in np.unique(rows.chain).tolist():
        steps = []
        for time in np.unique(rows.time[rows.chain == chain]).tolist():
            here = np.flatnonzero((rows.chain == chain) & (rows.time == time))
            groups: dict[int, list[tuple[float, Sign | None]]] = {}
            for k in here.tolist():
                own = groups.setdefault(int(rows.group[k]), [])
                own.append((float(rows.p[k]), sign(rows, k, line)))
            steps.append(Step(time, tuple(groups.values())))
        by_time = lasting_probabilities(line, steps, (), over)
        found |= {(chain, t): p for t, p in by_time.items()}
    return found


def by_worlds_of_objects(
    line: WaitingLine, rows: Beliefs, over: int = 1
) -> dict[tuple[int, int], float]:
    """Return what the slow twin finds of objects, with one dense table per step."""
    found, size = {}, int(rows.value.max()) + 1
    for chain in np.unique(rows.chain).tolist():
        steps = []
        for time in np.unique(rows.time[rows.chain == chain]).tolist():
            here = np.flatnonzero((rows.chain == chain) & (rows.time == time)).tolist()
            table, signs = np.zeros((size, size)), [None] * size
            for k in here:
                table[rows.origin[k], rows.value[k]] += rows.p[k]
                if rows.value[k] != NOWHERE:
                    signs[int(rows.value[k])] = sign(rows, k, line)
            if time == 0:
                table[0] = table[BEGINNING]
            steps.append(Step(time, (), (Move(0, table, tuple(signs)),)))
        by_time = lasting_probabilities(line, steps, (), over, 1)
        found |= {(chain, t): p for t, p in by_time.items()}
    return found


@pytest.mark.parametrize("line", LINES)
@given(seed=SEEDS)
def test_independent_chains_agree_with_their_slow_twin(line: WaitingLine, seed: int) -> None:
    rows = independent_rows(seed)
    assert_close(whole_run(Marginaliser(line), rows), by_worlds(line, rows))


@pytest.mark.parametrize("line", LINES)
@given(seed=SEEDS)
def test_markovian_chains_agree_with_their_slow_twin(line: WaitingLine, seed: int) -> None:
    rows = markovian_rows(seed)
    found = whole_run(Marginaliser(line, is_markovian=True), rows)
    assert_close(found, by_worlds_of_objects(line, rows))


def spread(rows: Beliefs, seed: int) -> Beliefs:
    """Return the rows with gaps between their times."""
    gaps = np.random.default_rng(seed).integers(1, 5, 10)
    return replace(rows, time=np.where(rows.time == 0, 0, np.cumsum(gaps)[rows.time]))


@pytest.mark.parametrize("markovian", [False, True])
@pytest.mark.parametrize("line", LINES)
@given(seed=SEEDS, over=st.integers(min_value=2, max_value=9))
def test_ends_count_down_by_the_time_that_has_passed(
    line: WaitingLine, markovian: bool, seed: int, over: int
) -> None:
    rows = spread(ROWS[markovian](seed), seed)
    found = whole_run(Marginaliser(line, markovian, ticks=False, over=over), rows)
    twin = by_worlds_of_objects if markovian else by_worlds
    assert_close(found, twin(line, rows, over))


@given(seed=SEEDS, over=st.integers(min_value=2, max_value=9))
def test_steps_may_take_any_time(seed: int, over: int) -> None:
    """Ends count in (t - length, t]: a length between two multiples of a step is the longer one."""
    rows = spread(independent_rows(seed), seed)
    slow = replace(rows, time=1000 * rows.time)
    found = whole_run(Marginaliser(ABC, over=over, unit=1000), slow)
    expected = {(c, 1000 * t): p for (c, t), p in by_worlds(ABC, rows, over).items()}
    assert_close(found, expected)
    assert_close(found, by_worlds(ABC, slow, 1000 * over - 999))


@pytest.mark.parametrize("markovian", [False, True])
@given(seed=SEEDS, over=st.integers(min_value=2, max_value=9))
def test_asking_between_steps_tells_what_counts_and_changes_nothing(
    markovian: bool, seed: int, over: int
) -> None:
    rows = spread(ROWS[markovian](seed), seed)
    operator = Marginaliser(ABC, markovian, ticks=False, over=over)
    steps = whole_run(operator, rows)
    chains, times = np.arange(rows.chain.max() + 1), np.arange(40)
    every = KeyedBeliefs(rows, [(c,) for c in chains.tolist()], markovian)
    found = whole_run(operator, with_quiet_steps(every, over, [(chains, times)]).beliefs)
    assert_close(steps, {place: p for place, p in found.items() if place in steps})
    fixed = Marginaliser(ABC, markovian, ticks=False, over=40)
    for (c, t), p in found.items():
        # What counts at a silent time is what counted at the last step, less what is too old.
        before = max(s for d, s in steps if d == c and s <= t)
        assert 0.0 <= p <= steps[c, before] + 1e-12
        assert t == before or t - before < over
    assert whole_run(fixed, rows).keys() == steps.keys()


@pytest.mark.parametrize("markovian", [False, True])
@given(
    seed=SEEDS,
    cut=st.integers(min_value=0, max_value=6),
    over=st.integers(min_value=0, max_value=4),
)
def test_where_the_stream_is_cut_changes_nothing(
    markovian: bool, seed: int, cut: int, over: int
) -> None:
    rows, operator = ROWS[markovian](seed), Marginaliser(ABC, markovian, over=over)
    early = rows.time < cut
    state, first = operator.advance(operator.start(rows), rows.take(early), cut)
    state = operator.load(operator.dump(state))
    _, second = operator.advance(state, rows.take(~early), 100)
    assert_close(whole_run(operator, rows), {**told(first), **told(second)})


@pytest.mark.parametrize("markovian", [False, True])
def test_state_per_chain_is_constant_over_a_tenfold_longer_stream(markovian: bool) -> None:
    operator = Marginaliser(ABC, markovian)
    sizes = []
    for steps in (20, 200):
        rows = ROWS[markovian](7, 2, steps)
        state, _ = operator.advance(operator.start(rows), rows, 10**6)
        sizes.append(entries(state))
    assert sizes[1] <= sizes[0] + 4


def entries(state: MarginalState) -> int:
    return len(state.value) + len(state.waiting)


def test_rows_ahead_of_the_watermark_wait() -> None:
    rows, operator = independent_rows(3), Marginaliser(AB)
    state, found = operator.advance(operator.start(rows), rows, 2)
    assert max(found.time.tolist()) < 2
    assert min(state.waiting.time.tolist()) >= 2


def test_a_state_of_another_query_is_refused() -> None:
    rows = independent_rows(3)
    data = Marginaliser(AB).dump(Marginaliser(AB).start(rows))
    with pytest.raises(StateError, match="another query"):
        Marginaliser(ABC).load(data)
    with pytest.raises(StateError, match="another query"):
        Marginaliser(AB, over=3).load(data)
    with pytest.raises(StateError, match="damaged"):
        Marginaliser(AB).load(data[:40])
