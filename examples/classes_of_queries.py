"""Which queries have exact answers? Print the class of every query of a script, and the reasons."""

from __future__ import annotations

import json
from pathlib import Path

import augury

HERE = Path(__file__).parent
SCRIPTS = ("store.sql", "coffee.sql", "traffic.sql", "hygiene.sql")


def main() -> None:
    """Print a line for each query of the example scripts."""
    for script in SCRIPTS:
        ag = augury.Session(engine="local")
        ag.run_file(HERE / script)
        print(script)
        for name in ag.queries:
            explained = json.loads(ag.explain(name, format="json"))
            print(f"  {name:20} {explained['class']}")


if __name__ == "__main__":
    main()
