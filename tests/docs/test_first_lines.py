"""The lines with which README.md begins are run as on a terminal, and show what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from docs.markdown import ROOT

_BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_three_lines_lead_to_a_first_answer(tmp_path: Path) -> None:
    lines, answer = _BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))[:2]
    install, *rest = lines.splitlines()
    assert install == "pip install augury"
    assert len(rest) == 2
    assert on_a_terminal("\n".join(rest), tmp_path).strip() == answer.strip()


def on_a_terminal(commands: str, folder: Path) -> str:
    """Return what commands print on a terminal, without what they say on standard error."""
    master, slave = os.openpty()
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-ec", commands],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    os.close(slave)
    assert done.returncode == 0, done.stderr.decode()
    shown = b""
    try:
        while more := os.read(master, 2**16):
            shown += more
    except OSError:
        # Linux tells the end of a terminal so.
        pass
    os.close(master)
    return shown.decode().replace("\r\n", "\n")
