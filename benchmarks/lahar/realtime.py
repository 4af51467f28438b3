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

All ways are asked once more OVER 30 (`... lately`, see `quality.py`): did a visit end in the last
30 seconds? That was decided on when the answers without it had been seen. An answer at t knows the
readings up to t (or t + n) about all of these seconds.
Run: python benchmarks/lahar/realtime.py [people 20] [seconds 3600] [hours 10] [of those learned 10]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from augury.demo.building.people import Building
from augury.inference.model import Model
from augury.inference.readings import Readings
from augury.inference.smoothing import Belief
from augury.kernels.jit import kernel
from augury.matching.marginal import automaton, symbol_of
from lahar import quality
from lahar.lines import draw
from lahar.quality import THRESHOLDS, TOLERANCES, Asked, Hour
from matching.harness import machine, record, sized

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
# Those who decide first are also compared as they were asked without OVER, lest it weaken them.
LATELY_PAIRS = (
    ("exact lately", "mle lately"),
    ("exact lately", "filtered lately"),
    ("exact lately", "mle"),
    ("exact lately", "filtered"),
    ("exact lately", "exact"),
    ("exact lately", "lag 10 mle"),
    ("lag 10 lately", "lag 10 mle lately"),
    ("lag 10 lately", "lag 10 alone lately"),
    ("lag 10 lately", "lag 10 mle"),
    ("lag 10 lately", "lag 10"),
    ("lag 10 lately", "exact lately"),
    ("mle lately", "mle"),
)


@dataclass(frozen=True)
class Carried:
    """What is known of P people at T seconds, in K states: (P, T, K).

    `likelihood` is P(readings | state), 1 where no state explains them; `filtered` and `ends` are
    P(state) and P(a match counts now, in state) given the readings so far. `told` has the marginals
    that were asked for, by lag: all questions share them.
    """

    model: Model
    likelihood: np.ndarray
    filtered: np.ndarray
    ends: np.ndarray
    told: dict[int, np.ndarray] = field(default_factory=dict)

    def marginal(self, lag: int) -> np.ndarray:
        """Return P(state at t | readings up to t + lag)."""
        if lag not in self.told:
            self.told[lag] = self._marginal(lag)
        return self.told[lag]

    def _marginal(self, lag: int) -> np.ndarray:
        after, n = np.ones_like(self.filtered), self.filtered.shape[1]
        for ahead in range(min(lag, n - 1), 0, -1):
            weight = self.likelihood[:, ahead:] * after[:, : n - ahead]
            before = weight @ self.model.transition.T
            after[:, : n - ahead] = before / before.max(axis=2, keepdims=True)
        found = self.filtered * after
        return found / found.sum(axis=2, keepdims=True)

    def ended(self, lag: int) -> np.ndarray:
        """Return P(a match counts at t | readings up to t + lag), (P, T)."""
        given = np.divide(
            self.ends, self.filtered, out=np.zeros_like(self.ends), where=self.filtered > 0.0
        )
        return np.einsum("ptk,ptk->pt", given, self.marginal(lag))


def carry(model: Model, asked: Asked, likelihood: np.ndarray) -> Carried:
    """Carry state and automaton together over what P people's readings tell, (P, T, K)."""
    found = Carried(model, likelihood.copy(), np.zeros_like(likelihood), np.zeros_like(likelihood))
    origin, target = np.nonzero(model.transition)
    edges = origin, target, model.transition[origin, target]
    for own in range(len(likelihood)):
        out = found.likelihood[own], found.filtered[own], found.ends[own]
        _carry(model.initial, edges, _moves(model, asked), *out)
    return found


@kernel
def _carry(initial, edges, moves, likelihood, filtered, ends):
    """Carry (K, Q) over one person's seconds; write P(state), and P(a match counts, in state).

    Only what may follow is looked at: people walk to few places from each.
    """
    origin, target, chance = edges
    delta, done = moves
    n_states, n_waits = len(initial), len(delta)
    ahead, moved = np.zeros((n_states, n_waits)), np.zeros((n_states, n_waits))
    ahead[:, 0] = initial
    for t in range(len(likelihood)):
        total = 0.0
        for k in range(n_states):
            filtered[t, k] = ahead[k].sum()
            total += filtered[t, k] * likelihood[t, k]
        if total == 0.0:
            likelihood[t] = 1.0
            total = filtered[t].sum()
        moved[:] = 0.0
        for k in range(n_states):
            share = likelihood[t, k] / total
            filtered[t, k] *= share
            for q in range(n_waits):
                mass = ahead[k, q] * share
                moved[k, delta[q, k]] += mass
                if done[q, k]:
                    ends[t, k] += mass
        ahead[:] = 0.0
        for e in range(len(origin)):
            ahead[target[e]] += moved[origin[e]] * chance[e]


def _moves(model: Model, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Return where state k leads the automaton from q, and whether a match counts then, (Q, K)."""
    inside = np.array([s is not None and s[0] in asked.places for s in model.states])
    matches, accepted = quality.meaning(inside, asked.wants)
    means = [symbol_of(int(m), int(a)) for m, a in zip(matches, accepted, strict=True)]
    symbols = list(dict.fromkeys(means))
    delta, done = automaton(asked.line, symbols, asked.over)
    of = np.array([symbols.index(symbol) for symbol in means])
    return np.ascontiguousarray(delta[:, of]), np.ascontiguousarray(done[:, of])


# Hours -------------------------------------------------------------------------------------------


def hour(
    building: Building,
    model: Model,
    questions: Mapping[str, Asked],
    size: tuple[int, int],
    seed: int,
) -> Hour:
    """Return one hour: where everybody was, whether they went for coffee, and all answers."""
    paths, reads = building.paths(*size, seed)
    rows = [((read["person"],), read["t"], read["reader"], None) for read in reads]
    heard = [who for who in paths if any(key == (who,) for key, *_ in rows)]
    readings = quality.steps_of(model, rows, heard, size[1])
    weight = model.likelihood(readings.codes).reshape(len(readings.keys), size[1], -1)
    found, shared = {}, dict[int, np.ndarray]()
    for end, asked in (("", questions["coffee"]), (" lately", questions["lately"])):
        known = replace(carry(model, asked, weight), told=shared)
        for name, told in answers(known, asked, readings):
            found[name + end] = {who: np.zeros(size[1]) for who in paths}
            for (who,), own in zip(readings.keys, told, strict=True):
                found[name + end][who] = own
    truth = {who: questions["coffee"].truth(path) for who, path in paths.items()}
    return Hour(paths, truth, found)


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
    names, pairs = tuple(hours[0].found), (*PAIRS, *LATELY_PAIRS)
    figures: dict[str, Any] = {
        "calibration": {name: quality.calibration(hours, name) for name in names},
        "f1_gains": {f"within {d} s": quality.gains(hours, d, pairs) for d in TOLERANCES},
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
    quality.draw_lately("realtime", within, DRAWN, "mle")


def main() -> None:
    """Print and store the figures and charts."""
    people, seconds, n, n_learned = (
        int(a)
        for a in [
            *sys.argv[1:],
            *(sized(20, 3), sized(3600, 300), sized(10), sized(10))[len(sys.argv) - 1 :],
        ]
    )
    building, size = Building(), (people, seconds)
    asked = quality.questions(building)
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
