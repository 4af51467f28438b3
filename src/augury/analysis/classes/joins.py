"""The plan of a join: what each step does, and how it is written.

Plain data that runners walk; `join_plan` makes it, and says when there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.language.expressions import Expression


@dataclass(frozen=True, slots=True)
class Shared:
    """A variable: `members` are (component, column) that have one value; or what GROUP BY names."""

    name: str
    members: tuple[tuple[int, str], ...]
    is_group: bool = False

    def column(self, component: int) -> str | None:
        """Return the column that the variable is in a component."""
        return dict(self.members).get(component)


@dataclass(frozen=True, slots=True)
class Inequality:
    """`left operator right`, where each side reads the events of one component only."""

    left_of: int
    left: Expression
    operator: str
    right_of: int
    right: Expression

    @property
    def components(self) -> tuple[int, int]:
        return self.left_of, self.right_of


@dataclass(frozen=True, slots=True)
class Read:
    """P(some event of the component, for each value of its variables)."""

    component: int


@dataclass(frozen=True, slots=True)
class Product:
    """P(all parts), which share no event."""

    parts: tuple[JoinStep, ...]


@dataclass(frozen=True, slots=True)
class Projected:
    """P(the part for some value of the variable): 1 - prod(1 - p)."""

    variable: str
    part: JoinStep


@dataclass(frozen=True, slots=True)
class Extreme:
    """Sum over e of P(e is the best value of `component`) P(the part, given e).

    `inequality` is the one that ties the component to the part; the best value is the one that
    the most events of the other side satisfy.
    """

    component: int
    inequality: int
    part: JoinStep


JoinStep = Read | Product | Projected | Extreme


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """The steps, the variables that they name, and the inequalities by number."""

    root: JoinStep
    variables: tuple[Shared, ...]
    inequalities: tuple[Inequality, ...]

    def variables_of(self, component: int) -> tuple[Shared, ...]:
        """Return the variables that a component has."""
        return tuple(v for v in self.variables if v.column(component))

    def is_shared(self, variable: Shared) -> bool:
        """Whether the variable equates anything, so that a NULL of it matches nothing."""
        return len(variable.members) > 1

    def text(self, names: tuple[str, ...]) -> str:
        """Return the plan in one line, components by their names."""
        return self._text(self.root, names)

    def _text(self, step: JoinStep, names: tuple[str, ...]) -> str:
        match step:
            case Read(component):
                kept = [v.name for v in self.variables_of(component)]
                return f"π⟨{', '.join(kept)}⟩({names[component]})"
            case Product(parts):
                return f"join({', '.join(self._text(part, names) for part in parts)})"
            case Projected(variable, part):
                return f"π₋⟨{variable}⟩({self._text(part, names)})"
            case Extreme(component, number, part):
                own = self._text(Read(component), names)
                return f"{self.side(component, number)}({own}, {self._text(part, names)})"

    def side(self, component: int, number: int) -> str:
        """Return which value of a component makes an inequality easiest to meet."""
        tie = self.inequalities[number]
        upward = tie.operator in ("<", "<=")
        return "least" if (component == tie.left_of) == upward else "greatest"
