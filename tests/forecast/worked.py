"""The worked cases of forecasts, with their numbers: what must come out, exactly.

Each case has a pattern, the clauses of a forecast, the rows of `history` and of the stream, and
what is known after which events: by time, and of each partial match (bound to confidence, forecast
and expected).
"""

from __future__ import annotations

from typing import NamedTuple

Told = tuple[float | None, float | None] | None


class Case(NamedTuple):
    """One case; `by_time` is None where BY TIME is not exact."""

    name: str
    pattern: str
    forecast: str
    history: str
    stream: str
    after: tuple[tuple[str, Told, dict[str, tuple[float, float, float]]], ...]


CASES = (
    Case(
        "1a prefixes, any-match",
        "SEQ(A a, B b, C c) USING SKIP TILL ANY MATCH",
        "WITHIN 3 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 C@3 X@4",
        "A1@1 B2@2 A3@3",
        (
            ("A1", (0.15625, 2.6), {"a1": (1.0, 0.15625, 2.6)}),
            (
                "B2",
                (0.578125, 1.810810811),
                {"a1 b2": (1.0, 0.578125, 1.810810811), "a1": (1.0, 0.15625, 2.6)},
            ),
            (
                "A3",
                (0.578125, 1.810810811),
                {
                    "a1 b2": (1.0, 0.578125, 1.810810811),
                    "a1": (1.0, 0.15625, 2.6),
                    "a3": (1.0, 0.15625, 2.6),
                },
            ),
        ),
    ),
    Case(
        "1b runs, next-match",
        "SEQ(A a, B b, C c) USING SKIP TILL NEXT MATCH",
        "WITHIN 3 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 C@3 X@4",
        "A1@1 B2@2 A3@3",
        (
            ("A1", (0.15625, 2.6), {"a1": (1.0, 0.15625, 2.6)}),
            ("B2", (0.578125, 1.810810811), {"a1 b2": (1.0, 0.578125, 1.810810811)}),
            (
                "A3",
                (0.578125, 1.810810811),
                {"a1 b2": (1.0, 0.578125, 1.810810811), "a3": (1.0, 0.15625, 2.6)},
            ),
        ),
    ),
    Case(
        "1c runs, strict",
        "SEQ(A a, B b, C c) USING STRICT",
        "WITHIN 3 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 C@3 X@4",
        "A1@1 B2@2 A3@3 X4@4",
        (
            ("A1", (0.078125, 2.2), {"a1": (1.0, 0.0625, 2.0)}),
            ("B2", (0.265625, 1.117647059), {"a1 b2": (1.0, 0.25, 1.0)}),
            ("A3", (0.078125, 2.2), {"a3": (1.0, 0.0625, 2.0)}),
            ("X4", (0.015625, 3.0), {}),
        ),
    ),
    Case(
        "2a negation in the middle",
        "SEQ(A a, !N n, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 3 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 N@2 B@3 X@4",
        "A1@1 X2@2 N3@3",
        (
            ("A1", (0.453125, 1.620689655), {"a1": (1.0, 0.4375, 1.571428571)}),
            ("X2", (0.453125, 1.620689655), {"a1": (1.0, 0.4375, 1.571428571)}),
            ("N3", (0.140625, 2.555555556), {}),
        ),
    ),
    Case(
        "2b negation at the end, window of events",
        "SEQ(A a, B b, !N n) USING SKIP TILL ANY MATCH WITHIN 3 EVENTS",
        "WITHIN 1 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 N@2 B@3 X@4",
        "A1@1 X2@2 X3@3",
        (
            ("A1", (0.1875, 1.0), {"a1": (1.0, 0.1875, 1.0)}),
            ("X2", (0.25, 1.0), {"a1": (1.0, 0.25, 1.0)}),
            ("X3", (0.0, None), {}),
        ),
    ),
    Case(
        "2c negation at the start, window of events",
        "SEQ(!N n, A a, B b) USING SKIP TILL ANY MATCH WITHIN 3 EVENTS",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 N@2 B@3 X@4",
        "N1@1 A2@2",
        (
            ("N1", (0.0, None), {}),
            ("A2", (0.25, 2.0), {"a2": (1.0, 0.25, 2.0)}),
        ),
    ),
    Case(
        "3a AND",
        "AND(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 3 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 A@2 A@3 B@4 B@5 B@6 B@7 B@8 X@9 X@10",
        "X1@1 A2@2 A3@3",
        (
            ("X1", (0.54, 2.444444444), {}),
            ("A2", (0.875, 1.571428571), {"a2": (1.0, 0.875, 1.571428571)}),
            (
                "A3",
                (0.875, 1.571428571),
                {"a2": (1.0, 0.875, 1.571428571), "a3": (1.0, 0.875, 1.571428571)},
            ),
        ),
    ),
    Case(
        "3b OR: nothing to wait for",
        "OR(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 3 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 A@2 A@3 B@4 B@5 B@6 B@7 B@8 X@9 X@10",
        "X1@1 A2@2",
        (
            ("X1", (0.992, 1.225806452), {}),
            ("A2", (0.992, 1.225806452), {}),
        ),
    ),
    Case(
        "3c a sequence with OR",
        "SEQ(OR(A a, B b), X c) USING SKIP TILL ANY MATCH",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 A@2 A@3 B@4 B@5 B@6 B@7 B@8 X@9 X@10",
        "A1@1 B2@2",
        (
            ("A1", (0.36, 1.444444444), {"a1": (1.0, 0.36, 1.444444444)}),
            (
                "B2",
                (0.36, 1.444444444),
                {"a1": (1.0, 0.36, 1.444444444), "b2": (1.0, 0.36, 1.444444444)},
            ),
        ),
    ),
    Case(
        "4a repetition, next-match",
        "SEQ(A a, B+ b, C c) USING SKIP TILL NEXT MATCH WITHIN 9 EVENTS",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 C@3 X@4",
        "A1@1 B2@2 B3@3",
        (
            ("A1", (0.0625, 2.0), {"a1": (1.0, 0.0625, 2.0)}),
            ("B2", (0.4375, 1.428571429), {"a1 b2": (1.0, 0.4375, 1.428571429)}),
            ("B3", (0.4375, 1.428571429), {"a1 b2 b3": (1.0, 0.4375, 1.428571429)}),
        ),
    ),
    Case(
        "4b repetition, any-match",
        "SEQ(A a, B+ b, C c) USING SKIP TILL ANY MATCH WITHIN 9 EVENTS",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 C@3 X@4",
        "A1@1 B2@2 B3@3",
        (
            ("A1", (0.0625, 2.0), {"a1": (1.0, 0.0625, 2.0)}),
            (
                "B2",
                (0.4375, 1.428571429),
                {"a1 b2": (1.0, 0.4375, 1.428571429), "a1": (1.0, 0.0625, 2.0)},
            ),
            (
                "B3",
                (0.4375, 1.428571429),
                {
                    "a1 b2": (1.0, 0.4375, 1.428571429),
                    "a1 b3": (1.0, 0.4375, 1.428571429),
                    "a1": (1.0, 0.0625, 2.0),
                    "a1 b2 b3": (1.0, 0.4375, 1.428571429),
                },
            ),
        ),
    ),
    Case(
        "4c repetition at the end completes with its minimum",
        "SEQ(A a, B{2,3} b) USING SKIP TILL NEXT MATCH WITHIN 9 EVENTS",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 C@3 X@4",
        "A1@1 B2@2 B3@3",
        (
            ("A1", (0.0625, 2.0), {"a1": (1.0, 0.0625, 2.0)}),
            ("B2", (0.4375, 1.428571429), {"a1 b2": (1.0, 0.4375, 1.428571429)}),
            ("B3", (0.0, None), {}),
        ),
    ),
    Case(
        "5a one key among others",
        "SEQ(A a, B b) WHERE [k] USING SKIP TILL ANY MATCH",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A/k@0 B/k@1 X/k@2 A/l@3 B/k@4 A/k@5 X/l@6 B/k@7",
        "A1/k@1 X2/l@2 A3/l@3 B4/l@4",
        (
            ("A1", (0.609375, 1.384615385), {"a1": (1.0, 0.609375, 1.384615385)}),
            ("X2", (0.140625, 2.0), {}),
            ("A3", (0.609375, 1.384615385), {"a3": (1.0, 0.609375, 1.384615385)}),
            ("B4", (0.609375, 1.384615385), {"a3": (1.0, 0.609375, 1.384615385)}),
        ),
    ),
    Case(
        "5b the same, horizon of the stream",
        "SEQ(A a, B b) WHERE [k] USING SKIP TILL ANY MATCH",
        "WITHIN 2 EVENTS OF STREAM USING INDEPENDENT LEARN FROM history",
        "A/k@0 B/k@1 X/k@2 A/l@3 B/k@4 A/k@5 X/l@6 B/k@7",
        "A1/k@1 X2/l@2 A3/l@3 B4/l@4",
        (
            ("A1", (0.483398438, 1.418181818), {"a1": (1.0, 0.483398438, 1.418181818)}),
            ("X2", (0.008789062, 2.0), {}),
            ("A3", (0.178710938, 1.475409836), {"a3": (1.0, 0.178710938, 1.475409836)}),
            ("B4", (0.178710938, 1.475409836), {"a3": (1.0, 0.178710938, 1.475409836)}),
        ),
    ),
    Case(
        "5c strict in the whole stream, followed by key",
        "SEQ(A a, B b) WHERE [k] USING STRICT",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A/k@0 B/k@1 X/k@2 A/l@3 B/k@4 A/k@5 X/l@6 B/k@7",
        "A1/k@1 X2/l@2 A3/l@3",
        (
            ("A1", (0.38671875, 1.272727273), {"a1": (1.0, 0.28125, 1.0)}),
            ("X2", (0.03515625, 2.0), {}),
            ("A3", (0.12890625, 1.272727273), {"a3": (1.0, 0.09375, 1.0)}),
        ),
    ),
    Case(
        "6a MARKOV 1: X and C are one symbol, the empty one, and after it came A",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 1 EVENTS USING MARKOV 1 LEARN FROM history",
        "A@0 B@1 A@2 C@3 A@4 B@5",
        "A1@1 A2@2 X3@3",
        (
            ("A1", (0.666666667, 1.0), {"a1": (1.0, 0.666666667, 1.0)}),
            (
                "A2",
                (0.666666667, 1.0),
                {"a1": (1.0, 0.666666667, 1.0), "a2": (1.0, 0.666666667, 1.0)},
            ),
            ("X3", (0.0, None), {}),
        ),
    ),
    Case(
        "6b MARKOV 1, a context that was not met: the next shorter",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 2 EVENTS USING MARKOV 1 LEARN FROM history",
        "A@0 B@1 A@2 B@3 A@4",
        "A1@1 X2@2",
        (
            ("A1", (1.0, 1.0), {"a1": (1.0, 1.0, 1.0)}),
            ("X2", (1.0, 1.6), {"a1": (1.0, 1.0, 1.6)}),
        ),
    ),
    Case(
        "6c MARKOV 1, smoothing 1",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 1 EVENTS USING MARKOV 1 SMOOTHING 1.0 LEARN FROM history",
        "A@0 B@1 A@2 C@3 A@4 B@5",
        "A1@1 B2@2",
        (
            ("A1", (0.5, 1.0), {"a1": (1.0, 0.5, 1.0)}),
            ("B2", (0.25, 1.0), {"a1": (1.0, 0.25, 1.0)}),
        ),
    ),
    Case(
        "6d online: nothing is known at the first event",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 1 EVENTS USING INDEPENDENT LEARN ONLINE",
        "",
        "A1@1 B2@2 A3@3 B4@4",
        (
            ("A1", (None, None), {}),
            ("B2", (0.0, None), {}),
            ("A3", (0.5, 1.0), {"a1": (1.0, 0.5, 1.0), "a3": (1.0, 0.5, 1.0)}),
            (
                "B4",
                (0.333333333, 1.0),
                {"a1": (1.0, 0.333333333, 1.0), "a3": (1.0, 0.333333333, 1.0)},
            ),
        ),
    ),
    Case(
        "6e BY a column: its own counts, those of all where a value was not met",
        "SEQ(A a, B b) WHERE [k] USING SKIP TILL ANY MATCH",
        "WITHIN 1 EVENTS USING INDEPENDENT LEARN FROM history BY g",
        "A/k@0 B/k@2 A/k@4 B/k@6 A/l@1 X/l@3 A/l@5 X/l@7",
        "A1/k@1 A2/l@2 A3/m@3",
        (
            ("A1", (0.5, 1.0), {"a1": (1.0, 0.5, 1.0)}),
            ("A2", (0.0, None), {}),
            ("A3", (0.25, 1.0), {"a3": (1.0, 0.25, 1.0)}),
        ),
    ),
    Case(
        "6f the history and what went by",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 1 EVENTS USING INDEPENDENT LEARN FROM history ONLINE",
        "A@0 B@1",
        "A1@1 A2@2 X3@3",
        (
            ("A1", (0.5, 1.0), {"a1": (1.0, 0.5, 1.0)}),
            (
                "A2",
                (0.333333333, 1.0),
                {"a1": (1.0, 0.333333333, 1.0), "a2": (1.0, 0.333333333, 1.0)},
            ),
            ("X3", (0.25, 1.0), {"a1": (1.0, 0.25, 1.0), "a2": (1.0, 0.25, 1.0)}),
        ),
    ),
    Case(
        "7a Poisson, horizon in time",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 20 USING INDEPENDENT LEARN FROM history",
        "A@0 B@10 A@20 B@30",
        "A1@1",
        (("A1", (0.632120559, 8.360465863), {"a1": (1.0, 0.632120559, 8.360465863)}),),
    ),
    Case(
        "7b Poisson, horizon in events, window in time",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH WITHIN 30",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@0 B@10 A@20 B@30",
        "A1@0 X2@15",
        (
            ("A1", None, {"a1": (1.0, 0.675319397, 1.296471466)}),
            ("X2", None, {"a1": (1.0, 0.49897857, 1.221539875)}),
        ),
    ),
    Case(
        "7c Poisson, horizon in time, two windows end at different times",
        "SEQ(A a, B b, C c) USING SKIP TILL ANY MATCH WITHIN 20",
        "WITHIN 15 USING INDEPENDENT LEARN FROM history",
        "A@0 B@100 C@200 A@300 B@400 C@500",
        "A1@0 B2@10 A3@12",
        (
            ("A1", (0.001209104, 9.95819503), {"a1": (1.0, 0.001209104, 9.95819503)}),
            (
                "B2",
                (0.032797582, 4.975496702),
                {"a1 b2": (1.0, 0.0327839, 4.972222737), "a1": (1.0, 0.000543363, 6.648107111)},
            ),
            (
                "A3",
                (0.027159276, 4.226662597),
                {
                    "a1 b2": (1.0, 0.026314251, 3.982222433),
                    "a1": (1.0, 0.000349297, 5.321460459),
                    "a3": (1.0, 0.001209104, 9.95819503),
                },
            ),
        ),
    ),
    Case(
        "7d steady, horizon in time",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 20 USING INDEPENDENT LEARN FROM history ARRIVALS STEADY",
        "A@0 B@10 A@20 B@30",
        "A1@1",
        (("A1", (0.75, 13.333333333), {"a1": (1.0, 0.75, 13.333333333)}),),
    ),
    Case(
        "7e steady, the window ends it",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH WITHIN 30",
        "WITHIN 20 USING INDEPENDENT LEARN FROM history ARRIVALS STEADY",
        "A@0 B@10 A@20 B@30",
        "A1@0 X2@15",
        (
            ("A1", (0.75, 13.333333333), {"a1": (1.0, 0.75, 13.333333333)}),
            ("X2", (0.75, 13.333333333), {"a1": (1.0, 0.5, 10.0)}),
        ),
    ),
    Case(
        "8 a window in events",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH WITHIN 3 EVENTS",
        "WITHIN 5 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 X@3 X@4",
        "A1@1 X2@2 X3@3",
        (
            ("A1", (0.622070312, 2.142857143), {"a1": (1.0, 0.4375, 1.428571429)}),
            ("X2", (0.516601562, 2.270321361), {"a1": (1.0, 0.25, 1.0)}),
            ("X3", (0.328125, 3.583333333), {}),
        ),
    ),
    Case(
        "9a uncertain events, next-match",
        "SEQ(A a, B b, C c) USING SKIP TILL NEXT MATCH",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 C@3 X@4",
        "A1 (p 0.8)@1 B2 (p 0.5)@2",
        (
            ("A1", (0.05, 2.0), {"a1": (0.8, 0.05, 2.0)}),
            ("B2", (0.2, 1.5), {"a1 b2": (0.4, 0.175, 1.428571429), "a1": (0.4, 0.025, 2.0)}),
        ),
    ),
    Case(
        "9b uncertain events, any-match",
        "SEQ(A a, B b, C c) USING SKIP TILL ANY MATCH",
        "WITHIN 2 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 C@3 X@4",
        "A1 (p 0.8)@1 B2 (p 0.5)@2",
        (
            ("A1", (0.05, 2.0), {"a1": (0.8, 0.05, 2.0)}),
            ("B2", (0.2, 1.5), {"a1 b2": (0.4, 0.175, 1.428571429), "a1": (0.8, 0.05, 2.0)}),
        ),
    ),
    Case(
        "9c uncertain events, negation",
        "SEQ(A a, !N n, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 1 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 N@2 B@3 X@4",
        "A1 (p 0.8)@1 N2 (p 0.5)@2 X3@3",
        (
            ("A1", (0.2, 1.0), {"a1": (0.8, 0.2, 1.0)}),
            ("N2", (0.1, 1.0), {"a1": (0.4, 0.1, 1.0)}),
            ("X3", (0.1, 1.0), {"a1": (0.4, 0.1, 1.0)}),
        ),
    ),
    Case(
        "9d uncertain events, MARKOV 1: the context is uncertain too",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 1 EVENTS USING MARKOV 1 LEARN FROM history",
        "A@0 B@1 A@2 C@3 A@4 B@5",
        "A1@1 B2 (p 0.5)@2",
        (
            ("A1", (0.666666667, 1.0), {"a1": (1.0, 0.666666667, 1.0)}),
            ("B2", (0.333333333, 1.0), {"a1": (1.0, 0.333333333, 1.0)}),
        ),
    ),
    Case(
        "10 two events at one time are read together",
        "SEQ(A a, B b) USING SKIP TILL ANY MATCH",
        "WITHIN 1 EVENTS USING INDEPENDENT LEARN FROM history",
        "A@1 B@2 C@3 X@4",
        "A1@1 A2@2 X3@2",
        (
            ("A1", (0.25, 1.0), {"a1": (1.0, 0.25, 1.0)}),
            ("A2 X3", (0.25, 1.0), {"a1": (1.0, 0.25, 1.0), "a2": (1.0, 0.25, 1.0)}),
        ),
    ),
    Case(
        "11 EDGES: two in a row",
        "NEXT(A a, A b) USING SKIP TILL ANY MATCH",
        "WITHIN 3 EVENTS USING EDGES LEARN FROM history",
        "A@1 A@2 X@3 A@4 X@5 A@6 A@7 A@8 X@9 X@10",
        "X1@1 A2@2",
        (
            ("X1", (0.42, 2.285714286), {}),
            ("A2", (0.65, 1.461538462), {"a2": (1.0, 0.5, 1.0)}),
        ),
    ),
)
