"""The match operator keeps the contract of every operator."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.errors import StateError
from augury.matching.matcher import Matcher
from augury.operator import Operator
from augury.records import Events, Matches
from contracts.operator_cases import Stage, at_once, facts, in_batches, stage_of
from matching.as_text import Case
from matching.random_cases import CONSTRUCTS, OVER_QUERIES, random_case
from oracles.model import Comp, Event, Query, Seq

STRATEGIES = ("any", "next", "strict", "partition")
cases = st.builds(
    random_case,
    st.sampled_from([name for name in CONSTRUCTS if name not in OVER_QUERIES]),
    st.sampled_from(STRATEGIES),
    st.integers(0, 2**32),
)


def plain(within: tuple[str, int], n: int, step: int = 1) -> Case:
    """Return SEQ(A, B) over n events that repeat themselves."""
    events = tuple(
        Event(str(k), k * step, "AB"[k % 2], 0.5 if k % 3 else 1.0, {"v": k % 5}) for k in range(n)
    )
    asked = Query(Seq((Comp("a", "A"), Comp("b", "B"))), within=within)
    return Case((asked,), events, {"v": "LONG"})


def copied(events: Events) -> list[np.ndarray]:
    return [np.array(getattr(events, item.name)) for item in fields(events)]


def test_the_matcher_is_an_operator() -> None:
    stage = stage_of(plain(("time", 5), 4))
    operator: Operator[Events, object, Matches] = stage.matcher  # type: ignore[assignment]
    assert isinstance(operator, Matcher)


@given(cases)
def test_batch_boundaries_do_not_matter(case: Case) -> None:
    stage = stage_of(case)
    whole = sorted(at_once(stage))
    assert sorted(in_batches(stage, 1)[0]) == whole
    assert sorted(in_batches(stage, 7)[0]) == whole


@given(cases)
def test_inputs_are_not_mutated(case: Case) -> None:
    stage = stage_of(case)
    before = copied(stage.events)
    state = stage.matcher.start(stage.events)
    following, _ = stage.matcher.advance(state, stage.events, int(stage.events.time.max(initial=0)))
    held = copied(following.events)
    stage.matcher.finish(following)
    assert all(map(np.array_equal, copied(stage.events), before))
    assert all(map(np.array_equal, copied(following.events), held))
    assert len(state.events) == 0


@given(cases)
def test_state_survives_its_codec_in_the_middle_of_any_stream(case: Case) -> None:
    stage = stage_of(case)
    _, states = in_batches(stage, 1)
    for state in states:
        loaded = stage.matcher.load(stage.matcher.dump(state))
        one, other = stage.matcher.finish(state)[1], stage.matcher.finish(loaded)[1]
        assert facts(one) == facts(other)


@given(cases)
def test_codes_travel_with_what_they_stand_for(case: Case) -> None:
    stage = stage_of(case)
    _, states = in_batches(stage, 3)
    book = stage.codebook
    for state in states:
        data = stage.matcher.dump(state, book)
        loaded, found = stage.matcher.load_with_codebook(data)
        before = [book.keys[k] for k in state.events.key]
        assert [found.keys[k] for k in loaded.events.key] == before
        assert set(found.keys) == set(before)
        for k in book.text_columns:
            codes, fresh = state.events.values[k], loaded.events.values[k]
            assert [book.strings[c] for c in codes if c >= 0] == [
                found.strings[c] for c in fresh if c >= 0
            ]


@given(cases, st.randoms(use_true_random=False))
def test_the_order_of_keys_and_rows_is_irrelevant(case: Case, rng: object) -> None:
    stage = stage_of(case)
    order = np.arange(len(stage.events))
    rng.shuffle(order)  # type: ignore[attr-defined]
    fewer = int(stage.events.partition.max(initial=0))
    turned = stage.events.take(order)
    object.__setattr__(turned, "partition", fewer - turned.partition)
    other = Stage(stage.plan, stage.matcher, turned, stage.codebook)
    assert sorted(at_once(other)) == sorted(at_once(stage))


@given(cases)
def test_confidences_are_probabilities(case: Case) -> None:
    assert all(0.0 < confidence <= 1.0 for _, _, confidence, _ in at_once(stage_of(case)))


@given(cases)
def test_a_run_that_is_repeated_gives_the_same(case: Case) -> None:
    stage = stage_of(case)
    assert at_once(stage) == at_once(stage)


@pytest.mark.parametrize("within", [("time", 8), ("events", 8)])
def test_state_stays_bounded_under_a_stream_ten_times_as_long(within: tuple[str, int]) -> None:
    short, long = (in_batches(stage_of(plain(within, n)), 10)[1] for n in (100, 1000))
    most = max(len(state.events) for state in short)
    assert max(len(state.events) for state in long) <= most + 5
    assert most < 60


# What is refused ---------------------------------------------------------------------------------


def stored() -> tuple[Matcher, bytes]:
    stage = stage_of(plain(("time", 5), 6))
    state, _ = stage.matcher.advance(stage.matcher.start(stage.events), stage.events, 4)
    return stage.matcher, stage.matcher.dump(state, stage.codebook)


def test_the_state_of_another_query_is_refused() -> None:
    _, data = stored()
    other = stage_of(plain(("time", 6), 6)).matcher
    with pytest.raises(StateError, match="other declarations"):
        other.load(data)


def test_a_later_version_is_refused() -> None:
    matcher, data = stored()
    later = data[:8] + (99).to_bytes(2, "little") + data[10:]
    with pytest.raises(StateError, match="format version 99, and this release reads"):
        matcher.load(later)


@pytest.mark.parametrize("at", [50, 100, -1])
def test_damaged_bytes_are_refused(at: int) -> None:
    matcher, data = stored()
    broken = bytearray(data)
    broken[at] ^= 0x40
    with pytest.raises(StateError, match="damaged"):
        matcher.load(bytes(broken))


@pytest.mark.parametrize("data", [b"", b"hello", b"AUGURYMS", b"x" * 200])
def test_what_is_no_state_is_refused(data: bytes) -> None:
    with pytest.raises(StateError, match="no such state"):
        stored()[0].load(data)


@given(st.binary(max_size=80))
def test_a_state_cut_short_or_followed_by_rubbish_is_refused(tail: bytes) -> None:
    matcher, data = stored()
    with pytest.raises(StateError):
        matcher.load(data[: len(data) // 2] + tail)
