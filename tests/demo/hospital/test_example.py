"""The example of the hospital runs as it is read; its picture and its live page show what is so."""

from __future__ import annotations

import json
import re
import runpy
import threading
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest

from augury.demo.hospital.pipelines import opened
from augury.demo.hospital.ward import Care, simulate
from docs.picture import drawn

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.filterwarnings("ignore:.*stream known", "ignore:.*without KEY")


def example(name: str, run_as: str = "") -> SimpleNamespace:
    """Return what an example defines."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "examples/hospital" / name), None, run_as))


def test_the_script_shows_the_chain_from_a_reader_to_the_alarms(
    capsys: pytest.CaptureFixture[str],
) -> None:
    example("hospital.py", "__main__")
    said = capsys.readouterr().out
    assert re.search(r"(\d+) violations happened", said)
    assert re.search(r"alarm at \d\d:\d\d:\d\d: [AB]\d in R\d", said)
    assert "rows are published" in said


def test_the_picture_is_that_of_the_ward_and_the_first_of_the_readme() -> None:
    assert (ROOT / "docs/hospital.svg").read_text(encoding="utf-8") == drawn()
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", (ROOT / "README.md").read_text("utf-8"))
    assert pictures[0] == "docs/hospital.svg"


def test_the_live_page_shows_what_is_committed(tmp_path: Path) -> None:
    live, ward = example("page/live.py"), simulate(4, Care(corridors=1, hours=0.2))
    board = live.Board(f"sqlite:///{tmp_path / 'ward.db'}")
    assert board.now() == {"badges": {}, "alarms": []}
    session = live.opened(ward, board.url)
    live.play(ward, session, speed=0.0)
    session.finish()
    people = sorted(each["person"] for each in ward.staff)
    with live.served(board, people) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        with urllib.request.urlopen(f"{address}/now") as answer:
            now = json.load(answer)
        with urllib.request.urlopen(address) as answer:
            page = answer.read().decode()
        server.shutdown()
    plain = opened(ward)
    badges = {row["person"]: row["state"] for row in plain.table("badges").to_pylist()}
    alarms = plain.table("alarms").to_pylist()
    assert badges
    assert now["badges"] == badges
    assert sorted(now["alarms"]) == sorted(
        [f"{row['at']:%H:%M:%S}", row["person"], row["room"]] for row in alarms
    )
    assert now["people"] == people
    assert '<ul id="badges"' in page
    assert "http:" not in page
