"""Console blocks of the documents: commands after `$`, and what they print.

`make docs` runs them and writes their outputs anew; a test compares the two.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from docs.markdown import DOCUMENTS, ROOT

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DIALOGUE = re.compile(r"^\$ (.+\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", re.MULTILINE)
# What is told step by step in a folder of its own, empty at first.
TUTORIAL = ROOT / "docs" / "tutorial.md"


def dialogue(code: str) -> list[tuple[str, str]]:
    """Return each command of a console block with the output that is shown for it."""
    found = _DIALOGUE.findall(code)
    return [(command.rstrip("\n"), shown.rstrip("\n")) for command, shown in found]


def printed_by(command: str, folder: Path = ROOT) -> str:
    """Run a command, at the root of the work tree unless told, and return what it prints."""
    command = command.replace("\n> ", "\n")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line.rstrip() for line in run.stdout.rstrip("\n").split("\n")]
    return "\n".join(lines)


def _rewritten(code: str, folder: Path) -> str:
    spoken = []
    for command, _ in dialogue(code):
        printed = printed_by(command, folder)
        spoken.append(f"$ {command}\n{printed}\n" if printed else f"$ {command}\n")
    return f"```console\n{''.join(spoken)}```"


def main() -> None:
    """Write the outputs of every document anew."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as empty:
            folder = Path(empty) if document == TUTORIAL else ROOT
            text = _BLOCK.sub(lambda found, at=folder: _rewritten(found.group(1), at), text)
        document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
