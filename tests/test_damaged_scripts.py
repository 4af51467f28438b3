"""The whole way of a script, damaged at random: findings, plans and pictures, never a crash."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from augury.analysis.script import check_text
from augury.errors import QueryError
from augury.planning.explain import explain
from language.mutation import VALID, mutate

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.sql"))
SCRIPTS = [path.read_text(encoding="utf-8") for path in (*VALID, *EXAMPLES)]
RUNS = int(os.environ.get("AUGURY_FUZZ_EXAMPLES", "200"))


@settings(max_examples=RUNS)
@given(st.integers(0, 2**64 - 1))
def test_a_damaged_script_gives_findings_and_what_is_left_is_explained(seed: int) -> None:
    rng = Random(seed)
    # Damage hits declarations and queries alike, so that what they mean to each other breaks too.
    text = mutate(mutate(rng.choice(SCRIPTS), rng), rng)
    checked = check_text(text)
    assert all(found.render() and found.as_dict() for found in checked.diagnostics)
    for query in rng.sample(checked.queries, min(2, len(checked.queries))):
        try:
            shown = explain(query, rng.choice(("text", "json", "svg", "mermaid")), checked.catalog)
        except QueryError as error:
            shown = str(error)
        assert shown
