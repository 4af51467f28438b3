"""Type and rank queries in this process: the steps of their join plan over columns of numbers.

Each component becomes a relation: its window (where windows slide, a row is in several), the
variables that it shares or groups by, and what inequalities read of it, as ranks. The steps of the
plan then put relations together until one is left, by group and window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.classes.joins import Extreme, JoinStep, Product, Projected, Read
from augury.evaluation.answers.windows import windows_of
from augury.evaluation.encoding import Codes, Tables, chances_of, kinds_of, who_plays, whole
from augury.evaluation.probability.lineage_probability import Row, answer_table
from augury.evaluation.stream_rows import StreamRows
from augury.matching.relations import Relation, best, both, pairs, some, total
from augury.matching.step_limits import StepLimits
from augury.planning.expressions.arrow import evaluate_column
from augury.planning.join_program import JoinProgram
from augury.records import Words

# With spaces, as neither columns nor variables have them.
WINDOW = "augury join window"
METHODS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def join_table(
    program: JoinProgram,
    sources: Mapping[str, StreamRows],
    tables: Tables,
    window: int | None,
) -> pa.Table:
    """Return the answer of a query by its join plan; `sources` are by stream name.

    `window` is the start of the one that is asked for.
    """
    return answer_table(program.query, _Joining(program, sources, tables, window).rows())


@dataclass
class _Joining:
    """One evaluation: its inputs, and the codes of values that components share."""

    program: JoinProgram
    sources: Mapping[str, StreamRows]
    tables: Tables
    window: int | None = None
    codes: dict[str, Codes] = field(default_factory=dict)

    def rows(self) -> Iterator[Row]:
        """Yield group, window and probability, in the order of windows and groups."""
        query = self.program.query
        times = np.concatenate([whole(s.table.column(s.schema.time)) for s in self._loaded()])
        starts = [start for start, _ in windows_of(query, times, self.window)]
        found = _Steps(self.program, self._relations(starts)).of(self.program.plan.root)
        groups = self._group_values(found)
        known: dict[int, list[tuple[tuple[Any, ...], float]]] = {}
        for group, window, p in zip(
            groups, found.columns[WINDOW].tolist(), found.p.tolist(), strict=True
        ):
            known.setdefault(window, []).append((group, p))
        for number, start in enumerate(starts):
            held = known.get(number, [] if query.group_by else [((), 0.0)])
            for group, p in sorted(held, key=lambda each: repr(each[0])):
                yield group, start, p

    def _loaded(self) -> list[StreamRows]:
        return [self.sources[stream.name] for stream in self.program.query.streams]

    def _group_values(self, found: Relation) -> list[tuple[Any, ...]]:
        """Return the values of GROUP BY, in its order."""
        columns = []
        for node in self.program.query.group_by:
            name = self._variable(node).name
            by_code = {code: value for value, code in self.codes[name].known.items()}
            columns.append([by_code.get(code) for code in found.columns[name].tolist()])
        return list(zip(*columns, strict=True)) if columns else [()] * len(found)

    def _variable(self, node: Any) -> Any:
        own = self.program.query.component_of(node), node.name
        return next(v for v in self.program.plan.variables if own in v.members)

    # Relations --------------------------------------------------------------------------------

    def _relations(self, starts: Sequence[int | None]) -> dict[int, Relation]:
        found, rows = {}, {}
        for component in self.program.query.components:
            rows[component.index], found[component.index] = self._relation(component.index, starts)
        for number in range(len(self.program.plan.inequalities)):
            self._rank(number, rows, found)
        return found

    def _relation(self, component: int, starts: Sequence[int | None]) -> tuple[pa.Table, Relation]:
        """Return the rows that may play a component, once for each window, and what is joined."""
        program = self.program
        source = self.sources[program.play(component).stream]
        kinds = kinds_of(source.schema, source.table)
        plays = who_plays(program.play(component), kinds, source.table, self.tables)
        plays &= chances_of(source.schema, source.table) > 0.0
        table = source.table.filter(pa.array(plays))
        row, window = self._windows(whole(table.column(source.schema.time)), starts)
        table = table.take(pa.array(row))
        columns = {WINDOW: window}
        for variable in program.plan.variables_of(component):
            values = table.column(variable.column(component))
            columns[variable.name] = self.codes.setdefault(variable.name, Codes()).encode(values)
        relation = Relation(columns, chances_of(source.schema, table).copy())
        return table, relation

    def _windows(self, time: Words, starts: Sequence[int | None]) -> tuple[Words, Words]:
        """Return each row once for every window that holds it, and the numbers of the windows."""
        within = self.program.query.within
        if within is None or not starts or starts[0] is None:
            return np.arange(len(time)), np.zeros(len(time), np.int64)
        edges = np.array(starts, np.int64)
        low = np.searchsorted(edges, time - within.length, "right")
        count = np.searchsorted(edges, time, "right") - low
        row = np.repeat(np.arange(len(time)), count)
        return row, np.repeat(low - np.cumsum(count) + count, count) + np.arange(count.sum())

    def _rank(self, number: int, rows: Mapping[int, pa.Table], found: dict[int, Relation]) -> None:
        """Add the ranks of both sides of an inequality to the relations of their components."""
        both_of = self.program.plan.inequalities[number].components
        sides = [
            evaluate_column(self.program.side(c, number), rows[c], self.tables) for c in both_of
        ]
        ranks = _ranks(sides)
        for component, rank in zip(both_of, ranks, strict=True):
            own = found[component]
            found[component] = replace(own, columns={**own.columns, value_name(number): rank})


def value_name(number: int) -> str:
    """Return the column of what an inequality reads of a component."""
    return f"augury join value {number}"


def best_name(number: int) -> str:
    """Return the column of the best value of an inequality's other side."""
    return f"augury join best {number}"


def _ranks(sides: Sequence[Any]) -> list[Words]:
    """Return the values of both sides as numbers in one order; NULL is -1."""
    joined = pa.chunked_array([pa.array(side) for side in sides]).combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        joined = pa.concat_arrays(joined.chunks)
    known = np.asarray(pc.is_valid(joined))
    if pa.types.is_string(joined.type):
        values: Any = np.array(joined.drop_null().to_pylist(), object)
    elif pa.types.is_floating(joined.type):
        values = np.asarray(joined.drop_null(), np.float64)
    else:
        values = whole(joined.drop_null())
    ranks = np.full(len(joined), -1, np.int64)
    ranks[known] = np.unique(values, return_inverse=True)[1].reshape(-1)
    return [ranks[: len(sides[0])], ranks[len(sides[0]) :]]


@dataclass
class _Steps:
    """Carries the steps out over the relations of the components."""

    program: JoinProgram
    relations: dict[int, Relation]

    @property
    def _limits(self) -> StepLimits:
        return StepLimits.of(self.program.query.name)

    def of(self, step: JoinStep) -> Relation:
        """Return the relation of a step: its columns are those that are still to be joined."""
        match step:
            case Read(component):
                return self._read(component)
            case Product(parts):
                found = self.of(parts[0])
                for part in parts[1:]:
                    found = both(found, self.of(part), self._limits)
                return found
            case Projected(variable, part):
                inner = self.of(part)
                return some(inner, inner.without([variable]))
            case Extreme(component, number, part):
                return self._extreme(component, number, part)

    def _read(self, component: int) -> Relation:
        relation = self._known(component)
        values = [value_name(k) for k in self.program.ties_of(component)]
        return some(relation, relation.without(values))

    def _known(self, component: int) -> Relation:
        """Return the events of a component; NULL equals nothing, and is beyond nothing."""
        relation, plan = self.relations[component], self.program.plan
        names = [v.name for v in plan.variables_of(component) if plan.is_shared(v)]
        names += [value_name(k) for k in self.program.ties_of(component)]
        known = np.ones(len(relation), np.bool_)
        for name in names:
            known &= relation.columns.get(name, np.zeros(1, np.int64)) >= 0
        return relation.take(known)

    def _extreme(self, component: int, number: int, part: JoinStep) -> Relation:
        """Return the sum over a component's best value of its probability times the rest's."""
        (other,) = set(self.program.plan.inequalities[number].components) - {component}
        bests = self._bests(component, number)
        met = self._meeting(other, bests, number)
        inner = _Steps(self.program, {**self.relations, other: met}).of(part)
        weighed = both(inner, bests, self._limits)
        return total(weighed, weighed.without([best_name(number)]))

    def _bests(self, component: int, number: int) -> Relation:
        """Return how likely each value of a component is the one that is easiest to meet."""
        name = value_name(number)
        spent = [value_name(k) for k in self.program.ties_of(component) if k != number]
        own = self._known(component)
        own = Relation({n: own.columns[n] for n in own.without(spent)}, own.p)
        found = best(own, name, least=self.program.plan.side(component, number) == "least")
        columns = dict(found.columns)
        columns[best_name(number)] = columns.pop(name)
        return Relation(columns, found.p)

    def _meeting(self, other: int, bests: Relation, number: int) -> Relation:
        """Return the events of the other side, once for each best value that they meet."""
        tie, name = self.program.plan.inequalities[number], value_name(number)
        rest = self._known(other)
        a, b = pairs(rest, bests, self._limits)
        sides = rest.columns[name][a], bests.columns[best_name(number)][b]
        met = METHODS[tie.operator](*(sides if tie.left_of == other else sides[::-1]))
        a, b = a[met], b[met]
        columns = {n: c[a] for n, c in rest.columns.items() if n != name}
        columns |= {n: c[b] for n, c in bests.columns.items() if n not in columns}
        return Relation(columns, rest.p[a])
