"""Worked cases of identities, in a notation of one line per clause; probabilities are fractions.

`12 enter(122, R1, ?)` is an event at 12 with the id 122, whose badge was not read. What is told is
`at 12: 122 r0 <O1 1/2, O2 1/2>`, a match `at 12: e=122(O1) x=120(O1) r0 1/2`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

EVENT = re.compile(r"(\d+) (\w+)\((\d+), (\w+), ([\w?]+)(?:, from ([\w?]+))?\)")
TOLD = re.compile(r"at (\d+): (\d+) r(\d+) <(.*?)>")
MATCH = re.compile(r"at (\d+): (.*?) r(\d+) ([\d/]+)")
PLAYED = re.compile(r"(\w+)=(\d+)\((\w+)\)")


@dataclass(frozen=True)
class Case:
    """One case: what there was at the beginning, what happened, and what is told of it."""

    title: str
    begin: str
    events: str
    told: str
    rejected: tuple[int, ...] = ()
    query: str = ""
    matches: str = ""

    @property
    def staff(self) -> list[dict[str, Any]]:
        found = re.findall(r"(O\d) in (\w+)", self.begin)
        return [{"person": person, "room": room} for person, room in found]

    @property
    def doors(self) -> list[dict[str, str]]:
        found = re.search(r"doors ([^;]*)", self.begin)
        pairs = re.findall(r"(\w+)-(\w+)", found[1]) if found else []
        return [{"a": a, "b": b} for a, b in pairs]

    @property
    def weights(self) -> list[dict[str, Any]]:
        found = re.search(r"PREFER ([^;]*)", self.begin)
        rows = re.findall(r"(O\d) (R\d) (\d)", found[1]) if found else []
        return [{"person": p, "room": r, "w": float(w)} for p, r, w in rows]

    @property
    def asked(self) -> str:
        within = re.search(r"WITHIN (\d+)", self.begin)
        revise = re.search(r"REVISE [\w. ]+", self.begin)
        assert revise is not None
        return f"WITHIN {within[1] if within else 1000} {revise[0]}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "id": int(number),
                "person": None if person == "?" else person,
                "action": action.upper(),
                "room": room,
                "origin": None if origin in ("?", "") else origin,
                "t": int(time),
            }
            for time, action, number, room, person, origin in EVENT.findall(self.events)
        ]

    @property
    def tellings(self) -> set[tuple[int, int, int, frozenset[tuple[str, Fraction]]]]:
        return {
            (int(at), int(number), int(revision), _owners(owners))
            for at, number, revision, owners in TOLD.findall(self.told)
        }

    @property
    def match_tellings(self) -> set[tuple[frozenset[tuple[str, int, str]], int, Fraction]]:
        return {
            (
                frozenset((c, int(number), owner) for c, number, owner in PLAYED.findall(played)),
                int(revision),
                Fraction(confidence),
            )
            for _, played, revision, confidence in MATCH.findall(self.matches)
        }


def _owners(text: str) -> frozenset[tuple[str, Fraction]]:
    pairs = (each.split() for each in text.split(", "))
    return frozenset((person, Fraction(p)) for person, p in pairs)


CASES = (
    Case(
        "1 Example 5.1",
        begin="O1 in H, O2 in H, O3 in R2; REVISE ANY",
        events=("12 enter(122, R1, ?); 13 exit(124, R2, O3); 14 exit(127, R1, O1)"),
        told=(
            "at 12: 122 r0 <O1 1/2, O2 1/2>; at 13: 124 r0 <O3 1>; at 14: 122 r1 <O1 1>; "
            "at 14: 127 r0 <O1 1>"
        ),
    ),
    Case(
        "2 a certain room is no finish flag",
        begin="O1 in H, O2 in H; REVISE ANY",
        events=("1 enter(1, R1, ?); 2 enter(2, R2, ?); 3 exit(3, R1, ?); 4 exit(4, R2, O2)"),
        told=(
            "at 1: 1 r0 <O1 1/2, O2 1/2>; at 2: 2 r0 <O1 1/2, O2 1/2>; "
            "at 3: 3 r0 <O1 1/2, O2 1/2>; at 4: 1 r1 <O1 1>; at 4: 2 r1 <O2 1>; "
            "at 4: 3 r1 <O1 1>; at 4: 4 r0 <O2 1>"
        ),
        query=(
            "PATTERN SEQ(ENTER x, EXIT e) WHERE "
            "[person] AND x.room = e.room USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=(
            "at 3: e=3(O1) x=1(O1) r0 1/2; at 3: e=3(O2) x=1(O2) r0 1/2; "
            "at 4: e=4(O2) x=2(O2) r0 1; at 4: e=3(O1) x=1(O1) r1 1; "
            "at 4: e=3(O2) x=1(O2) r1 0"
        ),
    ),
    Case(
        "3 the revised event may be later, and in another room",
        begin="O1 in H, O2 in H; REVISE ANY",
        events=("12 enter(12, R1, ?); 13 enter(13, R2, ?); 14 exit(14, R1, O1)"),
        told=(
            "at 12: 12 r0 <O1 1/2, O2 1/2>; at 13: 13 r0 <O1 1/2, O2 1/2>; "
            "at 14: 12 r1 <O1 1>; at 14: 13 r1 <O2 1>; at 14: 14 r0 <O1 1>"
        ),
    ),
    Case(
        "4 a rule fires on a revision",
        begin="O1 in R2, O2 in H; REVISE ANY",
        events=("10 exit(120, R2, O1); 12 enter(122, R1, ?); 14 exit(127, R1, O1)"),
        told=(
            "at 10: 120 r0 <O1 1>; at 12: 122 r0 <O1 1/2, O2 1/2>; at 14: 122 r1 <O1 1>; "
            "at 14: 127 r0 <O1 1>"
        ),
        query=(
            "PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e) WHERE "
            "[person] AND x.room <> e.room USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=("at 12: e=122(O1) x=120(O1) r0 1/2; at 14: e=122(O1) x=120(O1) r1 1"),
    ),
    Case(
        "5 the same, having sanitised",
        begin="O1 in R2, O2 in H; REVISE ANY",
        events=(
            "10 exit(120, R2, O1); 11 sanitize(121, H, O1); 12 enter(122, R1, ?); "
            "14 exit(127, R1, O1)"
        ),
        told=(
            "at 10: 120 r0 <O1 1>; at 11: 121 r0 <O1 1>; at 12: 122 r0 <O1 1/2, O2 1/2>; "
            "at 14: 122 r1 <O1 1>; at 14: 127 r0 <O1 1>"
        ),
        query=(
            "PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e) WHERE "
            "[person] AND x.room <> e.room USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=("none"),
    ),
    Case(
        "6 two events without owner in one step",
        begin="O1 in H, O2 in H, O3 in H; REVISE ANY",
        events=("5 enter(1, R1, ?); 5 enter(2, R2, ?); 6 exit(3, R1, O1)"),
        told=(
            "at 5: 1 r0 <O1 1/3, O2 1/3, O3 1/3>; at 5: 2 r0 <O1 1/3, O2 1/3, O3 1/3>; "
            "at 6: 1 r1 <O1 1>; at 6: 2 r1 <O2 1/2, O3 1/2>; at 6: 3 r0 <O1 1>"
        ),
    ),
    Case(
        "7 a badge read in the same step",
        begin="O1 in H, O2 in H; REVISE ANY",
        events=("5 enter(1, R1, ?); 5 enter(2, R2, O2)"),
        told=("at 5: 1 r0 <O1 1>; at 5: 2 r0 <O2 1>"),
    ),
    Case(
        "8 nobody acts twice in one step",
        begin="O1 in R1, O2 in H, O3 in H; REVISE ANY",
        events=("5 exit(1, R1, ?); 5 enter(2, R2, ?); 6 enter(3, R3, ?)"),
        told=(
            "at 5: 1 r0 <O1 1>; at 5: 2 r0 <O2 1/2, O3 1/2>; at 6: 3 r0 <O1 1/2, O2 1/4, O3 1/4>"
        ),
    ),
    Case(
        "9 impossible events",
        begin="O1 in R1, O2 in H; REVISE ANY",
        events=(
            "1 exit(1, R2, O1); 2 exit(2, R3, ?); 3 enter(3, R2, nobody); 4 enter(4, R2, ?); "
            "5 enter(5, R2, ?); 6 exit(6, R1, O1); 7 enter(7, H, ?)"
        ),
        told=(
            "at 1: 1 r0 <O1 1>; at 4: 4 r0 <O1 1/2, O2 1/2>; at 5: 5 r0 <O1 1/2, O2 1/2>; "
            "at 6: 6 r0 <O1 1>"
        ),
        rejected=(
            2,
            3,
            7,
        ),
    ),
    Case(
        "10 impossible together: the badge wins",
        begin="O1 in R1, O2 in H; REVISE ANY",
        events=("3 exit(5, R1, ?); 3 exit(7, R1, O1); 4 enter(8, R2, ?)"),
        told=("at 3: 7 r0 <O1 1>; at 4: 8 r0 <O1 1/2, O2 1/2>"),
        rejected=(5,),
    ),
    Case(
        "11 another type",
        begin="O1 in H, O2 in H, O3 in R1; REVISE ANY",
        events=("1 enter(1, R1, ?); 2 sanitize(2, R1, ?); 3 exit(3, R1, O3); 4 exit(4, R1, O1)"),
        told=(
            "at 1: 1 r0 <O1 1/2, O2 1/2>; at 2: 2 r0 <O1 1/4, O2 1/4, O3 1/2>; "
            "at 3: 3 r0 <O3 1>; at 4: 1 r1 <O1 1>; at 4: 2 r1 <O1 1/2, O3 1/2>; "
            "at 4: 4 r0 <O1 1>"
        ),
    ),
    Case(
        "12 another type, in the hall",
        begin="O1 in R2, O2 in H; REVISE ANY",
        events=("10 exit(1, R2, O1); 11 sanitize(2, H, ?); 12 enter(3, R1, O1)"),
        told=("at 10: 1 r0 <O1 1>; at 11: 2 r0 <O1 1/2, O2 1/2>; at 12: 3 r0 <O1 1>"),
        query=(
            "PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e) WHERE "
            "[person] AND x.room <> e.room USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=("at 12: e=3(O1) x=1(O1) r0 1/2"),
    ),
    Case(
        "13 negation over uncertain owners, revised and retracted",
        begin="O1 in R2, O2 in H; REVISE ANY",
        events=(
            "10 exit(1, R2, O1); 11 enter(2, R3, ?); 12 sanitize(3, R3, ?); "
            "13 exit(4, R3, ?); 14 enter(5, R1, ?); 16 exit(6, R1, O1)"
        ),
        told=(
            "at 10: 1 r0 <O1 1>; at 11: 2 r0 <O1 1/2, O2 1/2>; at 12: 3 r0 <O1 1/2, O2 1/2>; "
            "at 13: 4 r0 <O1 1/2, O2 1/2>; at 14: 5 r0 <O1 1/2, O2 1/2>; at 16: 5 r1 <O1 1>; "
            "at 16: 6 r0 <O1 1>"
        ),
        query=(
            "PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e) WHERE "
            "[person] AND x.room <> e.room USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=(
            "at 11: e=2(O1) x=1(O1) r0 1/2; at 14: e=5(O1) x=1(O1) r0 1/4; "
            "at 14: e=5(O1) x=4(O1) r0 1/4; at 14: e=5(O2) x=4(O2) r0 1/4; "
            "at 16: e=5(O1) x=1(O1) r1 1/2; at 16: e=5(O1) x=4(O1) r1 1/2; "
            "at 16: e=5(O2) x=4(O2) r1 0"
        ),
    ),
    Case(
        "14 owners hang together",
        begin="O1 in H, O2 in H; REVISE ANY",
        events=("1 enter(1, R1, ?); 2 exit(2, R1, ?)"),
        told=("at 1: 1 r0 <O1 1/2, O2 1/2>; at 2: 2 r0 <O1 1/2, O2 1/2>"),
        query=(
            "PATTERN SEQ(ENTER x, EXIT e) WHERE "
            "[person] AND x.room = e.room USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=("at 2: e=2(O1) x=1(O1) r0 1/2; at 2: e=2(O2) x=1(O2) r0 1/2"),
    ),
    Case(
        "15 window",
        begin="O1 in H, O2 in H; WITHIN 3; REVISE ANY",
        events=(
            "12 enter(12, R1, ?); 13 enter(13, R2, ?); 16 exit(14, R1, O1); 17 enter(15, R3, ?)"
        ),
        told=(
            "at 12: 12 r0 <O1 1/2, O2 1/2>; at 13: 13 r0 <O1 1/2, O2 1/2>; "
            "at 16: 13 r1 <O2 1>; at 16: 14 r0 <O1 1>; at 17: 15 r0 <O1 1>"
        ),
    ),
    Case(
        "15b a match is as old as its last event",
        begin="O1 in R2, O2 in H; WITHIN 3; REVISE ANY",
        events=("10 exit(1, R2, O1); 12 enter(2, R1, ?); 15 exit(3, R1, O1)"),
        told=(
            "at 10: 1 r0 <O1 1>; at 12: 2 r0 <O1 1/2, O2 1/2>; at 15: 2 r1 <O1 1>; "
            "at 15: 3 r0 <O1 1>"
        ),
        query=(
            "PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e) WHERE "
            "[person] AND x.room <> e.room USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=("at 12: e=2(O1) x=1(O1) r0 1/2; at 15: e=2(O1) x=1(O1) r1 1"),
    ),
    Case(
        "15c too old to be revised",
        begin="O1 in R2, O2 in H; WITHIN 3; REVISE ANY",
        events=("10 exit(1, R2, O1); 12 enter(2, R1, ?); 16 exit(3, R1, O1)"),
        told=("at 10: 1 r0 <O1 1>; at 12: 2 r0 <O1 1/2, O2 1/2>; at 16: 3 r0 <O1 1>"),
        query=(
            "PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e) WHERE "
            "[person] AND x.room <> e.room USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=("at 12: e=2(O1) x=1(O1) r0 1/2"),
    ),
    Case(
        "16 REVISE ANY",
        begin="O1 in R2, O2 in H, O3 in H; REVISE ANY",
        events=("1 enter(1, R2, ?); 2 exit(2, R2, ?); 4 exit(3, R2, O1)"),
        told=(
            "at 1: 1 r0 <O2 1/2, O3 1/2>; at 2: 2 r0 <O1 1/2, O2 1/4, O3 1/4>; "
            "at 4: 2 r1 <O2 1/2, O3 1/2>; at 4: 3 r0 <O1 1>"
        ),
    ),
    Case(
        "17 REVISE BY 0.5",
        begin="O1 in R2, O2 in H, O3 in H; REVISE BY 0.5",
        events=("1 enter(1, R2, ?); 2 exit(2, R2, ?); 4 exit(3, R2, O1)"),
        told=(
            "at 1: 1 r0 <O2 1/2, O3 1/2>; at 2: 2 r0 <O1 1/2, O2 1/4, O3 1/4>; "
            "at 4: 2 r1 <O2 1/2, O3 1/2>; at 4: 3 r0 <O1 1>"
        ),
    ),
    Case(
        "18 REVISE CERTAIN",
        begin="O1 in R2, O2 in H, O3 in H; REVISE CERTAIN",
        events=("1 enter(1, R2, ?); 2 exit(2, R2, ?); 4 exit(3, R2, O1)"),
        told=(
            "at 1: 1 r0 <O2 1/2, O3 1/2>; at 2: 2 r0 <O1 1/2, O2 1/4, O3 1/4>; at 4: 3 r0 <O1 1>"
        ),
    ),
    Case(
        "19 REVISE NEVER",
        begin="O1 in H, O2 in H; REVISE NEVER",
        events=("12 enter(12, R1, ?); 13 enter(13, R2, ?); 14 exit(14, R1, O1)"),
        told=("at 12: 12 r0 <O1 1/2, O2 1/2>; at 13: 13 r0 <O1 1/2, O2 1/2>; at 14: 14 r0 <O1 1>"),
    ),
    Case(
        "20 PREFER",
        begin="O1 in H, O2 in H, O3 in H; PREFER O1 R1 3, O2 R2 2; REVISE ANY",
        events=("1 enter(1, R1, ?); 2 enter(2, R2, ?); 3 exit(3, R2, O3)"),
        told=(
            "at 1: 1 r0 <O1 3/5, O2 1/5, O3 1/5>; at 2: 1 r1 <O1 9/14, O2 1/7, O3 3/14>; "
            "at 2: 2 r0 <O1 1/7, O2 4/7, O3 2/7>; at 3: 1 r2 <O1 3/4, O2 1/4>; "
            "at 3: 2 r1 <O3 1>; at 3: 3 r0 <O3 1>"
        ),
    ),
    Case(
        "21 a graph of places, where from is known",
        begin="O1 in A, O2 in B, O3 in B; doors A-B, B-C; REVISE ANY",
        events=("1 enter(1, C, ?, from B); 2 enter(2, B, ?, from A); 3 enter(3, C, O2, from B)"),
        told=(
            "at 1: 1 r0 <O2 1/2, O3 1/2>; at 2: 2 r0 <O1 1>; at 3: 1 r1 <O3 1>; at 3: 3 r0 <O2 1>"
        ),
    ),
    Case(
        "22 a graph of places, where from is unknown",
        begin="O1 in H, O2 in R1; doors H-R1, R1-R2, R2-H; REVISE ANY",
        events=("6 enter(2, R2, ?, from ?); 7 enter(3, H, ?, from ?)"),
        told=(
            "at 6: 2 r0 <O1 1/2, O2 1/2>; at 7: 2 r1 <O1 2/3, O2 1/3>; at 7: 3 r0 <O1 1/3, O2 2/3>"
        ),
    ),
    Case(
        "23 negation at the end",
        begin="O1 in H, O2 in H; REVISE ANY",
        events=("1 enter(1, R1, ?); 3 sanitize(2, R1, ?); 4 enter(3, R2, ?); 8 exit(4, R1, O1)"),
        told=(
            "at 1: 1 r0 <O1 1/2, O2 1/2>; at 3: 2 r0 <O1 1/2, O2 1/2>; "
            "at 4: 3 r0 <O1 1/2, O2 1/2>; at 8: 1 r1 <O1 1>; at 8: 2 r1 <O1 1>; "
            "at 8: 3 r1 <O2 1>; at 8: 4 r0 <O1 1>"
        ),
        query=(
            "PATTERN SEQ(ENTER x, !SANITIZE s) WHERE [person] USING SKIP TILL ANY MATCH WITHIN 5"
        ),
        matches=("at 9: x=3(O2) r0 1"),
    ),
    Case(
        "24 different people",
        begin="O1 in R1, O2 in H, O3 in H; REVISE ANY",
        events=("1 exit(1, R1, O1); 2 enter(2, R2, ?); 4 exit(3, R2, O2)"),
        told=(
            "at 1: 1 r0 <O1 1>; at 2: 2 r0 <O1 1/3, O2 1/3, O3 1/3>; at 4: 2 r1 <O2 1>; "
            "at 4: 3 r0 <O2 1>"
        ),
        query=(
            "PATTERN SEQ(EXIT x, ENTER e) WHERE "
            "x.person <> e.person USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=(
            "at 2: e=2(O2) x=1(O1) r0 1/3; at 2: e=2(O3) x=1(O1) r0 1/3; "
            "at 4: e=2(O2) x=1(O1) r1 1; at 4: e=2(O3) x=1(O1) r1 0"
        ),
    ),
    Case(
        "25 all badges read",
        begin="O1 in R2, O2 in H; REVISE ANY",
        events=("10 exit(1, R2, O1); 12 enter(2, R1, O1); 13 enter(3, R1, O2); 14 exit(4, R1, O1)"),
        told=("at 10: 1 r0 <O1 1>; at 12: 2 r0 <O1 1>; at 13: 3 r0 <O2 1>; at 14: 4 r0 <O1 1>"),
        query=(
            "PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e) WHERE "
            "[person] AND x.room <> e.room USING SKIP TILL ANY MATCH WITHIN 45"
        ),
        matches=("at 12: e=2(O1) x=1(O1) r0 1"),
    ),
    Case(
        "26 HAVING",
        begin="O1 in R2, O2 in H; REVISE ANY",
        events=(
            "10 exit(1, R2, O1); 11 enter(2, R3, ?); 12 sanitize(3, R3, ?); "
            "13 exit(4, R3, ?); 14 enter(5, R1, ?); 16 exit(6, R1, O1)"
        ),
        told=(
            "at 10: 1 r0 <O1 1>; at 11: 2 r0 <O1 1/2, O2 1/2>; at 12: 3 r0 <O1 1/2, O2 1/2>; "
            "at 13: 4 r0 <O1 1/2, O2 1/2>; at 14: 5 r0 <O1 1/2, O2 1/2>; at 16: 5 r1 <O1 1>; "
            "at 16: 6 r0 <O1 1>"
        ),
        query=(
            "PATTERN SEQ(EXIT x, !SANITIZE s, ENTER e) WHERE "
            "[person] AND x.room <> e.room USING SKIP TILL ANY MATCH WITHIN 45 "
            "HAVING CONFIDENCE >= 0.4"
        ),
        matches=(
            "at 11: e=2(O1) x=1(O1) r0 1/2; at 16: e=5(O1) x=1(O1) r1 1/2; "
            "at 16: e=5(O1) x=4(O1) r1 1/2"
        ),
    ),
    Case(
        "27 a lost exit",
        begin="O1 in R1, O2 in H; REVISE ANY",
        events=("5 enter(1, R2, O1); 8 exit(2, R2, O1); 9 enter(3, R3, ?); 11 exit(4, R3, O1)"),
        told=(
            "at 5: 1 r0 <O1 1>; at 8: 2 r0 <O1 1>; at 9: 3 r0 <O1 1/2, O2 1/2>; "
            "at 11: 3 r1 <O1 1>; at 11: 4 r0 <O1 1>"
        ),
    ),
)
