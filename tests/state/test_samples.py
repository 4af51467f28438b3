"""State that an earlier release wrote is read by this one, and goes on as it would have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from augury.errors import StateError
from augury.evaluation.codec import Format
from augury.evaluation.executor import FORMAT as SHARD_FORMAT
from augury.evaluation.probability.chain_shard import FORMAT as CHAIN_FORMAT
from augury.evaluation.stages.act import FORMAT as ACT_FORMAT
from augury.evaluation.stages.forecast_state import FORMAT as FORECAST_FORMAT
from augury.evaluation.stages.sampled_forecast import FORMAT as SAMPLED_FORMAT
from augury.evaluation.stages.suppress import FORMAT as POLICY_FORMAT
from augury.matching.matcher import ALWAYS
from augury.runners.live.state import FORMAT as LIVE_FORMAT
from forecast.staging import batch
from state.samples import (
    BEFORE,
    FOLDER,
    HORIZON,
    act_stage,
    acts,
    chain_shard,
    drawn_stage,
    forecast_stage,
    logins,
    places,
    reads,
    reads_of,
    session,
    shard,
    stored_of,
    suppress_stage,
)

LIVE = sorted(FOLDER.glob("live_*.state"))
CHAINS = sorted(FOLDER.glob("chains_*.state"))
FORECASTS = sorted(FOLDER.glob("forecast_*.state"))
SAMPLED = sorted(FOLDER.glob("sampled_*.state"))
POLICIES = sorted(FOLDER.glob("policy_*.state"))
ACTING = sorted(FOLDER.glob("acting_*.state"))
SHARD = sorted(FOLDER.glob("shard_*.state"))


def test_every_version_has_a_sample() -> None:
    assert len(LIVE) == LIVE_FORMAT.version
    assert len(SHARD) == SHARD_FORMAT.version
    assert len(CHAINS) == CHAIN_FORMAT.version
    assert len(POLICIES) == POLICY_FORMAT.version
    assert len(ACTING) == ACT_FORMAT.version
    assert len(SAMPLED) == SAMPLED_FORMAT.version


@pytest.mark.parametrize("sample", ACTING, ids=lambda path: path.stem)
def test_what_acts_goes_on(sample: Path) -> None:
    stage, _ = act_stage()
    state, done = stage.advance(stage.restore({}, 0, sample.read_bytes()), {}, ALWAYS)
    assert stage.contents(state, "badges").to_pylist() == [
        {"worker": "ann", "n": 3},
        {"worker": "bob", "n": 3},
    ]
    assert [row["at"] for row in stage.contents(state, "log").to_pylist()] == [0, 1, 3, 5]
    assert [firing.ts for firing in done.firings] == [5]
    assert stage.changes(done, "badges").column("seq").to_pylist() == [3]
    assert len(FORECASTS) == FORECAST_FORMAT.version


def check_goes_on(sample: Path, stage: Any, whole: Any) -> None:
    """Hold that a stored stage tells of the later logins what one tells that has read them all."""
    state = stage.restore({}, 12, sample.read_bytes())
    _, answers = stage.advance(state, batch(stage, logins()[6:]), 99)
    _, wanted = whole.advance(whole.start(), batch(whole, logins()), 99)
    rest = [row for row in wanted.found["break_in"].to_pylist() if row["ts"] >= 12]
    assert len(rest) > 2
    assert answers.found["break_in"].to_pylist() == rest


@pytest.mark.parametrize("sample", FORECASTS, ids=lambda path: path.stem)
def test_stored_forecasts_go_on(sample: Path) -> None:
    version = int(sample.stem.removeprefix("forecast_"))
    check_goes_on(sample, forecast_stage(version), forecast_stage(version))


@pytest.mark.parametrize("sample", SAMPLED, ids=lambda path: path.stem)
def test_stored_forecasts_that_sample_go_on(sample: Path) -> None:
    check_goes_on(sample, drawn_stage(), drawn_stage())


@pytest.mark.parametrize("sample", POLICIES, ids=lambda path: path.stem)
def test_the_stored_decisions_of_a_policy_go_on(sample: Path) -> None:
    stage = suppress_stage(int(sample.stem.removeprefix("policy_")))
    _, passed = stage.advance(stage.load(sample.read_bytes()), acts(stage, "cd"))
    assert passed.keeps.tolist() == [False, True]


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


@pytest.mark.parametrize("sample", SHARD, ids=lambda path: path.stem)
def test_the_stored_state_of_a_shard_goes_on(sample: Path) -> None:
    own = shard()
    state = own.load(*stored_of(sample))
    assert state.horizon == HORIZON
    assert state.sources["reads"].waiting.num_rows == 2
    assert not any(stage.is_empty for stage in state.stages.values())
    state, _ = own.advance(state, reads_of(own, reads()[BEFORE:]), HORIZON)
    _, answers = own.finish(state)
    found = [(name, c.as_py()) for name, t in answers.found.items() for c in t["confidence"]]
    assert sorted(found) == [("taken", 0.375), ("taken", 0.5), ("twice", 0.1875)]


@pytest.mark.parametrize("sample", CHAINS, ids=lambda path: path.stem)
def test_stored_chains_go_on(sample: Path) -> None:
    own = chain_shard()
    state = own.load(sample.read_bytes())
    assert state.waiting["places"].num_rows == 1
    _, answers = own.finish(state)
    (row,) = answers.found["moving"].to_pylist()
    assert (row["person"], row["ts"], row["probability"]) == ("joe", 3, 0.25)


@pytest.mark.parametrize("version", [0, SHARD_FORMAT.version + 1])
def test_the_state_of_a_shard_in_another_version_is_refused(version: int) -> None:
    own = shard()
    unknown = Format(SHARD_FORMAT.magic, version).seal(b"", own._mark)
    with pytest.raises(StateError, match=f"queries taken, twice has format version {version}"):
        own.load(unknown, {})


def test_the_damaged_state_of_a_shard_is_refused() -> None:
    head, blocks = stored_of(SHARD[-1])
    damaged = {n: data[:-1] + bytes([data[-1] ^ 1]) for n, data in blocks.items()}
    assert damaged
    with pytest.raises(StateError, match="is damaged: its checksum does not fit"):
        shard().load(head, damaged)
    with pytest.raises(StateError, match="is damaged: its checksum does not fit"):
        shard().load(head[:-1] + bytes([head[-1] ^ 1]), blocks)
