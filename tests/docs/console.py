"""Console blocks of the documents: commands after `$`, and what they print.

`make docs` runs them and writes their outputs anew; a test compares the two.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from docs.markdown import DOCUMENTS, ROOT

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DIALOGUE = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def dialogue(code: str) -> list[tuple[str, str]]:
    """Return each command of a console block with the output that is shown for it."""
    return [(command, shown.rstrip("\n")) for command, shown in _DIALOGUE.findall(code)]


def printed_by(command: str) -> str:
    """Run a command at the root of the work tree and return what it prints."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line.rstrip() for line in run.stdout.rstrip("\n").split("\n")]
    return "\n".join(lines)


def _rewritten(found: re.Match[str]) -> str:
    spoken = (f"$ {command}\n{printed_by(command)}\n" for command, _ in dialogue(found.group(1)))
    return f"```console\n{''.join(spoken)}```"


def main() -> None:
    """Write the outputs of every document anew."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        document.write_text(_BLOCK.sub(_rewritten, text), encoding="utf-8")


if __name__ == "__main__":
    main()
