"""What correlation and a short delay bring in real time: Lahar's figure 9, asked in more ways.

The hours, the models, the question and the score are those of `quality.py`. Each way was decided on
and written down here before its figures were seen:

- `filtered`: the marginals given the past, step by step by themselves: what AS FILTER gives;
- `mle`: the most likely place given the past, as if it were certain;
- `exact`: P(a visit ends now | readings up to now). State and automaton are carried together, and
  each reading corrects both;
- `lag 10`: P(a visit ended at t | readings up to t + 10), exact as well. Ten seconds are a third of
  the tolerance of 30, so that what is found is told within it;
- `lag 10 alone`: marginals given the readings up to t + 10, step by step by themselves: what
  AS SMOOTH ... LAG 10 gives;
- `lag 10 mle`: the most likely place given the readings up to t + 10: who decides first may wait as
  long, so this is the fair rival of those two;
- `lag 10 when told`: as `lag 10`, but a detection has the time at which it is told, not the one of
  which it speaks;
- `lag 2`, `lag 5`, `lag 20`: as `lag 10`, of the right model only, for information.

Given the state at t, what comes later says nothing more about what came before; so

    P(ended at t | readings to t + n)
        = sum over k of P(ended at t | state k at t, readings to t) * P(k at t | readings to t + n),

and the exact filter is the lag of 0.
Run: python benchmarks/lahar/realtime.py [people 20] [seconds 3600] [hours 10] [of those learned 10]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augury.demo.building.people import Building
from augury.inference.model import Model
from augury.inference.readings import Readings
from augury.inference.smoothing import Belief
from augury.matching.marginal import automaton, symbol_of
from lahar import quality
from lahar.lines import draw
from lahar.quality import THRESHOLDS, TOLERANCES, Asked, Hour
from matching.harness import machine, record

LAG, MORE_LAGS = 10, (2, 5, 20)
DRAWN = ("filtered", "mle", "exact", "lag 10", "lag 10 alone", "lag 10 mle")
APPROACHES = (*DRAWN, "lag 10 when told")
PAIRS = (
    ("filtered", "mle"),
    ("exact", "mle"),
    ("exact", "filtered"),
    ("lag 10", "mle"),
    ("lag 10", "lag 10 mle"),
    ("lag 10", "lag 10 alone"),
    ("lag 10 alone", "mle"),
    ("lag 10 alone", "lag 10 mle"),
    ("lag 10 when told", "mle"),
)


@dataclass(frozen=True)
class Carried:
    """What is known of P people at T seconds, in K states: (P, T, K).

    `likelihood` is P(readings | state), 1 where no state explains them; `filtered` and `ends` are
    P(state) and P(a match ends now, in state) given the readings so far.
    """

    model: Model
    likelihood: np.ndarray
    filtered: np.ndarray
    ends: np.ndarray

    def marginal(self, lag: int) -> np.ndarray:
        """Return P(state at t | readings up to t + lag)."""
        after, n = np.ones_like(self.filtered), self.filtered.shape[1]
        for ahead in range(min(lag, n - 1), 0, -1):
            weight = self.likelihood[:, ahead:] * after[:, : n - ahead]
            before = weight @ self.model.transition.T
            after[:, : n - ahead] = before / before.max(axis=2, keepdims=True)
        found = self.filtered * after
        return found / found.sum(axis=2, keepdims=True)

    def ended(self, lag: int) -> np.ndarray:
        """Return P(a match ended at t | readings up to t + lag), (P, T)."""
        given = np.divide(
            self.ends, self.filtered, out=np.zeros_like(self.ends), where=self.filtered > 0.0
        )
        return np.einsum("ptk,ptk->pt", given, self.marginal(lag))


def carry(model: Model, asked: Asked, likelihood: np.ndarray) -> Carried:
    """Carry state and automaton together over what P people's readings tell, (P, T, K)."""
    moves = _moves(model, asked)
    people, seconds, k = likelihood.shape
    found = Carried(model, likelihood.copy(), np.zeros_like(likelihood), np.zeros_like(likelihood))
    ahead = np.zeros((people, moves.after.shape[0], k))
    ahead[:, 0] = model.initial
    for t in range(seconds):
        told = ahead * likelihood[:, t, np.newaxis]
        evidence = told.sum(axis=(1, 2), keepdims=True)
        told = np.where(evidence > 0.0, told, ahead)
        found.likelihood[evidence[:, 0, 0] == 0.0, t] = 1.0
        told /= told.sum(axis=(1, 2), keepdims=True)
        found.filtered[:, t] = told.sum(axis=1)
        found.ends[:, t] = np.einsum("pqk,qk->pk", told, moves.ends)
        ahead = np.einsum("pqk,qrk->prk", told, moves.after) @ model.transition
    return found


@dataclass(frozen=True)
class _Moves:
    """What state k does to the automaton: `after[q, r, k]` is 1 if q becomes r.

    `ends[q, k]` is 1 if a match ends.
    """

    after: np.ndarray
    ends: np.ndarray


def _moves(model: Model, asked: Asked) -> _Moves:
    inside = np.array([s is not None and s[0] in asked.places for s in model.states])
    matches, accepted = quality.meaning(inside, asked.wants)
    means = [symbol_of(int(m), int(a)) for m, a in zip(matches, accepted, strict=True)]
    symbols = list(dict.fromkeys(means))
    delta, done = automaton(asked.line, symbols)
    of = np.array([symbols.index(symbol) for symbol in means])
    after = np.eye(len(delta))[delta[:, of]]
    return _Moves(np.ascontiguousarray(after.transpose(0, 2, 1)), done[:, of].astype(np.float64))


# Hours -------------------------------------------------------------------------------------------


def hour(building: Building, model: Model, asked: Asked, size: tuple[int, int], seed: int) -> Any:
    """Return one hour: where everybody was, whether the question holds, and all answers to it."""
    paths, reads = building.paths(*size, seed)
    rows = [((read["person"],), read["t"], read["reader"], None) for read in reads]
    heard = [who for who in paths if any(key == (who,) for key, *_ in rows)]
    readings = quality.steps_of(model, rows, heard, size[1])
    weight = model.likelihood(readings.codes).reshape(len(readings.keys), size[1], -1)
    found = {name: {who: np.zeros(size[1]) for who in paths} for name in names_of(model)}
    for name, told in answers(carry(model, asked, weight), asked, readings):
        for (who,), own in zip(readings.keys, told, strict=True):
            found[name][who] = own
    return Hour(paths, {who: asked.truth(path) for who, path in paths.items()}, found)


def names_of(model: Model) -> tuple[str, ...]:
    """Return the ways to answer that are asked for a model."""
    more = tuple(f"lag {n}" for n in MORE_LAGS) if model.name == "building" else ()
    return (*APPROACHES, *more)


def answers(
    known: Carried, asked: Asked, readings: Readings
) -> Iterator[tuple[str, Sequence[np.ndarray]]]:
    """Yield each way's answers, second by second for each person."""
    for end, lag in (("", 0), (f"lag {LAG}", LAG)):
        alone, exact = (f"{end} alone", end) if lag else ("filtered", "exact")
        marginal, told = known.marginal(lag), known.ended(lag)
        yield exact, told
        yield alone, apart(known.model, asked, readings, marginal)
        yield f"{end} mle".strip(), apart(known.model, asked, readings, marginal, decide=True)
    late = np.zeros_like(told)
    late[:, LAG:] = told[:, :-LAG]
    yield f"lag {LAG} when told", late
    for name in names_of(known.model)[len(APPROACHES) :]:
        yield name, known.ended(int(name.split()[1]))


def apart(
    model: Model, asked: Asked, readings: Readings, marginal: np.ndarray, decide: bool = False
) -> list[np.ndarray]:
    """Return what the question makes of marginals by themselves, or of the most likely places."""
    none, found = np.zeros(0), []
    for key, own in zip(readings.keys, marginal, strict=True):
        time = np.arange(len(own))
        steps = Readings((key,), np.array([0, len(own)]), time, readings.codes[: len(own)])
        belief = Belief(steps, own, (), none > 0.0, none, none)
        belief = quality.most_likely_places(model, belief) if decide else belief
        found.append(quality.chances({"": asked}, model, belief)[""])
    return found


# Scores ------------------------------------------------------------------------------------------


def judged(hours: list[Hour]) -> dict[str, Any]:
    """Return everything that is told about one model."""
    names = tuple(hours[0].found)
    figures: dict[str, Any] = {
        "calibration": {name: quality.calibration(hours, name) for name in names},
        "f1_gains": {f"within {d} s": quality.gains(hours, d, PAIRS) for d in TOLERANCES},
    }
    for d in TOLERANCES:
        figures[f"within {d} s"] = {
            name: {str(t): quality.mean_scores(hours, name, t, d) for t in THRESHOLDS}
            for name in names
        }
    return figures


def draw_scene(within: Mapping[str, Any]) -> None:
    """Draw figure 9."""
    for measure in ("precision", "recall", "f1"):
        lines = {name: [(t, within[name][str(t)][measure]) for t in THRESHOLDS] for name in DRAWN}
        draw(f"lahar_realtime_{measure}", f"{measure}, real time, 30 s", "threshold", lines)


def main() -> None:
    """Print and store the figures and charts."""
    people, seconds, n, n_learned = (
        int(a) for a in [*sys.argv[1:], *("20", "3600", "10", "10")[len(sys.argv) - 1 :]]
    )
    building, size = Building(), (people, seconds)
    asked = quality.questions(building)["coffee"]
    figures: dict[str, Any] = {"machine": machine(), "people": people, "seconds": seconds}
    for name, many in (("right", n), ("learned", n_learned)):
        seeds = quality.HOURS[:many]
        if not seeds:
            continue
        model = quality.model_of(name, building, size)
        hours = [hour(building, model, asked, size, seed) for seed in seeds]
        visits = int(sum(facts.sum() for own in hours for facts in own.real.values()))
        figures[f"the {name} model"] = {"seeds": seeds, "visits": visits, **judged(hours)}
    draw_scene(figures["the right model"]["within 30 s"])
    record("lahar_realtime", figures)


if __name__ == "__main__":
    main()
