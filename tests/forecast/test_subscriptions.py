"""The worked examples of P-ToPSS: what its subscriptions match, and forecasts of them."""

from __future__ import annotations

import pytest

import augury

INTRUSION = """
    CREATE QUERY intrusion ON logins
    SUBSCRIPTION s1; s2; s3@(t(s3) - t(s1) < 5 min); s4
    WITH s1, s2, s3: ip = $x AND status = 'denied', s4: ip = $x AND status = 'success';
"""


def matched(sql: str, stream: str, rows: list[dict[str, object]], query: str) -> list[list[str]]:
    ag = augury.Session(engine="local")
    ag.sql(sql)
    ag.bind(stream, rows)
    found = ag.table(query).to_pylist()
    return [[event["event_id"] for event in row["events"]] for row in found]


@pytest.mark.parametrize(("order", "matches"), [("ORDER BY id", [["0", "1", "2", "3"]]), ("", [])])
def test_table_1_is_matched_where_ties_are_broken_by_id(
    order: str, matches: list[list[str]]
) -> None:
    sql = f"""
        CREATE STREAM logins (id LONG, ip STRING, status STRING, at TIMESTAMP)
        ID id TIME at {order};
    """
    day, here = "2007-02-14 ", "128.100.2.15"
    rows: list[dict[str, object]] = [
        {"id": 0, "ip": here, "status": "denied", "at": day + "12:38:10"},
        {"id": 1, "ip": here, "status": "denied", "at": day + "12:42:10"},
        {"id": 2, "ip": here, "status": "denied", "at": day + "12:42:10"},
        {"id": 3, "ip": here, "status": "success", "at": day + "12:43:28"},
        {"id": 4, "ip": here, "status": "logoff", "at": day + "12:43:56"},
        {"id": 5, "ip": "128.100.5.10", "status": "success", "at": day + "12:45:28"},
    ]
    assert matched(sql + INTRUSION, "logins", rows, "intrusion") == matches


def test_figure_7_has_one_match() -> None:
    sql = """
        CREATE STREAM s (kind STRING, t LONG) TIME t;
        CREATE QUERY timed ON s
        SUBSCRIPTION s1; s2@(t(s2) - t(s1) < 3); s3@(t(s3) - t(s1) < 6)@(t(s3) - t(s2) > 3)
        WITH s1: kind = '1', s2: kind = '2', s3: kind = '3'
        RETURN s1.t AS t1, s2.t AS t2, s3.t AS t3;
    """
    ag = augury.Session(engine="local")
    ag.sql(sql)
    ag.bind("s", [{"kind": kind, "t": t} for t, kind in enumerate("11122233", start=1)])
    columns = ["t1", "t2", "t3"]
    assert ag.table("timed", columns=columns).to_pylist() == [{"t1": 3, "t2": 4, "t3": 8}]


@pytest.mark.parametrize(
    ("run", "horizon", "forecast"),
    [(0, 5, 0.07776), (3, 2, 0.36), (4, 2, 0.6), (2, 10, 0.358083), (4, 10, 0.68087)],
)
def test_a_heat_wave_is_five_hot_days_in_a_row(run: int, horizon: int, forecast: float) -> None:
    ag = augury.Session(engine="local")
    ag.sql(f"""
        CREATE STREAM days (heat DOUBLE, t LONG) TIME t;
        CREATE STREAM history (heat DOUBLE, t LONG) TIME t;
        CREATE QUERY wave ON days SUBSCRIPTION s, s, s, s, s WITH s: heat > 30;
        CREATE FORECAST hot ON wave WITHIN {horizon} EVENTS USING INDEPENDENT LEARN FROM history
        RETURN FORECAST BY TIME;
    """)
    ag.bind("history", [{"heat": 31.0 if t < 6 else 20.0, "t": t} for t in range(10)])
    ag.bind("days", [{"heat": 31.0 if t else 20.0, "t": t} for t in range(run + 1)])
    rows = ag.table("hot").to_pylist()
    assert rows[-1]["forecast"] == pytest.approx(forecast, abs=1e-6)
    assert rows[-1]["method"] == "exact"
