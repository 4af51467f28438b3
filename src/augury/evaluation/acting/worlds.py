"""UNCERTAIN tables: each world has its own copy, in which its own matches act.

Candidates that share an uncertain event, or a row of a table, are settled together, moment by
moment in all of their worlds at once; others apart. Exact, and meant for few uncertain events in
each such group: what has more worlds is refused (setting `lineage_limit`).

Oracle: tests/oracles/rules.py, in every world by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby, product
from typing import Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.config import value_of
from augury.errors import DataError
from augury.evaluation.acting import tables
from augury.evaluation.acting.placed import placed
from augury.evaluation.answers.match_answers import match_table
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.stages.act import ActStage, CandidateReader, shown
from augury.language.tree import Having
from augury.matching.lineage import NEVER, All, AtMost, Block, Formula, Is, Not, Truth, literals
from augury.planning.acting.shards import Shards
from augury.planning.acting.world import Acting
from augury.records import chance, remainder
from augury.rules.contents import Contents, Row
from augury.rules.plan import Moment
from augury.rules.stage import Candidate, Firing, Stage, State

TOLERANCE = 1e-9
Assignment = Mapping[Block, Any]


@dataclass
class Outcome:
    """What came of all worlds: matches by query, firings, and rows with their probabilities."""

    found: dict[str, pa.Table] = field(default_factory=dict)
    firings: list[Firing] = field(default_factory=list)
    rejected: list[Firing] = field(default_factory=list)
    contents: dict[str, dict[Row, float]] = field(default_factory=dict)

    def table(self, catalog: Catalog, name: str) -> pa.Table:
        """Return the contents of a table: alternatives of each key, with `probability`."""
        schema = catalog.tables[name.lower()]
        held = self.contents[schema.name]
        made = tables.rows_table(schema, held)
        return made.append_column("probability", pa.array(list(held.values()), pa.float64()))


@dataclass
class _World:
    """One way the truth could have been, as far as a group goes: its weight and its tables."""

    weight: float
    truth: Assignment
    state: State


@dataclass(frozen=True)
class Worlds:
    """Settles the candidates of a session in every world; `rows` finds them.

    `queries` are those of the session, by lower-case name.
    """

    acting: Acting
    shards: Shards
    stage: Stage
    rows: Evaluator
    start: State
    queries: Mapping[str, CheckedQuery]

    @classmethod
    def of(cls, stage: ActStage, rows: Evaluator) -> Worlds:
        """Return what settles the candidates of a stage."""
        acting = stage.acting
        # What HAVING keeps is known when all worlds are.
        whole = {name: replace(query, having=None) for name, query in acting.searched.items()}
        start = tables.start(acting.world, stage.catalog, stage.bound)
        rules = Stage(acting.world, stage.seen, stage.script)
        found = replace(rows, queries={**rows.queries, **whole})
        return cls(acting, stage.shards, rules, found, start, stage.queries)

    def run(self) -> Outcome:
        """Settle all there is."""
        outcome = Outcome(contents={name: {} for name in self.acting.world.tables})
        found, lineage, answers = self._candidates()
        passed: dict[tuple[str, str], float] = {}
        touched = {name: set[int]() for name in self.acting.world.tables}
        for group in _groups(found, lineage, self._keys(found)):
            passed |= self._settled(group, lineage, touched, outcome)
        outcome.firings.sort(key=lambda each: each.ts)
        for name, contents in self.start.tables.items():
            whole = {row: 1.0 for place, row in contents.rows() if place not in touched[name]}
            outcome.contents[name] = whole | outcome.contents[name]
        for name, table in answers.items():
            outcome.found[name] = _told(table, name, passed)
        return outcome

    # Candidates -------------------------------------------------------------------------------

    def _candidates(
        self,
    ) -> tuple[list[Candidate], dict[tuple[str, str], Formula], dict[str, pa.Table]]:
        """Return all that may be a match, and in which worlds it is."""
        found, lineage, answers = list[Candidate](), dict[tuple[str, str], Formula](), {}
        places: dict[str, dict[str, tuple[Moment, bool | None]]] = {}
        for name, made in self.acting.candidates.items():
            matches, formulas, inputs = self.rows.possible(name)
            table = match_table(self.rows.plan(name), matches, inputs)
            rows = placed(made, table, places)
            reader = CandidateReader(self.acting, name, rows, shows_all=True)
            own = [reader(k) for k in range(table.num_rows)]
            places[made.name] = {c.match_id: (c.order, None) for c in own}
            found += own
            lineage |= {(c.query, c.match_id): f for c, f in zip(own, formulas, strict=True)}
            answers[made.name] = table
        return found, lineage, answers

    def _keys(self, found: Iterable[Candidate]) -> dict[tuple[str, str], Any]:
        """Return what rows each candidate may touch: those of a KEY; all, where it is not known."""
        if self.shards.kind != "key":
            return {(c.query, c.match_id): "all" for c in found}
        return {
            (c.query, c.match_id): tuple(c.match[n] for n in self.shards.queries[c.query.lower()])
            for c in found
        }

    # A group ----------------------------------------------------------------------------------

    def _settled(
        self,
        group: list[Candidate],
        lineage: Mapping[tuple[str, str], Formula],
        touched: Mapping[str, set[int]],
        outcome: Outcome,
    ) -> dict[tuple[str, str], float]:
        """Settle a group in all of its worlds; return how likely each candidate is a match."""
        worlds = self._worlds(group, lineage, touched)
        passed: dict[tuple[str, str], float] = {}
        group = sorted(group, key=lambda each: each.moment)
        for _, own in groupby(group, key=lambda each: each.moment):
            passed |= self._at_moment(list(own), lineage, worlds)
        outcome.firings += _weighed((w.weight, f) for w in worlds for f in w.state.firings)
        outcome.rejected += _weighed((w.weight, f) for w in worlds for f in w.state.rejected)
        for name in self.acting.world.tables:
            rows: dict[tuple[Any, Row], float] = {}
            for world in worlds:
                own_table = world.state.tables[name]
                for _, row in own_table.rows():
                    held = (own_table.key_of(row), row)
                    rows[held] = rows.get(held, 0.0) + world.weight
            ordered = sorted(rows.items(), key=lambda each: repr(each[0]))
            outcome.contents[name] |= {row: chance(weight) for (_, row), weight in ordered}
        return passed

    def _worlds(
        self,
        group: list[Candidate],
        lineage: Mapping[tuple[str, str], Formula],
        touched: Mapping[str, set[int]],
    ) -> list[_World]:
        blocks = dict.fromkeys(
            each.block for c in group for each in literals(lineage[c.query, c.match_id])
        )
        choices = [self._choices(block) for block in blocks]
        cases = len(group)
        for each in choices:
            cases *= len(each)
        most = value_of("lineage_limit")
        if cases > most:
            raise DataError(
                f"{len(blocks)} uncertain events hang together by table {self.acting.uncertain}, "
                f"which makes {cases:,} cases to tell apart, and AUGURY_LINEAGE_LIMIT is {most:,}; "
                "leave UNCERTAIN out, or look at fewer rows"
            )
        begin = self._begin(group, touched)
        worlds = []
        for chosen in product(*choices):
            weight = 1.0
            for _, p in chosen:
                weight *= p
            truth = dict(zip(blocks, (alternative for alternative, _ in chosen), strict=True))
            own = {
                name: Contents.of(name, c.key, (row for _, row in c.rows()))
                for name, c in begin.items()
            }
            worlds.append(_World(weight, truth, State(own, found=self._unsettled(group))))
        return worlds

    def _unsettled(
        self, group: Iterable[Candidate]
    ) -> dict[str, dict[str, tuple[Moment, bool | None]]]:
        """Return the matches of a group that others may be made of, before any passed."""
        found: dict[str, dict[str, tuple[Moment, bool | None]]] = {}
        for each in group:
            if self.acting.world.queries[each.query].read:
                found.setdefault(each.query, {})[each.match_id] = (each.order, None)
        return found

    def _choices(self, block: Block) -> list[tuple[Any, float]]:
        known = self.rows.chances[block]
        never = (NEVER, remainder(sum(known.values())))
        return [each for each in (*known.items(), never) if each[1] > 0.0]

    def _begin(
        self, group: list[Candidate], touched: Mapping[str, set[int]]
    ) -> dict[str, Contents]:
        """Return the tables as a group may see them."""
        keys = set(self._keys(group).values())
        ids = {each.match_id for each in group}
        written = {change.table for rule in self.acting.world.rules for change in rule.changes}
        begin = {}
        for name, contents in self.start.tables.items():
            if name not in written:
                # It is the same in all worlds, whole.
                begin[name] = contents
                continue
            made = Contents(name, contents.key)
            for place, row in contents.rows():
                key = contents.key_of(row)
                by_key = name in self.shards.tables and key in keys
                if "all" in keys or by_key or not ids.isdisjoint(key):
                    made.insert(row)
                    touched[name].add(place)
            made.settle()
            begin[name] = made
        return begin

    def _at_moment(
        self,
        found: list[Candidate],
        lineage: Mapping[tuple[str, str], Formula],
        worlds: list[_World],
    ) -> dict[tuple[str, str], float]:
        """Settle a moment in all worlds; return how likely each candidate is a match."""
        standing: list[list[Candidate]] = [[] for _ in worlds]
        shown_ones = dict[tuple[str, str], float]()
        # Whether a match that others are made of is shown is known before these are tried.
        for query in self.acting.world.queries:
            own = [each for each in found if each.query == query]
            if own:
                shown_ones |= self._tested(own, lineage, worlds, standing)
        known = {
            name: each._replace(match={**each.match, "confidence": shown_ones[name]})
            for each in found
            if (name := (each.query, each.match_id)) in shown_ones
        }
        for world, there in zip(worlds, standing, strict=True):
            acting = [known[each.query, each.match_id] for each in there]
            if acting:
                self.stage.act(world.state, acting, acting)
        return shown_ones

    def _tested(
        self,
        found: list[Candidate],
        lineage: Mapping[tuple[str, str], Formula],
        worlds: list[_World],
        standing: list[list[Candidate]],
    ) -> dict[tuple[str, str], float]:
        """Return those matches of one query that are shown; in each world they stand or not."""
        weights, passed = dict[tuple[str, str], float](), list[list[Candidate]]()
        for world in worlds:
            there = [c for c in found if holds(lineage[c.query, c.match_id], world.truth)]
            passed.append(self.stage.passing(world.state, there))
            for each in passed[-1]:
                name = each.query, each.match_id
                weights[name] = weights.get(name, 0.0) + world.weight
        shown_ones = {
            name: chance(weight)
            for name, weight in weights.items()
            if _shows(self.queries[name[0].lower()].having, weight)
        }
        for k, world in enumerate(worlds):
            there = [each for each in passed[k] if (each.query, each.match_id) in shown_ones]
            standing[k] += there
            for each in there:
                if each.query in world.state.found:
                    world.state.found[each.query][each.match_id] = (each.order, True)
        return shown_ones


def holds(formula: Formula, truth: Assignment) -> bool:
    """Return whether a formula is true in a world."""
    if isinstance(formula, Truth):
        return formula.value
    if isinstance(formula, Is):
        return bool(truth[formula.block] == formula.alternative)
    if isinstance(formula, Not):
        return not holds(formula.part, truth)
    if isinstance(formula, All):
        return all(holds(part, truth) for part in formula.parts)
    assert isinstance(formula, AtMost)
    return sum(holds(part, truth) for part in formula.parts) <= formula.count


def _shows(having: Having | None, weight: float) -> bool:
    if having is None:
        return weight > 0.0
    if having.strict:
        return weight > having.threshold + TOLERANCE
    return weight >= having.threshold - TOLERANCE and weight > 0.0


def _weighed(firings: Iterable[tuple[float, Firing]]) -> list[Firing]:
    """Return each firing once, with the weight of the worlds in which it happened."""
    found: dict[str, tuple[float, Firing]] = {}
    for weight, each in firings:
        known = found.get(each.firing_id)
        found[each.firing_id] = (weight if known is None else known[0] + weight, each)
    return [
        Firing(f.rule, f.firing_id, f.match_id, f.ts, {**f.match, "confidence": chance(weight)},
               (), f.reason, None, f.script)
        for weight, f in found.values()
    ]  # fmt: skip


def _told(table: pa.Table, query: str, passed: Mapping[tuple[str, str], float]) -> pa.Table:
    """Return the matches that stand in some world, with the weight of those."""
    names = [(query, each) for each in table.column("match_id").to_pylist()]
    kept = [k for k, name in enumerate(names) if name in passed]
    rows = shown(table.take(pa.array(kept, pa.int64())))
    weights = pa.array([passed[names[k]] for k in kept], pa.float64())
    return rows.set_column(rows.column_names.index("confidence"), "confidence", weights)


def _groups(
    found: list[Candidate],
    lineage: Mapping[tuple[str, str], Formula],
    keys: Mapping[tuple[str, str], Any],
) -> list[list[Candidate]]:
    """Return candidates that share an uncertain event or a row, or hang together by others."""
    leader: dict[Any, Any] = {}

    def lead(each: Any) -> Any:
        leader.setdefault(each, each)
        while leader[each] != each:
            each = leader[each]
        return each

    for c in found:
        own = lead(("match", c.query, c.match_id))
        linked = [("row", keys[c.query, c.match_id])]
        linked += [("event", x.block) for x in literals(lineage[c.query, c.match_id])]
        for each in linked:
            leader[lead(each)] = own
    groups: dict[Any, list[Candidate]] = {}
    for c in found:
        groups.setdefault(lead(("match", c.query, c.match_id)), []).append(c)
    return list(groups.values())
