"""NOT, OR and parentheses in Lahar's conditions mean what they mean in WHERE."""

from __future__ import annotations

import pytest

from augury import QueryError, Session
from augury.errors import Source
from augury.language.parser import parse
from augury.language.printer import script_text

SCRIPT = """
CREATE STREAM At (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE TABLE Hallway (place STRING);
"""
ROWS = [
    ("joe", "a", 1, 0.6), ("joe", "h", 1, 0.4), ("joe", "h", 2, 0.5), ("joe", "b", 2, 0.3),
    ("joe", "c", 3, 0.7), ("joe", "b", 3, 0.2),
]  # fmt: skip
CASES = {
    "NOT Hallway(l)": "NOT (y.place IN Hallway)",
    "Hallway(l) OR l = 'b'": "(y.place IN Hallway OR y.place = 'b')",
    "NOT (l = 'b' OR Hallway(l))": "NOT (y.place = 'b' OR y.place IN Hallway)",
    "(l = 'b' OR l = 'h') AND NOT l = 'h'": (
        "(y.place = 'b' OR y.place = 'h') AND NOT y.place = 'h'"
    ),
    "l <> 'c', NOT NOT Hallway(l)": "y.place <> 'c' AND y.place IN Hallway",
}


def probabilities(query: str) -> list[float]:
    ag = Session(engine="local")
    ag.sql(SCRIPT + query)
    names = ("person", "place", "t", "p")
    ag.bind("At", [dict(zip(names, row, strict=True)) for row in ROWS])
    ag.bind("Hallway", [{"place": "h"}])
    found = ag.table("q").sort_by("ts").column("probability").to_pylist()
    return [round(p, 12) for p in found]


@pytest.mark.parametrize("lahar", CASES)
def test_conditions_mean_what_where_means(lahar: str) -> None:
    spelt = f"CREATE QUERY q AS At('joe', 'a'); SIGMA_{{{lahar}}}(At('joe', l));"
    plain = f"""CREATE QUERY q ON At PATTERN SEQ(At x, At y)
        WHERE x.person = 'joe' AND y.person = 'joe' AND x.place = 'a' AND {CASES[lahar]}
        USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME;"""
    found = probabilities(spelt)
    assert found == probabilities(plain)
    assert any(0.0 < p < 1.0 for p in found)


@pytest.mark.parametrize("lahar", CASES)
def test_conditions_print_back(lahar: str) -> None:
    text = f"CREATE QUERY q AS SIGMA_{{{lahar}}}(At('joe', 'a'); At('joe', l));"
    first = parse(Source("s", text))
    assert first.diagnostics == ()
    again = parse(Source("again", script_text(first.statements)))
    assert again.statements == first.statements


def test_true_has_nothing_to_be_combined_with() -> None:
    with pytest.raises(QueryError, match="TRUE stands beside OR"):
        probabilities("CREATE QUERY q AS SIGMA_{TRUE OR Hallway(l)}(At('joe', l));")
