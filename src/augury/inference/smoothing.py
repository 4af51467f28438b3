"""Filter, smoother, fixed lag and most likely path, as beliefs over a model's states.

The filter serves real time: marginals given the past. The smoother serves archives: marginals and
conditional tables given everything, consistent with each other. Small probabilities are pruned by
leaving states out of single steps; the smoother then conditions on never having been there, and
`lost` is exactly the probability of what was left out, a bound on the error of any answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from augury.inference.model import Model
from augury.inference.readings import Readings
from augury.kernels.chain import hidden
from augury.records import Flags, Reals, Words

# Why readings are put aside at a step of evidence 0.
UNEXPLAINED = "no state that can be reached explains the readings of this step"


@dataclass(frozen=True)
class Belief:
    """What is known about T steps.

    Fields:
        marginal: P(state at t | the readings that count), (T, K).
        tables: by key, P(j at t + 1 | k at t, all readings), (steps - 1, K, K); empty where steps
            are taken by themselves. After a lag they are those of `linking`.
        impossible: steps that no reachable state explains; their readings do not count.
        lost: by key, the probability that pruning left out.
        log_evidence: by key, log P(readings) up to a constant of the readings.
    """

    readings: Readings
    marginal: Reals
    tables: tuple[Reals, ...]
    impossible: Flags
    lost: Reals
    log_evidence: Reals


def filtered(model: Model, readings: Readings, prune: float = 0.0) -> Belief:
    """Return P(state at t | readings up to t)."""
    likelihood = model.likelihood(readings.codes)
    alpha, evidence = _forward(model, readings.first, likelihood)
    marginal, lost = pruned(alpha, prune)
    by_key = np.maximum.reduceat(lost, readings.first[:-1]) if len(lost) else np.zeros(0)
    return Belief(readings, marginal, (), evidence == 0.0, by_key, _log(evidence, readings))


def smoothed(model: Model, readings: Readings, prune: float = 0.0) -> Belief:
    """Return P(state at t | all readings), with the tables that lead from step to step."""
    likelihood = model.likelihood(readings.codes)
    alpha, evidence = _forward(model, readings.first, likelihood)
    impossible = evidence == 0.0
    found = _backward(model, readings, likelihood, alpha, evidence)
    found = replace(found, impossible=impossible)
    if prune <= 0.0:
        return found
    kept = np.where(_is_kept(found.marginal, prune), likelihood, 0.0)
    alpha, narrow = _forward(model, readings.first, kept)
    again = _backward(model, readings, kept, alpha, narrow)
    lost = 1.0 - np.exp(again.log_evidence - found.log_evidence)
    return replace(again, impossible=impossible, lost=np.maximum(lost, 0.0))


def lagged(model: Model, readings: Readings, lag: int, prune: float = 0.0) -> Belief:
    """Return P(state at t | readings up to t + lag): marginals only."""
    likelihood = model.likelihood(readings.codes)
    alpha, evidence = _forward(model, readings.first, likelihood)
    gamma = np.zeros_like(alpha)
    hidden.lagged(readings.first, likelihood, model.transition, alpha, lag, gamma)
    marginal, lost = pruned(gamma, prune)
    by_key = np.maximum.reduceat(lost, readings.first[:-1]) if len(lost) else np.zeros(0)
    return Belief(readings, marginal, (), evidence == 0.0, by_key, _log(evidence, readings))


def decoded(model: Model, readings: Readings) -> Belief:
    """Return the most likely path as certain beliefs (Viterbi)."""
    likelihood = model.likelihood(readings.codes)
    _, evidence = _forward(model, readings.first, likelihood)
    path = np.zeros(len(likelihood), np.int64)
    hidden.best_path(readings.first, likelihood, model.initial, model.transition, path)
    marginal = np.zeros_like(likelihood)
    marginal[np.arange(len(path)), path] = 1.0
    none = np.zeros(len(readings.keys))
    return Belief(readings, marginal, (), evidence == 0.0, none, _log(evidence, readings))


def decided(belief: Belief) -> Belief:
    """Return the most likely state of each step by itself, as if it were certain."""
    marginal = np.zeros_like(belief.marginal)
    marginal[np.arange(len(marginal)), belief.marginal.argmax(axis=1)] = 1.0
    return replace(belief, marginal=marginal)


def _forward(model: Model, first: Words, likelihood: Reals) -> tuple[Reals, Reals]:
    """Return the filtered marginals; what no state explains is made to say nothing."""
    alpha, evidence = np.zeros_like(likelihood), np.zeros(len(likelihood))
    hidden.forward(first, likelihood, model.initial, model.transition, alpha, evidence)
    return alpha, evidence


def _backward(
    model: Model, readings: Readings, likelihood: Reals, alpha: Reals, evidence: Reals
) -> Belief:
    first, k = readings.first, len(model.states)
    marginal, tables = np.zeros_like(alpha), []
    for start, stop in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        table = np.zeros((max(stop - start - 1, 0), k, k))
        own = slice(start, stop)
        hidden.backward(likelihood[own], model.transition, alpha[own], marginal[own], table)
        tables.append(table)
    none = np.zeros(len(readings.keys))
    return Belief(
        readings, marginal, tuple(tables), evidence == 0.0, none, _log(evidence, readings)
    )


def _log(evidence: Reals, readings: Readings) -> Reals:
    logs = np.where(evidence > 0.0, np.log(np.where(evidence > 0.0, evidence, 1.0)), 0.0)
    return np.add.reduceat(logs, readings.first[:-1]) if len(logs) else np.zeros(0)


def pruned(marginal: Reals, prune: float) -> tuple[Reals, Reals]:
    """Return the marginals without what is below `prune`, scaled up, and what each step lost."""
    kept = np.where(_is_kept(marginal, prune), marginal, 0.0)
    total = kept.sum(axis=1)
    return kept / total[:, np.newaxis], np.maximum(1.0 - total, 0.0)


def _is_kept(marginal: Reals, prune: float) -> Flags:
    """Return what is not below `prune`; the most likely state of a step always stays."""
    kept: Flags = marginal >= np.minimum(prune, marginal.max(axis=1, keepdims=True))
    return kept
