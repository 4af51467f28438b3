"""States that are alike in the automata of several queries: P-ToPSS's merging.

Two states are alike where they have equally many ways in, each with a partner of the same trigger
from a state that is alike; all starts are. A state in which something is waited for has a loop over
whatever comes, and another for what led there comes again; where neighbours are asked for it has
neither. So `a` alone is not alike to what `a; b` has after its a.

Found by refinement: all states are taken to be alike, and told apart by their ways in until no more
are. Starts are not counted, for all are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from augury.analysis.checked import CheckedQuery
from augury.analysis.expressions.walk import attributes_into, renamed
from augury.language.text.expressions import expression_text
from augury.planning.pattern.build_automaton import build_automaton

# A way in: the state it comes from (the place in the list of all), and what has to be read.
Way = tuple[int, str]
WHATEVER, OWN = "whatever", ""


@dataclass(frozen=True)
class Alike:
    """The class of each state of each query, by name; states of one class could be one."""

    classes: Mapping[str, tuple[int, ...]]

    @property
    def states(self) -> int:
        """How many states there are, without merging."""
        return sum(len(own) for own in self.classes.values())

    @property
    def merged(self) -> int:
        """How many there are where those that are alike are one."""
        return len({each for own in self.classes.values() for each in own})

    @property
    def commonality(self) -> float:
        """Which part of all states merging saves."""
        return (self.states - self.merged) / self.states if self.states else 0.0

    def shared(self, name: str) -> int:
        """Return how many states of a query are alike to one of another."""
        others = {e for other, own in self.classes.items() if other != name for e in own}
        return sum(1 for each in self.classes[name] if each in others)


def alike_states(queries: Iterable[CheckedQuery]) -> Alike:
    """Return which states of the queries' automata are alike."""
    ways: list[list[Way]] = []
    spans: dict[str, range] = {}
    for query in queries:
        own = _ways_in(query, len(ways))
        spans[query.name] = range(len(ways), len(ways) + len(own))
        ways += own
    found = _refined(ways)
    # The first state of each is its start.
    return Alike({name: tuple(found[k] for k in span[1:]) for name, span in spans.items()})


def _refined(ways: list[list[Way]]) -> list[int]:
    """Return the coarsest classes in which states that are alike have ways in that are."""
    classes, count = [0] * len(ways), 1
    while True:
        numbers: dict[object, int] = {}
        after = []
        for place, own in enumerate(ways):
            signature = sorted((classes[source], trigger) for source, trigger in own)
            after.append(numbers.setdefault((classes[place], tuple(signature)), len(numbers)))
        if len(numbers) == count:
            return after
        classes, count = after, len(numbers)


def _ways_in(query: CheckedQuery, first: int) -> list[list[Way]]:
    """Return the ways into each state, its own loops among them."""
    automaton = build_automaton(query)
    triggers = [_trigger(query, c.index) for c in query.components]
    found: list[list[Way]] = [[] for _ in automaton.states]
    waits = [False] * len(automaton.states)
    for each in automaton.transitions:
        adjacent = "next " if each.joints else ""
        found[each.target].append((first + each.source, adjacent + triggers[each.component]))
        waits[each.source] = waits[each.source] or not each.joints
    skips = query.strategy in ("ANY", "NEXT")
    for state, own in enumerate(found):
        if state and waits[state] and skips:
            own += [(first + state, trigger) for _, trigger in tuple(own)]
            own.append((first + state, WHATEVER))
    return found


def _trigger(query: CheckedQuery, index: int) -> str:
    """Return what an event must be to play a component, whatever the component is called."""
    component = query.components[index]
    # A place of which others ask something is like no other place.
    said = [" ".join(sorted(str(by) for by in component.played_by))]
    for conjunct in query.conjuncts:
        if index not in conjunct.components or conjunct.derived:
            continue
        if len(conjunct.components) == 1:
            said.append(expression_text(renamed(conjunct.expression, component.name, OWN)))
        else:
            names = {a.component or "" for a in attributes_into(conjunct.expression)}
            places = sorted(c.index for c in query.components if c.name in names)
            said.append(f"{expression_text(conjunct.expression)} of {places}")
    return " and ".join(sorted(said))
