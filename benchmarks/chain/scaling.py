"""What the chain costs as wards grow: events a second of one core, stage by stage.

One corridor of `augury.demo.hospital`, with more people or more unread badges; and several of them,
which know nothing of each other. Run as `python benchmarks/chain/scaling.py [hours]`.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import replace
from time import process_time
from typing import Any

from augury.demo.hospital.pipelines import opened
from augury.demo.hospital.ward import Care, simulate
from matching.harness import FIGURES, scale

ONE = Care(corridors=1)
CASES = {
    "4 people": replace(ONE, workers=4),
    "8 people": ONE,
    "12 people": replace(ONE, workers=12),
    "8 people, no badge unread": replace(ONE, unread=0.0),
    "8 people, 20 % unread": replace(ONE, unread=0.2),
    "2 corridors of 8": replace(ONE, corridors=2),
    "4 corridors of 8": replace(ONE, corridors=4),
}


def measured(care: Care) -> dict[str, Any]:
    """Return seconds of one core by stage, and how many events there were."""
    ward, took = simulate(1, care), dict[str, float]()
    session, began = opened(ward), process_time()
    # Each stage has what those before it have left behind.
    for stage, asked in (
        ("owners and policy", lambda: session.audit("discreet")),
        ("matches of one query", lambda: session.table("contact")),
        ("three more queries, and rules", lambda: session.table("alarms")),
    ):
        asked()
        took[stage], began = process_time() - began, process_time()
    return {"events": len(ward.told), "seconds": took}


def main() -> None:
    """Measure all cases; write `docs/benchmarks/chain_scaling.json`."""
    warnings.simplefilter("ignore")
    hours = float(sys.argv[1]) if len(sys.argv) > 1 else max(0.05, 0.5 * scale())
    measured(replace(ONE, hours=0.1))
    found = {name: measured(replace(care, hours=hours)) for name, care in CASES.items()}
    text = json.dumps({"hours": hours, "cases": found}, indent=1)
    if len(sys.argv) < 3:
        (FIGURES / "chain_scaling.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
