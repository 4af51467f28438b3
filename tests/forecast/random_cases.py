"""Random forecasts, small enough to enumerate: pattern, window, model, history and stream."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from matching.as_text import query_text
from oracles.forecasts import Ask
from oracles.model import And, Comp, Event, Next, Not, Or, Query, Seq

KINDS = ("A", "B", "C", "X")
STRATEGIES = ("any", "next", "strict", "partition")
CONSTRUCTS = (
    "sequence",
    "middle negation",
    "leading negation",
    "trailing negation",
    "repetition",
    "and",
    "or",
    "next",
    "keys",
    "keys of stream",
    "window of events",
    "steady",
    "uncertain",
    "online",
    "fading",
    "by",
    "ties",
)
COLUMNS = "(id STRING, kind STRING, t LONG, p DOUBLE, k STRING, g STRING)"


@dataclass(frozen=True, eq=False)
class Case:
    """A forecast, the events it learns from, and those that went by."""

    ask: Ask
    history: tuple[Event, ...]
    stream: tuple[Event, ...]
    keyed: bool

    def script(self, *, by_time: bool) -> str:
        """Return the declarations: query `q` and forecast `f`."""
        key = "KEY k" if self.keyed else ""
        streams = [
            f"CREATE STREAM {name} {COLUMNS} ID id {key} TIME t TYPE kind PROBABILITY p;"
            for name in ("s", "history")
        ]
        how = "TIME" if by_time else "MATCH"
        clauses = f"{self._horizon()} {self._learning()} RETURN FORECAST BY {how}"
        return "\n".join(
            [*streams, query_text(self.ask.query), f"CREATE FORECAST f ON q {clauses};"]
        )

    def _horizon(self) -> str:
        unit = {"events": " EVENTS", "stream": " EVENTS OF STREAM", "time": ""}[self.ask.unit]
        return f"WITHIN {self.ask.length}{unit}"

    def _learning(self) -> str:
        learns = {"history": "FROM history", "online": "ONLINE", "both": "FROM history ONLINE"}
        smoothing = f"SMOOTHING {self.ask.smoothing}" if self.ask.smoothing else ""
        by = f"BY {self.ask.by}" if self.ask.by else ""
        arrivals = "ARRIVALS STEADY" if self.ask.steady else ""
        how = learns[self.ask.learns]
        if self.ask.half_life is not None:
            how += f" HALF LIFE {self.ask.half_life}"
        return f"USING MARKOV {self.ask.order} {smoothing} LEARN {how} {by} {arrivals}"


def rows_of(events: tuple[Event, ...]) -> list[dict[str, Any]]:
    """Return events as rows."""
    return [
        {"id": e.id, "kind": e.type, "t": e.ts, "p": e.p, "k": e.attrs["k"], "g": e.attrs["g"]}
        for e in events
    ]


class Maker:
    """Draws a case of one construct and one strategy."""

    def __init__(self, seed: int, construct: str, strategy: str) -> None:
        self.draw = random.Random(f"{seed} {construct} {strategy}")
        self.construct, self.strategy = construct, strategy

    def case(self) -> Case:
        """Return the case."""
        draw, construct = self.draw, self.construct
        small = construct in ("sequence", "middle negation", "and", "or", "next", "uncertain")
        keyed = construct in ("keys", "keys of stream") or (
            self.strategy == "partition" and small and draw.random() < 0.5
        )
        query = Query(
            self.pattern(),
            equate=("k",) if construct in ("keys", "keys of stream") else (),
            strategy=self.strategy,
            within=self.window(),
        )
        steady, is_online = construct == "steady", construct in ("online", "fading")
        ask = Ask(
            query,
            # What comes after the horizon decides a negation at the end, and is enumerated, too.
            draw.randint(1, 2 if construct == "trailing negation" else 3),
            KINDS,
            unit="stream" if construct == "keys of stream" else "events",
            order=draw.choice((0, 0, 1, 2)),
            smoothing=draw.choice((0.0, 0.0, 0.5, 1.0)),
            learns=draw.choice(("online", "both")) if is_online else "history",
            by="g" if construct == "by" else None,
            steady=steady,
            half_life=draw.choice((1, 3, 8)) if construct == "fading" else None,
        )
        if steady and draw.random() < 0.6:
            ask = replace(ask, unit="time", length=draw.randint(1, 9))
        keys = "kl" if keyed else "k"
        history = self.events("h", draw.randint(4, 9), keys)
        stream = self.events("s", draw.randint(2, 5), keys)
        return Case(ask, history, stream, keyed)

    # --- patterns ---

    def comp(self, name: str, minimum: int = 1, maximum: int | None = 1) -> Comp:
        return Comp(name, self.draw.choice(KINDS[:3]), minimum, maximum)

    def pattern(self) -> Any:
        a, b, c = (self.comp(name) for name in "abc")
        n = Not(self.comp("n"))
        inner = self.draw.choice([Next((a, b)), Next((a, b, c)), Next((a, Or((b, c))))])
        shapes = {
            "middle negation": [Seq((a, n, b)), Seq((a, n, b, c)), Seq((a, b, n, c))],
            "leading negation": [Seq((n, a, b)), Seq((n, a))],
            "trailing negation": [Seq((a, b, n)), Seq((a, n))],
            "and": [
                And((a, b)),
                And((a, b, c)),
                And((Seq((a, n, b)), c)),
                Seq((a, And((b, c)))),
            ],
            "or": [Or((a, b)), Seq((Or((a, b)), c)), Or((Seq((a, n, b)), c)), Seq((a, Or((b, c))))],
            "next": [inner, Seq((inner, self.comp("d")))],
        }
        if self.construct == "repetition":
            return self.repetition(a, c, n)
        plain = [Seq((a, b)), Seq((a, b, c)), Seq((a, n, b))]
        return self.draw.choice(shapes.get(self.construct, plain))

    def repetition(self, a: Comp, c: Comp, n: Not) -> Any:
        draw = self.draw
        more = self.comp("b", *draw.choice([(1, None), (0, None), (2, 3), (0, 1), (1, 2)]))
        shapes = [Seq((a, more, c)), Seq((a, more, n, c)), Seq((a, n, more, c)), And((more, c))]
        shapes += [Seq((a, more))] if more.minimum else []
        if more.minimum:
            shapes += [Seq((more, c))]
        return draw.choice(shapes)

    def window(self) -> tuple[str, int] | None:
        draw, construct = self.draw, self.construct
        if construct == "steady":
            return ("time", draw.randint(2, 8)) if draw.random() < 0.8 else None
        needed = ("leading negation", "trailing negation", "window of events", "repetition")
        if construct in needed:
            return "events", draw.randint(2, 3 if construct == "trailing negation" else 4)
        if construct in ("keys", "keys of stream", "uncertain") and draw.random() < 0.3:
            return "events", draw.randint(2, 4)
        return None

    # --- events ---

    def events(self, name: str, count: int, keys: str) -> tuple[Event, ...]:
        draw, found, time = self.draw, [], 0
        for number in range(count):
            time += draw.choice((0, 1, 1)) if self.construct == "ties" else draw.randint(1, 3)
            key = draw.choice(keys)
            uncertain = self.construct == "uncertain" and draw.random() < 0.5
            attrs = {"k": key, "g": draw.choice("pq")}
            found.append(
                Event(
                    f"{name}{number}",
                    time,
                    draw.choice(KINDS),
                    p=draw.choice((0.25, 0.5, 0.8)) if uncertain else 1.0,
                    attrs=attrs,
                    key=(key,) if len(keys) > 1 else (),
                )
            )
        return tuple(found)
