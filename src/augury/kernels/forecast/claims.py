"""What readings claim in contexts: one table after the other, back from the horizon.

Oracle: `augury.forecast.chain`, state by state.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel


@kernel
def claim_within(steps, completed, after, begin, symbol, chance, onward, within, total):
    """Fill the chance to complete within so many steps, and the sum of those within fewer.

    Reading r completes with symbol s, or becomes `after[r, s]` (-1: nothing is left). Context c is
    followed by `symbol[f]` with `chance[f]`, for f in `begin[c]..begin[c + 1]`, and becomes
    `onward[c, s]`.
    """
    readings, contexts = within.shape
    fresh = np.empty_like(within)
    for _ in range(steps):
        for r in range(readings):
            for c in range(contexts):
                ends, goes_on = 0.0, 0.0
                for f in range(begin[c], begin[c + 1]):
                    s = symbol[f]
                    if completed[r, s]:
                        ends += chance[f]
                    elif after[r, s] >= 0:
                        goes_on += chance[f] * within[after[r, s], onward[c, s]]
                total[r, c] += within[r, c]
                fresh[r, c] = ends + goes_on
        within[:] = fresh
