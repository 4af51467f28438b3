"""`augury demo`: what it prints equals an independent count; the engine is said and chosen."""

from __future__ import annotations

import json
import re
from html import escape
from itertools import combinations
from math import prod
from pathlib import Path

import pytest

from augury import AuguryError
from augury.cli import demo as command
from augury.demo import SCENES
from augury.demo.scene import scene_named
from augury.demo.store.visits import simulate
from cli.terminal import augury


def counted(seed: int) -> tuple[set[str], dict[str, float]]:
    """Return the stolen items, and the best confidence of each item, from the reads alone."""
    by_tag: dict[str, list] = {}
    for read in simulate(seed):
        by_tag.setdefault(read.tag, []).append(read)
    stolen, best = set(), {}
    for tag, reads in by_tag.items():
        for x, z in combinations(reads, 2):
            if (x.reader, z.reader) != ("SHELF", "EXIT") or z.door == "staff":
                continue
            counters = [y for y in reads if y.reader == "COUNTER" and x.at < y.at < z.at]
            confidence = x.p * z.p * prod(1 - y.p for y in counters)
            best[tag] = max(best.get(tag, 0.0), confidence)
            if x.real and z.real and not any(y.real for y in counters):
                stolen.add(tag)
    return stolen, best


@pytest.mark.slow
def test_the_command_prints_precision_and_recall_as_counted_by_hand(tmp_path: Path) -> None:
    out = tmp_path / "made" / "demo.html"
    shown = augury(
        "demo", "--scene", "store", "--engine", "local", "--seed", "5", "--out", str(out)
    )
    stolen, best = counted(5)
    assert shown.exit_code == 0
    for threshold in (0.1, 0.5, 0.8, 0.9):
        accused = {tag for tag, confidence in best.items() if confidence >= threshold}
        right = len(accused & stolen)
        (line,) = re.findall(rf"^  confidence >= {threshold} +(.+)$", shown.output, re.MULTILINE)
        assert line.split() == [
            f"{len(accused):,}",
            f"{right:,}",
            f"{right / len(accused):.1%}",
            f"{right / len(stolen):.1%}",
        ]
    assert f"{len(stolen):,} items really stolen" in shown.output
    assert "answered by the local engine" in shown.output
    assert shown.output.endswith(f"wrote {out}\n")
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.slow
def test_all_scenes_are_in_one_report_and_their_figures_come_as_json(tmp_path: Path) -> None:
    out = tmp_path / "demo.html"
    shown = augury("demo", "--engine", "local", "--seed", "5", "--out", str(out), "--json")
    figures = json.loads(shown.stdout)
    stolen, best = counted(5)
    assert (figures["engine"], figures["store"]["stolen"]) == ("local", len(stolen))
    (at_half,) = (each for each in figures["store"]["thresholds"] if each["threshold"] == 0.5)
    assert at_half["accused"] == sum(confidence >= 0.5 for confidence in best.values())
    assert shown.stderr == ""
    page = out.read_text(encoding="utf-8")
    for name in SCENES:
        assert figures[name]["seconds"] > 0
        assert f"<h1>{escape(scene_named(name).title)}</h1>" in page
    assert page.count("<h1>") == len(SCENES)


def test_without_java_the_local_engine_is_used_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "java_version", lambda: None)
    chosen = command.choose_engine(None)
    assert chosen.name == "local"
    assert chosen.reason == "no Java was found, so Spark was not used"


def test_with_java_spark_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "java_version", lambda: "17.0.1")
    monkeypatch.setattr(command, "installed", lambda _: "4.2.0")
    assert command.choose_engine(None).name == "spark"


def test_spark_without_java_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "java_version", lambda: None)
    with pytest.raises(AuguryError, match="--engine local"):
        command.choose_engine("spark")


def test_a_report_that_cannot_be_written_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    out = str(tmp_path / "file" / "demo.html")
    shown = augury("demo", "--scene", "readers", "--engine", "local", "--out", out)
    assert shown.exit_code == 1
    assert "cannot be written" in shown.output
