"""Particles that follow readings as they come, carried from batch to batch.

What is reported is what `particles.filtered` gives over all readings at once: the state of a key
has its particles, their weights, and how far its random numbers have come, so the same ones are
drawn whatever the batches are. State per key is constant; a silence is reported when it is over.

Oracle: `particles.filtered`, over the whole of the readings.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augury.inference.floor import Floor
from augury.inference.following import Rows
from augury.inference.particles import Cloud, belief, clouds, random_numbers
from augury.inference.readings import arrange
from augury.inference.smoothing import Belief
from augury.records import Reals, Words

NO_PARTICLE = "no particle explains the readings of this step; more particles may"


@dataclass(frozen=True)
class Crowd:
    """The particles of one key after its step `last`: where (N, 2), and their weights (N).

    `drawn` is how far its random numbers have come.
    """

    last: int
    at: Reals
    weight: Reals
    drawn: Mapping[str, Any]


@dataclass(frozen=True)
class Crowds:
    """What is kept of keys."""

    by_key: Mapping[Any, Crowd] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[Any, ...]:
        """The keys, in the order of what is dumped."""
        return tuple(self.by_key)

    def dump(self) -> bytes:
        """Return the numbers as bytes; keys are stored by who knows their types."""
        stream, own = io.BytesIO(), list(self.by_key.values())
        drawn = json.dumps([each.drawn for each in own]).encode()
        np.savez(
            stream,
            last=np.array([each.last for each in own], np.int64),
            at=np.array([each.at for each in own]),
            weight=np.array([each.weight for each in own]),
            drawn=np.frombuffer(drawn, np.uint8),
        )
        return stream.getvalue()

    @classmethod
    def load(cls, keys: tuple[Any, ...], data: bytes) -> Crowds:
        """Return what `dump` wrote, of the given keys."""
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            drawn = json.loads(found["drawn"].tobytes())
            parts = zip(
                keys, found["last"].tolist(), found["at"], found["weight"], drawn, strict=True
            )
            return cls({key: Crowd(*rest) for key, *rest in parts})


@dataclass(frozen=True)
class CrowdFollower:
    """Follows the readings of a floor, step by step, by n particles for each key."""

    model: Floor
    step: int
    n: int
    seed: int
    correlated: bool = False

    def start(self) -> Crowds:
        """Return the state before any reading."""
        return Crowds()

    def load(self, keys: tuple[Any, ...], data: bytes) -> Crowds:
        """Return the state of keys that was dumped."""
        return Crowds.load(keys, data)

    def advance(self, state: Crowds, rows: Rows, *, ends: bool = False) -> tuple[Crowds, Belief]:
        """Take in readings of steps that are complete; report these steps.

        That the stream `ends` changes nothing: no step waits for later ones.
        """
        del ends
        since = {key: own.last for key, own in state.by_key.items()}
        readings = arrange(self.model, rows, self.step, since=since)
        states = len(self.model.states)
        marginal, evidence = np.zeros((len(readings.time), states)), np.ones(len(readings.time))
        after = dict(state.by_key)
        for key, start, stop in readings.spans():
            last = int(readings.time[stop - 1]) // self.step
            codes = readings.codes[start:stop]
            after[key] = self._followed(
                key, after.get(key), codes, last, (marginal[start:stop], evidence[start:stop])
            )
        found = belief(readings, marginal, (), evidence)
        unexplained = {
            row: NO_PARTICLE for row, at in readings.row_step.items() if found.impossible[at]
        }
        readings.rejected.update(unexplained)
        return Crowds(after), found

    def _followed(
        self, key: Any, before: Crowd | None, codes: Words, last: int, out: tuple[Reals, Reals]
    ) -> Crowd:
        """Return the particles of a key after some steps, and fill in what is told of these."""
        rng, cloud = random_numbers(self.seed, key), None
        if before is not None:
            rng.bit_generator.state = before.drawn
            cloud = Cloud.of(before.at, before.weight)
        marginal, evidence = out
        for t, own in enumerate(clouds(self.model, codes, self.n, rng, cloud)):
            cloud = own
            marginal[t] = np.bincount(self.model.cell(own.at), own.weight, len(self.model.states))
            evidence[t] = own.evidence
        assert cloud is not None
        return Crowd(last, cloud.at, cloud.weight, rng.bit_generator.state)
