"""The project's Markdown documents, and the code blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = tuple(
    sorted(p for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if ".venv" not in p.parts)
)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced code block; `line` is where its code begins."""

    document: Path
    language: str
    code: str
    line: int

    def __str__(self) -> str:
        return f"{name(self.document)}:{self.line}"


def name(document: Path) -> str:
    """Return a document's path from the root of the work tree."""
    return str(document.relative_to(ROOT))


def read(path: str) -> str:
    """Return the text of a document."""
    return (ROOT / path).read_text(encoding="utf-8")


def blocks(document: Path, language: str) -> list[Block]:
    """Return the code blocks of a document in one language, in order."""
    text = document.read_text(encoding="utf-8")
    return [
        Block(document, language, found.group(2), text.count("\n", 0, found.start(2)) + 1)
        for found in _FENCE.finditer(text)
        if found.group(1) == language
    ]
