"""What forecasts are worth is told by the query's own matches, on rows kept apart."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import pytest

from augury import AuguryError, Session
from forecast.asking import Row, rows_of, script

AB = "SEQ(A a, B b)"
LEARNED = "USING INDEPENDENT LEARN FROM history"


def session(pattern: str, clauses: str, *, by_time: bool, keyed: bool = False) -> Session:
    ag = Session(engine="local")
    # What may not have happened cannot be judged.
    text = script(pattern, clauses, keyed=keyed, by_time=by_time).replace(" PROBABILITY p", "")
    ag.sql(text)
    ag.bind("history", rows_of("A/k@1 B/k@2 C/k@3 X/k@4"))
    return ag


def drawn(count: int, seed: int = 1) -> list[Row]:
    draw = random.Random(seed)
    return rows_of(
        " ".join(f"{draw.choice('ABCX')}{t}/{draw.choice('kl')}@{t}" for t in range(1, count))
    )


def test_a_score_by_hand() -> None:
    # After each of the first four: did an AB complete within 2 events?
    found = session(f"{AB} USING STRICT", f"WITHIN 2 EVENTS {LEARNED}", by_time=True).score(
        "f", rows_of("A1@1 B2@2 X3@3 A4@4 X5@5 B6@6")
    )
    assert (found.judged, found.unjudged) == (4, 2)
    # After A1 B comes next (or A and B), after B2, X3 and A4 none does.
    claims = [5 / 16, 1 / 16, 1 / 16, 5 / 16]
    assert found.base_rate == 0.25
    losses = [math.log(claims[0]), *(math.log(1 - p) for p in claims[1:])]
    assert found.log_loss == pytest.approx(-sum(losses) / 4)
    assert found.brier == pytest.approx((121 + 1 + 1 + 25) / 256 / 4)
    assert [b.count for b in found.reliability] == [2, 2]
    assert found.calibration_error == pytest.approx((2 / 16 + 2 * (0.5 - 5 / 16)) / 4)


@pytest.mark.parametrize("strategy", ["SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "STRICT"])
@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize("horizon", ["3 EVENTS", "4"])
def test_what_came_is_what_the_rows_show(strategy: str, by_time: bool, horizon: str) -> None:
    rows = drawn(40)
    pattern = f"SEQ(A a, B b, C c) WHERE [k] USING {strategy} WITHIN 20"
    ag = session(
        pattern, f"WITHIN {horizon} {LEARNED} ARRIVALS STEADY", by_time=by_time, keyed=True
    )
    found = ag.score("f", rows)
    ag.bind("s", rows)
    told = ag.table("f").to_pylist()
    matches = [sorted(e["ts"] for e in m["events"]) for m in ag.table("q").to_pylist()]
    keys = {row["t"]: row["k"] for row in rows}
    came = 0
    judged = 0
    for row in told:
        later = [t for t in keys if t > row["ts"] and keys[t] == row["k"]]
        if horizon.endswith("EVENTS"):
            if len(later) < 3:
                continue
            limit = later[2]
        else:
            limit = row["ts"] + 4
            if limit > max(keys):
                continue
        judged += 1
        came += any(is_of(row, match, limit, keys) for match in matches)
    assert found.judged == judged
    assert found.base_rate * judged == pytest.approx(came)


def is_of(row: dict[str, Any], match: list[int], limit: int, keys: dict[int, str]) -> bool:
    if keys[match[0]] != row["k"] or not row["ts"] < match[-1] <= limit:
        return False
    if "events" not in row:
        return True
    return sorted(e["ts"] for e in row["events"]) == [t for t in match if t <= row["ts"]]


def test_a_right_model_beats_the_base_rate_and_is_calibrated() -> None:
    ag = session("SEQ(A a, B b, C c) USING STRICT", f"WITHIN 2 EVENTS {LEARNED}", by_time=True)
    found = ag.score("f", drawn(6_000))
    assert found.calibration_error < 0.01
    assert found.log_loss < found.base_log_loss
    assert found.skill > 0.2


def stretch(kinds: str, count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [draw.choice(kinds) for _ in range(count)]


@pytest.mark.parametrize("by_time", [False, True])
def test_forecasts_that_stop_being_calibrated_are_told_once_with_numbers(by_time: bool) -> None:
    ag = session(f"{AB} USING STRICT", f"WITHIN 1 EVENTS {LEARNED}", by_time=by_time)
    ag.bind("history", rows_of(" ".join(f"{k}@{t}" for t, k in enumerate("ABX" * 300, 1))))

    def score(kinds: list[str]) -> Any:
        return ag.score("f", rows_of(" ".join(f"{k}{t}@{t}" for t, k in enumerate(kinds, 1))))

    steady = stretch("ABX", 1_800, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not score([*steady, *stretch("ABX", 500, 2)]).went_off
        # Wrong from the beginning is not what has changed.
        assert not score(stretch("AB", 1_000, 3)).went_off
        assert not score([*"ABX" * 50, *"AB" * 25]).went_off
    with pytest.warns(UserWarning, match="forecast f is calibrated no more") as told:
        found = score([*steady, *stretch("AB", 500, 4)])
    assert len(told) == 1
    latest, earlier = found.latest, found.earlier
    assert latest.count + earlier.count == found.judged
    assert abs(earlier.claimed - earlier.happened) < 0.05 < latest.happened - latest.claimed
    assert f"claim {latest.claimed:.1%} on average, and {latest.happened:.1%} came true" in str(
        told[0].message
    )


def test_what_cannot_be_judged_is_said() -> None:
    ag = session(AB, f"WITHIN 5 EVENTS {LEARNED}", by_time=True)
    with pytest.raises(AuguryError, match="the rows end before its horizon"):
        ag.score("f", rows_of("A1@1"))
    with pytest.raises(AuguryError, match="there is no forecast g; declared: f"):
        ag.score("g", [])
    uncertain = Session(engine="local")
    uncertain.sql(script(AB, f"WITHIN 5 EVENTS {LEARNED}", keyed=False, by_time=True))
    uncertain.bind("history", rows_of("A@1 B@2"))
    with pytest.raises(AuguryError, match="events that are certain"):
        uncertain.score("f", rows_of("A1@1"))
