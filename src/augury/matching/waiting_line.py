"""The waiting line of a sequence: what a run waits for, and what each step does to the runs.

A probability query asks whether a match exists, so of a partial match only that matters which
decides how it can go on: the node it waits at, the values that it must meet again, and, under a
window, when it began. One certain step of time takes a set of such runs to the next set. Lahar's
symbols are here: an event *matches* a component (it is a candidate), and is *accepted* if it also
passes what judges the candidate once chosen. The translation (section 3.1 of the paper):

- a wait at node i survives a step without a candidate (NEXT), any step (ANY), or only one without
  any event at all (STRICT);
- an accepted event leads on; all events of one step are successors alike;
- a repetition is the union of its unfoldings: after an event, a run waits for the same component
  again and, in another run, for what follows.

Invariant: a line holds no data. Oracles: tests/oracles/worlds.py and probabilities.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Skipping = Literal["ANY", "NEXT", "STRICT"]
Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A place to wait: for an event of `component`; events in `guards` (bits) end the wait.

    `after` are the nodes that are waited at once it took an event; `is_final` if that may be all.
    """

    component: int
    guards: int
    after: tuple[int, ...]
    is_final: bool


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """A compiled sequence; `remembers` is how many values a run has to meet again."""

    nodes: tuple[Node, ...]
    start: tuple[int, ...]
    skipping: Skipping
    window: int | None = None
    remembers: int = 0

    @property
    def sees_everything(self) -> bool:
        """Whether an event that plays nothing can still end a wait."""
        return self.skipping == "STRICT"


@dataclass(frozen=True, slots=True)
class Sign:
    """What an event means to a line: bits of the components it matches, and is accepted by.

    `values[c]` are the values that component c would have to meet again, None where it has none.
    """

    matches: int
    accepted: int
    values: tuple[Values, ...] = ()


# A run: the node it waits at, the values it has met, and when it began (0 without a window).
Run = tuple[int, Values, int]
Runs = frozenset[Run]
NO_RUNS: Runs = frozenset()


def step(line: WaitingLine, runs: Runs, happened: Iterable[Sign], time: int) -> tuple[Runs, bool]:
    """Return the runs after one certain step of time, and whether a match ends in it."""
    signs = tuple(happened)
    kept: set[Run] = set()
    accepted = False
    for run in _alive(line, runs, time):
        if _survives(line, run, signs):
            kept.add(run)
        accepted |= _advance(line, run, signs, kept)
    begun = time if line.window is not None else 0
    for node in line.start:
        accepted |= _advance(line, (node, (None,) * line.remembers, begun), signs, kept)
    return _latest(line, kept), accepted


def _alive(line: WaitingLine, runs: Runs, time: int) -> Iterable[Run]:
    if line.window is None:
        return runs
    return [run for run in runs if time - run[2] <= line.window]


def _latest(line: WaitingLine, kept: set[Run]) -> Runs:
    """Of runs that differ in their beginning only, the latest can do what the others can."""
    if line.window is None:
        return frozenset(kept)
    latest: dict[tuple[int, Values], int] = {}
    for node, values, since in kept:
        latest[node, values] = max(since, latest.get((node, values), since))
    return frozenset((node, values, since) for (node, values), since in latest.items())


def _survives(line: WaitingLine, run: Run, signs: tuple[Sign, ...]) -> bool:
    node = line.nodes[run[0]]
    if line.skipping == "STRICT" and signs:
        return False
    if node.guards and any(breaking(node.guards, sign, run[1]) for sign in signs):
        return False
    return line.skipping == "ANY" or not any(_candidates(node, run[1], signs))


def breaking(guards: int, sign: Sign, values: Values) -> bool:
    """Return whether an event is one that must not lie in the gap of a wait."""
    bits = guards & sign.matches
    while bits:
        component = (bits & -bits).bit_length() - 1
        if meeting(sign, component, values) is not None:
            return True
        bits &= bits - 1
    return False


def _candidates(node: Node, values: Values, signs: tuple[Sign, ...]) -> Iterator[Sign]:
    for sign in signs:
        if meeting(sign, node.component, values) is not None:
            yield sign


def _advance(line: WaitingLine, run: Run, signs: tuple[Sign, ...], kept: set[Run]) -> bool:
    """Add where the run goes on from its accepted candidates; return whether it may end there."""
    node = line.nodes[run[0]]
    done = False
    for sign in _candidates(node, run[1], signs):
        if sign.accepted >> node.component & 1:
            met = meeting(sign, node.component, run[1])
            assert met is not None
            kept.update((after, met, run[2]) for after in node.after)
            done |= node.is_final
    return done


def meeting(sign: Sign, component: int, values: Values) -> Values | None:
    """Return the values after the event played the component; None where it is no candidate."""
    if not sign.matches >> component & 1:
        return None
    if not values:
        return values
    merged = list(values)
    for k, value in enumerate(sign.values[component]):
        if value is None:
            continue
        if merged[k] is not None and merged[k] != value:
            return None
        merged[k] = value
    return tuple(merged)
