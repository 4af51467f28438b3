"""Hidden Markov models over many keys: filter, smoother, fixed lag, most likely path.

Keys lie one after the other: steps `first[c]..first[c + 1]` are of key c. `likelihood[t, k]` is
P(readings of step t | state k) up to a factor of the step; `transition[k, j]` means from k to j.
A step that no reachable state explains has evidence 0 and is taken as if nothing had been read:
the caller sees it and puts the readings aside.

Oracle: tests/inference/paths.py enumerates every path.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel, part


@kernel
def forward(first, likelihood, initial, transition, alpha, evidence):
    """Write P(state at t | readings up to t) into `alpha` (T, K), and each step's evidence."""
    n_states = initial.shape[0]
    ahead = np.empty(n_states)
    for c in range(first.shape[0] - 1):
        for t in range(first[c], first[c + 1]):
            if t == first[c]:
                ahead[:] = initial
            else:
                _predict(alpha[t - 1], transition, ahead)
            total = 0.0
            for k in range(n_states):
                alpha[t, k] = ahead[k] * likelihood[t, k]
                total += alpha[t, k]
            evidence[t] = total
            if total > 0.0:
                alpha[t] /= total
            else:
                alpha[t] = ahead
                likelihood[t] = 1.0


@part
def _predict(now, transition, out):
    out[:] = 0.0
    for k in range(now.shape[0]):
        if now[k] > 0.0:
            for j in range(now.shape[0]):
                out[j] += now[k] * transition[k, j]


@kernel
def backward(likelihood, transition, alpha, gamma, table):
    """Write P(state at t | all readings) into `gamma`, of one key whose steps these are.

    `table[t, k, j]` (T - 1, K, K) becomes P(j at t + 1 | k at t, all readings): each row sums to 1,
    or is 0 where k cannot be. The marginals follow from the first and the tables.
    """
    n, n_states = alpha.shape
    after = np.ones(n_states)
    before = np.empty(n_states)
    for t in range(n - 2, -1, -1):
        most = 0.0
        for k in range(n_states):
            total = 0.0
            for j in range(n_states):
                weight = transition[k, j] * likelihood[t + 1, j] * after[j]
                table[t, k, j] = weight
                total += weight
            if total > 0.0:
                for j in range(n_states):
                    table[t, k, j] /= total
            before[k] = total
            most = max(most, total)
        for k in range(n_states):
            after[k] = before[k] / most if most > 0.0 else 0.0
    gamma[0] = alpha[0] * after
    gamma[0] /= gamma[0].sum()
    for t in range(1, n):
        _predict(gamma[t - 1], table[t - 1], gamma[t])


@kernel
def lagged(first, likelihood, transition, alpha, lag, gamma):
    """Write P(state at t | readings up to t + lag) into `gamma`."""
    n_states = transition.shape[0]
    after, before = np.empty(n_states), np.empty(n_states)
    for c in range(first.shape[0] - 1):
        for t in range(first[c], first[c + 1]):
            after[:] = 1.0
            for ahead in range(min(t + lag, first[c + 1] - 1), t, -1):
                most = 0.0
                for k in range(n_states):
                    total = 0.0
                    for j in range(n_states):
                        total += transition[k, j] * likelihood[ahead, j] * after[j]
                    before[k] = total
                    most = max(most, total)
                if most > 0.0:
                    before /= most
                after[:] = before
            gamma[t] = alpha[t] * after
            gamma[t] /= gamma[t].sum()


@kernel
def best_path(first, likelihood, initial, transition, path):
    """Write the most likely states, given all readings, into `path` (T).

    Among equally likely paths, the one with the smallest states from the end backwards.
    """
    n_states = initial.shape[0]
    log_transition = np.log(transition)
    came_from = np.empty((likelihood.shape[0], n_states), np.int64)
    score, ahead = np.empty(n_states), np.empty(n_states)
    for c in range(first.shape[0] - 1):
        for t in range(first[c], first[c + 1]):
            for j in range(n_states):
                best, at = -np.inf, 0
                if t == first[c]:
                    best = np.log(initial[j])
                else:
                    for k in range(n_states):
                        through = score[k] + log_transition[k, j]
                        if through > best:
                            best, at = through, k
                ahead[j] = best + np.log(likelihood[t, j])
                came_from[t, j] = at
            score[:] = ahead
        if first[c + 1] > first[c]:
            path[first[c + 1] - 1] = np.argmax(score)
            for t in range(first[c + 1] - 1, first[c], -1):
                path[t - 1] = came_from[t, path[t]]
