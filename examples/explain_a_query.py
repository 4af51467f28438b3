"""Read a script, list what it declares, and explain one query in words and as a picture."""

from __future__ import annotations

import sys
from pathlib import Path

import augury

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    """Explain the shoplifting query, and draw its automaton into `folder`."""
    ag = augury.Session(engine="local")
    ag.run_file(HERE / "store.sql")
    print("streams:", ", ".join(ag.streams))
    print("queries:", ", ".join(ag.queries))
    print()
    print(ag.explain("shoplifting"))

    picture = folder / "shoplifting.svg"
    picture.write_text(ag.explain("shoplifting", format="svg"), encoding="utf-8")
    print(f"\nthe automaton is drawn in {picture.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
