"""Pages in a real Chromium: nothing is fetched, nothing fails, and axe finds no serious fault.

One browser is started for all pages. `tools/ensure-browser` brings it, and axe.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from augury.cli.main import cli
from report.test_report import hostile

ROOT = Path(__file__).parents[2]
AXE = ROOT / ".venv/share/axe/node_modules/axe-core/axe.min.js"
DATA = ROOT.parent / "shared" / "data"
CHROMIUM = shutil.which("chromium")

LOGINS = """CREATE STREAM logins (ts TIMESTAMP, event STRING, user STRING, ip STRING)
KEY ip TIME ts TYPE event;
CREATE QUERY sweep ON logins PATTERN SEQ(INVALID i, FAIL f) WHERE [ip] AND i.user = f.user
USING SKIP TILL NEXT MATCH WITHIN 10 SECONDS RETURN f.user AS user;
CREATE QUERY guessed ON logins PATTERN SEQ(FAIL f, ACCEPT a) WHERE [ip] WITHIN 10 MINUTES;"""
CITIES = """CREATE STREAM daily_temperature (city STRING, day TIMESTAMP, celsius DOUBLE)
KEY city TIME day;
CREATE QUERY heat ON daily_temperature PATTERN SEQ(_ a, _ b) WHERE [city] AND a.celsius > 38
AND b.celsius > 38 USING PARTITION CONTIGUITY WITHIN 2 DAYS RETURN a.celsius AS first;"""
CAVIAR = """CREATE STREAM caviar_events (noise STRING, video STRING, t_ms LONG, id STRING,
event STRING, p_event DOUBLE) KEY noise, video, id TIME t_ms TYPE event PROBABILITY p_event;
CREATE QUERY stopped ON caviar_events PATTERN SEQ(walking a, inactive b)
WHERE [noise] AND [video] AND [id] USING PARTITION CONTIGUITY WITHIN 100
HAVING CONFIDENCE >= 0.1;"""


def _reports(folder: Path) -> Iterator[Path]:
    """Write the pages that are looked at, and yield where."""
    yield _written("demo", folder / "demo.html", "--engine", "local")
    (folder / "hostile.html").write_text(hostile().report(), encoding="utf-8")
    yield folder / "hostile.html"
    for name, script, data in (
        ("logins", LOGINS, "logins.csv"),
        ("heat", CITIES, "daily_temperature.parquet"),
        ("caviar", CAVIAR, "caviar_events.parquet"),
    ):
        if (DATA / data).exists():
            (folder / f"{name}.sql").write_text(script)
            command = ("report", str(folder / f"{name}.sql"), str(DATA / data))
            yield _written(*command[:1], folder / f"{name}.html", *command[1:])


def _written(command: str, out: Path, *arguments: str) -> Path:
    done = CliRunner().invoke(cli, [command, *arguments, "--out", str(out)])
    assert done.exit_code == 0, done.output
    return out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(CHROMIUM is None or not AXE.exists(), reason="tools/ensure-browser")
def test_pages_are_sound(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    faults: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for page in _reports(tmp_path):
            for scheme in ("light", "dark"):
                faults += [f"{page.name} {scheme}: {each}" for each in _look(browser, page, scheme)]
        browser.close()
    assert faults == []


def _look(browser: Any, page: Path, scheme: str) -> Iterator[str]:
    """Yield what is wrong with a page, as it is and after its slider was moved."""
    view = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme=scheme)
    heard: list[str] = []
    view.on("console", lambda m: heard.append(f"console: {m.text}") if m.type == "error" else None)
    view.on("pageerror", lambda error: heard.append(f"error: {error}"))
    view.on("request", lambda request: heard.append(f"request: {request.url[:80]}"))
    view.goto(page.as_uri())
    if view.locator("#cut").count():
        view.locator("#cut").fill("0.5")
        assert view.locator("#cut-value").inner_text() == "0.50"
    view.locator("#theme").click()
    view.locator("#theme").click()
    view.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = view.evaluate("axe.run()")["violations"]
    taken = view.evaluate("window.taken")
    view.evaluate("document.documentElement.dataset.theme = 'dark'")
    view.emulate_media(media="print", color_scheme=scheme)
    view.set_viewport_size({"width": 720, "height": 1000})
    assert view.locator("#theme").is_hidden()
    # Paper is white, and nothing on it is cut off.
    assert view.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    blocks = "[...document.querySelectorAll('pre, .scroll')]"
    cut = f"{blocks}.filter(e => e.scrollWidth > e.clientWidth + 1)"
    assert view.evaluate(f"{cut}.map(e => e.outerHTML.slice(0, 200))") == []
    view.close()
    own = ("file:", "data:")
    yield from (each for each in heard if not each.removeprefix("request: ").startswith(own))
    yield from (
        f"axe: {each['id']} {each['nodes'][0]['html'][:120]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    )
    if taken is not None:
        yield "a value was run as a script"
