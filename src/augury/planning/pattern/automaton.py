"""The automaton of a pattern: states, transitions that take one event, guards that forbid events.

Events are read in (time, tie-breaker) order; a transition gives the event it reads to one
component. A state is a residual pattern (what may still come), so AND is the shuffle of its parts,
OR their union, and a repetition a loop. The automaton says which components may come next; it does
not order ties: `Precedence` lists which components must lie strictly before which. Negations are
not states: a `Guard` names what must not exist between the nearest bound neighbours.

The automaton knows nothing of queues, weights or evaluation: matching enumerates over it, chains
marginalise over it, and forecasts turn it into an absorbing chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from augury.analysis.checked import Shape


@dataclass(frozen=True, slots=True)
class State:
    """A residual pattern. State 0 is the start; `label` is its text, such as `SEQ(b+, c)`."""

    index: int
    label: str
    accepting: bool


@dataclass(frozen=True, slots=True)
class Joint:
    """Where parts of a NEXT meet: the event must be the neighbour of the last events bound to `to`.

    It need not where an event bound to `own`, the components of its own part, lies before it: then
    it is no first event of the part. Ties make several last or first events.
    """

    to: tuple[int, ...]
    own: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Transition:
    """From `source`, the event read plays `component`; the automaton goes on in `target`.

    `again` is True where the component is a repetition that already holds an event (a loop or a
    later unrolled step). `adjacent_to` lists the components of the part before it in a NEXT: the
    event must be the direct neighbour of the last event bound to one of them; `joints` says the
    same in full, for ties too. NEXT-match selection prefers transitions as written, except that one
    that `yields` (a repetition past its minimum) gives way to what comes after it; transitions of
    one state stand in the order that this gives where it gives one.
    """

    source: int
    target: int
    component: int
    again: bool = False
    adjacent_to: tuple[int, ...] = ()
    joints: tuple[Joint, ...] = ()
    yields: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """An edge over components that were missed: `source` to `target` without reading an event.

    `best` is the highest score the edge can have within the window; `removed` marks one that cannot
    reach the threshold (kept for EXPLAIN only).
    """

    source: int
    target: int
    components: tuple[int, ...]
    best: float | None = None
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """`!part` in a SEQ: no instance of `part` strictly between its nearest bound neighbours.

    `earlier` and `later` hold all components that the pattern puts before and after it, whatever
    encloses its SEQ, by parts, nearest part first; the bound is the last (first) event bound in the
    nearest part that has any. An empty `earlier` makes it leading (from last - W, inclusive), an
    empty `later` trailing (to first + W, inclusive). `components` are those inside, `company` the
    positive ones of its own SEQ: where none of them is bound, the guard is not applied. `kind` says
    where nothing may lie: anywhere in the gap, only NEXT to the event before it, or, for UNTIL,
    between the events of one repetition (which is both `earlier` and `later`).
    """

    part: Shape
    components: tuple[int, ...]
    earlier: tuple[tuple[int, ...], ...]
    later: tuple[tuple[int, ...], ...]
    company: tuple[int, ...] = ()
    kind: Literal["GAP", "NEXT", "UNTIL"] = "GAP"

    @property
    def is_leading(self) -> bool:
        return not self.earlier

    @property
    def is_trailing(self) -> bool:
        return not self.later


@dataclass(frozen=True, slots=True)
class Precedence:
    """Every event bound to `earlier` lies strictly before every event bound to `later`."""

    earlier: int
    later: int


@dataclass(frozen=True, slots=True)
class Automaton:
    """The whole of it; `transitions` and `skips` are sorted by source, then by preference."""

    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    skips: tuple[Skip, ...]
    guards: tuple[Guard, ...]
    precedences: tuple[Precedence, ...]
