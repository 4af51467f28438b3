"""What starting costs: `import augury`, `augury --help`, and a bare interpreter to compare with."""

from __future__ import annotations

import subprocess
import sys
import time

RUNS = 5
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import augury": [sys.executable, "-c", "import augury"],
    "augury --help": [sys.executable, "-m", "augury", "--help"],
}


def best_seconds(command: list[str]) -> float:
    """Return the shortest of several runs, since the machine may be busy."""
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    """Print the figures."""
    for name, command in COMMANDS.items():
        print(f"{name:16} {best_seconds(command):6.3f} s")


if __name__ == "__main__":
    main()
