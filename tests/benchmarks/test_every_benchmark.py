"""Every benchmark that `make bench` runs comes to its end, on a small size.

Those of benchmarks/spark are in test_spark_benchmarks.py.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import run_all
from lahar import lines
from matching import harness

# Arguments of each script, and what is made smaller in it.
SMALL: dict[str, tuple[list[str], dict[str, Any]]] = {
    "forecast.throughput": ([], {"EVENTS": 2_000, "KEYS": 20, "ROUNDS": 1, "HORIZONS": (10, 20)}),
    "forecast.standing": (
        [],
        {
            "SUBSCRIPTIONS": 10,
            "SETTINGS": {"subscriptions": [{"count": 5}], "length": [{"count": 5, "length": 4}]},
        },
    ),
    "forecast.figure_10": (
        [],
        {
            "SUBSCRIPTIONS": 5,
            "JUDGED": 5,
            "EACH": 1,
            "EACH_TOLD": 1,
            "EACH_JUDGED": 1,
            "STEP_TOLD": 2_000,
            "STANDING": (1, 2),
            "MODELS": {"MARKOV 1": 1, "EDGES": 1},
        },
    ),
    "forecast.calibration": (
        [],
        {"EVENTS": 600, "HISTORY": 900, "KEYS": 3, "HORIZONS": ("2 EVENTS", "10 EVENTS")},
    ),
    "import_time": ([], {"RUNS": 1}),
    "check_speed": ([], {"QUERIES": 8, "RUNS": 1}),
    "push_overhead": ([], {"EVENTS": 300, "RUNS": 1, "LIVE": (50,), "MANY_KEYS": 20}),
    "limits": ([], {"TIMES": (1, 2)}),
    "why": (["500"], {}),
    "large_files": (["1"], {"ROWS_AT_ONCE": 2_000}),
    "matching.throughput": (["20000"], {}),
    "matching.after_match": (["20000"], {}),
    "matching.standing_queries": (["2000"], {"QUERIES": 20}),
    "matching.long_sequences": (["3000"], {"THRESHOLDS": (0.5, 0.9)}),
    "lahar.throughput": (["8", "10"], {"BY_STEPS": (5, 10)}),
    "lahar.quality": (["3", "900", "1", "1"], {"RESAMPLED": 100}),
    "lahar.realtime": (["3", "300", "1", "1"], {}),
    "lahar.home": ([], {}),
    "lahar.papers_figures": (["5"], {"OBJECTS": (1, 5), "SUBGOALS": (1, 2)}),
    "lahar.safe_plan": (["2"], {"OBJECTS": (1, 3), "STEPS": 10, "ERRORS": (0.2,)}),
    "missed.throughput": ([], {"EVENTS": 600, "ROUNDS": 1}),
    "missed.window": (["600"], {"WINDOWS": (600, 1200)}),
    "missed.quality": ([], {"TAGS": 2000}),
    "missed.calibration": ([], {"SEQUENCES": 200, "RATES": (0.1,)}),
    "privacy.figures": (
        ["2"],
        {
            "PERIODICITIES": (0.0, 0.4, 0.9, 1.0),
            "COUNTS": (0, 2),
            "COSTS": (100.0,),
            "DRAWN": 2,
            "RESAMPLED": 50,
        },
    ),
    "chain.scaling": (["0.05", "only print"], {}),
    "chain.hospital": (["2", "0.3"], {}),
    "rules.contents": (["2000", "50"], {}),
    "rules.schedulers": (
        ["12", "1"],
        {"READS": (1,), "WRITES": (0.5,), "DELAYS": (0.001,), "GRAINS": ("row",)},
    ),
    "rules.latency": (["0.1"], {"LENGTHS": (2, 3), "RATES": (50, 200), "MOST": 20}),
    "privacy.throughput": (["3000"], {"HISTORY": 300, "WINDOWS": (60_000,)}),
    "identity.feasibility": (["150"], {"SEEDS": (1,)}),
    "identity.figures": (["150"], {"SEEDS": (1,), "RATIOS": (0.1, 0.6), "WINDOWS": (30,)}),
    "identity.calibration": (["300"], {}),
    "identity.matches": (["120"], {"A_WARD": 120}),
    "hierarchy.windows": (["3000"], {"WINDOWS": (1000,), "KINDS": (10,), "FOR_PLAIN": {1000: 800}}),
}
# What has tests of its own: test_spark_benchmarks.py, and tools/check-wheel.
ELSEWHERE = {"first_answer", "spark.run", "identity.outside"}
# Those that start Spark themselves, each in a process of its own.
ON_SPARK: dict[str, tuple[list[str], dict[str, Any]]] = {
    "rules.on_spark": (["2000", "50", "2"], {}),
    "lahar.keys": (["50", "2"], {"SHARDS": 2}),
    "dpcep.movement": (
        ["200"],
        {"OVERLAPS": (0.0, 0.5, 1.0), "RATES": (0.5, 1.0), "ON_SPARK": ((1.0, 0.5, 1),)},
    ),
    "identity.wards": (["3", "12"], {"SHARDS": 2, "PARTS": 2}),
    "chain.week": (["1", "0.2"], {"SHARDS": 2}),
    "chain.latency": (["4", "80", "20"], {"WARM_S": 0}),
    "dpcep.workers": (
        ["1000"],
        {"WORKERS": (1,), "MORE_WORKERS": (1,), "THREADS": (2,)},
    ),
}
APART = """
import importlib, pathlib, sys
import run_all
from lahar import lines
from matching import harness
name, arguments, constants, figures = {given!r}
sys.argv = [name, *arguments]
harness.FIGURES = lines.FIGURES = pathlib.Path(figures)
benchmark = importlib.import_module(name)
for constant, value in constants.items():
    setattr(benchmark, constant, value)
benchmark.main()
"""
WITH_DATA = {
    "chain.page",
    "hierarchy.caviar",
    "dpcep.page",
    "forecast.heat_waves",
    "forecast.page",
    "identity.page",
    "rules.page",
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Return how to import a benchmark, made smaller; its figures go to a folder of the test."""
    threads = pa.cpu_count(), pa.io_thread_count()

    def made(name: str) -> ModuleType:
        arguments, constants = SMALL.get(name, ([], {}))
        module = importlib.import_module(name)
        monkeypatch.setattr(harness, "ROUNDS", 1)
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        for each in (harness, lines, module):
            if hasattr(each, "FIGURES"):
                monkeypatch.setattr(each, "FIGURES", tmp_path)
        for constant, value in constants.items():
            monkeypatch.setattr(module, constant, value)
        return module

    yield made
    pa.set_cpu_count(threads[0])
    pa.set_io_thread_count(threads[1])


def test_no_benchmark_of_make_bench_is_left_out(repository: Path) -> None:
    assert "benchmarks/run_all.py" in (repository / "Makefile").read_text(encoding="utf-8")
    tested = {*SMALL, *WITH_DATA, *ON_SPARK, *ELSEWHERE}
    known = {name.partition(" ")[0] for name in run_all.BENCHMARKS}
    assert {script.replace("/", ".") for script in known} == tested


def test_a_benchmark_that_fails_is_told_and_keeps_no_other_from_running(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "first.py").write_text("raise SystemExit(3)")
    (tmp_path / "second.py").write_text("")
    scripts(monkeypatch, tmp_path, first="raise SystemExit(3)", second="")
    assert run_all.main([]) == 1
    assert told(capsys) == {"first": "FAILED with code 3", "second": "done"}


def scripts(monkeypatch: pytest.MonkeyPatch, folder: Path, **texts: str) -> None:
    """Let all benchmarks be some scripts in a folder."""
    home = folder / "benchmarks"
    home.mkdir()
    for name, text in texts.items():
        (home / f"{name}.py").write_text(text)
    monkeypatch.setattr(run_all, "HERE", home)
    monkeypatch.setattr(run_all, "BENCHMARKS", tuple(texts))


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return how each benchmark ended, as the totals tell."""
    said = capsys.readouterr().out.split(" benchmarks at scale ")[1].splitlines()[2:]
    return {line.split()[0]: line[30:].partition("   ")[0] for line in said}


def test_a_run_that_was_broken_off_goes_on_with_what_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = "open(__file__ + '.ran', 'a').write('x')"
    scripts(monkeypatch, tmp_path, good=ran, bad=f"{ran}\nraise SystemExit(2)")
    monkeypatch.setattr(run_all, "version", lambda: "c0ffee")

    def runs(*words: str) -> tuple[str, str]:
        run_all.main(words)
        return tuple((run_all.HERE / f"{n}.py.ran").read_text() for n in ("good", "bad"))

    assert runs() == ("x", "x")
    assert runs() == ("x", "xx")
    capsys.readouterr()
    assert runs("good") == ("x", "xx")
    assert told(capsys) == {"good": "done, before"}
    monkeypatch.setenv("AUGURY_BENCH_SCALE", "0.5")
    assert runs("good") == ("xx", "xx")
    assert runs("--again", "good") == ("xxx", "xx")
    # Other code may take another time.
    monkeypatch.setattr(run_all, "version", lambda: "facade")
    assert runs("good") == ("xxxx", "xx")
    # Where nobody knows which code it is, nothing is left out.
    monkeypatch.setattr(run_all, "version", lambda: "")
    runs("good")
    assert runs("good") == ("xxxxxx", "xx")


def test_a_change_of_the_code_is_another_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "benchmarks").mkdir()
    monkeypatch.setattr(run_all, "HERE", tmp_path / "benchmarks")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert run_all.version() == ""
    script = tmp_path / "benchmarks" / "one.py"
    versions = []
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    run_all.git("init", "-q", str(tmp_path))
    run_all.git(*who, "commit", "-q", "--allow-empty", "-m", "none")
    versions.append(run_all.version())
    script.write_text("1")
    versions.append(run_all.version())
    run_all.git("add", ".")
    run_all.git(*who, "commit", "-q", "-m", "one")
    versions.append(run_all.version())
    script.write_text("2")
    versions.append(run_all.version())
    assert all(versions)
    assert len(set(versions)) == 4
    (tmp_path / "README.md").write_text("what is said of it")
    assert run_all.version() == versions[-1]


def test_parts_of_a_script_are_asked_for_by_its_name_or_their_own() -> None:
    assert run_all.chosen(["spark/run floor"]) == ["spark/run floor"]
    assert run_all.chosen(["spark/run"]) == run_all.chosen(["spark"])
    assert len(run_all.chosen(["spark"])) > 5
    with pytest.raises(SystemExit, match="there is no benchmark spork"):
        run_all.chosen(["spork"])


@pytest.mark.rotating(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_benchmark_comes_to_its_end(
    name: str, small: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if name == "lahar.home":
        recording(tmp_path / "shared" / "data" / "home_rssi.parquet")
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
    benchmark = small(name)
    if name == "limits":
        # Without a process for each case, and without a plan that takes seconds.
        few = {case: (made, 30) for case, (made, _) in benchmark.CASES.items()}
        few |= dict.fromkeys(("all_missed", "all_missed_bent"), (benchmark.pairs, 30))
        monkeypatch.setattr(benchmark, "CASES", few)
        monkeypatch.setattr(benchmark, "apart", benchmark.measured)
    benchmark.main()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.rotating(6)
@pytest.mark.parametrize("name", sorted(ON_SPARK))
def test_a_benchmark_that_starts_spark_comes_to_its_end(
    name: str, repository: Path, tmp_path: Path
) -> None:
    code = APART.format(given=(name, *ON_SPARK[name], str(tmp_path)))
    path = os.pathsep.join(str(repository / each) for each in ("src", "benchmarks", "tests"))
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert list(tmp_path.glob("*.json"))


def recording(path: Path) -> None:
    """Write three walks there and back through a house of three rooms."""
    rng = np.random.default_rng(1)
    rows = []
    for walk in range(3):
        for sec in range(40):
            room = (0, 1, 2, 1)[sec // 10]
            heard = {f"{name}_AP": -60.0 - 10 * abs(room - k) for k, name in enumerate("ABC")}
            noisy = {name: level + rng.normal() for name, level in heard.items()}
            rows.append({"walk": walk, "sec": sec, **noisy, "room": f"room {room}"})
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def test_the_recordings_are_judged_to_the_end(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    caviar = small("hierarchy.caviar")
    if not caviar.DATA.exists():
        pytest.skip("the recordings are not here: ../shared/data")
    every = caviar.tracked

    def some(noise: str, frames: int = 25) -> Any:
        events = every(noise, max(frames, 25))
        return events[events.video.isin(["01-Walk1", "20-Meet_WalkTogether2"])]

    monkeypatch.setattr(caviar, "tracked", some)
    monkeypatch.setattr(caviar, "LABELS", {"meeting_in_one_frame": "interacting"})
    caviar.main()


def test_marginals_are_those_that_stone_soup_gave_for_the_same_weights(small: Any) -> None:
    outside = small("identity.outside")
    found = outside.posteriors([[1.0, 2.0, 1.0], [1.0, 1.0, 1.0], [3.0, 1.0, 1.0]])
    theirs = [[2 / 14, 8 / 14, 4 / 14], [3 / 14, 4 / 14, 7 / 14], [9 / 14, 2 / 14, 3 / 14]]
    assert found.tolist() == [pytest.approx(row) for row in theirs]


def test_the_page_of_identities_is_written_from_its_figures(
    small: Any, repository: Path, tmp_path: Path
) -> None:
    figures = repository / "docs" / "benchmarks"
    for name in ("feasibility", "figures", "calibration", "matches", "outside", "wards"):
        shutil.copy(figures / f"identity_{name}.json", tmp_path)
    small("identity.page").main()
    assert (tmp_path / "identities.md").read_text() == (figures / "identities.md").read_text()


def test_the_page_of_rules_is_written_from_its_figures(
    small: Any, repository: Path, tmp_path: Path
) -> None:
    figures = repository / "docs" / "benchmarks"
    for each in figures.glob("rules_*.json"):
        shutil.copy(each, tmp_path)
    small("rules.page").main()
    assert (tmp_path / "rules.md").read_text() == (figures / "rules.md").read_text()


def test_the_page_of_scaling_is_written_from_its_figures(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    docs = repository / "docs"
    (tmp_path / "benchmarks").mkdir()
    for figures in (docs / "benchmarks").glob("chain_*.json"):
        shutil.copy(figures, tmp_path / "benchmarks")
    page = importlib.import_module("chain.page")
    monkeypatch.setattr(page, "DOCS", tmp_path)
    page.main()
    assert (tmp_path / "scaling.md").read_text() == (docs / "scaling.md").read_text()


def test_the_page_of_distribution_is_written_from_its_figures(
    small: Any, repository: Path, tmp_path: Path
) -> None:
    figures = repository / "docs" / "benchmarks"
    for name in ("movement.json", "workers.json"):
        shutil.copy(figures / name, tmp_path)
    small("dpcep.page").main()
    assert (tmp_path / "distribution.md").read_text() == (figures / "distribution.md").read_text()


def test_the_page_of_forecasts_is_written_from_its_figures(
    small: Any, repository: Path, tmp_path: Path
) -> None:
    figures = repository / "docs" / "benchmarks"
    for figure in figures.glob("forecast_*.json"):
        shutil.copy(figure, tmp_path)
    small("forecast.page").main()
    assert (tmp_path / "forecasts.md").read_text() == (figures / "forecasts.md").read_text()


def test_heat_waves_are_judged_to_the_end(
    small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    days = np.arange("2000-06-01", "2001-09-01", dtype="datetime64[D]").astype(str)
    cities = [
        {"city": city, "day": day, "celsius": 24 + 9 * np.sin(k / 15) + rng.normal()}
        for city in ("A", "B", "C", "D")
        for k, day in enumerate(days)
    ]
    pq.write_table(pa.Table.from_pylist(cities), tmp_path / "days.parquet")
    benchmark = small("forecast.heat_waves")
    monkeypatch.setattr(sys, "argv", ["heat_waves", str(tmp_path / "days.parquet")])
    monkeypatch.setattr(benchmark, "HORIZONS", (10,))
    benchmark.main()
    assert (tmp_path / "forecast_heat_waves_time.svg").exists()
