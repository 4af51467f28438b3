"""Matches of one event are told by its owners as they are by the tracks of its people."""

from __future__ import annotations

from collections import defaultdict
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import Session
from augury.demo.hospital.pipelines import opened
from augury.demo.hospital.ward import Care, simulate
from augury.evaluation.stages.owner_match import OwnerMatchStage
from augury.identity.tracks import Tracks
from identity.test_matches import session_of
from identity.test_pushed import rounded
from identity.test_worlds import graphs, halls, stories

QUERIES = {
    "plain": "PATTERN EXIT e WITHIN 3",
    "one room": "PATTERN ENTER e WHERE e.room = 'R1' WITHIN 1",
    "one person": "PATTERN WASH e WHERE e.person <> 'O1' USING STRICT WITHIN 2",
    "next": "PATTERN EXIT e WHERE [person] USING SKIP TILL NEXT MATCH WITHIN 2",
    "shown": "PATTERN EXIT e WITHIN 3 HAVING CONFIDENCE >= 0.4",
    "whole stream": "PATTERN ENTER e",
}
RETURNED = "RETURN e.person AS person, e.p AS p, e.revision AS told, e.as_of AS since"


def told(ag: Session, text: str) -> tuple[list[str], list[str]]:
    """Return every telling of a query, and what holds at the end."""
    ag.sql(f"CREATE QUERY q ON known {text} {RETURNED};")
    return tuple(rounded(found.to_pylist()) for found in (ag.revisions("q"), ag.table("q")))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@settings(max_examples=25, deadline=None)
@given(st.one_of(stories(halls()), stories(graphs()), stories(halls(prefer=True))))
def test_the_owners_of_an_event_tell_what_tracks_tell(text: str, story) -> None:
    with patch.object(Tracks, "advance", side_effect=AssertionError("somebody was followed")):
        found = told(session_of(*story), text)
    with patch.object(OwnerMatchStage, "is_single", new=False):
        assert told(session_of(*story), text) == found


RULES = """
CREATE TABLE status (id STRING, person STRING) KEY id;
CREATE QUERY q ON known PATTERN EXIT e WITHIN 2 HAVING CONFIDENCE >= 0.2 RETURN e.person AS person;
CREATE RULE first ON q WHEN new.confidence >= 0.5
DO INSERT INTO status VALUES (new.match_id, new.person) ON CONFLICT DO NOTHING;
CREATE RULE last ON q AFTER REVISIONS WHEN new.confidence < 0.9
DO DELETE FROM status WHERE id = new.match_id;
"""


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=25, deadline=None)
@given(st.one_of(stories(halls()), stories(graphs())))
def test_rules_hear_of_them_at_the_same_moments(story) -> None:
    logs = []
    for is_single in (True, False):
        ag = session_of(*story)
        ag.sql(RULES)
        if is_single:
            logs.append(sorted(map(repr, ag.changes("status").to_pylist())))
            continue
        with patch.object(OwnerMatchStage, "is_single", new=False):
            logs.append(sorted(map(repr, ag.changes("status").to_pylist())))
    assert logs[0] == logs[1]


@pytest.mark.filterwarnings("ignore")
def test_a_ward_with_many_unread_badges_is_answered():
    """Tracks of its people pass the limit of states here, of which owners need far fewer."""
    ward = simulate(9, Care(corridors=1, unread=0.2, hours=2))
    session, shares = opened(ward), defaultdict(float)
    for row in session.table("cleaned").to_pylist():
        shares[row["events"][0]["event_id"]] += row["confidence"]
    assert max(abs(share - 1.0) for share in shares.values()) <= 1e-9
    with patch.object(OwnerMatchStage, "is_single", new=False):
        assert "sampled" in opened(ward).table("cleaned").column("method").to_pylist()


HOW = """
CREATE QUERY how ON known PATTERN SANITIZE s WITHIN 1 SECOND
RETURN s.person AS person, s.method AS method, s.error_bound AS bound, s.as_of AS since;
"""


@pytest.mark.filterwarnings("ignore")
def test_beyond_the_limit_they_are_sampled_with_the_bound_of_their_owners(monkeypatch):
    ward = simulate(9, Care(corridors=1, unread=0.3, hours=0.5))

    def told() -> dict:
        session, found = opened(ward), defaultdict(list)
        session.sql(HOW)
        for row in session.revisions("how").to_pylist():
            found[row["events"][0]["event_id"], row["person"]].append(row)
        return found

    exact = told()
    assert {row["method"] for own in exact.values() for row in own} == {"exact"}
    monkeypatch.setenv("AUGURY_IDENTITY_STATE_LIMIT", "20")
    sampled = told()
    bounds = [row["bound"] for own in sampled.values() for row in own if row["method"] == "sampled"]
    assert bounds
    assert min(bounds) < 0.9
    # What is told is as near as it says to what was known at that time.
    for key, own in sampled.items():
        for row in own:
            (*_, now) = (each for each in exact[key] if each["since"] <= row["since"])
            assert abs(row["confidence"] - now["confidence"]) <= row["bound"] + 1e-9
