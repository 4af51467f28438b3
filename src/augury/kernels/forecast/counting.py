"""What followed what, of many events: runs of symbols counted in one pass.

Oracle: `augury.forecast.model.Model.learn`, event by event.
"""

from __future__ import annotations

from augury.kernels.jit import kernel


@kernel
def count_runs(code, number_of, symbols, runs, counts, first):
    """Count the runs of one symbol, of two and so on, that end with each event.

    Event i has the symbol `number_of[code[i]]`, below `symbols`. A run is a number of as many
    digits as it has symbols. `counts[k]` and `first[k]` are of runs of k + 1 symbols: how many, and
    where one is met first. `runs` has room for one number of each length.
    """
    longest = runs.shape[0]
    for i in range(code.shape[0]):
        symbol = number_of[code[i]]
        for k in range(min(longest - 1, i), 0, -1):
            runs[k] = runs[k - 1] * symbols + symbol
        runs[0] = symbol
        for k in range(min(longest, i + 1)):
            if counts[k, runs[k]] == 0:
                first[k, runs[k]] = i
            counts[k, runs[k]] += 1
