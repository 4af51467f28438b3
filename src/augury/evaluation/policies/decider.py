"""A policy at work over columns: the decisions of `augury.privacy.policy`, by kernels.

It takes policies whose prefixes can be summed up (`Summable`), and which learn before the rows
come. Of others every prefix is kept, one by one.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from augury.evaluation.encoding import Codes, ties_of
from augury.evaluation.policies.chains import Chains
from augury.evaluation.policies.columns import Columns, Ordered, distinct
from augury.evaluation.policies.learned import (
    NO_PAST,
    PAST,
    Past,
    learned_arrays,
    past_of,
    period_in,
    tally_of,
)
from augury.evaluation.policies.online import Masses, Online
from augury.evaluation.stream_rows import StreamRows
from augury.kernels.privacy.decide import count, decide, still_there
from augury.kernels.privacy.layout import (
    GREEDY,
    ORDER,
    PATTERN,
    RATES,
    TIME,
    TYPES,
    WANG,
    Decided,
    Learned,
    Weighing,
)
from augury.planning.policy_plan import PolicyPlan
from augury.privacy.policy import NEVER, PATIENCES, Policy, worths
from augury.privacy.statistics import Tally
from augury.privacy.type_level import TOLERANCE, TypeLevel, Worth, best_types
from augury.records import Words, as_key

# So many keys are looked through for some that nothing is known of any more.
MANY_KEYS = 1024


def is_summable(plan: PolicyPlan) -> bool:
    """Whether the decisions of a policy can be made over columns."""
    return plan.summable is not None and (not learns_later(plan.policy) or _is_steady(plan))


def learns_later(policy: Policy) -> bool:
    """Whether what is learned changes as rows come."""
    return policy.online and policy.method != "GREEDY"


def _is_steady(plan: PolicyPlan) -> bool:
    """Whether what goes on being learned are rates of all that went by, or types alone."""
    policy = plan.policy
    is_plain = policy.over is None and policy.by is None and not policy.wang
    return is_plain and policy.method in ("RATES", "TYPES")


class ColumnDecider:
    """What a policy has learned, and what the events kept so far have begun."""

    def __init__(self, plan: PolicyPlan, history: StreamRows | None = None) -> None:
        self.plan, self.policy = plan, plan.policy
        self.columns = Columns(plan)
        self.tally = Tally(self.policy.sequences, self.policy.by)
        self.level = TypeLevel(frozenset(), 0.0)
        self.period = self.policy.period
        self.past = NO_PAST
        self.patience = 1.0 if self.policy.patience is None else self.policy.patience
        self.history_keys = 0
        self.longest = max(map(len, self.policy.sequences))
        self.chains = Chains(len(self.policy.sequences), self.longest)
        self._learned: Learned | None = None
        self._known_keys = (0, 0)
        self._weighings: dict[tuple[bool, frozenset[str], float], Weighing] = {}
        self.online = Online(self.columns) if learns_later(self.policy) else None
        if history is not None and self.policy.method != "GREEDY":
            self._learn(history)
        elif self.online is not None:
            self.level = best_types(
                self._worths(self.online.matches), self._bound, self.policy.seconds
            )

    # What is learned --------------------------------------------------------------------------

    def _learn(self, source: StreamRows) -> None:
        policy, history = self.policy, self.columns.ordered(source, 0)
        names = {name for pattern in policy.sequences for name in pattern.equated}
        values = {name: distinct(source.table, name) for name in sorted(names)}
        self.tally = tally_of(self.columns, history, values)
        self.history_keys = self.columns.key_count
        matches = self._matches(history, np.ones(len(history), np.bool_))
        self.level = best_types(self._worths(matches), self._bound, policy.seconds)
        if policy.method in ("PERIODIC", "HYBRID"):
            self.period = self.period or period_in(history)
            if self.period:
                self.past = past_of(self.columns, history, self.level.dropped)
        if policy.patience is None and len(history) and policy.looks_ahead:
            self.patience = self._best_patience(history)
        if self.online is not None:
            self._go_on_from(self.online, history, source)

    def _go_on_from(self, online: Online, history: Ordered, source: StreamRows) -> None:
        """Begin with what a history has, as if it had gone by."""
        online.learn(self._weighing(all_patterns=True), history, source.table)
        online.solved_at = online.seen
        if len(history):
            online.boundary = _place_of(source, history, -1)
        for mark in (ORDER, TIME):
            self.chains.slots.marks[mark] = online.raw.slots.marks[mark]

    def _solve(self, online: Online, events: Ordered) -> None:
        """Solve the type level with what has gone by so far."""
        online.solved_at = online.seen
        matches = online.number_of_matches(self._weighing(all_patterns=True), events)
        self.level = best_types(self._worths(matches), self._bound, self.policy.seconds)
        self._learned = None

    @property
    def _bound(self) -> frozenset[str]:
        if self.policy.bound is not None:
            return self.policy.bound
        return frozenset(kind for each in self.policy.sequences for kind in each.types)

    def _matches(self, events: Ordered, kept: np.ndarray) -> np.ndarray:
        """Return how many matches of each pattern some events have, as expected."""
        policy = self._weighing(all_patterns=True)
        totals = np.zeros(len(self.policy.sequences))
        chains = Chains(len(totals), self.longest, max(1, self.columns.key_count))
        chains.run(policy, totals, lambda *own: count(policy, events.batch, kept, *own, totals))
        still_there(policy, chains.slots, totals)
        return totals

    def _worths(self, matches: np.ndarray) -> list[Worth]:
        """Return what the patterns are worth, by how many matches each has."""
        numbers = zip(self.policy.sequences, matches.tolist(), strict=True)
        return worths(self.policy, [{pattern.types: number} for pattern, number in numbers])

    def _best_patience(self, history: Ordered) -> float:
        """Return the patience with which the history would have been worth most."""
        best, most = 1.0, -math.inf
        for patience in sorted(PATIENCES, reverse=True):
            self.patience = patience
            chains = Chains(len(self.policy.sequences), self.longest)
            kept = self._decided(history, chains).kept
            own = self._worths(self._matches(history, kept))
            worth = sum(each.value for each in own)
            if worth > most + (TOLERANCE * max(abs(worth), abs(most)) if most > -math.inf else 0.0):
                best, most = patience, worth
        return best

    # Decisions --------------------------------------------------------------------------------

    def decide(self, source: StreamRows) -> tuple[Ordered, Decided]:
        """Decide about rows: all before some horizon, and none before the last."""
        if self.columns.key_count >= max(MANY_KEYS, self.chains.keys):
            self._forget_keys()
        events = self.columns.ordered(source, int(self.chains.slots.marks[ORDER]))
        if self.online is not None:
            return events, self._while_learning(self.online, events, source)
        return events, self._decided(events, self.chains)

    def _while_learning(self, online: Online, events: Ordered, source: StreamRows) -> Decided:
        """Decide about events by what has gone by before each."""
        if len(events) and online.boundary == _place_of(source, events, 0):
            # The last event of the history, and the first of the rows, are in no sequence.
            events.batch.order[:] -= 1
        online.boundary = None if len(events) else online.boundary
        known, out, begin = online.known_values(events, source.table), _nothing(len(events)), 0
        every = self._weighing(all_patterns=True)
        while begin < len(events):
            if online.is_due:
                self._solve(online, events)
            stretch = begin, min(begin + online.room, len(events))
            learned, masses = self._expected(self._room_for_keys(self.chains)), None
            if self.policy.method != "TYPES":
                masses = Masses(online, events, stretch)
                learned = online.learned(events, stretch, masses, known, learned)
            policy = self._weighing()._replace(until=stretch[1])
            self._run(policy, learned, events, self.chains, out, begin)
            online.add(every, events, stretch, masses)
            begin = stretch[1]
        self.tally.count, self.tally.first, self.tally.last = online.seen, online.first, online.last
        return out

    def _decided(self, events: Ordered, chains: Chains) -> Decided:
        learned, out = self._expected(self._room_for_keys(chains)), _nothing(len(events))
        self._run(self._weighing(), learned, events, chains, out)
        return out

    def _room_for_keys(self, chains: Chains) -> int:
        if self.columns.key_count > chains.keys:
            chains.widen(self.columns.key_count)
        return chains.keys

    def _run(
        self,
        policy: Weighing,
        learned: Learned,
        events: Ordered,
        chains: Chains,
        out: Decided,
        begin: int = 0,
    ) -> None:
        spare = np.zeros(len(self.policy.sequences))
        chains.run(
            policy, spare, lambda *own: decide(policy, learned, events.batch, *own, out), begin
        )

    def _expected(self, keys: int) -> Learned:
        """Return what is expected, with room for as many keys as the chains have."""
        if self._learned is None or self._known_keys != (keys, self.columns.key_count):
            dropped, period = self.level.dropped, self.period
            self._learned = learned_arrays(
                self.columns, self.tally, self.past, keys, dropped=dropped, period=period
            )
            self._known_keys = keys, self.columns.key_count
        return self._learned

    def _weighing(self, *, all_patterns: bool = False) -> Weighing:
        """Return the policy as kernels read it: those patterns that matter, or all of them."""
        now = all_patterns, self.level.dropped, self.patience
        if now not in self._weighings:
            self._weighings = {
                own: each for own, each in self._weighings.items() if own[1:] == now[1:]
            }
            self._weighings[now] = self._as_arrays(all_patterns=all_patterns)
        return self._weighings[now]

    def _as_arrays(self, *, all_patterns: bool) -> Weighing:
        policy, columns, sequences = self.policy, self.columns, self.policy.sequences
        weighted = (*policy.public, *policy.private)
        never = [-1] * len(policy.public) + [
            policy.last_free(pattern) if each.weight == NEVER else -1
            for each, pattern in zip(policy.private, sequences[len(policy.public) :], strict=True)
        ]
        begins, plays = columns.play_arrays
        if not all_patterns:
            by_types = policy.method == "TYPES"
            matters = np.array(
                [
                    own != -1 or (each.weight != 0.0 and not by_types)
                    for own, each in zip(never, weighted, strict=True)
                ]
            )
            begins, plays = _of_some(begins, plays, matters)
        free = [not policy.is_bound(kind) for kind in (*columns.kinds, None)]
        return Weighing(
            np.array(list(map(len, sequences)), np.int64),
            np.array([each.pattern.window for each in weighted], np.int64),
            np.array([each.weight for each in weighted]),
            np.array([-1 if own is None else own for own in never], np.int64),
            np.array([each.pattern.takes_next for each in weighted]),
            np.array([columns.keys.index(own) for own in columns.equated], np.int64),
            begins,
            plays,
            ~np.array(free),
            np.array([kind in self.level.dropped for kind in (*columns.kinds, None)]),
            len(policy.public),
            self._method,
            float(self.patience),
        )

    @property
    def _method(self) -> int:
        if self.policy.method in ("GREEDY", "TYPES"):
            return GREEDY if self.policy.method == "GREEDY" else TYPES
        return WANG if self.policy.wang else RATES

    def _forget_keys(self) -> None:
        """Let go of equated values that nothing is known of any more, and number the others."""
        slots, policy = self.chains.slots, self._weighing()
        oldest = slots.marks[TIME] - policy.windows
        kept, every = list[Words](), [slots]
        if self.online is not None:
            every.append(self.online.raw.slots)
        for which in range(len(self.columns.keys)):
            own = np.flatnonzero(policy.keys == which)
            alive = np.zeros(max(each.begin.shape[1] for each in every), np.bool_)
            alive[: self.history_keys] = True
            for each in every:
                for p in own:
                    last = np.maximum(each.end[p] - 1, 0)
                    is_live = each.end[p] > each.begin[p]
                    alive[: len(last)] |= is_live & (each.first[last] >= oldest[p])
            values = list(self.columns.known[which].known)
            numbers = np.flatnonzero(alive[: len(values)])
            self.columns.known[which].known = {
                values[number]: code for code, number in enumerate(numbers.tolist())
            }
            kept.append(numbers)
        self.chains.only([kept[which] for which in policy.keys.tolist()])
        if self.online is not None:
            every_pattern = self._weighing(all_patterns=True)
            self.online.only(every_pattern, [kept[which] for which in policy.keys.tolist()])
        self._learned = None

    # As bytes ---------------------------------------------------------------------------------

    def dump(self) -> bytes:
        """Return what decisions depend on, without what can be made of it again."""
        known = {
            "keys": [list(own.known) for own in self.columns.known],
            "history_keys": self.history_keys,
            "tally": self.tally.dump(),
            "level": [sorted(self.level.dropped), self.level.utility, self.level.gap],
            "period": self.period,
            "patience": self.patience,
            "past": [self.past.first, self.past.last],
        }
        arrays = self.chains.dump() | {f"past_{n}": getattr(self.past, n) for n in PAST}
        if self.online is not None:
            known["online"], sums = self.online.dump()
            arrays |= sums
        text = np.frombuffer(json.dumps(known).encode(), np.uint8)
        file = io.BytesIO()
        np.savez(file, known=text, past_entries=self.past.entries, **arrays)
        return file.getvalue()

    @classmethod
    def load(cls, plan: PolicyPlan, data: bytes) -> ColumnDecider:
        """Return the decider that `dump` was called of, in a policy that is the same."""
        made = cls(plan)
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            known = json.loads(arrays["known"].tobytes())
            made._take(known, arrays)
        return made

    def _take(self, known: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.columns.known = [_codes(own) for own in known["keys"]]
        self.history_keys = known["history_keys"]
        self.tally.load(known["tally"])
        dropped, utility, gap = known["level"]
        self.level = TypeLevel(frozenset(dropped), utility, gap)
        self.period, self.patience = known["period"], known["patience"]
        self.past = Past.of(known["past"], arrays)
        self.chains.load(arrays)
        if self.online is not None:
            self.online.load(known["online"], arrays)


def _place_of(source: StreamRows, events: Ordered, place: int) -> tuple[int, str]:
    """Return the time of an event, and its tie-breaker as text."""
    row = events.rows[events.batch.begin[:-1][place] :][:1]
    (tie,) = ties_of(source.schema, source.table, row)
    return int(events.batch.time[place]), repr(tie)


def _nothing(size: int) -> Decided:
    """Return room for the decisions about some events."""
    numbers = np.zeros(size), np.zeros(size)
    return Decided(np.zeros(size, np.bool_), *numbers, np.zeros(size, np.int64))


def _codes(values: list[Any]) -> Codes:
    found = Codes()
    for value in values:
        found.code(tuple(map(as_key, value)) if isinstance(value, list) else as_key(value))
    return found


def _of_some(begins: Words, plays: Words, matters: np.ndarray) -> tuple[Words, Words]:
    """Return the plays of some patterns, and where those of each type begin."""
    chosen = matters[plays[:, PATTERN]]
    before = np.concatenate([[0], np.cumsum(chosen)])
    return before[begins].astype(np.int64), np.ascontiguousarray(plays[chosen])
