"""Readings by key and step: what each sensor read, or that it was silent.

A key's steps run from its first reading to its last, one `step` of time each, so a step without
readings is there and says that every sensor was silent. Several sensors may read at one step. What
a model cannot take (an unknown sensor or value, a second reading of one sensor at one step) is put
aside with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from augury.errors import DataError
from augury.inference.model import Sensor
from augury.records import Words

MOST_STEPS = 10_000_000
NO_STEPS: Mapping[Any, int] = MappingProxyType({})


class Sensing(Protocol):
    """What readings need of a model: its name, and its sensors."""

    @property
    def name(self) -> str: ...

    @property
    def sensors(self) -> tuple[Sensor, ...]: ...


@dataclass(frozen=True)
class Readings:
    """T steps of C keys: steps `first[c]..first[c + 1]` are of `keys[c]`, at `time`.

    `codes[t, s]` is what sensor s read (0: silence). `row_step` has the step of each row that was
    taken in, by number of the row; `rejected` the reason why others were not.
    """

    keys: tuple[Any, ...]
    first: Words
    time: Words
    codes: Words
    row_step: dict[int, int] = field(default_factory=dict)
    rejected: dict[int, str] = field(default_factory=dict)

    def spans(self) -> Iterator[tuple[Any, int, int]]:
        """Yield each key with the first of its steps, and the step behind its last."""
        yield from zip(self.keys, self.first[:-1].tolist(), self.first[1:].tolist(), strict=True)


def arrange(
    model: Sensing,
    rows: Sequence[tuple[Any, int, Any, Any]],
    step: int,
    until: int | None = None,
    since: Mapping[Any, int] = NO_STEPS,
) -> Readings:
    """Return the readings (key, time, sensor, value) of a model, in steps of a length.

    `until` lets the steps of every key run on to that time; otherwise to its last reading. `since`
    has the number of the last step of keys that were heard of before: theirs begin right after it.
    """
    numbers = {sensor.name: s for s, sensor in enumerate(model.sensors)}
    values = [{v: k + 1 for k, v in enumerate(sensor.values)} for sensor in model.sensors]
    rejected: dict[int, str] = {}
    taken: dict[Any, list[tuple[int, int, int, int]]] = {}
    for row, (key, time, sensor, value) in enumerate(rows):
        s = numbers.get(sensor, -1)
        code = values[s].get(value, 0) if s >= 0 else 0
        if code:
            taken.setdefault(key, []).append((time // step, s, code, row))
        elif s < 0:
            rejected[row] = f"sensor {sensor!r} is not in model {model.name}"
        else:
            rejected[row] = f"sensor {sensor!r} of model {model.name} never reads {value!r}"
    return _laid_out(model, taken, _Span(step, until, since), rejected)


@dataclass(frozen=True, slots=True)
class _Span:
    """Which steps of a key there are, by number."""

    step: int
    until: int | None
    since: Mapping[Any, int]

    def of(self, key: Any, known: Sequence[int]) -> tuple[int, int]:
        start = self.since[key] + 1 if key in self.since else min(known)
        return start, max(known) if self.until is None else max(*known, self.until // self.step)


def _laid_out(
    model: Sensing,
    taken: dict[Any, list[tuple[int, int, int, int]]],
    span: _Span,
    rejected: dict[int, str],
) -> Readings:
    step, first, times = span.step, [0], []
    for key, own in taken.items():
        start, stop = span.of(key, [t for t, *_ in own])
        first.append(first[-1] + stop - start + 1)
        if first[-1] > MOST_STEPS:
            raise DataError(
                f"the readings span more than {MOST_STEPS} steps of {step}; a gap in time may be "
                "wrong, or the step too short: cut the stream, or lengthen the step"
            )
        times.append(np.arange(start, stop + 1))
    codes = np.zeros((first[-1], len(model.sensors)), np.int64)
    row_step: dict[int, int] = {}
    for c, own in enumerate(taken.values()):
        for t, s, code, row in sorted(own, key=lambda each: each[3]):
            at = first[c] + t - int(times[c][0])
            if codes[at, s] not in (0, code):
                name = model.sensors[s].name
                rejected[row] = f"sensor {name!r} has read another value at this step already"
                continue
            codes[at, s] = code
            row_step[row] = at
    time = np.concatenate(times) * step if times else np.zeros(0, np.int64)
    return Readings(tuple(taken), np.array(first, np.int64), time, codes, row_step, rejected)
