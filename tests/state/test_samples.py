"""State that an earlier release wrote is read by this one, and goes on as it would have."""

from __future__ import annotations

from pathlib import Path

import pytest

from augury.matching.codec import FORMAT as MATCH_FORMAT
from augury.runners.live_state import FORMAT as LIVE_FORMAT
from contracts.operator_cases import facts
from state.samples import BEFORE, FOLDER, places, reads, session, stage

LIVE = sorted(FOLDER.glob("live_*.state"))
MATCH = sorted(FOLDER.glob("match_*.state"))


def test_every_version_has_a_sample() -> None:
    assert len(LIVE) == LIVE_FORMAT.version
    assert len(MATCH) == MATCH_FORMAT.version


@pytest.mark.parametrize("sample", MATCH, ids=lambda path: path.stem)
def test_stored_match_state_goes_on(sample: Path) -> None:
    own = stage()
    state, book = own.matcher.load_with_codebook(sample.read_bytes())
    assert state.reported == 4
    assert "red" in book.partitions
    fresh, _ = own.matcher.advance(own.matcher.start(own.events), own.events, 4)
    found = facts(own.matcher.finish(state)[1])
    assert found == facts(own.matcher.finish(fresh)[1])
    assert len(found) > 0


@pytest.mark.parametrize("sample", LIVE, ids=lambda path: path.stem)
def test_a_stored_checkpoint_goes_on(sample: Path) -> None:
    ag = session()
    ag.restore(sample.read_bytes())
    found = ag.push("reads", reads()[BEFORE:]) + ag.push("places", places()[2:]) + ag.finish()
    confidences = sorted((match["query"], round(match["confidence"], 9)) for match in found)
    assert confidences == [
        ("moved", 0.25),
        ("taken", 0.375),
        ("taken", 0.5),
        ("twice", 0.1875),
    ]
