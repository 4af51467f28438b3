"""Random pairs of query and stream, one maker for each construct of the language.

A case is a function of construct, strategy and seed alone, so a failure is reported by three words.
The stream is grown around a word that the pattern accepts, so that most cases have matches; what is
put between is mostly uncertain, because a certain event can end every match.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from matching.as_text import Case
from oracles.model import And, Comp, Event, Expr, First, Last, Next, Not, Or, Query, Rounds, Seq

ATTRIBUTES = {"v": "LONG", "w": "DOUBLE", "tag": "STRING"}
CHANCES = (0.5, 0.5, 0.3, 0.9, 0.25, 0.7, 0.1)
REPETITIONS = ((1, None), (0, None), (0, 1), (1, 2), (2, 3), (2, 2), (0, 2), (2, None))


@dataclass
class Maker:
    """What a case is made with: the dice, names for components, and limits of size."""

    rng: random.Random
    types: str = "ABC"
    most_uncertain: int = 6
    named: int = 0
    repeated: list[str] = field(default_factory=list)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def comp(self, kind: str | None = None, *, wild: float = 0.08) -> Comp:
        """Return a component with a new name."""
        name = "abcdefghijklmnop"[self.named]
        self.named += 1
        if kind is None:
            kind = None if self.chance(wild) else self.rng.choice(self.types)
        return Comp(name, kind)

    def comps(self, least: int, most: int) -> list[Comp]:
        return [self.comp() for _ in range(self.rng.randint(least, most))]

    def repetition(self) -> Comp:
        """Return a repetition with a new name."""
        least, most = self.rng.choice(REPETITIONS)
        comp = replace(self.comp(wild=0.02), minimum=least, maximum=most)
        self.repeated.append(comp.name)
        return comp


# --- streams ---


def word(m: Maker, node: Any) -> list[str | None]:  # noqa: PLR0911 - one form each
    """Return types that `node` accepts in this order."""
    match node:
        case Comp():
            most = node.minimum + 2 if node.maximum is None else node.maximum
            return [node.type] * m.rng.randint(max(node.minimum, min(1, most)), min(most, 3))
        case Not():
            return []
        case Rounds():
            least = max(node.minimum, 1)
            rounds = m.rng.randint(least, min(node.maximum or 9, least + 1))
            return [kind for _ in range(rounds) for kind in word(m, node.part)]
        case First() | Last():
            return [node.comp.type]
        case Or():
            return word(m, m.rng.choice(node.parts))
        case And():
            return _interleaved(m, [word(m, part) for part in node.parts])
    return [kind for part in node.parts for kind in word(m, part)]


def _interleaved(m: Maker, words: list[list[str | None]]) -> list[str | None]:
    found: list[str | None] = []
    while any(words):
        found.append(m.rng.choice([w for w in words if w]).pop(0))
    return found


def leaves(node: Any) -> Iterator[Comp]:
    """Yield every component of a pattern, negated ones too."""
    match node:
        case Comp():
            yield node
        case Not() | Rounds():
            yield from leaves(node.part)
        case First() | Last():
            yield node.comp
        case _:
            for part in node.parts:
                yield from leaves(part)


def positive(node: Any) -> Iterator[Comp]:
    """Yield the components of a pattern that are not negated."""
    match node:
        case Comp():
            yield node
        case Not():
            return
        case Rounds():
            yield from positive(node.part)
        case First() | Last():
            yield node.comp
        case _:
            for part in node.parts:
                yield from positive(part)


def kinds_of_events(m: Maker, pattern: Any) -> list[str]:
    """Return the types of a stream: a word of the pattern, and others in between."""
    wanted = [kind or m.rng.choice(m.types) for kind in word(m, pattern)]
    some = [c.type for c in leaves(pattern) if c.type]
    for _ in range(m.rng.choice((2, 2, 3, 3, 4, 5))):
        extra = "Z" if m.chance(0.12) else m.rng.choice(some or list(m.types))
        wanted.insert(m.rng.randint(0, len(wanted)), extra)
    return wanted


def stream_of(m: Maker, kinds: Sequence[str], *, same_time: float = 0.12) -> list[Event]:
    """Return events of the given types, at most `most_uncertain` of them uncertain."""
    t, events = 0, []
    for k, kind in enumerate(kinds):
        t += 0 if k and m.chance(same_time) else m.rng.choice((1, 1, 1, 2, 3))
        p = m.rng.choice(CHANCES) if m.chance(0.75) else 1.0
        events.append(Event(f"{kind.lower()}{k}", t, kind, p, _attributes(m, t)))
    doubtful = [k for k, e in enumerate(events) if e.p < 1.0]
    m.rng.shuffle(doubtful)
    for k in doubtful[m.most_uncertain :]:
        events[k] = replace(events[k], p=1.0)
    return events


def _attributes(m: Maker, t: int) -> dict[str, Any]:
    drawn = {
        "v": m.rng.randint(0, 3),
        "w": m.rng.choice((0.0, 0.5, 1.0, 2.5)),
        "tag": m.rng.choice(("red", "blue")),
    }
    return {name: None if m.chance(0.07) else value for name, value in drawn.items()} | {"t": t}


# --- windows ---


def window(m: Maker, events: Sequence[Event], *, always: bool = False) -> tuple[str, int] | None:
    """Return a window of time that holds most of the stream; None sometimes, where it may be."""
    if not always and m.chance(0.5):
        return None
    span = max(e.ts for e in events) - min(e.ts for e in events)
    return "time", max(1, span + m.rng.choice((-5, -3, -2, -1, 0, 0, 1)))


def plain_case(
    m: Maker, strategy: str, pattern: Any, *, windowed: bool = False, **query: Any
) -> Case:
    """Return a case of one query over one stream that was grown around a word of it."""
    events = stream_of(m, kinds_of_events(m, pattern))
    query.setdefault("within", window(m, events, always=windowed))
    asked = Query(pattern, strategy=strategy, **query)
    return Case((asked,), tuple(events), ATTRIBUTES)


# --- patterns ---


def seq(m: Maker, strategy: str) -> Case:
    """SEQ of components, typed or not."""
    return plain_case(m, strategy, Seq(tuple(m.comps(2, 4))))


def negation_in_the_middle(m: Maker, strategy: str) -> Case:
    """SEQ with one or two negated components between others."""
    parts: list[Any] = m.comps(2, 3)
    for _ in range(m.rng.choice((1, 1, 2))):
        parts.insert(m.rng.randint(1, len(parts) - 1), Not(m.comp()))
    where = _conditions(m, Seq(tuple(parts)), 0.5)
    return plain_case(m, strategy, Seq(tuple(parts)), where=where)


def negation_at_an_end(m: Maker, strategy: str) -> Case:
    """SEQ that begins or ends with a negated component."""
    parts: list[Any] = m.comps(1, 3)
    if ends := m.rng.choice(("first", "last", "both")):
        parts = ([] if ends == "last" else [Not(m.comp())]) + parts
        parts += [] if ends == "first" else [Not(m.comp())]
    where = _conditions(m, Seq(tuple(parts)), 0.3)
    return plain_case(m, strategy, Seq(tuple(parts)), windowed=True, where=where)


def negated_composite(m: Maker, strategy: str) -> Case:
    """SEQ with a negated SEQ, AND, OR or NEXT."""
    parts: list[Any] = m.comps(2, 2)
    inner = m.rng.choice((Seq, Seq, And, Or, Next))(tuple(m.comps(2, 2)))
    if m.chance(0.2):
        inner = Seq((m.comp(), m.repetition()))
    parts.insert(m.rng.choice((0, 1, 1, 1, 2)), Not(inner))
    where = _conditions(m, Seq(tuple(parts)), 0.4)
    return plain_case(m, strategy, Seq(tuple(parts)), windowed=True, where=where)


def repetition(m: Maker, strategy: str) -> Case:
    """SEQ with one or two repetitions."""
    m.most_uncertain = min(m.most_uncertain, 7)
    parts: list[Any] = m.comps(1, 2)
    for _ in range(m.rng.choice((1, 1, 2))):
        parts.insert(m.rng.randint(0, len(parts)), m.repetition())
    return plain_case(m, strategy, Seq(tuple(parts)), windowed=True)


def repetition_conditions(m: Maker, strategy: str) -> Case:
    """Conditions on the elements of a repetition, its last one, its count and aggregates."""
    parts: list[Any] = m.comps(1, 3)
    b = replace(m.repetition(), minimum=m.rng.choice((0, 1, 1, 2)), maximum=None)
    parts.insert(m.rng.randint(0, len(parts)), b)
    others = [p.name for p in parts if p is not b]
    where = tuple(_about_repetition(m, b.name, others) for _ in range(m.rng.choice((1, 1, 2))))
    return plain_case(m, strategy, Seq(tuple(parts)), windowed=True, where=where)


def groups(m: Maker, strategy: str) -> Case:
    """SEQ with a group that repeats, and conditions on its rounds."""
    m.most_uncertain = min(m.most_uncertain, 6)
    least, most = m.rng.choice(((1, None), (1, None), (0, None), (2, 2), (0, 1), (1, 2)))
    inner: Any = m.rng.choice((Seq, Seq, Seq, Next, Or))(tuple(m.comps(2, 2)))
    if m.chance(0.15):
        inner = Seq((m.comp(), Or(tuple(m.comps(2, 2)))))
    own = [c.name for c in positive(inner)]
    parts: list[Any] = m.comps(1, 2)
    place = m.rng.randint(0, len(parts))
    where: list[Expr] = []
    if isinstance(inner, Seq | Next) and len(own) == 2 and m.chance(0.6):
        where = [_about_rounds(m, *own)]
    elif m.chance(0.5):
        where = [(">=", ("attr", own[0], "v"), ("attr", parts[0].name, "v"))]
    if m.chance(0.2) and place:
        parts.insert(m.rng.randint(1, place), Not(m.comp()))
    parts.insert(place, Rounds(inner, least, most))
    equate = ("tag",) if m.chance(0.15) else ()
    return plain_case(
        m, strategy, Seq(tuple(parts)), windowed=True, where=tuple(where), equate=equate
    )


def _about_rounds(m: Maker, a: str, b: str) -> Expr:
    """Return a condition on the rounds of a group of two."""

    def read(name: str, *index: Any) -> Expr:
        return ("round", "rounds", ("attr", name, "v", *index))

    return m.rng.choice(
        [
            ("<=", read(a, "i"), read(b, "i")),
            (">=", read(a, "i"), read(b, "i-1")),
            ("=", read(a, "i"), read(b, "i")),
            (">=", read(b, "i"), read(a, "i-1")),
            ("<=", read(a, "i"), read(b, 1)),
            ("<=", ("+", read(a, "i-1"), read(b, "i-1")), read(b, "i")),
            ("<=", read(b, "last"), read(a, 1)),
            (">=", read(b, "i"), ("lit", 1)),
            ("<=", ("attr", a, "v"), ("attr", b, "v")),
        ]
    )


def until(m: Maker, strategy: str) -> Case:
    """SEQ with a repetition that ends before an event for which UNTIL holds."""
    parts: list[Any] = m.comps(1, 2)
    b = replace(m.repetition(), minimum=m.rng.choice((0, 1, 1, 2)), maximum=None)
    limit = m.rng.choice((0, 1, 2))
    b = replace(b, until=(m.rng.choice((">", "=")), ("attr", b.name, "v"), ("lit", limit)))
    parts.insert(m.rng.randint(0, len(parts)), b)
    pattern: Any = Seq(tuple(parts))
    if m.chance(0.2):
        pattern = Seq((m.comp(), And((b, m.comp()))))
    equate = ("tag",) if m.chance(0.2) else ()
    case = plain_case(m, strategy, pattern, windowed=True, equate=equate)
    if strategy != "next":
        return case
    return replace(case, events=tuple(replace(e, p=1.0) for e in case.events), certain=True)


def denied_neighbour(m: Maker, strategy: str) -> Case:
    """SEQ in which the neighbour of an event is not of a kind."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.25):
        parts[-1] = m.repetition()
    place = m.rng.randint(1, len(parts))
    parts.insert(place, Not(m.comp(), neighbour=True))
    where = _conditions(m, Seq(tuple(parts)), 0.4)
    case = plain_case(m, strategy, Seq(tuple(parts)), windowed=True, where=where)
    return _keyed(m, case, ("tag",)) if m.chance(0.5) else case


def running(m: Maker, strategy: str) -> Case:
    """Conditions on what a repetition adds up to so far."""
    parts: list[Any] = m.comps(1, 2)
    b = replace(m.repetition(), minimum=m.rng.choice((0, 1, 1, 2)), maximum=None)
    parts.insert(m.rng.randint(0, len(parts)), b)
    x = next(p.name for p in parts if p is not b)
    test: Expr = m.rng.choice(
        [
            ("<=", ("running", "SUM", b.name, "v"), ("lit", m.rng.choice((2, 3, 4)))),
            ("<=", ("running", "AVG", b.name, "w"), ("lit", 1.0)),
            (">=", ("running", "MIN", b.name, "v"), ("attr", x, "v")),
            (">=", ("attr", b.name, "v", "i"), ("running", "MAX", b.name, "v")),
            ("<=", ("running", "SUM", b.name, "v"), ("attr", x, "v")),
        ]
    )
    return plain_case(m, strategy, Seq(tuple(parts)), windowed=True, where=(test,))


def conjunction(m: Maker, strategy: str) -> Case:
    """AND of components, repetitions and sequences."""
    m.most_uncertain = min(m.most_uncertain, 6)
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.4):
        parts[0] = Seq((parts[0], m.comp()))
    if m.chance(0.25):
        parts[-1] = m.repetition() if m.chance(0.5) else parts[-1]
    pattern: Any = And(tuple(parts))
    if m.chance(0.3):
        pattern = Seq((pattern, m.comp()) if m.chance(0.5) else (m.comp(), pattern))
    where = _conditions(m, pattern, 0.3)
    return plain_case(m, strategy, pattern, windowed=True, where=where)


def disjunction(m: Maker, strategy: str) -> Case:
    """OR in a SEQ, of components, repetitions and sequences."""
    branches: list[Any] = m.comps(2, 2)
    if m.chance(0.4):
        branches[0] = Seq((branches[0], m.comp()))
    if m.chance(0.2):
        branches[1] = m.repetition()
    if m.chance(0.2):
        branches[0] = Seq((m.comp(), Not(m.comp()), m.comp()))
    pattern = Seq((m.comp(), Or(tuple(branches)), m.comp()))
    where = _conditions(m, pattern, 0.4)
    return plain_case(m, strategy, pattern, windowed=True, where=where)


def neighbours(m: Maker, strategy: str) -> Case:
    """NEXT(...), alone and in a SEQ, with repetitions and alternatives inside."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.3):
        parts[m.rng.randrange(len(parts))] = m.repetition()
    if m.chance(0.2):
        parts[-1] = m.rng.choice((Or, And))((m.comp(), m.comp()))
    pattern: Any = Next(tuple(parts))
    if m.chance(0.4):
        pattern = Seq((m.comp(), pattern) if m.chance(0.5) else (pattern, m.comp()))
    case = plain_case(m, strategy, pattern, windowed=True)
    return _keyed(m, case, ("tag",)) if m.chance(0.5) else case


def nesting(m: Maker, strategy: str) -> Case:
    """Operators in operators, with negations and repetitions."""
    m.most_uncertain = min(m.most_uncertain, 6)
    pattern = _tree(m, 3)
    if not _is_firm(pattern):
        pattern = Seq((pattern, m.comp()))
    where = _conditions(m, pattern, 0.3)
    return plain_case(m, strategy, pattern, windowed=True, where=where)


def _tree(m: Maker, depth: int) -> Any:
    if depth == 0 or m.named > 3 or m.chance(0.25):
        return m.repetition() if m.chance(0.15) else m.comp()
    operator = m.rng.choice((Seq, Seq, And, Or, Next))
    parts = [_tree(m, depth - 1) for _ in range(2)]
    if not any(_is_firm(part) for part in parts):
        parts[0] = m.comp()
    if operator is Seq and m.chance(0.3):
        parts.insert(m.rng.randint(0, 2), Not(m.comp()))
    return operator(tuple(parts))


def _is_firm(node: Any) -> bool:
    """Tell whether a pattern needs an event."""
    if isinstance(node, Comp):
        return node.minimum > 0
    if isinstance(node, Not):
        return False
    return (all if isinstance(node, Or) else any)(_is_firm(part) for part in node.parts)


def first_and_last(m: Maker, strategy: str) -> Case:
    """FIRST(...) and LAST(...) with conditions of the component's own."""
    parts: list[Any] = m.comps(2, 3)
    k = m.rng.randrange(len(parts))
    own = parts[k]
    if m.chance(0.4):
        own = replace(own, filter=_about_one(m, own.name))
    parts[k] = m.rng.choice((First, Last))(own)
    where = _conditions(m, Seq(tuple(parts)), 0.4)
    return plain_case(m, strategy, Seq(tuple(parts)), windowed=True, where=where)


# --- conditions ---


def conditions(m: Maker, strategy: str) -> Case:
    """Predicates of every form, over one and two components, with NULLs in the data."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.3):
        parts.insert(1, Not(m.comp()))
    elif m.chance(0.3):
        parts.insert(1, replace(m.comp(), minimum=0, maximum=1))
    pattern = Seq(tuple(parts))
    where = tuple(_about(m, pattern) for _ in range(m.rng.choice((1, 1, 1, 2))))
    if m.chance(0.15):
        parts[0] = replace(parts[0], filter=_about_one(m, parts[0].name))
    return plain_case(m, strategy, Seq(tuple(parts)), windowed=True, where=where)


def odd_numbers(m: Maker, strategy: str) -> Case:
    """NaN, minus zero, infinity, and whole numbers that a fraction cannot tell apart."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.3):
        parts.insert(1, Not(m.comp()))
    elif m.chance(0.4):
        parts.insert(1, m.repetition())
    pattern = Seq(tuple(parts))
    where = tuple(_about_numbers(m, pattern) for _ in range(m.rng.choice((1, 1, 2))))
    case = plain_case(m, strategy, pattern, windowed=True, where=where)
    if m.chance(0.3):
        case = replace(case, queries=(replace(case.queries[0], equate=("w",)),))
    events = [replace(e, attrs={**e.attrs, **_odd(m)}) for e in case.events]
    return replace(case, events=tuple(events))


def _odd(m: Maker) -> dict[str, Any]:
    drawn = {
        "v": m.rng.choice((0, 1, 2**53, 2**53 + 1, 2**63 - 1)),
        "w": m.rng.choice((math.nan, math.nan, 0.0, -0.0, 0.5, math.inf, 2.0**53)),
    }
    return {name: None if m.chance(0.07) else value for name, value in drawn.items()}


def _about_numbers(m: Maker, pattern: Any) -> Expr:
    """Return a comparison of numbers on at most one negated component of `pattern`."""
    bound = [c.name for c in positive(pattern)]
    x, y = m.rng.choice([c.name for c in leaves(pattern)]), m.rng.choice(bound)
    (vx, wx), (vy, wy) = ((("attr", n, "v"), ("attr", n, "w")) for n in (x, y))
    compare = m.rng.choice(("=", "<>", "<", "<=", ">", ">=", "=", ">="))
    tests: list[Expr] = [
        (compare, wx, wy),
        (compare, wx, wy),
        (compare, vx, wy),
        (compare, wx, vy),
        (compare, vx, vy),
        (compare, wx, ("lit", m.rng.choice((0.0, 1.0, 2.0**53)))),
        (compare, vx, ("lit", 2.0**53)),
        (compare, wx, ("lit", 2**53 + 1)),
        ("not", (compare, wx, wy)),
        ("in", wx, [wy, ("lit", 1.0)]),
        ("in", vx, [0.0, 2.0**53]),
        ("in table", (wx,), ((0,), (2**53,))),
        ("in table", (vx,), ((0.0,), (2.0**53,))),
    ]
    if m.repeated and x == y == m.repeated[0]:
        last = m.rng.choice([n for n in bound if n != x])
        how = m.rng.choice(("MIN", "MAX"))
        tests = [(compare, ("agg", how, x, "w"), ("attr", last, m.rng.choice("vw")))]
    return m.rng.choice(tests)


def subqueries(m: Maker, strategy: str) -> Case:
    """Subqueries of tables that stay as they are, of one event and of several."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.25):
        parts.insert(1, Not(m.comp()))
    elif m.chance(0.3):
        parts.insert(m.rng.randint(1, len(parts)), m.repetition())
    elif m.chance(0.3):
        parts[0] = m.rng.choice((First, Last))(parts[0])
    pattern = Seq(tuple(parts))
    kind = "after_where" if strategy == "next" and m.chance(0.2) else "where"
    chooses = kind == "where"
    where = tuple(_about_rows(m, pattern, chooses) for _ in range(m.rng.choice((1, 1, 2))))
    return plain_case(m, strategy, pattern, windowed=True, **{kind: where})


# By number and colour, and by number alone.
PRICES = (((0, "red", 1.0), (1, "red", None), (1, "blue", 2.5), (3, "blue", 0.5)), (0, 1))
COLOURS = (((0, "red"), (1, "blue"), (2, "red"), (3, None)), (0,))


def _about_rows(m: Maker, pattern: Any, chooses: bool) -> Expr:
    """Return a condition with a subquery; inside it there are no negated components, and no b[i].

    One that `chooses` may be about those outside.
    """
    names = [c.name for c in positive(pattern)]
    if chooses and m.chance(0.4):
        return _beside_rows(m, pattern)
    x, y = m.rng.choice(names), m.rng.choice(names)
    vx, wx, tx = (_single(m, x, name) for name in ATTRIBUTES)
    vy, _, ty = (_single(m, y, name) for name in ATTRIBUTES)
    number, colour, price = (("column", k) for k in range(3))

    def ask(function: str | None, column: int | None, table: Any, *where: Expr) -> Expr:
        return ("select", function, column, table, ("and", *where) if len(where) > 1 else where[0])

    own = ask(None, 1, COLOURS, ("=", number, vx))
    two = ask(None, 2, PRICES, ("=", number, vx), ("=", ty, colour))
    most = ask("MAX", 2, PRICES, ("<=", number, vx), ("<>", colour, ty))
    count = ask("COUNT", None, PRICES, (">=", number, vx), ("<=", number, vy))
    return m.rng.choice(
        [
            ("=", ("lit", "red"), own),
            ("=", own, tx),
            ("=", own, ty),
            ("is not null", own),
            ("or", ("is null", own), ("<=", own, ty)),
            ("<=", two, wx),
            (">=", two, ("lit", 1.0)),
            ("is null", two),
            ("<=", wx, most),
            (">=", count, ("lit", 1)),
            ("<=", ask("SUM", 0, PRICES, ("<=", price, wx), ("<>", number, vy)), ("lit", 2)),
            (">=", ask("AVG", 0, COLOURS, ("<", number, ("+", vx, vy))), ("lit", 0.5)),
            ("<>", ask("MIN", 1, COLOURS, (">", number, vx), ("<>", colour, ty)), ("lit", "blue")),
            ("<=", vx, ask("MAX", 0, COLOURS, ("=", colour, ("lit", "red")))),
            ("<", ask("COUNT", None, COLOURS, ("=", colour, tx)), ("lit", 2)),
        ]
    )


def _beside_rows(m: Maker, pattern: Any) -> Expr:
    """Return a condition on any component, each item of a repetition, beside rows; or on none."""
    x, y = (
        m.rng.choice([c.name for c in leaves(pattern)]),
        m.rng.choice([c.name for c in positive(pattern)]),
    )
    each = ("i",) if x in m.repeated else ()
    v, w, tag = (("attr", x, name, *each) for name in ATTRIBUTES)
    vy, _, ty = (_single(m, y, name) for name in ATTRIBUTES)
    number, colour, price = (("column", k) for k in range(3))
    own = ("select", None, 1, COLOURS, ("=", number, vy))
    most = ("select", "MAX", 2, PRICES, ("and", ("<=", number, vy), ("<>", colour, ty)))
    least = ("lit", m.rng.choice((0, 3, 4)))
    some = ("select", "COUNT", None, COLOURS, (">=", number, least))
    return m.rng.choice(
        [
            ("=", own, tag),
            ("<>", own, tag),
            ("<=", w, most),
            (">=", v, ("select", "MIN", 0, PRICES, ("<=", price, vy))),
            ("or", ("is null", own), ("<", v, vy)),
            (">=", some, ("lit", 1)),
        ]
    )


def _single(m: Maker, name: str, attribute: str) -> Expr:
    """Return an attribute of one event: of a repetition, of its first or its last."""
    index = (m.rng.choice((1, "last")),) if name in m.repeated else ()
    return ("attr", name, attribute, *index)


def after_where(m: Maker, strategy: str) -> Case:
    """AFTER WHERE: a condition on the candidate once chosen."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.3):
        parts.insert(1, m.repetition())
    pattern = Seq(tuple(parts))
    test = _about(m, pattern, soft=True)
    kind = "where" if strategy == "any" else "after_where"
    return plain_case(m, strategy, pattern, windowed=True, **{kind: (test,)})


def _conditions(m: Maker, pattern: Any, p: float) -> tuple[Expr, ...]:
    return (_about(m, pattern, soft=True),) if m.chance(p) else ()


def _about(m: Maker, pattern: Any, *, soft: bool = False) -> Expr:
    """Return a condition on at most one negated component of `pattern`."""
    bound = [c.name for c in positive(pattern)]
    others = [c.name for c in leaves(pattern) if c.name not in bound]
    names = [m.rng.choice(others)] if others and m.chance(0.6) else [m.rng.choice(bound)]
    if m.chance(0.3):
        return _about_one(m, names[0])
    second = m.rng.choice([n for n in bound if n != names[0]] or bound)
    return _about_two(m, names[0], second) if not soft or m.chance(0.5) else _softly(m, names[0])


def _softly(m: Maker, name: str) -> Expr:
    return ("<=", ("attr", name, "v"), ("lit", m.rng.choice((1, 2))))


def _about_one(m: Maker, x: str) -> Expr:
    v, w, tag = (("attr", x, name) for name in ATTRIBUTES)
    return m.rng.choice(
        [
            (">=", v, ("lit", 1)),
            ("<>", v, ("lit", 2)),
            ("=", tag, ("lit", "red")),
            ("in", v, [0, 1, 2]),
            ("in", tag, ["red", None]),
            ("not", ("in", v, [3, None])),
            ("in table", (tag,), (("red",), ("green",))),
            ("in table", (v, tag), ((1, "red"), (2, "red"), (0, "blue"), (3, "blue"))),
            ("is null", w),
            ("is not null", tag),
            ("or", ("is null", v), (">", v, ("lit", 0))),
            ("or", ("=", ("%", v, ("lit", 2)), ("lit", 0)), ("=", tag, ("lit", "blue"))),
            (">", ("/", v, ("-", v, ("lit", 1))), ("lit", 0)),
            ("<", ("+", ("*", w, ("lit", 2)), ("neg", v)), ("lit", 4.5)),
            ("not", ("and", (">", v, ("lit", 1)), ("<", w, ("lit", 2.0)))),
            ("<", ("attr", x, "t"), ("lit", 12)),
        ]
    )


def _about_two(m: Maker, x: str, y: str) -> Expr:
    vx, wx, tx = (("attr", x, name) for name in ATTRIBUTES)
    vy, wy, ty = (("attr", y, name) for name in ATTRIBUTES)
    return m.rng.choice(
        [
            ("<=", vx, ("+", vy, ("lit", 1))),
            ("=", tx, ty),
            ("=", vx, vy),
            ("<>", tx, ty),
            ("<=", tx, ty),
            ("or", (">", vx, vy), ("=", tx, ty)),
            ("<", ("-", ("attr", y, "t"), ("attr", x, "t")), ("lit", 4)),
            (">=", ("+", wx, wy), ("lit", 1.0)),
            ("in table", (vx, ty), ((1, "red"), (2, "red"), (0, "blue"), (3, "blue"))),
            ("in", vx, [vy, ("lit", 0)]),
            ("or", ("is null", wx), ("<=", wx, ("*", wy, vy))),
            ("=", ("default", tx, ty), ty),
            ("<>", ("default", vx, ("lit", 2)), vy),
            ("not", ("=", vx, vy)),
        ]
    )


def _about_repetition(m: Maker, b: str, others: Sequence[str]) -> Expr:
    x = m.rng.choice(others)
    each, previous, first, last = (("attr", b, "v", k) for k in ("i", "i-1", 1, "last"))
    return m.rng.choice(
        [
            (">=", each, previous),
            (">", each, previous),
            ("<=", each, first),
            ("=", ("attr", b, "tag", "i"), ("attr", b, "tag", 1)),
            (">=", last, ("lit", 1)),
            ("<=", last, ("attr", x, "v")),
            ("<=", ("count", b), ("lit", m.rng.choice((1, 2)))),
            (">=", ("count", b), ("lit", m.rng.choice((1, 2)))),
            ("=", ("%", ("count", b), ("lit", 2)), ("lit", m.rng.choice((0, 1)))),
            ("<=", ("agg", "SUM", b, "v"), ("lit", 4)),
            (">", ("agg", "SUM", b, "w"), ("attr", x, "w")),
            ("<=", ("agg", "AVG", b, "v"), ("lit", 1.5)),
            (">=", ("agg", "MIN", b, "v"), ("attr", x, "v")),
            ("<=", ("agg", "MAX", b, "w"), ("lit", 1.0)),
            ("<=", ("attr", b, "v"), ("attr", x, "v")),
            ("<=", first, ("attr", x, "v")),
            ("=", ("attr", b, "tag"), ("attr", x, "tag")),
            ("=", ("attr", x, "tag"), ("attr", b, "tag", "i")),
            ("<", ("-", ("attr", b, "t", "i"), ("attr", b, "t", "i-1")), ("lit", 3)),
        ]
    )


# --- keys, alternatives, order, windows ---


def _keyed(m: Maker, case: Case, key: tuple[str, ...]) -> Case:
    """Return the case with attributes as the KEY, which has no NULL."""
    events = []
    for e in case.events:
        attrs = {**e.attrs, **{k: e.attrs[k] or ("red" if k == "tag" else 1) for k in key}}
        events.append(replace(e, attrs=attrs, key=tuple(attrs[k] for k in key)))
    return replace(case, events=tuple(events), key=key)


def keys(m: Maker, strategy: str) -> Case:
    """`[tag]`, with and without a KEY, through negations and repetitions."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.4):
        parts.insert(m.rng.randint(1, len(parts) - 1), Not(m.comp()))
    if m.chance(0.3):
        parts.insert(m.rng.randint(0, len(parts)), m.repetition())
    equate = m.rng.choice((("tag",), ("tag",), ("tag",), ("tag", "v"), ()))
    written = [c.name for c in positive(Seq(tuple(parts)))]
    where: tuple[Expr, ...] = ()
    if not equate:
        where = tuple(("=", ("attr", x, "tag"), ("attr", y, "tag")) for x, y in pairwise(written))
    case = plain_case(m, strategy, Seq(tuple(parts)), windowed=True, equate=equate, where=where)
    events = [replace(e, attrs={**e.attrs, "v": int(m.chance(0.85))}) for e in case.events]
    if m.chance(0.8):
        events = [
            replace(e, attrs={**e.attrs, "tag": "red"}) if m.chance(0.7) else e for e in events
        ]
    case = replace(case, events=tuple(events))
    if m.chance(0.6):
        return _keyed(m, case, m.rng.choice((("tag",), ("tag",), ("v",), ("tag", "v"))))
    return case


def alternatives(m: Maker, strategy: str) -> Case:
    """Rows that exclude each other, taken, skipped, negated and counted."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.5):
        parts.insert(m.rng.randint(1, len(parts) - 1), Not(m.comp()))
    elif m.chance(0.4):
        parts.insert(m.rng.randint(0, len(parts)), m.repetition())
    pattern: Any = Seq(tuple(parts))
    if m.chance(0.15):
        pattern = Seq((m.comp(), Not(Seq((m.comp(), m.comp()))), m.comp()))
    elif m.chance(0.15):
        pattern = Next(tuple(m.comps(2, 3)))
    case = plain_case(m, strategy, pattern, windowed=True)
    if m.chance(0.3):
        query = replace(case.queries[0], within=("events", m.rng.randint(3, 5)))
        case = replace(case, queries=(query,))
    return replace(case, events=tuple(_grouped(m, list(case.events))))


def _grouped(m: Maker, events: list[Event]) -> list[Event]:
    """Make alternatives of some events; their probabilities sum to 1 or less."""
    free = list(range(len(events)))
    m.rng.shuffle(free)
    for group in range(m.rng.choice((1, 2, 2))):
        members = [free.pop() for _ in range(min(len(free), m.rng.choice((2, 2, 3))))]
        shares = m.rng.choice(((0.3, 0.4, 0.2), (0.5, 0.25, 0.0), (0.25, 0.5, 0.25), (0.5, 0.5)))
        for k, share in zip(members, shares, strict=False):
            events[k] = replace(events[k], p=share, group=f"g{group}")
    return events


def ties(m: Maker, strategy: str) -> Case:
    """Equal times, with and without a tie-breaker, some of them NULL or equal."""
    pattern = m.rng.choice(
        [
            lambda: Seq(tuple(m.comps(2, 3))),
            lambda: Seq((m.comp(), Not(m.comp()), m.comp())),
            lambda: Seq((m.comp(), m.repetition(), m.comp())),
            lambda: And(tuple(m.comps(2, 3))),
            lambda: And((Seq(tuple(m.comps(2, 2))), m.comp())),
            lambda: Next(tuple(m.comps(2, 3))),
            lambda: Next((m.comp(), And(tuple(m.comps(2, 2))))),
            lambda: Next((And(tuple(m.comps(2, 2))), m.comp())),
        ]
    )()
    events = stream_of(m, kinds_of_events(m, pattern), same_time=0.45)
    with_ties = m.chance(0.6)
    if with_ties:
        events = [replace(e, tie=m.rng.choice((1, 2, 2, 3, 4, None))) for e in events]
    query = Query(pattern, strategy=strategy, within=window(m, events, always=True))
    if m.chance(0.15):
        query = replace(query, within=("events", m.rng.randint(3, 5)))
    case = Case((query,), tuple(events), ATTRIBUTES, ties=with_ties)
    if m.chance(0.25):
        events = [replace(e, stream=m.rng.choice("su")) for e in events]
        query = replace(query, streams=("s", "u"))
        case = replace(case, queries=(query,), events=tuple(events), streams=("s", "u"))
    return _keyed(m, case, ("tag",)) if m.chance(0.25) else case


def windows(m: Maker, strategy: str) -> Case:
    """Windows of time and of events, tight and wide."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.25):
        parts.insert(m.rng.randint(1, len(parts) - 1), Not(m.comp()))
    elif m.chance(0.25):
        parts.insert(m.rng.randint(0, len(parts)), m.repetition())
    events = stream_of(m, kinds_of_events(m, Seq(tuple(parts))))
    size = m.rng.choice((("time", m.rng.randint(2, 9)), ("events", m.rng.randint(2, 6))))
    query = Query(Seq(tuple(parts)), strategy=strategy, within=size)
    return Case((query,), tuple(events), ATTRIBUTES)


def windows_around_negations(m: Maker, strategy: str) -> Case:
    """Windows of events with a negation at an end."""
    parts: list[Any] = m.comps(1, 2)
    parts = [Not(m.comp()), *parts] if m.chance(0.5) else [*parts, Not(m.comp())]
    events = stream_of(m, kinds_of_events(m, Seq(tuple(parts))))
    query = Query(Seq(tuple(parts)), strategy=strategy, within=("events", m.rng.randint(2, 5)))
    return Case((query,), tuple(events), ATTRIBUTES)


def windows_around_neighbours(m: Maker, strategy: str) -> Case:
    """Windows of events with a NEXT(...) that ends in a repetition; keys and equal times."""
    m.types = "AB"
    parts: list[Any] = [*m.comps(1, 2), m.repetition()]
    if m.chance(0.2):
        parts[0] = And((parts[0], m.comp()))
    pattern: Any = Next(tuple(parts))
    if m.chance(0.25):
        pattern = Seq((m.comp(), pattern))
    events = stream_of(m, kinds_of_events(m, pattern), same_time=0.3)
    with_ties = m.chance(0.3)
    if with_ties:
        events = [replace(e, tie=m.rng.choice((1, 2, 2, 3, None))) for e in events]
    query = Query(pattern, strategy=strategy, within=("events", m.rng.randint(2, 5)))
    case = Case((query,), tuple(events), ATTRIBUTES, ties=with_ties)
    return _keyed(m, case, m.rng.choice((("tag",), ("v",)))) if m.chance(0.8) else case


def runs(m: Maker, strategy: str) -> Case:
    """Repetitions at the end, and NEXT(...) of one: keys, alternatives, ties, windows of events."""
    m.types = "AB"
    last = replace(m.repetition(), minimum=m.rng.choice((1, 1, 2)), maximum=m.rng.choice((None, 3)))
    parts: list[Any] = m.comps(0, 1)
    if m.chance(0.2):
        parts.append(m.repetition())
    pattern: Any = Seq((*parts, Next((last,)) if m.chance(0.3) else last))
    if not parts and m.chance(0.2):
        pattern = Next((Or((last, m.comp())),))
    events = stream_of(m, kinds_of_events(m, pattern), same_time=m.rng.choice((0.0, 0.1, 0.4)))
    with_ties = m.chance(0.2)
    if with_ties:
        events = [replace(e, tie=m.rng.choice((1, 2, 2, 3, None))) for e in events]
    within = window(m, events, always=True)
    if m.chance(0.15):
        within = "events", m.rng.randint(2, 5)
    where: tuple[Expr, ...] = ()
    if parts and m.chance(0.4):
        where = (_about_repetition(m, last.name, [parts[0].name]),)
    if m.chance(0.4):
        events = (_exclusive if m.chance(0.5) else _grouped)(m, events)
    query = Query(pattern, strategy=strategy, within=within, where=where)
    case = Case((query,), tuple(events), ATTRIBUTES, ties=with_ties)
    return _keyed(m, case, ("tag",)) if m.chance(0.5) else case


def _exclusive(m: Maker, events: list[Event]) -> list[Event]:
    """Let two events of one time exclude each other, so that one of them is sure to happen."""
    k = m.rng.randrange(len(events) - 1)
    time = events[k].ts
    for number, p in ((k, 0.25), (k + 1, 0.75)):
        attrs = {**events[number].attrs, "t": time}
        events[number] = replace(events[number], ts=time, p=p, group="g0", attrs=attrs)
    return events


# --- several streams, hierarchy, thresholds ---


def streams(m: Maker, strategy: str) -> Case:
    """ON two streams, named as types or not, with tie-breakers of their own."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.5):
        parts[-1] = replace(parts[-1], type="u")
    if m.chance(0.3):
        parts.insert(1, Not(replace(m.comp(), type="u")))
    pattern = m.rng.choice((Seq, Seq, And))(tuple(parts)) if len(parts) < 3 else Seq(tuple(parts))
    types = [("A" if kind == "u" else kind) for kind in kinds_of_events(m, pattern)]
    events = stream_of(m, types, same_time=0.3)
    events = [replace(e, stream=m.rng.choice("su")) for e in events]
    with_ties = m.chance(0.5)
    if with_ties:
        events = [replace(e, tie=m.rng.choice((1, 2, 3, None))) for e in events]
    query = Query(
        pattern,
        streams=("s", "u"),
        strategy=strategy,
        where=_conditions(m, pattern, 0.3),
        within=window(m, events, always=True),
    )
    case = Case((query,), tuple(events), ATTRIBUTES, ties=with_ties, streams=("s", "u"))
    return _keyed(m, case, ("tag",)) if m.chance(0.3) else case


def hierarchy(m: Maker, strategy: str) -> Case:
    """ON queries: derived events taken, negated, skipped and repeated."""
    m.most_uncertain = min(m.most_uncertain, 6)
    inner = [_inner_query(m, f"p{k}") for k in range(m.rng.choice((1, 1, 2)))]
    derived = [replace(m.comp(), type=q.name) for q in inner]
    if m.chance(0.3):
        derived[-1] = replace(derived[-1], minimum=1, maximum=None)
    form = m.rng.choice(("taken", "negated", "both", "only", "and"))
    parts: list[Any] = [m.comp(), *derived]
    if form == "negated":
        parts = [m.comp(), Not(replace(derived[0], minimum=1, maximum=1)), *derived[1:], m.comp()]
    elif form == "both":
        parts = [m.comp(), *derived, m.comp()]
    elif form == "only":
        parts = [*derived, replace(m.comp(), type=inner[0].name)]
    pattern = And(tuple(parts)) if form == "and" else Seq(tuple(parts))
    events = stream_of(m, _base_kinds(m, pattern, inner), same_time=0.08)
    outer = Query(
        pattern,
        streams=("s", *(q.name for q in inner)) if form != "only" else tuple(q.name for q in inner),
        strategy=strategy,
        within=window(m, events, always=True),
        where=_about_derived(m, derived[0]) if form != "negated" else (),
    )
    case = Case((*inner, outer), tuple(events), ATTRIBUTES)
    return _keyed(m, case, ("tag",)) if m.chance(0.3) else case


def _base_kinds(m: Maker, pattern: Any, inner: Sequence[Query]) -> list[str]:
    """Return base types whose matches make a word of `pattern`, and a few others."""
    inside = {q.name: q.pattern for q in inner}
    kinds: list[str] = []
    for kind in word(m, pattern)[:4]:
        part = word(m, inside[kind]) if kind in inside else [kind]
        kinds += [k or m.rng.choice(m.types) for k in part]
    for _ in range(m.rng.choice((0, 1, 2))):
        kinds.insert(m.rng.randint(0, len(kinds)), m.rng.choice(m.types))
    return kinds[:10]


def _inner_query(m: Maker, name: str) -> Query:
    first, second = m.comp(), m.comp()
    parts: tuple[Any, ...] = (first, second)
    if m.chance(0.2):
        parts = (second,)
    elif m.chance(0.3):
        parts = (first, Not(m.comp()), second)
    return Query(
        Seq(parts),
        name=name,
        strategy=m.rng.choice(("any", "any", "any", "next", "strict")),
        within=("time", m.rng.randint(4, 12)),
        threshold=m.rng.choice((None, None, None, None, (0.2, False), (0.1, True))),
        returns={"w": ("attr", second.name, "v")},
    )


def _about_derived(m: Maker, comp: Comp) -> tuple[Expr, ...]:
    if comp.maximum != 1 or m.chance(0.6):
        return ()
    span = ("-", ("attr", comp.name, "end_ts"), ("attr", comp.name, "start_ts"))
    return (m.rng.choice([("<=", span, ("lit", 4)), (">=", ("attr", comp.name, "w"), ("lit", 1))]),)


def ties_of_derived_events(m: Maker, strategy: str) -> Case:
    """ON a query ON two streams, each with tie-breakers of any type, or one with none."""
    m.most_uncertain = min(m.most_uncertain, 4)
    inner = (m.comp(wild=0.7),) if m.chance(0.6) else (m.comp(wild=0.7), m.comp(wild=0.7))
    kinds = [m.rng.choice(m.types) for _ in range(m.rng.randint(4, 6))]
    events = stream_of(m, kinds, same_time=0.6)
    untied = ("u",) if m.chance(0.15) else ()
    for k, e in enumerate(events):
        stream, tie = m.rng.choice("su"), m.rng.choice((1, 2, 3, 4, 5, None))
        events[k] = replace(e, stream=stream, tie=None if stream in untied else tie)
    below = Query(Seq(inner), name="p0", streams=("s", "u"), within=("time", 4))
    parts: list[Any] = [replace(m.comp(), type="p0") for _ in range(2)]
    if m.chance(0.3):
        parts.insert(1, Not(replace(m.comp(), type="p0")))
    pattern = Seq(tuple(parts)) if len(parts) > 2 else m.rng.choice((Seq, Seq, Next))(tuple(parts))
    within = ("events", 3) if m.chance(0.2) else window(m, events, always=True)
    above = Query(pattern, streams=("p0",), strategy=strategy, within=within)
    kind = m.rng.choice(("LONG", "DOUBLE", "STRING", "STRING", "TIMESTAMP", "DATE"))
    return Case(
        (below, above),
        tuple(events),
        ATTRIBUTES,
        ties=True,
        streams=("s", "u"),
        untied=untied,
        tie_type=kind,
    )


def thresholds(m: Maker, strategy: str) -> Case:
    """HAVING CONFIDENCE, at and around the confidences that occur."""
    parts: list[Any] = m.comps(2, 3)
    if m.chance(0.3):
        parts.insert(1, Not(m.comp()))
    if m.chance(0.3):
        parts.insert(m.rng.randint(0, len(parts)), m.repetition())
    limit = m.rng.choice((0.0, 0.01, 0.05, 0.1, 0.125, 0.25))
    threshold = (limit, m.chance(0.4))
    return plain_case(m, strategy, Seq(tuple(parts)), windowed=True, threshold=threshold)


def large(m: Maker, strategy: str) -> Case:
    """Up to fourteen uncertain events; rare, because there are 16,384 worlds."""
    m.most_uncertain = m.rng.randint(9, 11)
    case = m.rng.choice((seq, negation_in_the_middle, alternatives, keys))(m, strategy)
    events = [replace(e, p=0.5) if e.p == 1.0 else e for e in case.events]
    return replace(case, events=tuple(events))


CONSTRUCTS: dict[str, Callable[[Maker, str], Case]] = {
    maker.__name__: maker
    for maker in (
        seq,
        negation_in_the_middle,
        negation_at_an_end,
        negated_composite,
        repetition,
        repetition_conditions,
        groups,
        running,
        until,
        denied_neighbour,
        conjunction,
        disjunction,
        neighbours,
        nesting,
        first_and_last,
        conditions,
        odd_numbers,
        subqueries,
        after_where,
        keys,
        alternatives,
        ties,
        windows,
        windows_around_negations,
        windows_around_neighbours,
        runs,
        streams,
        hierarchy,
        ties_of_derived_events,
        thresholds,
    )
}

# Those of several queries; all others are of one.
OVER_QUERIES = ("hierarchy", "ties_of_derived_events")


def random_case(construct: str, strategy: str, seed: int) -> Case:
    """Return the case of this number."""
    rng = random.Random(f"{construct} {strategy} {seed}")
    size = rng.choices((4, 5, 6, 7, 8, 9), (20, 25, 25, 18, 9, 3))[0]
    return CONSTRUCTS[construct](Maker(rng, most_uncertain=size), strategy)
