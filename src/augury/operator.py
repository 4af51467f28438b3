"""The protocol every stage obeys: a function from state and batch to state and records.

A stage is immutable and holds no data, so one serves every shard. Its running state is a value that
goes through the steps: `advance` uses one up and gives the next, and does not change the batch. Who
may have to repeat a step stores the state before it, and loads it again.

What a step of it costs stands in the plan (`augury.planning.graph`); which rows it can still need,
and whether it revises, it says itself. Laws, which `tests/contracts` holds stages to:
- where the stream is cut into batches changes nothing;
- a state that was stored and loaded goes on as if it had not been;
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
    """What is asked of a stage.

    `horizon` is the watermark: every event before it has come, so all that is known before it is
    reported, and nothing twice. The watermark at infinity ends the streams.
    """

    @property
    def revises(self) -> bool:
        """Whether an answer may come again under its id: with the next revision, and as it is now.

        A confidence that the query does not show, 0 for one, takes the answer back.
        """
        ...

    def start(self, since: int) -> State:
        """Return the state before any event; what is known before `since` is not reported."""
        ...

    def advance(self, state: State, batch: Batch_contra, horizon: int) -> tuple[State, Answer_co]:
        """Take a batch in; report what became known before `horizon`. Uses the state up."""
        ...

    def dump(self, state: State) -> bytes:
        """Return what is to be stored of a state beside the rows that it was made of.

        Most states are made of rows that still matter, and nothing else; one that has counted rows
        which do not matter any more, or has acted on them, says here what it knows of them.
        """
        ...

    def restore(self, batch: Batch_contra, reported: int, own: bytes = b"") -> State:
        """Return the state that remembers a batch, and has reported up to some time.

        `own` is what `dump` gave.
        """
        ...

    def oldest(self, state: State, horizon: int) -> int:
        """Return the time before which no row can matter any more."""
        ...

    def due(self, state: State) -> int | None:
        """Return at which horizon there may be something to do; None where only rows tell."""
        ...
