"""CREATE GAPS ... LEARN FROM: a query with learned gaps answers as one with the gaps written."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury import QueryError, Session
from augury.errors import DataError

STREAMS = """
CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE 0.2;
CREATE STREAM history (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(X x, !N n, Y y, Z z) WHERE [tag]
WITHIN 100000 ALLOW 1 MISSED OF (y);
"""
READS = [{"tag": 1, "kind": "X", "t": 0}, {"tag": 1, "kind": "Z", "t": 2500}]


def history(n: int = 3000) -> pa.Table:
    rng = np.random.default_rng(11)
    start = np.arange(n) * 1_000_000
    y = start + rng.exponential(1000, n)
    comes = rng.random(n) < 0.5
    times = {"X": start, "N": start + rng.exponential(2000, n), "Y": y}
    times["Z"] = y + rng.exponential(1500, n)
    kept = {"X": np.ones(n, bool), "N": comes & (rng.random(n) > 0.2)}
    kept |= {"Y": rng.random(n) > 0.2, "Z": rng.random(n) > 0.2}
    return pa.table({
        "tag": np.concatenate([np.arange(n)[kept[k]] for k in times]),
        "kind": np.concatenate([np.repeat(k, kept[k].sum()) for k in times]),
        "t": np.concatenate([times[k][kept[k]].astype(np.int64) for k in times]),
    })  # fmt: skip


def confidences(gaps: str, rows: pa.Table | None = None) -> list[float]:
    ag = Session(engine="local")
    ag.sql(f"{STREAMS} CREATE GAPS g ON q {gaps};")
    ag.bind("s", READS)
    if rows is not None:
        ag.bind("history", rows)
    return ag.table("q").column("confidence").to_pylist()


def test_learned_gaps_answer_like_those_the_history_was_drawn_from() -> None:
    written = confidences("(x TO y EXPONENTIAL(1000), x TO n EXPONENTIAL(2000) REACHES 0.5)")
    found = confidences("LEARN FROM history", history())
    assert found == pytest.approx(written, abs=0.05)


def test_what_is_learned_does_not_depend_on_how_far_ticks_are() -> None:
    near = history(300)
    far = near.set_column(2, "t", pa.array(near.column("t").to_numpy() + 2**60))
    assert confidences("LEARN FROM history", far) == confidences("LEARN FROM history", near)


def test_a_history_without_rows_is_asked_for() -> None:
    with pytest.raises(QueryError, match="P003"):
        confidences("LEARN FROM history")


def test_a_history_of_other_things_is_refused() -> None:
    with pytest.raises(DataError, match="no read that can play"):
        confidences("LEARN FROM history", history().slice(0, 0))


def test_a_history_in_which_no_gap_was_seen_is_refused() -> None:
    rows = [{"tag": tag, "kind": "XYZ"[tag % 3], "t": tag} for tag in range(9)]
    with pytest.raises(DataError, match="both x and y were read"):
        confidences("LEARN FROM history", pa.Table.from_pylist(rows))


@pytest.mark.parametrize(
    ("declared", "told"), [("", "x and z"), ("MISS RATE (x 0.2)", "z"), ("MISS RATE (z 0.2)", "x")]
)
def test_the_miss_rate_of_a_component_at_an_end_is_asked_for(declared: str, told: str) -> None:
    ag = Session(engine="local")
    streams = STREAMS.replace("MISS RATE 0.2", "").replace("MISSED OF (y)", f"MISSED {declared}")
    ag.sql(f"{streams} CREATE GAPS g ON q LEARN FROM history;")
    ag.bind("s", READS)
    ag.bind("history", history(50))
    with pytest.raises(DataError, match=f"may miss {told} at an end .* declare it, such as MISS"):
        ag.table("q")
