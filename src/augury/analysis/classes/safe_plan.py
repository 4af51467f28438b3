"""Safe plans: Lahar's Algorithm 1, and the read-once join of DPCEP's type and rank queries.

Algorithm 1 peels a sequence from the right: a variable on which the rest is independent is
projected (its values use disjoint events), a last subgoal that shares no event with the prefix is
sequenced, and what shares nothing more is a regular expression. An AND inside one window has no
order, so it is a join: it has a safe plan where its variables nest (Dalvi and Suciu).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from augury.analysis.checked import Branch, Conjunct, Leaf, Negated
from augury.analysis.classes.subgoals import LaharView, Subgoal, Variable
from augury.analysis.clauses.shapes import leaves, operators
from augury.analysis.declarations.catalog import DataType, StreamSchema
from augury.analysis.draft import Draft

_SUBSCRIPTS = dict(zip("aehijklmnoprstuvx", "ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))

_SIGMA = "\N{GREEK SMALL LETTER SIGMA}"

Value = bool | int | float | str | None


def projected(name: str) -> str:
    """Return the projection that removes a variable.

    >>> projected("x"), projected("tag")
    ('π₋ₓ', 'π₋⟨tag⟩')
    """
    if all(letter in _SUBSCRIPTS for letter in name):
        return "π₋" + "".join(_SUBSCRIPTS[letter] for letter in name)
    return f"π₋⟨{name}⟩"


@dataclass(frozen=True, slots=True)
class Planner:
    """Finds a safe plan for one query; None where there is none, and `obstacles` say why."""

    draft: Draft
    view: LaharView
    obstacles: list[str] = field(default_factory=list)

    def plan(self) -> str | None:
        shape = self.draft.shape
        if self.view.distant or shape is None:
            return None
        if isinstance(shape, Leaf):
            return self._sequence((), (shape.component,))
        if self._is_chain(shape):
            return self._sequence((), tuple(leaves(shape)))
        return self._join((), tuple(leaves(shape)))

    @staticmethod
    def _is_chain(shape: Branch | Negated | Leaf) -> bool:
        if not isinstance(shape, Branch) or shape.operator != "SEQ":
            return False
        parts = (p.part if isinstance(p, Negated) else p for p in shape.parts)
        return all(isinstance(p, Leaf) for p in parts)

    # Algorithm 1 ------------------------------------------------------------------------------

    def _sequence(self, env: tuple[str, ...], goals: tuple[int, ...]) -> str | None:
        if self._is_regular(env, goals):
            return self._regular(env, goals)
        variable = self._independent_variable(env, goals)
        if variable is not None:
            inner = self._sequence((*env, variable.name), goals)
            return inner and f"{projected(variable.name)}({inner})"
        return self._sequenced(env, goals)

    def _sequenced(self, env: tuple[str, ...], goals: tuple[int, ...]) -> str | None:
        *prefix, last = goals
        goal = self.view.subgoals[last]
        obstacle = self._sequence_obstacle(env, prefix, goal)
        if obstacle is not None:
            self.obstacles.append(obstacle)
            return None
        inner = self._sequence(env, tuple(prefix))
        return inner and self._selected(last, f"seq({inner}, {goal.text})")

    def _sequence_obstacle(
        self, env: tuple[str, ...], prefix: list[int], goal: Subgoal
    ) -> str | None:
        """Return why `goal` cannot be sequenced after the prefix."""
        if goal.component.repeats or goal.component.negated or not prefix:
            return f"{goal.text} is no plain subgoal, so it cannot be sequenced by itself"
        before = [self.view.subgoals[i] for i in prefix]
        if before[-1].component.negated:
            return f"{goal.text} follows a negation, for which safe plans have no step"
        last = self.view.variables_in((goal.component.index,))
        shared = (self.view.variables_in(prefix) & last) - set(env)
        if shared:
            return f"{goal.text} shares {', '.join(sorted(shared))} with what comes before it"
        twin = next((g for g in before if can_unify(g, goal)), None)
        return f"one event can match both {twin.text} and {goal.text}" if twin else None

    def _selected(self, last: int, plan: str) -> str:
        """Return the plan under the selections that judge its last subgoal's event."""
        texts = [
            self._text(c) for c in self.draft.conjuncts if c.after and max(c.components) == last
        ]
        return f"{_SIGMA}⟨{', '.join(texts)}⟩({plan})" if texts else plan

    def _text(self, conjunct: Conjunct) -> str:
        span = conjunct.span
        return " ".join(self.draft.findings.source.text[span.start : span.end].split()) or "θ"

    def _is_regular(self, env: tuple[str, ...], goals: tuple[int, ...]) -> bool:
        return {v.name for v in self.view.shared(goals)} <= set(env)

    def _regular(self, env: tuple[str, ...], goals: tuple[int, ...]) -> str:
        texts = [self.view.subgoals[i].text for i in goals]
        shape = self.draft.shape
        ordered = not isinstance(shape, Branch) or self._is_chain(shape)
        body = "; ".join(texts) if ordered else self._grouped(texts)
        inside = [v for v in env if v in self.view.variables_in(goals)]
        return f"reg⟨{', '.join(inside)}⟩({body})" if inside else f"reg({body})"

    def _grouped(self, texts: list[str]) -> str:
        shape = self.draft.shape
        if len(texts) == 1 or not isinstance(shape, Branch):
            return texts[0]
        return f"{shape.operator}({', '.join(texts)})"

    def _independent_variable(
        self, env: tuple[str, ...], goals: tuple[int, ...]
    ) -> Variable | None:
        free = (v for v in self.view.variables if v.name not in env)
        return next((v for v in free if self.is_independent(v, goals, strictly=False)), None)

    # Independence -----------------------------------------------------------------------------

    def is_independent(self, variable: Variable, goals: tuple[int, ...], strictly: bool) -> bool:
        """Return whether different values of the variable use different, independent events.

        `strictly` is Lahar's Definition 3.4: the variable is in the key. Otherwise a column counts
        too where the stream's events are independent and their attributes certain.
        """
        if not all(i in variable.columns for i in goals) or self.coupling(variable) is not None:
            return False
        columns: dict[str, str] = {}
        for i in goals:
            for stream in self.view.subgoals[i].streams:
                column = variable.columns[i]
                keyed = column in stream.key and column not in stream.alternatives
                certain = not stream.alternatives and stream.markov is None
                if not (keyed or (certain and not strictly)):
                    return False
                if columns.setdefault(stream.name, column) != column:
                    return False
        return True

    def coupling(self, variable: Variable) -> str | None:
        """Return what ties events of different values together, if anything does."""
        draft = self.draft
        if draft.statement.strategy == "STRICT":
            return "STRICT lets an event of any other value break a match"
        if draft.within is not None and draft.within.events:
            return "WITHIN counts events of every value"
        adjacent = draft.statement.strategy == "PARTITION" or (
            draft.shape is not None and "NEXT" in operators(draft.shape)
        )
        keyed = all(
            variable.columns[i] in s.key for i in variable.columns for s in draft.streams_of(i)
        )
        return "contiguity is not within one value" if adjacent and not keyed else None

    # Joins ------------------------------------------------------------------------------------

    def _join(self, env: tuple[str, ...], goals: tuple[int, ...]) -> str | None:
        if self._is_regular(env, goals):
            return self._regular(env, goals)
        variable = self._independent_variable(env, goals)
        if variable is not None:
            inner = self._join((*env, variable.name), goals)
            return inner and f"{projected(variable.name)}({inner})"
        return self._product(env, goals) if self._is_unordered() else None

    def _is_unordered(self) -> bool:
        shape = self.draft.shape
        return (
            isinstance(shape, Branch)
            and shape.operator == "AND"
            and all(isinstance(p, Leaf) for p in shape.parts)
            and not self.draft.by_time
        )

    def _product(self, env: tuple[str, ...], goals: tuple[int, ...]) -> str | None:
        islands = self._islands(env, goals)
        if len(islands) < 2:
            return None
        home = {g: k for k, island in enumerate(islands) for g in island}
        subgoals = self.view.subgoals
        if any(
            home[a] != home[b] and can_unify(subgoals[a], subgoals[b]) for a in goals for b in goals
        ):
            return None
        plans = [self._join(env, island) for island in islands]
        known = [p for p in plans if p is not None]
        return f"join({', '.join(known)})" if len(known) == len(plans) else None

    def _islands(self, env: tuple[str, ...], goals: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the subgoals in groups that share no variable with each other."""
        islands = [{g} for g in goals]
        for variable in self.view.variables:
            if variable.name not in env:
                touched = [i for i in islands if any(g in variable.columns for g in i)]
                islands = [i for i in islands if i not in touched]
                islands += [set().union(*touched)] if touched else []
        return sorted(tuple(sorted(i)) for i in islands)


def can_unify(a: Subgoal, b: Subgoal) -> bool:
    """Return whether one event (or two alternatives of one) can match both subgoals."""
    return any(
        p.stream == q.stream
        and (p.type is None or q.type is None or p.type == q.type)
        and not _constants_differ(a, b, p.stream)
        for p in a.component.played_by
        for q in b.component.played_by
    )


def _constants_differ(a: Subgoal, b: Subgoal, name: str) -> bool:
    stream = next(s for s in a.streams if s.name == name)
    certain = not stream.alternatives and stream.markov is None
    return any(
        _are_unlike(a.constants[column].value, b.constants[column].value, stream, column)
        for column in a.constants
        if column in b.constants
        and (certain or (column in stream.key and column not in stream.alternatives))
    )


def _are_unlike(one: Value, other: Value, stream: StreamSchema, column: str) -> bool:
    """Return whether no value of the column equals both; what is unsure may be equal.

    1 and 1.0 are one value, and large whole numbers are compared with fractions as fractions.
    """
    declared = stream.column(column)
    kind = declared.type if declared else None
    if kind in (DataType.LONG, DataType.DOUBLE):
        if kind is DataType.LONG and type(one) is type(other) is int:
            return one != other
        fractions = _as_fraction(one), _as_fraction(other)
        return None not in fractions and fractions[0] != fractions[1]
    plain = {DataType.STRING: str, DataType.BOOLEAN: bool}.get(kind) if kind else None
    return plain is not None and type(one) is type(other) is plain and one != other


def _as_fraction(value: Value) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
