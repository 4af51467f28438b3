"""What documents name exists: paths, links, anchors, modules, make targets."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from docs.markdown import DOCUMENTS, ROOT, name

TOP_FOLDERS = {p.name for p in ROOT.iterdir() if p.is_dir()} | {"benchmarks", "examples"}
IDS = [name(document) for document in DOCUMENTS]


def prose(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def anchors(document: Path) -> set[str]:
    titles = re.findall(r"^#+ +(.+)$", prose(document), re.MULTILINE)
    kept = (re.sub(r"[^\w\s-]", "", title.lower()) for title in titles)
    return {re.sub(r"\s", "-", title.strip()) for title in kept}


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", prose(document))
    ours = [path for path in named if path.split("/")[0] in TOP_FOLDERS]
    assert [path for path in ours if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_every_link_leads_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(document))
    for target in targets:
        path, _, anchor = target.partition("#")
        linked = (document.parent / path) if path else document
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_every_module_that_a_document_names_exists(document: Path) -> None:
    named = set(re.findall(r"`(augury(?:\.[a-z_]+)+)`", prose(document)))
    assert [module for module in named if importlib.util.find_spec(module) is None] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_every_make_target_that_a_document_names_exists(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"^make ([a-z]+)|`make ([a-z]+)", prose(document), re.MULTILINE))
    targets = {target for pair in named for target in pair if target}
    assert [t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)] == []
