"""What a session gives away of itself to those who ask why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from augury.errors import AuguryError

if TYPE_CHECKING:
    from augury.session.answers import Answers
    from augury.session.bound import BoundRows
    from augury.session.declared import Declared
    from augury.why.opening import Opened


def opened(
    declared: Declared, bound: BoundRows, answers: Answers, empty: Callable[[], Any]
) -> Opened:
    """Return declarations and rows, as readers may see them; `empty` makes another session."""
    from augury.why.opening import Opened

    if bound.engine == "spark":
        raise AuguryError(
            "why and why_not ask many small questions, which Spark does not answer in passing; "
            "bind the rows of the key in a Session(engine='local') for it"
        )
    runner = bound.local_runner()
    own = (name for name in declared.queries if declared.catalog.is_private(name) is None)
    return Opened(
        declared.catalog,
        declared.statements,
        {name: declared.queries[name][0] for name in own},
        runner.bound,
        runner.rows,
        lambda stream: _aside(answers, stream),
        lambda query: answers.table(query, None),
        empty,
    )


def _aside(answers: Answers, stream: str) -> Mapping[str, Any]:
    found = {"rejected": answers.rejected(stream)}
    if answers.hears:
        found["late"] = answers.late(stream)
    return found
