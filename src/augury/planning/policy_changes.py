"""What comes too late for a policy: rows have been decided about, or were read without it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from augury.analysis.declarations.catalog import Catalog
from augury.errors import Diagnostic, Source, Span
from augury.language.tree import Statement
from augury.planning.refusal import DECIDED_ALREADY


@dataclass(frozen=True, slots=True)
class TooLate:
    """A statement that would change what has been decided, and why it would."""

    statement: str
    message: str
    hint: str

    def at(self, statements: Sequence[Statement], source: Source) -> Diagnostic:
        """Return the finding, at the place of its statement."""
        named = (each for each in statements if getattr(each, "name", None) == self.statement)
        own = next(named, None)
        span = own.span if own is not None else Span(0, 0)
        return Diagnostic(DECIDED_ALREADY, self.message, span, source, self.hint)


def too_late(
    before: Catalog, after: Catalog, decided: Collection[str], pushed: Collection[str]
) -> list[TooLate]:
    """Return what may not be declared any more.

    `decided` are streams, in lower case, of which a policy has decided about rows; `pushed` those
    of which rows were pushed, so that they may have been told.
    """
    found = [
        TooLate(
            each.name,
            f"rows of {each.stream} were pushed before {each.name} was declared",
            "declare it in a session before its rows come",
        )
        for name, each in after.suppressed.items()
        if name not in before.suppressed and each.stream.lower() in pushed
    ]
    for name, policy in after.policies.items():
        earlier, stream = before.policies.get(name), policy.stream.lower()
        if earlier is None:
            if pushed:
                message = f"rows were pushed before the policy {policy.name} was declared"
                hint = "declare the policy in a session before its rows come"
                found.append(TooLate(policy.name, message, hint))
            continue
        known = {each.type for each in earlier.bound}
        for each in policy.bound if stream in decided and None not in known else ():
            if each.type not in known:
                kind = "every type" if each.type is None else f"the type {each.type}"
                message = (
                    f"{each.by} binds {kind} of {policy.stream}, of which the policy {policy.name} "
                    "may have suppressed events"
                )
                hint = "declare it before rows are read, or in another session"
                found.append(TooLate(each.by, message, hint))
    return found
