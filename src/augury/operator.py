"""The protocol every stage obeys: a function from state and batch to state and records.

An operator is immutable and holds no data, so one serves every shard. Its running state is a value:
`advance` takes one and gives the next, and changes neither the state nor the batch. So a runner may
keep states in a dict, in a Spark state store or in a file, and repeat a step that failed.

Laws, which `tests/contracts` holds every operator to:
- where the stream is cut into batches changes nothing;
- a state that went through `dump` and `load` goes on as if it had not;
- what no later answer can need is dropped, so state is bounded where the query has a bound;
- a batch may bring events in any order, but none that is older than the last `horizon`: those are
  late, and the runner puts them aside.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

# The horizon before any event.
NEVER_YET = -(2**62)
Batch_contra = TypeVar("Batch_contra", contravariant=True)
State = TypeVar("State")
Answer_co = TypeVar("Answer_co", covariant=True)


class Operator(Protocol[Batch_contra, State, Answer_co]):
    """What the runners ask of a stage.

    `horizon` is the watermark: every event before it has come, so all that is known before it is
    reported, and nothing twice. `finish` is the watermark at infinity.
    """

    @property
    def revises(self) -> bool:
        """Whether an answer may come again under its id: with the next revision, and as it is now.

        A confidence that the query does not show, 0 for one, takes the answer back.
        """
        ...

    def start(self, like: Batch_contra) -> State:
        """Return the state before any event; `like` shows what batches look like."""
        ...

    def advance(self, state: State, batch: Batch_contra, horizon: int) -> tuple[State, Answer_co]:
        """Take a batch in; report what became known before `horizon`."""
        ...

    def finish(self, state: State) -> tuple[State, Answer_co]:
        """Report what remains: the stream has ended."""
        ...

    def dump(self, state: State) -> bytes:
        """Return the state as versioned bytes."""
        ...

    def load(self, data: bytes) -> State:
        """Return the state that `dump` wrote, in this version or an earlier one.

        Raises `StateError` for the state of another query, of a later version, and damaged bytes.
        """
        ...
