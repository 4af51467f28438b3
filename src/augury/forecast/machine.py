"""The machine of a pattern over symbols: what partial matches become when an event is read.

A *symbol* is the set of components that an event fits by itself, as bits, negated ones too. A
*token* is all that the future of a partial match depends on; a *reading* is the set of tokens that
live together: one partial match, or (with the empty token) the query as a whole. What is read is
certain; several tokens arise because SKIP TILL ANY MATCH both takes an event and leaves it.

A window is counted in steps here: `left` is how many more events may pass until the match has to be
complete, `clear` how many until a negation at the start lies behind the window. Where time is not
counted in steps, both are ranks of moments, and `rank` is how many of these have passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Strategy = Literal["ANY", "NEXT", "STRICT", "PARTITION"]
# The state of a match that is complete but for a negation at its end.
PENDING = -1
# No window; longer than any.
ENDLESS = 2**60


@dataclass(frozen=True, slots=True)
class Edge:
    """Take an event as `component`; in NEXT(...) `joints` are (part before, own part) as bits."""

    component: int
    target: int
    joints: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Guard:
    """A negated component between those before and after it; `company` are those of its SEQ.

    Without any before it is leading, without any after it trailing.
    """

    component: int
    earlier: int
    later: int
    company: int


class Token(NamedTuple):
    """A partial match, as far as its future goes.

    `last` is the component of the event just read, -1 where it was not taken; `flags` are the
    guards (bits) whose negated event lies behind their last neighbour. Of a match that is PENDING,
    `flags` are the components that must not come.
    """

    state: int = 0
    bound: int = 0
    last: int = -1
    flags: int = 0
    left: int = ENDLESS
    clear: tuple[int, ...] = ()


Reading = frozenset[Token]
Step = tuple[bool, Reading]


@dataclass(frozen=True)
class Machine:
    """States, edges (preferred ones first) and guards of one pattern.

    `before[c]` are the components that lie strictly before c; a repetition lies before itself.
    `ticks` tells that every step counts towards windows. `foreign_breaks` and `foreign_ticks` say
    what an event of another partition does: end contiguity, count towards the window.
    """

    edges: tuple[tuple[Edge, ...], ...]
    accepting: tuple[bool, ...]
    before: tuple[int, ...]
    guards: tuple[Guard, ...]
    strategy: Strategy
    ticks: bool = True
    foreign_breaks: bool = False
    foreign_ticks: bool = False
    _steps: dict[tuple[Reading, int, int, int], Step] = field(default_factory=dict, repr=False)
    _needs: dict[tuple[int, int, int, int], int] = field(default_factory=dict, repr=False)

    @property
    def leading(self) -> tuple[int, ...]:
        """The guards at the start, by number."""
        return tuple(k for k, g in enumerate(self.guards) if not g.earlier)

    @property
    def trailing(self) -> tuple[int, ...]:
        """The guards at the end, by number."""
        return tuple(k for k, g in enumerate(self.guards) if not g.later)

    @property
    def empty(self) -> Token:
        """The token of no event at all, from which every partial match begins."""
        return Token(clear=(0,) * len(self.leading))

    @property
    def components(self) -> int:
        return len(self.before)

    # Reading one event ------------------------------------------------------------------------

    def read(self, reading: Reading, symbol: int, span: int, rank: int = 0) -> Step:
        """Return whether some match completes with an event, and what lives after it.

        `span` is how many steps after its first event a match may end, or the rank of its end.
        """
        key = reading, symbol, span, rank
        if key not in self._steps:
            self._steps[key] = self._read(reading, symbol, span, rank)
        return self._steps[key]

    def _read(self, reading: Reading, symbol: int, span: int, rank: int) -> Step:
        completed, found = False, set[Token]()
        for token in reading:
            for ended, after in self._readings(token, symbol, span, rank):
                completed = completed or ended
                if after is not None:
                    found.add(after)
        return completed, self.thinned(found)

    def _readings(
        self, token: Token, symbol: int, span: int, rank: int
    ) -> Iterator[tuple[bool, Token | None]]:
        if token.state == PENDING:
            yield self._waited(token, symbol)
            return
        taken = list(self.takes(token, symbol))
        for edge in taken:
            yield from self._completed(self.taken(token, [(edge, symbol)], symbol, 1, span), rank)
        if self.leaves(token, bool(taken)):
            passed = self.passed(token, symbol, 1, span)
            yield False, passed if self.is_alive(passed) else None

    def _completed(self, token: Token | None, rank: int) -> Iterator[tuple[bool, Token | None]]:
        if token is None or token.left < 0:
            return
        if self.accepting[token.state] and self._is_clear(token, rank):
            yield self._ended(token)
        if self.goes_on(token) and self.is_alive(token):
            yield False, token

    def goes_on(self, token: Token) -> bool:
        """Return whether a token has anything to wait for: a complete run has not."""
        if not self.accepting[token.state]:
            return True
        return self.strategy == "ANY" and bool(self.edges[token.state])

    def _is_clear(self, token: Token, rank: int) -> bool:
        now = 0 if self.ticks else rank
        return all(
            token.clear[at] <= now or not self.guards[k].company & token.bound
            for at, k in enumerate(self.leading)
        )

    def _ended(self, token: Token) -> tuple[bool, Token | None]:
        """Return a complete match, or what it still waits for."""
        forbidden = 0
        for k in self.trailing:
            if self.guards[k].company & token.bound:
                forbidden |= 1 << self.guards[k].component
        if not forbidden or token.left == 0:
            return True, None
        return False, Token(PENDING, 0, -1, forbidden, token.left)

    def _waited(self, token: Token, symbol: int) -> tuple[bool, Token | None]:
        if token.flags & symbol:
            return False, None
        if not self.ticks:
            return False, token
        return (True, None) if token.left == 1 else (False, token._replace(left=token.left - 1))

    # What becomes of one token ----------------------------------------------------------------

    def takes(
        self, token: Token, symbol: int, fits: Callable[[int], bool] | None = None
    ) -> Iterator[Edge]:
        """Yield how a token may take an event: every way, or the preferred one that fits."""
        if token.left <= 0 and self.ticks:
            return
        for edge in self.edges[token.state]:
            if symbol >> edge.component & 1 and _meets(edge, token):
                if fits is not None and not fits(edge.component):
                    continue
                yield edge
                if self.strategy != "ANY" and token.bound:
                    return

    def leaves(self, token: Token, has_taken: bool) -> bool:
        """Return whether a token goes on without the event that was read."""
        if not token.bound or self.strategy == "ANY":
            return True
        return self.strategy == "NEXT" and not has_taken

    def taken(
        self, token: Token, takes: list[tuple[Edge, int]], symbols: int, count: int, span: int
    ) -> Token | None:
        """Return the token that took events of one order; None where a guard forbids that.

        `symbols` are all that was read at that order, `count` how many events these were.
        """
        added = 0
        for edge, _ in takes:
            added |= 1 << edge.component
        if any(self._is_broken(k, token, added) for k in range(len(self.guards))):
            return None
        bound, flags = token.bound | added, token.flags
        for k, guard in enumerate(self.guards):
            if guard.earlier & added:
                flags &= ~(1 << k)
            elif self._is_open(guard, token) and symbols >> guard.component & 1:
                flags |= 1 << k
        flags &= ~self._closed(bound)
        left, clear = self._counted(token, symbols, count, span, started=not token.bound)
        return Token(takes[-1][0].target, bound, takes[-1][0].component, flags, left, clear)

    def _is_broken(self, k: int, token: Token, added: int) -> bool:
        guard = self.guards[k]
        ends = guard.later & added and not guard.later & token.bound
        return bool(ends and token.flags >> k & 1 and guard.company & (token.bound | added))

    def _is_open(self, guard: Guard, token: Token) -> bool:
        begun = guard.earlier & token.bound and guard.later
        return bool(begun and not guard.later & token.bound)

    def _closed(self, bound: int) -> int:
        return sum(1 << k for k, g in enumerate(self.guards) if g.later & bound)

    def passed(self, token: Token, symbols: int, count: int, span: int) -> Token:
        """Return the token after events of one order that it did not take."""
        flags = token.flags
        for k, guard in enumerate(self.guards):
            if self._is_open(guard, token) and symbols >> guard.component & 1:
                flags |= 1 << k
        left, clear = self._counted(token, symbols, count, span, started=False)
        return token._replace(flags=flags, last=-1, left=left, clear=clear)

    def _counted(
        self, token: Token, symbols: int, count: int, span: int, *, started: bool
    ) -> tuple[int, tuple[int, ...]]:
        """Return how far the windows of a token are after `count` events."""
        left, clear = token.left, token.clear
        if self.ticks:
            left = left if left == ENDLESS else left - count
            clear = tuple(max(0, each - count) for each in clear)
        if started:
            left = span
        elif not token.bound and clear:
            seen = (symbols >> self.guards[k].component & 1 for k in self.leading)
            # A negated event forbids ends up to the window's length after it.
            after = span + 1 if self.ticks else span
            clear = tuple(after if s else c for s, c in zip(seen, clear, strict=True))
        return left, clear

    # Events of other partitions ---------------------------------------------------------------

    def read_foreign(self, reading: Reading) -> Step:
        """Return the same of an event of another partition."""
        completed, found = False, set[Token]()
        for token in reading:
            ended, after = self._read_foreign(token)
            completed = completed or ended
            if after is not None and (after.state == PENDING or self.is_alive(after)):
                found.add(after)
        return completed, self.thinned(found)

    def _read_foreign(self, token: Token) -> tuple[bool, Token | None]:
        if token.state == PENDING:
            return self._waited(token, 0) if self.foreign_ticks else (False, token)
        return False, self.passed_by(token, 1)

    def passed_by(self, token: Token, count: int) -> Token | None:
        """Return a token after events of other partitions; None where these end it."""
        if not count:
            return token
        if token.bound and self.foreign_breaks and self.strategy in ("STRICT", "PARTITION"):
            return None
        last = -1 if self.foreign_breaks else token.last
        if not self.foreign_ticks:
            return token._replace(last=last)
        left = token.left if token.left == ENDLESS else token.left - count
        clear = tuple(max(0, each - count) for each in token.clear)
        return token._replace(last=last, left=left, clear=clear)

    # What can still come ----------------------------------------------------------------------

    def is_alive(self, token: Token) -> bool:
        """Return whether some future completes a match."""
        if token.state == PENDING or not token.bound:
            return True
        need = self._need(token.state, token.bound, token.last, token.flags)
        if not self.ticks or token.left == ENDLESS:
            return need < ENDLESS
        waits = max([need, *(c for c in self._clears(token))])
        return waits <= token.left

    def _clears(self, token: Token) -> Iterator[int]:
        for at, k in enumerate(self.leading):
            if self.guards[k].company & token.bound:
                yield token.clear[at]

    def _need(self, state: int, bound: int, last: int, flags: int) -> int:
        """Return how many events at least complete a match; ENDLESS where none do."""
        start = state, bound, last, flags
        if start in self._needs:
            return self._needs[start]
        frontier, seen, steps = {start}, {start}, 0
        found = ENDLESS
        while frontier and found == ENDLESS:
            steps += 1
            ahead = set[tuple[int, int, int, int]]()
            for at in frontier:
                for ended, after in self._onward(at):
                    found = steps if ended else found
                    ahead.add(after)
            frontier = ahead - seen
            seen |= frontier
        self._needs[start] = found
        return found

    def _onward(
        self, at: tuple[int, int, int, int]
    ) -> Iterator[tuple[bool, tuple[int, int, int, int]]]:
        token = Token(*at, clear=(0,) * len(self.leading))
        for edge in self.edges[token.state]:
            if _meets(edge, token):
                own = 1 << edge.component
                after = self.taken(token, [(edge, own)], own, 0, ENDLESS)
                if after is not None:
                    yield self.accepting[after.state], after[:4]
        if self.strategy in ("ANY", "NEXT") and token.last >= 0:
            yield False, (token.state, token.bound, -1, token.flags)

    # Sets of tokens ---------------------------------------------------------------------------

    def thinned(self, tokens: Iterable[Token]) -> Reading:
        """Return tokens without those that another one makes needless: alike, with less time."""
        if self.trailing:
            return frozenset(tokens)
        best: dict[tuple[object, ...], Token] = {}
        for token in tokens:
            key = (*token[:4], token.clear)
            if key not in best or best[key].left < token.left:
                best[key] = token
        return frozenset(best.values())

    def unexpired(self, reading: Reading, rank: int) -> Reading:
        """Return the tokens whose end, given as a rank, has not come yet."""
        return frozenset(token for token in reading if token.left > rank)


def _meets(edge: Edge, token: Token) -> bool:
    """Return whether an edge's neighbours in NEXT(...) are where they have to be."""
    last = 1 << token.last if token.last >= 0 else 0
    return all(to & last or own & token.bound for to, own in edge.joints)
