"""The sequence operator of safe plans: a projected prefix, then one subgoal that shares nothing.

A run of the prefix that ends at u is taken on by the earliest later candidate of the last subgoal.
So the query holds at t if the subgoal accepts an event at t and the prefix held at some time from
the latest earlier candidate on, up to before t:

    P(holds at t) = P(accepted at t) * sum over s of P(latest candidate before t is at s)
                    * P(the prefix holds in [s, t - 1])

The prefix holds if it does for some value of its variable; different values use different events,
so P = 1 - prod(1 - P of each value), each from its own chain that remembers whether it has
accepted since s. Intervals are computed for the starts that occur, when they are asked for.

Exact for independent streams. Where a chain of another make comes, the answer is None, and
`worlds` has it. Oracle: tests/oracles/probabilities.py; paper: Lahar, section 3.3.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from augury.matching.line import Line, Sign
from augury.matching.worlds import Chain, Ever, Outcomes, State, Step

BEGINNING = -(2**62)


def sequence_probabilities(line: Line, steps: Sequence[Step]) -> dict[int, float] | None:
    """Return P(a match ends at t) for each time; None where the line is no such sequence."""
    last = line.nodes[-1].component
    if not _is_suited(line, last):
        return None
    split = _Split(last)
    if not all(split.take(step) for step in steps):
        return None
    prefix = _prefix(line, last)
    parts = [_Intervals(prefix, own) for own in split.prefix.values()]
    return {step.time: _holds(split, parts, step.time) for step in steps}


def _is_suited(line: Line, last: int) -> bool:
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


def _prefix(line: Line, last: int) -> Line:
    """Return the line without its last subgoal, and without values: each has its own chain."""
    end = next(k for k, node in enumerate(line.nodes) if node.component == last)
    nodes = tuple(
        replace(node, after=tuple(k for k in node.after if k != end), is_final=end in node.after)
        for node in line.nodes[:end]
    )
    return replace(line, nodes=nodes, remembers=0)


@dataclass
class _Split:
    """Steps as what the last subgoal may take, and what each value's prefix may."""

    last: int
    prefix: dict[Hashable, list[Step]] = field(default_factory=dict)
    candidate: dict[int, float] = field(default_factory=dict)
    accepted: dict[int, float] = field(default_factory=dict)

    def take(self, step: Step) -> bool:
        """Take in a step; return whether its events keep apart as the plan needs it."""
        if step.moves or step.time in self.candidate:
            return False
        none = taken = 1.0
        groups: dict[Hashable, list[Outcomes]] = {}
        for group in step.groups:
            kinds = {self._kind(sign) for _, sign in group if sign is not None}
            if not kinds:
                continue
            if len(kinds) > 1 or None in kinds:
                return False
            (kind,) = kinds
            if kind == ("last",):
                none *= 1.0 - sum(p for p, sign in group if sign is not None)
                taken *= 1.0 - sum(
                    p for p, sign in group if sign is not None and sign.accepted >> self.last & 1
                )
            else:
                groups.setdefault(kind, []).append([(p, _without_values(s)) for p, s in group])
        self.candidate[step.time], self.accepted[step.time] = 1.0 - none, 1.0 - taken
        for value, own in groups.items():
            self.prefix.setdefault(value, []).append(Step(step.time, tuple(own)))
        return True

    def _kind(self, sign: Sign) -> Hashable:
        """Return the value that an event brings to the prefix, or that it is for the last subgoal.

        None where it is for both, or for parts of the prefix with different values.
        """
        played = [c for c in range(len(sign.values)) if sign.matches >> c & 1]
        brought = {sign.values[c][0] for c in played}
        if self.last in played:
            return ("last",) if len(played) == 1 and brought == {None} else None
        value = brought.pop() if len(brought) == 1 else None
        # What equals nothing, not even itself, ends no prefix.
        return None if value is None or value != value else ("value", value)  # noqa: PLR0124


def _without_values(sign: Sign | None) -> Sign | None:
    return None if sign is None else Sign(sign.matches, sign.accepted)


class _Intervals:
    """P(one value's prefix holds in [s, e]), computed for a start when it is first asked for."""

    def __init__(self, line: Line, steps: list[Step]) -> None:
        self.line, self.steps = line, steps
        self.times = [step.time for step in steps]
        self.before = list(self._snapshots())
        self.known: dict[int, list[float]] = {}

    def _snapshots(self) -> Iterator[dict[State, float]]:
        chain = Chain(self.line)
        for step in self.steps:
            yield dict(chain.mass)
            chain.advance(step)

    def holds(self, start: int, end: int) -> float:
        """Return P(the prefix holds at some time of the interval)."""
        first, stop = bisect_left(self.times, start), bisect_right(self.times, end)
        if first >= stop:
            return 0.0
        if first not in self.known:
            fresh: dict[State, float] = {}
            for (hidden, runs, _), mass in self.before[first].items():
                state = hidden, runs, False
                fresh[state] = fresh.get(state, 0.0) + mass
            chain = Ever(self.line, mass=fresh)
            self.known[first] = [chain.advance(step) for step in self.steps[first:]]
        return self.known[first][stop - 1 - first]


def _holds(split: _Split, parts: list[_Intervals], time: int) -> float:
    accepted = split.accepted[time]
    if accepted <= 0.0:
        return 0.0
    total, none_since = 0.0, 1.0
    earlier = sorted((t for t in split.candidate if t < time), reverse=True)
    for start in (*earlier, BEGINNING):
        latest = split.candidate.get(start, 1.0) if start != BEGINNING else 1.0
        if latest > 0.0 and none_since > 0.0:
            never = 1.0
            for part in parts:
                never *= 1.0 - part.holds(start, time - 1)
            total += none_since * latest * (1.0 - never)
            none_since *= 1.0 - latest
    return accepted * total
