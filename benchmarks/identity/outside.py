"""Marginals of owners against Stone Soup's exact joint association, `JPDAwithEHM`.

    python benchmarks/identity/outside.py [cases]

Random wards in which several badges are not read in one step and people prefer rooms: a single step
of association with given likelihoods, which is all that joint association knows. Stone Soup is
installed into an environment of its own, once. Writes docs/benchmarks/identity_outside.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np

from augury.identity.identifier import Identifier
from augury.identity.telling import Strategy
from augury.identity.ward import Row, Ward, Ways
from matching.harness import record, sized

CASES, VERSION = sized(300, 10), "1.9.1"
HERE = Path(__file__).parent
ENVIRONMENT = HERE.parents[1] / ".cache" / "stonesoup"
WEIGHTS = (0.0, 0.5, 1.0, 1.0, 2.0, 5.0)


def drawn(seed: int) -> list[list[float]]:
    """Return weights of people (rows) at rooms; everybody can have done something."""
    rng = np.random.default_rng(seed)
    people = int(rng.integers(3, 8))
    events = int(rng.integers(2, people + 1))
    found = rng.choice(WEIGHTS, (people, events))
    # Somebody of each event's own can have done it, so that some world is possible.
    found[np.arange(events), np.arange(events)] = 1.0
    return found.tolist()


def posteriors(weights: list[list[float]]) -> np.ndarray:
    """Return P(person did event) as augury tells it."""
    people, events = len(weights), len(weights[0])
    preferred = {(p, f"R{e}"): weights[p][e] for p in range(people) for e in range(events)}
    ward = Ward.of([(p, None) for p in range(people)], Ways("ENTER", "EXIT", "H"), 1, preferred)
    who = Identifier({None: ward}, 0, Strategy("NEVER"), state_limit=10**6)
    rows = [(None, Row(e, 1, None, "ENTER", f"R{e}")) for e in range(events)]
    found = np.zeros((people, events))
    for told in who.advance(who.start(), rows)[1].told:
        for person, p in told.owners:
            found[person, told.id] = p
    return found


def outside(cases: list[list[list[float]]]) -> list[list[list[float]]]:
    """Return the marginals of Stone Soup; who takes no event takes one of those that are none."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", f"stonesoup=={VERSION}"]
        subprocess.run(install, check=True)
    full = [[row + [1.0] * (len(own) - len(row)) for row in own] for own in cases]
    side = [str(python), str(HERE / "outside_side.py")]
    done = subprocess.run(side, input=json.dumps(full), capture_output=True, text=True, check=True)
    found: list[list[list[float]]] = json.loads(done.stdout)
    return found


def main() -> None:
    """Compare, print and write."""
    cases = [drawn(seed) for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else CASES)]
    furthest = 0.0
    for weights, marginals in zip(cases, outside(cases), strict=True):
        own = posteriors(weights)
        theirs = np.array(marginals)[:, : own.shape[1]]
        furthest = max(furthest, float(np.abs(own - theirs).max()))
    record("identity_outside", {"cases": len(cases), "furthest apart": furthest})


if __name__ == "__main__":
    main()
