"""The sequence operator of safe plans: a projected prefix, then one subgoal that shares nothing.

A run of the prefix that ends at u is taken on by the earliest later candidate of the last subgoal.
So the query holds at t if the subgoal accepts an event at t and the prefix held at some time from
the latest earlier candidate on, up to before t:

    P(holds at t) = P(accepted at t) * sum over s of P(latest candidate before t is at s)
                    * P(the prefix holds in [s, t - 1])

The prefix holds if it does for some value of its variable; different values use different events,
so P = 1 - prod(1 - P of each value). The kernel carries all starts s of all values forward at once,
and only those that still matter: see `_oldest`.

Exact for independent streams. Where a chain of another make comes, the answer is None, and
`worlds` has it. Oracle: tests/oracles/probabilities.py; paper: Lahar, section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from augury.kernels.chain import intervals
from augury.matching.marginal import TooManyNumbersError, accepted_of, automaton, symbol_of
from augury.matching.waiting_line import Sign, WaitingLine
from augury.matching.worlds import Outcomes, Step
from augury.records import Flags, Reals, Words

# What is left of all starts together, below which they are left out. It bounds the error of an
# answer, and is less than the rounding of the 1 - prod(...) that it would be added to.
NEGLIGIBLE = 1e-16
# Stands for the logarithm of 0: after a certain candidate nothing before it matters.
_CERTAIN = -1e3
MOST_MASS = 2**27
LAST, MIXED = ("last",), ("mixed",)


def sequence_probabilities(line: WaitingLine, steps: Sequence[Step]) -> dict[int, float] | None:
    """Return P(a match ends at t) for each time; None where the line is no such sequence."""
    last = line.nodes[-1].component
    if not _is_suited(line, last):
        return None
    split = _Split(last)
    if not all(split.take(step) for step in steps):
        return None
    try:
        tables = automaton(_prefix(line, last), list(split.symbols))
    except TooManyNumbersError:
        return None
    return _carried(split, tables)


def _is_suited(line: WaitingLine, last: int) -> bool:
    ends = [k for k, node in enumerate(line.nodes) if node.component == last]
    plain = len(ends) == 1 and not line.nodes[ends[0]].guards and not line.nodes[ends[0]].after
    before = [node for k, node in enumerate(line.nodes) if k not in ends]
    return (
        plain
        and line.skipping == "NEXT"
        and line.window is None
        and line.remembers == 1
        and bool(before)
        and not any(node.is_final for node in before)
        and ends[0] not in line.start
    )


def _prefix(line: WaitingLine, last: int) -> WaitingLine:
    """Return the line without its last subgoal, and without values: each has its own chain."""
    end = next(k for k, node in enumerate(line.nodes) if node.component == last)
    nodes = tuple(
        replace(node, after=tuple(k for k in node.after if k != end), is_final=end in node.after)
        for node in line.nodes[:end]
    )
    return replace(line, nodes=nodes, remembers=0)


@dataclass
class _Split:
    """Steps as what the last subgoal may take, and what each value's prefix may.

    Rows `first[t]..first[t + 1]` tell what step t may mean to the prefix of a value: the numbers of
    value and symbol, and how likely that is.
    """

    last: int
    times: list[int] = field(default_factory=list)
    candidate: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)
    first: list[int] = field(default_factory=lambda: [0])
    rows: list[tuple[int, int, float]] = field(default_factory=list)
    values: dict[Hashable, int] = field(default_factory=dict)
    symbols: dict[int, int] = field(default_factory=lambda: {0: 0})
    known: dict[Sign, tuple[Hashable, int]] = field(default_factory=dict)

    def take(self, step: Step) -> bool:
        """Take in a step; return whether its events keep apart as the plan needs it."""
        if step.moves or (self.times and step.time == self.times[-1]):
            return False
        none = taken = 1.0
        by_kind: dict[Hashable, dict[int, float]] = {}
        for group in step.groups:
            kind, shares = self._read(group)
            if kind == MIXED:
                return False
            if kind == LAST:
                none *= 1.0 - sum(shares.values())
                taken *= 1.0 - sum(p for symbol, p in shares.items() if self._takes(symbol))
            elif kind is not None:
                before = by_kind.get(kind)
                by_kind[kind] = _full(shares) if before is None else _both(before, _full(shares))
        self.times.append(step.time)
        self.candidate.append(1.0 - none)
        self.accepted.append(1.0 - taken)
        for value, chances in by_kind.items():
            self._add(self.values.setdefault(value, len(self.values)), chances)
        self.first.append(len(self.rows))
        return True

    def _add(self, value: int, chances: dict[int, float]) -> None:
        for symbol, p in chances.items():
            number = self.symbols.setdefault(symbol, len(self.symbols))
            self.rows.append((value, number, p))

    def _takes(self, symbol: int) -> bool:
        return bool(accepted_of(symbol) >> self.last & 1)

    def _read(self, group: Outcomes) -> tuple[Hashable, dict[int, float]]:
        """Return for whom the events of a group are, and how likely each symbol is."""
        kind: Hashable = None
        shares: dict[int, float] = {}
        for p, sign in group:
            if sign is None:
                continue
            own, symbol = self._meaning(sign)
            if own == MIXED or kind not in (None, own):
                return MIXED, {}
            kind = own
            shares[symbol] = shares.get(symbol, 0.0) + p
        return kind, shares

    def _meaning(self, sign: Sign) -> tuple[Hashable, int]:
        found = self.known.get(sign)
        if found is None:
            found = self.known[sign] = self._kind(sign), symbol_of(sign.matches, sign.accepted)
        return found

    def _kind(self, sign: Sign) -> Hashable:
        """Return the value that an event brings to the prefix, or that it is for the last subgoal.

        It is mixed if it is for both, or for parts of the prefix with different values.
        """
        played = [c for c in range(len(sign.values)) if sign.matches >> c & 1]
        brought = {sign.values[c][0] for c in played}
        if self.last in played:
            return LAST if len(played) == 1 and brought == {None} else MIXED
        value = brought.pop() if len(brought) == 1 else None
        # What equals nothing, not even itself, ends no prefix.
        return MIXED if value is None or value != value else ("value", value)  # noqa: PLR0124


def _full(shares: dict[int, float]) -> dict[int, float]:
    """Return the shares with what is missing to 1: nothing happens."""
    rest = max(1.0 - sum(shares.values()), 0.0)
    return shares | {0: shares.get(0, 0.0) + rest}


def _both(one: dict[int, float], other: dict[int, float]) -> dict[int, float]:
    """Return the distribution of what two independent groups mean together."""
    found: dict[int, float] = {}
    for a, p in one.items():
        for b, q in other.items():
            found[a | b] = found.get(a | b, 0.0) + p * q
    return found


def _carried(split: _Split, tables: tuple[Words, Flags]) -> dict[int, float] | None:
    candidate = np.array(split.candidate)
    before = np.cumsum(np.r_[1, candidate > 0.0])[:-1]
    starts = np.r_[1.0, candidate[candidate > 0.0]]
    oldest = _oldest(starts, before)
    slots = int((before - oldest).max(initial=1))
    shape = len(split.values), slots, len(tables[0])
    if math.prod(shape) > MOST_MASS:
        return None
    now = np.zeros((shape[0], shape[2]))
    now[:, 0] = 1.0
    value, symbol, p = zip(*split.rows, strict=True) if split.rows else ((), (), ())
    rows = tuple(np.array(own, np.int64) for own in (split.first, value, symbol))
    goal = np.array(split.accepted), starts, oldest, before
    out = np.zeros(len(candidate))
    intervals.sequence(rows, np.array(p, np.float64), tables, goal, (now, np.zeros(shape)), out)
    return dict(zip(split.times, out.tolist(), strict=True))


def _oldest(starts: Reals, before: Words) -> Words:
    """Return, for each step, the oldest start that matters among those before it.

    P(no candidate after start s) only falls with time, and is the weight of s and all before it
    together, so once it is negligible they are forgotten for good.
    """
    with np.errstate(divide="ignore"):
        log_none = np.maximum(np.log1p(-starts), _CERTAIN)
    log_none[0] = 0.0
    log_since = np.cumsum(log_none)
    edge = -log_since[before - 1] + math.log(NEGLIGIBLE)
    found: Words = np.searchsorted(-log_since, edge)
    return found
