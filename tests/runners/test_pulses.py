"""Which streams of a run are silent, and what is said of them: never more than others reached."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from augury import Session
from augury.analysis.declarations.catalog import StreamSchema
from augury.runners.spark.pulse_source import PulseReader, offset_of
from augury.runners.spark.pulses import Reached, are_wanted

SCRIPT = """
CREATE STREAM a (id LONG, t LONG) ID id TIME t IDLE AFTER 30 SECONDS;
CREATE STREAM b (id LONG, t LONG) ID id TIME t IDLE AFTER 10 SECONDS;
CREATE STREAM `c d` (id LONG, t LONG) ID id TIME t;
"""
A, B, C = "a", "b", "c d"


def streams() -> Mapping[str, StreamSchema]:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    return ag._declared.catalog.streams


STREAMS = streams()


class Story:
    """What happens to the streams of a run, in seconds of the clock."""

    def __init__(self, own: dict[str, int] | None = None) -> None:
        self.reached = Reached(own or {}, looked=0.0)
        self.names = {name: self.reached.expect(STREAMS[name]) for name in (A, B, C)}

    def batch(self, second: float, **latest: int | None) -> bool:
        """Let a micro-batch begin, with the latest time of each stream that had rows."""
        found: dict[str, dict[str, Any]] = {
            told: {"count": 0, "latest": None} for told in self.names.values()
        }
        for name, time in latest.items():
            found[self.names[name.replace("_", " ")]] = {"count": 1, "latest": time}
        moment = datetime.fromtimestamp(second, UTC).isoformat().replace("+00:00", "Z")
        return self.reached.hear({"timestamp": moment, "observedMetrics": found})

    def said(self) -> dict[str, int]:
        due = self.reached.due()
        if due:
            self.reached.said = due
        return due


def test_a_stream_is_silent_when_it_was_looked_for_and_not_found() -> None:
    story = Story()
    assert story.batch(5, a=100, b=50, c_d=90)
    assert not story.batch(14)
    assert story.said() == {}
    # Ten seconds after its last rows, what all others have reached is 90.
    story.reached.look(15)
    assert story.said() == {A: 100, B: 90, C: 90}
    # It is not said twice.
    assert story.said() == {}
    # Its own rows wake it up, though they are behind.
    story.batch(16, b=60, c_d=200)
    assert story.said() == {}
    story.batch(27)
    assert story.said() == {A: 100, B: 100, C: 200}


def test_nothing_is_said_before_others_have_come() -> None:
    story = Story()
    story.batch(100, a=5)
    assert story.said() == {}
    story.batch(100, c_d=7)
    assert story.said() == {A: 5, B: 5, C: 7}


def test_where_all_are_silent_they_have_reached_what_one_has() -> None:
    reached = Reached({A: 3, B: 8}, looked=0.0)
    for name in (A, B):
        reached.expect(STREAMS[name])
    reached.look(29)
    assert reached.due() == {}
    reached.look(30)
    assert reached.due() == {A: 8, B: 8}


def test_rows_that_were_all_bad_are_heard_and_move_nothing() -> None:
    story = Story()
    story.batch(5, a=100, b=50, c_d=90)
    assert not story.batch(14, b=-2)
    story.reached.look(23)
    assert story.said() == {}


STEPS = st.lists(
    st.tuples(
        st.floats(0, 20),
        st.dictionaries(st.sampled_from([A, B, C]), st.integers(1, 100), max_size=3),
    ),
    max_size=12,
)


@given(STEPS)
def test_no_silent_stream_gets_ahead_of_one_that_is_awake(
    steps: list[tuple[float, dict[str, int]]],
) -> None:
    story, now = Story(), 0.0
    own, heard = dict.fromkeys((A, B, C), 0), dict.fromkeys((A, B, C), 0.0)
    for passed, rows in steps:
        now = round(now + passed, 3)
        story.batch(now, **{name.replace(" ", "_"): time for name, time in rows.items()})
        for name, time in rows.items():
            own[name], heard[name] = max(own[name], time), now
        silent = [n for n, most in ((A, 30), (B, 10)) if now - heard[n] >= most - 1e-6]
        said = story.said()
        # C has no IDLE AFTER and holds all back.
        for name in silent:
            bound = min(own[each] for each in own if each not in silent)
            assert said.get(name, 0) <= max(bound, own[name], story.reached.said.get(name, 0))
            assert max(story.reached.said.get(name, 0), own[name]) >= bound
        for name in set(own) - set(silent):
            assert said.get(name, 0) <= max(own[name], story.reached.said.get(name, 0))


def test_pulses_are_wanted_where_somebody_would_wait() -> None:
    assert are_wanted(STREAMS.values())
    assert not are_wanted([STREAMS[A]])
    assert not are_wanted([STREAMS[C], STREAMS[C]])


def test_what_is_said_is_all_in_the_offset(tmp_path: Path) -> None:
    file = tmp_path / "said"
    file.write_text(json.dumps(offset_of("r", {B: 2, A: 1})))
    reader = PulseReader(str(file))
    start, end = reader.initialOffset(), reader.latestOffset({}, None)
    assert end == offset_of("r", {A: 1, B: 2})
    file.unlink()
    (part,) = reader.partitions(start, end)
    assert list(reader.read(part)) == [(A, 1), (B, 2)]
    assert reader.partitions(end, end) == []
    assert reader.partitions(start, offset_of("r", {})) == []
