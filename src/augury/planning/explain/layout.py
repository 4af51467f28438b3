"""Where the states of an automaton stand in a picture: in layers by distance from the start.

An automaton has no cycles but loops, so every edge points to the right. Within a layer, states are
ordered by the mean place of those before them, which keeps edges from crossing where they need not.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.planning.pattern.automaton import Automaton


@dataclass(frozen=True, slots=True)
class Layout:
    """The layer of each state, its row in that layer, and the size of the whole."""

    layer: tuple[int, ...]
    row: tuple[float, ...]
    layers: int
    rows: int


def lay_out(automaton: Automaton) -> Layout:
    """Return a place for every state."""
    layer = _longest_distances(automaton)
    columns = [[s for s, at in enumerate(layer) if at == n] for n in range(max(layer) + 1)]
    rows = max(len(column) for column in columns)
    row = [0.0] * len(layer)
    before = _predecessors(automaton)
    for column in columns:
        column.sort(key=lambda state: _mean_row(before[state], row, state))
        top = (rows - len(column)) / 2
        for place, state in enumerate(column):
            row[state] = top + place
    return Layout(tuple(layer), tuple(row), len(columns), rows)


def _longest_distances(automaton: Automaton) -> list[int]:
    """Return for each state the most events that lead to it, so that edges never point left."""
    distance = [0] * len(automaton.states)
    forward = [(t.source, t.target) for t in automaton.transitions if t.source != t.target]
    onward: dict[int, list[int]] = {}
    waiting = [0] * len(automaton.states)
    for source, target in forward:
        onward.setdefault(source, []).append(target)
        waiting[target] += 1
    ready = [state for state, count in enumerate(waiting) if count == 0]
    while ready:
        state = ready.pop()
        for target in onward.get(state, ()):
            distance[target] = max(distance[target], distance[state] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return distance


def _predecessors(automaton: Automaton) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in automaton.states]
    for t in automaton.transitions:
        if t.source != t.target:
            before[t.target].append(t.source)
    return before


def _mean_row(before: list[int], row: list[float], state: int) -> tuple[float, int]:
    return (sum(row[s] for s in before) / len(before) if before else 0.0, state)
