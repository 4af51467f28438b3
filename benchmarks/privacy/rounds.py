"""Simulated wards, policies over them, and what each method keeps of their utility.

A ward has a round: a sequence of acts at random moments of a cycle, which comes back cycle after
cycle. A stream of periodicity g has each act of the rounds with probability g, and acts of the same
types at the same rates that come by themselves with probability 1 - g. Patterns are random
sequences. Utility is what a policy maximises: the weights of public matches among the kept events
less those of private ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from augury import Session
from augury.evaluation.policies.decider import ColumnDecider
from augury.evaluation.policies.learned import past_of
from augury.evaluation.stream_rows import StreamRows
from augury.planning.policy_plan import PolicyPlan, plan_policy
from augury.privacy.period import period_of
from augury.privacy.policy import PATIENCES

STREAM = """
CREATE STREAM s (id LONG, type STRING, t LONG) ID id TIME t TYPE type;
CREATE STREAM h (id LONG, type STRING, t LONG) ID id TIME t TYPE type;
"""
METHODS = ("none", "types", "greedy", "rates", "periodic", "true")


@dataclass(frozen=True)
class Setting:
    """A ward and the patterns over it; times are ticks.

    `lengths` and `windows` are ranges, `cost` the weight of private patterns, `patience` None:
    learned. `history` is how many times as long as the stream the history is.
    """

    periodicity: float
    types: int = 8
    acts: int = 24
    cycle: int = 10_000
    cycles: int = 20
    public: int = 10
    private: int = 4
    lengths: tuple[int, int] = (2, 4)
    windows: tuple[int, int] = (1_000, 5_000)
    cost: float = 10.0
    patience: float | None = 1.0
    history: int = 1


def rounds_of(setting: Setting, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return the acts of a cycle: when, and of which type."""
    times = rng.choice(setting.cycle, setting.acts, replace=False)
    kinds = rng.integers(0, setting.types, setting.acts)
    return sorted((int(at), int(kind)) for at, kind in zip(times, kinds, strict=True))


def stream(
    setting: Setting, rounds: list[tuple[int, int]], first: int, rng: np.random.Generator
) -> pa.Table:
    """Return events of as many cycles as the setting has, from a cycle on; in order."""
    found = []
    for cycle in range(first, first + setting.cycles):
        for at, kind in rounds:
            if rng.random() < setting.periodicity:
                found.append((cycle * setting.cycle + at, kind))
            if rng.random() < 1.0 - setting.periodicity:
                found.append((cycle * setting.cycle + int(rng.integers(setting.cycle)), kind))
    found.sort()
    times = np.array([time for time, _ in found], np.int64)
    # Moments are apart, so that all events are in sequence.
    times = np.maximum.accumulate(times - np.arange(len(times))) + np.arange(len(times))
    names = [chr(ord("A") + kind) for _, kind in found]
    return pa.table({"id": np.arange(len(times)), "type": names, "t": times})


def script(setting: Setting, rng: np.random.Generator) -> str:
    """Return random queries and a policy over them."""
    # A policy has a private query; without one to protect, it costs nothing.
    private = max(1, setting.private)
    text, names = [], {"q": setting.public, "p": private}
    for name, count in names.items():
        for number in range(count):
            size = int(rng.integers(setting.lengths[0], setting.lengths[1] + 1))
            kinds = rng.choice(setting.types, size, replace=size > setting.types)
            parts = ", ".join(f"{chr(ord('A') + kind)} x{k}" for k, kind in enumerate(kinds))
            window = int(rng.integers(setting.windows[0], setting.windows[1] + 1))
            text.append(f"CREATE QUERY {name}{number} ON s PATTERN SEQ({parts}) WITHIN {window};")
    gains = ", ".join(f"q{k} WEIGHT {rng.integers(1, 11)}" for k in range(setting.public))
    cost = setting.cost if setting.private else 0.0
    costs = ", ".join(f"p{k} WEIGHT {cost}" for k in range(private))
    policy = f"CREATE POLICY pol ON s PUBLIC {gains} PRIVATE {costs} USING HYBRID LEARN FROM h;"
    return "\n".join([*text, policy])


@dataclass(frozen=True)
class Ward:
    """A policy, the history it learns from, and the rows it decides about."""

    setting: Setting
    plan: PolicyPlan
    past: StreamRows
    own: StreamRows


def ward(setting: Setting, seed: int) -> Ward:
    """Return a random ward under a random policy."""
    rng = np.random.default_rng(seed)
    rounds = rounds_of(setting, rng)
    history = stream(setting, rounds, 0, rng)
    rows = stream(setting, rounds, setting.cycles, rng)
    queries = script(setting, rng)
    if setting.history > 1:
        # What came before is drawn apart, so that all else stays as it is.
        more = replace(setting, cycles=setting.cycles * (setting.history - 1))
        earlier = stream(more, rounds, -more.cycles, np.random.default_rng([seed, 1]))
        history = pa.concat_tables([earlier, history])
    ag = Session(engine="local")
    ag.sql(STREAM + queries)
    catalog = ag._declared.catalog
    plan = plan_policy(catalog.policies["pol"], ag._declared.checked_queries, catalog, {})
    past, own = (
        StreamRows(catalog.streams[name], table, table.slice(0, 0))
        for name, table in (("h", history), ("s", rows))
    )
    return Ward(setting, plan, past, own)


def run(setting: Setting, seed: int, methods: tuple[str, ...] = METHODS) -> dict[str, float]:
    """Return the utility that each method keeps of a random ward under a random policy."""
    made = ward(setting, seed)
    return {name: _utility(_decider(made, name), name, made.own) for name in methods}


def by_patience(setting: Setting, seed: int) -> dict[str, float]:
    """Return what the periodic hybrid keeps where its patience is chosen in other ways.

    `hindsight`: the best of all on the rows themselves. `half`: by decisions about the second half
    of the history, with statistics of the first alone.
    """
    made = ward(setting, seed)
    middle = setting.cycle * setting.cycles // 2
    first, second = (_of_times(made.past, at, at + middle) for at in (0, middle))
    kept, tried = dict[float, float](), dict[float, float]()
    for patience in PATIENCES:
        own = replace(made, setting=replace(setting, patience=patience))
        kept[patience] = _utility(_decider(own, "periodic"), "periodic", made.own)
        halved = replace(own, past=first)
        tried[patience] = _utility(_decider(halved, "periodic"), "periodic", second)
    chosen = max(PATIENCES, key=lambda patience: (tried[patience], patience))
    return {"hindsight": max(kept.values()), "half": kept[chosen]}


def _of_times(rows: StreamRows, first: int, last: int) -> StreamRows:
    times = rows.table["t"].to_numpy()
    own = rows.table.filter(pa.array((times >= first) & (times < last)))
    return StreamRows(rows.schema, own, own.slice(0, 0))


def matches_left(setting: Setting, seed: int) -> tuple[float, float]:
    """Return how many public and private matches the periodic hybrid leaves."""
    made = ward(setting, seed)
    decider = _decider(made, "periodic")
    events, decided = decider.decide(made.own)
    found = decider._matches(events, decided.kept)
    return float(found[: setting.public].sum()), float(found[setting.public :].sum())


def _decider(ward: Ward, name: str) -> ColumnDecider:
    setting, plan, past, own = ward.setting, ward.plan, ward.past, ward.own
    method = {"types": "TYPES", "greedy": "GREEDY", "rates": "RATES"}.get(name, "PERIODIC")
    period = setting.cycle if name == "periodic" else None
    policy = replace(plan.policy, method=method, patience=setting.patience)
    if name != "true":
        return ColumnDecider(replace(plan, policy=replace(policy, period=period)), past)
    # The true future: a history that is the stream itself, one cycle as long as all of it before.
    made = ColumnDecider(replace(plan, policy=replace(policy, method="RATES")), past)
    whole = setting.cycle * (setting.cycles + 1)
    table = own.table
    end = pa.table({"id": [-1], "type": ["none"], "t": [int(table["t"][-1].as_py()) + whole]})
    table = pa.concat_tables([table, end]).set_column(
        2, "t", pa.array(np.append(table["t"].to_numpy(), end["t"].to_numpy()) - whole)
    )
    shifted = made.columns.ordered(StreamRows(own.schema, table, table.slice(0, 0)), 0)
    made.past, made.period = past_of(made.columns, shifted, made.level.dropped), whole
    made._learned = None
    return made


def _utility(decider: ColumnDecider, name: str, own: StreamRows) -> float:
    events, decided = decider.decide(own)
    kept = np.ones(len(events), np.bool_) if name == "none" else decided.kept
    return sum(each.value for each in decider._worths(decider._matches(events, kept)))


def period_found(setting: Setting, seed: int) -> int | None:
    """Return the period that is found in the history of a random ward."""
    rng = np.random.default_rng(seed)
    history = stream(setting, rounds_of(setting, rng), 0, rng)
    by_type: dict[str, list[int]] = {}
    for kind, time in zip(history["type"].to_pylist(), history["t"].to_pylist(), strict=True):
        by_type.setdefault(kind, []).append(time)
    return period_of(by_type.values())
