"""The operator of chains: beliefs in, the probability that a match ends at each step out.

State per chain is constant: the mass over automaton states, and for a Markovian object over hidden
values too. The states and symbols of the automaton are numbered as they appear and never change
their number, so that a state survives batches, checkpoints and new symbols alike.

An automaton state is the set of nodes that runs wait at (bits), a symbol is what a step means: bits
of the components that some event matches, those that accept one, and whether anything happened.
Where a match counts for some steps after its end (OVER), a state also has, in its high bits, for
how many steps more the last one does: a count is all that later answers need of earlier ends.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import astuple, dataclass, field, fields, replace
from itertools import product
from typing import Any

import numpy as np

from augury.errors import StateError
from augury.kernels.chain import forward
from augury.matching.waiting_line import WaitingLine
from augury.records import Flags, Reals, Words

# The value of a row that asks what still counts at a time without rows of its chain.
ASKED = -1
NOWHERE, BEGINNING = 0, 1
NEVER = forward.NEVER
VERSION = 1
MOST_STATES = 4096
_SHIFT = 31
_MATCHED, _ACCEPTED = 1, 2
# Lines of more components have too many symbols to list.
_LISTED = 6
_MASK_BITS = 48
_WAITING = (1 << _MASK_BITS) - 1


@dataclass(frozen=True, slots=True)
class Beliefs:
    """T rows of what may have happened, by chain and time.

    Independent rows of one `group` exclude each other. Of a Markovian object, a row says that it
    goes from `origin` to `value` with probability `p`; hidden values are numbers from 2 on.
    `matches` and `accepted` are bits by component; an event that means nothing has neither. A row
    whose value is `ASKED` is no event: its chain is asked about a time at which it has none.
    """

    chain: Words
    time: Words
    group: Words
    origin: Words
    value: Words
    p: Reals
    matches: Words
    accepted: Words

    def __len__(self) -> int:
        return len(self.chain)

    def take(self, rows: Words | Flags) -> Beliefs:
        """Return the rows at the given positions."""
        return Beliefs(*(getattr(self, item.name)[rows] for item in fields(self)))

    def contiguous(self) -> Beliefs:
        """Return the rows with each array in one piece of memory, as kernels take them."""
        return Beliefs(*(np.ascontiguousarray(getattr(self, item.name)) for item in fields(self)))

    @staticmethod
    def joined(first: Beliefs, second: Beliefs) -> Beliefs:
        """Return the rows of both, first those of the first."""
        pairs = ((getattr(first, f.name), getattr(second, f.name)) for f in fields(Beliefs))
        return Beliefs(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True, slots=True)
class Chances:
    """P(a match ends in `chain` at `time`), for every step of every chain, and where it is asked.

    Where ends count for some steps: P(one has ended in the last of them).
    """

    chain: Words
    time: Words
    p: Reals


@dataclass(frozen=True)
class MarginalState:
    """What has been carried so far: mass by chain in compressed rows, and rows that still wait.

    Entries `first[c]..first[c + 1]` of chain c are `value` and `mass` (entries, Q); `states` and
    `symbols` are the automaton's, in the order of their numbers.
    """

    states: tuple[int, ...]
    symbols: tuple[int, ...]
    first: Words
    value: Words
    mass: Reals
    last: Words
    waiting: Beliefs

    @property
    def n_chains(self) -> int:
        return len(self.last)


@dataclass(frozen=True)
class Marginaliser:
    """Carries one line over the beliefs of many chains (an `Operator`).

    `is_markovian` tells which kind of rows come; `ticks` that Markovian times follow each other by
    one; `ever` asks whether a match has ended by now, instead of at this step. `over` is how many
    steps an end counts, its own included (0: that one alone), and `unit` how long a step takes.
    `linked` tells that the tables are of a stream AS ... CORRELATED: the mass that they carry sums
    to 1, but their rows do not, and what is missing in one is not nowhere.
    """

    line: WaitingLine
    is_markovian: bool = False
    ticks: bool = True
    ever: bool = False
    over: int = 0
    unit: int = 1
    linked: bool = False
    _steps: dict[tuple[int, int], tuple[int, bool]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def start(self, like: Beliefs) -> MarginalState:
        none = np.zeros(0, np.int64)
        nothing = like.take(np.zeros(len(like), np.bool_))
        return MarginalState(
            (0,), (0,), np.zeros(1, np.int64), none, np.zeros((0, 1)), none, nothing
        )

    def advance(
        self, state: MarginalState, batch: Beliefs, horizon: int
    ) -> tuple[MarginalState, Chances]:
        rows = Beliefs.joined(state.waiting, batch) if len(state.waiting) else batch
        ready = rows.time < horizon
        waiting = rows.take(~ready)
        rows = rows if ready.all() else rows.take(ready)
        if not forward.is_sorted(rows.chain, rows.time, rows.group):
            rows = rows.take(np.lexsort((rows.group, rows.time, rows.chain)))
        rows = rows.contiguous()
        found, codes = self._numbered(state.symbols, rows)
        state = self._grown(replace(state, waiting=waiting), found, rows)
        carry = self._markovian if self.is_markovian else self._independent
        return carry(state, rows, codes)

    def finish(self, state: MarginalState) -> tuple[MarginalState, Chances]:
        nothing = state.waiting.take(np.zeros(len(state.waiting), np.bool_))
        return self.advance(state, nothing, 2**62)

    def dump(self, state: MarginalState) -> bytes:
        stream = io.BytesIO()
        arrays = {f"waiting_{f.name}": getattr(state.waiting, f.name) for f in fields(Beliefs)}
        np.savez(
            stream,
            version=np.array([VERSION]),
            line=np.frombuffer(self._mark, np.uint8),
            states=np.array(state.states, np.int64),
            symbols=np.array(state.symbols, np.int64),
            first=state.first,
            value=state.value,
            mass=state.mass,
            last=state.last,
            **arrays,
        )
        return stream.getvalue()

    def load(self, data: bytes) -> MarginalState:
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as found:
                parts = {name: found[name] for name in found.files}
        except (ValueError, OSError, EOFError, zipfile.BadZipFile) as problem:
            raise StateError(f"the state of a chain is damaged: {problem}; begin anew") from problem
        return self._loaded(parts)

    def _loaded(self, parts: dict[str, Any]) -> MarginalState:
        version = int(parts["version"][0]) if "version" in parts else -1
        if version != VERSION:
            raise StateError(
                f"the state of a chain has version {version}, but this release reads {VERSION}; "
                "use the release that wrote it, or begin anew"
            )
        if bytes(parts["line"]) != self._mark:
            raise StateError("the state is of another query; begin anew, or restore its own query")
        waiting = Beliefs(*(parts[f"waiting_{f.name}"] for f in fields(Beliefs)))
        return MarginalState(
            tuple(parts["states"].tolist()),
            tuple(parts["symbols"].tolist()),
            parts["first"],
            parts["value"],
            parts["mass"],
            parts["last"],
            waiting,
        )

    @property
    def _mark(self) -> bytes:
        """What tells a state of this question from those of others."""
        over = f" over {self.over} of {self.unit}" if self.over else ""
        # Values only: what classes are called may change from release to release.
        return f"{astuple(self.line)!r}{over}".encode()

    def is_waiting(self, state: MarginalState) -> Flags:
        """Return in which chains of independent rows some run may wait."""
        waits = np.array([mask & _WAITING != 0 for mask in state.states], np.bool_)
        found: Flags = np.logical_or.reduce(state.mass[:, waits] > 0.0, axis=1)
        return found

    def is_counting(self, state: MarginalState, horizon: int) -> Flags:
        """Return in which chains of independent rows an end may still count at `horizon`.

        A horizon that is earlier than the last rows of a chain stands for their time.
        """
        found = np.zeros(len(state.mass), np.bool_)
        gone = np.maximum(horizon - np.maximum(state.last, NEVER // 2), 0) // self.unit
        left = self._left(state)
        for c in np.flatnonzero(gone < self.over).tolist():
            found[c] = (state.mass[c, left > gone[c]] > 0.0).any()
        return found

    # Carrying ---------------------------------------------------------------------------------

    def _independent(
        self, state: MarginalState, rows: Beliefs, codes: Words
    ) -> tuple[MarginalState, Chances]:
        delta, done = self._tables(state)
        union = _unions(state.symbols)
        mass, last, out = state.mass.copy(), state.last.copy(), np.full(len(rows), np.nan)
        columns = (rows.chain, rows.time, rows.group, codes)
        tables, memory = (delta, done, union), self._memory(state)
        forward.independent(columns, rows.p, tables, memory, (mass, last), self.ever, out)
        return replace(state, mass=mass, last=last), _chances(rows, out)

    def _markovian(
        self, state: MarginalState, rows: Beliefs, codes: Words
    ) -> tuple[MarginalState, Chances]:
        room, n_chains = len(state.value) + len(rows) + state.n_chains, state.n_chains
        after = (
            np.zeros(n_chains + 1, np.int64),
            np.zeros(room, np.int64),
            np.zeros((room, len(state.states))),
            np.zeros(n_chains, np.int64),
        )
        out = np.full(len(rows), np.nan)
        before = (state.first, state.value, state.mass, state.last)
        columns = (rows.chain, rows.time, rows.origin, rows.value, codes)
        tables, memory = self._tables(state), self._memory(state)
        flags = (self.ticks, not self.linked)
        filled = forward.markovian(columns, rows.p, tables, memory, before, flags, after, out)
        first, value, mass, last = after
        changed = replace(state, first=first, value=value[:filled], mass=mass[:filled], last=last)
        return changed, _chances(rows, out)

    # The automaton ----------------------------------------------------------------------------

    def _numbered(self, known: tuple[int, ...], rows: Beliefs) -> tuple[tuple[int, ...], Words]:
        """Return the symbols, with new ones at the end, and the number of each row's."""
        room = np.zeros(MOST_STATES, np.int64)
        room[: len(known)] = known
        codes = np.zeros(len(rows), np.int64)
        count = forward.number_symbols(self._symbols(rows), room, len(known), codes)
        if count < 0:
            raise TooManyNumbersError
        codes[rows.value == ASKED] = -1
        return tuple(room[:count].tolist()), codes

    def _grown(self, state: MarginalState, found: tuple[int, ...], rows: Beliefs) -> MarginalState:
        """Return the state with room for new chains, symbols and automaton states."""
        symbols = self._closed(state.symbols, found)
        states = self._reachable(state.states, symbols)
        n_chains = max(state.n_chains, int(rows.chain.max(initial=-1)) + 1)
        fresh = n_chains - state.n_chains
        width = len(states) - len(state.states)
        mass = np.pad(state.mass, ((0, fresh), (0, width)))
        if fresh:
            mass[len(state.mass) :, 0] = 1.0
        ends = state.first[-1] + np.arange(1, fresh + 1)
        return replace(
            state,
            states=states,
            symbols=symbols,
            first=np.concatenate([state.first, ends]),
            value=np.concatenate([state.value, np.full(fresh, BEGINNING, np.int64)]),
            mass=mass,
            last=np.concatenate([state.last, np.full(fresh, NEVER, np.int64)]),
        )

    def _symbols(self, rows: Beliefs) -> Words:
        symbols: Words = rows.matches | rows.accepted << _SHIFT
        if self.line.sees_everything:
            is_event = rows.value != NOWHERE if self.is_markovian else np.bool_(True)
            symbols = symbols | np.int64(is_event) << (2 * _SHIFT)
        return np.where(rows.value == ASKED, 0, symbols) if self.over else symbols

    def _closed(self, known: tuple[int, ...], found: tuple[int, ...]) -> tuple[int, ...]:
        """Return the symbols, and of independent rows all that several may mean together."""
        symbols = dict.fromkeys(found)
        if self.is_markovian:
            return found
        waiting = [s for s in symbols if s not in known]
        while waiting:
            one = waiting.pop()
            for other in list(symbols):
                if one | other not in symbols:
                    symbols[one | other] = None
                    waiting.append(one | other)
            self._refuse_above(len(symbols))
        return tuple(symbols)

    def _reachable(self, known: tuple[int, ...], symbols: tuple[int, ...]) -> tuple[int, ...]:
        states = dict.fromkeys(known)
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            for symbol in symbols:
                after, _ = self._step(state, symbol)
                if after not in states:
                    states[after] = None
                    waiting.append(after)
            self._refuse_above(len(states))
        return tuple(states)

    @staticmethod
    def _refuse_above(count: int) -> None:
        if count > MOST_STATES:
            raise TooManyNumbersError

    def _tables(self, state: MarginalState) -> tuple[Words, Flags]:
        number = {mask: q for q, mask in enumerate(state.states)}
        delta = np.zeros((len(state.states), len(state.symbols)), np.int64)
        done = np.zeros(delta.shape, np.bool_)
        for q, mask in enumerate(state.states):
            for s, symbol in enumerate(state.symbols):
                after, ended = self._step(mask, symbol)
                delta[q, s], done[q, s] = number[after], ended
        return delta, done

    def _left(self, state: MarginalState) -> Words:
        """Return for how many steps more the last end counts, by automaton state."""
        return np.array(state.states, np.int64) >> _MASK_BITS

    def _memory(self, state: MarginalState) -> tuple[Words, int, int]:
        return self._left(state), self.over, self.unit

    def _step(self, state: int, symbol: int) -> tuple[int, bool]:
        """Return the automaton state after a symbol, and whether a match ends with it.

        Where ends count for some steps: whether one counts after it.
        """
        if (state, symbol) not in self._steps:
            self._steps[state, symbol] = counted_step(self.line, state, symbol, self.over)
        return self._steps[state, symbol]


class TooManyNumbersError(Exception):
    """The automaton of a line has more states or symbols than a table can hold."""


def symbol_of(matches: int, accepted: int) -> int:
    """Return the symbol of components that some event matches, and that accept one."""
    return matches | accepted << _SHIFT


def accepted_of(symbol: int) -> int:
    """Return the components (bits) that accept an event where a step means `symbol`."""
    return symbol >> _SHIFT & ((1 << _SHIFT) - 1)


def mask_step(line: WaitingLine, state: int, symbol: int) -> tuple[int, bool]:
    """Return where the waiting nodes (bits of `state`) are after a step that means `symbol`."""
    low = (1 << _SHIFT) - 1
    matches, accepted, anything = symbol & low, symbol >> _SHIFT & low, symbol >> (2 * _SHIFT)
    after, done = 0, False
    for k, node in enumerate(line.nodes):
        if not (state >> k & 1 or k in line.start):
            continue
        if state >> k & 1 and _stays(line, k, matches, anything):
            after |= 1 << k
        if accepted >> node.component & 1:
            done |= node.is_final
            for target in node.after:
                after |= 1 << target
    for k in line.start:
        # Every run may begin at any time, so waiting there is no news.
        after &= ~(1 << k)
    return after, done


def counted_step(line: WaitingLine, state: int, symbol: int, over: int) -> tuple[int, bool]:
    """Return what `mask_step` does where an end counts for `over` steps (0: in its own alone)."""
    if not over:
        return mask_step(line, state, symbol)
    after, done = mask_step(line, state & _WAITING, symbol)
    left = over if done else max((state >> _MASK_BITS) - 1, 0)
    return after | left << _MASK_BITS, left > 0


def waiting_sets(line: WaitingLine) -> int:
    """Return how many sets of nodes runs may wait at, whatever happens; or more, for long lines."""
    components = sorted({node.component for node in line.nodes})
    if len(components) > _LISTED:
        return 1 << len(line.nodes) - len(line.start)
    # Each component is matched and accepted, matched only, or neither, in each step.
    symbols = [
        sum(
            symbol_of(1 << c, (1 << c) * (how == _ACCEPTED))
            for c, how in zip(components, each, strict=True)
            if how
        )
        for each in product((0, _MATCHED, _ACCEPTED), repeat=len(components))
    ]
    seen, fresh = {0}, [0]
    while fresh:
        state = fresh.pop()
        for symbol in symbols:
            for either in (symbol, symbol | 1 << (2 * _SHIFT)):
                after, _ = mask_step(line, state, either)
                if after not in seen:
                    seen.add(after)
                    fresh.append(after)
    return len(seen)


def automaton(line: WaitingLine, symbols: list[int], over: int = 0) -> tuple[Words, Flags]:
    """Return where each symbol leads from each automaton state, and whether a match ends.

    States are those that can be reached; state 0 waits at no node. `over` as in `counted_step`.
    """
    number, found = {0: 0}, list[list[tuple[int, bool]]]()
    waiting = [0]
    for state in waiting:
        steps = [counted_step(line, state, symbol, over) for symbol in symbols]
        for after, _ in steps:
            if after not in number:
                number[after] = len(number)
                waiting.append(after)
        found.append([(number[after], ended) for after, ended in steps])
        if len(number) > MOST_STATES:
            raise TooManyNumbersError
    delta = np.array([[after for after, _ in steps] for steps in found], np.int64)
    return delta, np.array([[ended for _, ended in steps] for steps in found], np.bool_)


def _stays(line: WaitingLine, k: int, matches: int, anything: int) -> bool:
    node = line.nodes[k]
    if line.skipping == "STRICT":
        return not anything
    if node.guards & matches:
        return False
    return line.skipping == "ANY" or not matches >> node.component & 1


def _unions(symbols: tuple[int, ...]) -> Words:
    number = {symbol: s for s, symbol in enumerate(symbols)}
    union = [[number[a | b] for b in symbols] for a in symbols]
    return np.array(union, np.int64)


def _chances(rows: Beliefs, out: Reals) -> Chances:
    at = np.flatnonzero(~np.isnan(out))
    return Chances(rows.chain[at], rows.time[at], out[at])
