"""Numbers of a run as Prometheus reads them, and the log of what happens."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from augury.runners.metrics import Metrics, served
from cli.terminal import augury

BATCH = {"events": 7, "state_rows": 3, "state_bytes": 80, "watermark_lag_seconds": None}


def test_numbers_are_told_by_name_of_query_rule_and_stream() -> None:
    metrics = Metrics({"match\ntheft": "theft", "firings\nwarn": "Warn"}, frozenset({"warn"}))
    totals = {
        ("match", "match\ntheft"): 2,
        ("match", "firings\nwarn"): 1,
        ("match", "audit\ndiscreet"): 9,
        ("rejected", 'odd"name'): 4,
        ("late", "reads"): 5,
    }
    metrics.note(BATCH, totals)
    metrics.note(BATCH | {"watermark_lag_seconds": 1.5}, totals)
    metrics.sure("match\ntheft", [0.5, 1.0])
    told = [line for line in metrics.text().splitlines() if not line.startswith("#")]
    assert [line for line in told if "timestamp" not in line] == [
        "augury_events_total 14.0",
        'augury_matches_total{query="theft"} 2',
        'augury_firings_total{rule="Warn"} 1',
        'augury_rejected_rows_total{stream="odd\\"name"} 4',
        'augury_late_rows_total{stream="reads"} 5',
        "augury_watermark_lag_seconds 1.5",
        "augury_state_rows 3.0",
        "augury_state_bytes 80.0",
        "augury_batches_total 2.0",
        'augury_confidence_mean{query="theft"} 0.75',
        'augury_confidence_drift{query="theft"} 0.0',
    ]


def test_answers_that_become_less_sure_show_as_drift() -> None:
    metrics = Metrics()
    metrics.sure("q", [1.0] * 1000)
    metrics.sure("q", [0.5] * 1000)
    assert 'augury_confidence_drift{query="q"} -0.25' in metrics.text()


def test_numbers_are_served_on_loopback_and_nothing_else_is() -> None:
    metrics = Metrics()
    metrics.note(BATCH, {})
    server = served(metrics, "0")
    host, port = server.server_address[:2]
    assert host == "127.0.0.1"
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        assert b"augury_events_total 7" in answer.read()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/")
    server.shutdown()
    server.server_close()


def test_what_happens_is_logged_with_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("k,t\nA,1\nB,2\n,x\n")
    Path("q.sql").write_text(
        "CREATE STREAM s (k STRING, t LONG) TIME t TYPE k FROM csv 's.csv';"
        "CREATE QUERY ab ON s PATTERN SEQ(A a, B b) WITHIN 9;"
    )
    shown = augury("run", "q.sql", "--log", "run.log", "--metrics", "0")
    assert shown.exit_code == 0, shown.output
    log = [json.loads(line) for line in Path("run.log").read_text().splitlines()]
    # How often progress is told hangs on how long the run takes.
    events = [each["event"] for each in log if each["event"] != "progress"]
    assert events == ["note", "start", "end", "warning"]
    assert all(each["time"].endswith("+00:00") for each in log)


def test_a_port_that_cannot_be_had_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("t\n1\n")
    stream = f"CREATE STREAM s (t LONG) TIME t FROM csv '{tmp_path}/s.csv';"
    script = f"{stream} CREATE QUERY q ON s PATTERN SEQ(s a);"
    shown = augury("run", "-", "--metrics", "soon", stdin=script)
    assert shown.exit_code == 1
    fault = "soon is no port; say PORT or HOST:PORT"
    assert f"error: --metrics soon cannot be served: {fault}" in shown.output
