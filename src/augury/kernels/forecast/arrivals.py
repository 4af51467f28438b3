"""Tables of events, weighed by how many come in a time: Poisson arrivals, one row after the other.

`within[j]` is the chance to complete within j events, `sums[j]` the sum of i times that of the i-th
alone up to j. With m arrivals in the time left a match has completed with chance `within[m]`, so
that a row is a sum over m, from the likeliest number outwards until nothing more counts; its cost
goes with the root of how many are expected, and not with the table.

Oracle: `augury.forecast.arrivals`.
"""

from __future__ import annotations

import math

from augury.kernels.jit import kernel

# What is left of a sum that has come so far down counts no more.
TINY = 1e-19


@kernel
def weigh(which, mean, tables, in_time, forecast, waited):
    """Fill the forecast of each row, and the forecast times the mean wait, in events or gaps.

    `which` is the table of each row, `mean` how many arrivals are expected in its time, `tables`
    are (within, sums). A negative mean is a time without an end. `in_time` is 1 where waits are in
    time, and 0 where they are in events.
    """
    within, sums = tables
    last = within.shape[1] - 1
    for r in range(which.shape[0]):
        k, mu = which[r], mean[r]
        if mu < 0.0:
            forecast[r], waited[r] = within[k, last], sums[k, last]
            continue
        middle = int(mu)
        top = math.exp(middle * math.log(mu) - mu - math.lgamma(middle + 1.0)) if mu > 0 else 1.0
        total = late = mass = 0.0
        # In a time, the i-th event is waited for where one more comes.
        chance, m = top, middle
        while m >= 0 and chance > TINY:
            total += chance * within[k, min(m, last)]
            late += chance * sums[k, min(max(m - in_time, 0), last)]
            mass += chance
            if m == 0:
                break
            chance *= m / mu
            m -= 1
        chance, m = top, middle
        while mu > 0.0:
            m += 1
            chance *= mu / m
            if chance <= TINY:
                break
            total += chance * within[k, min(m, last)]
            late += chance * sums[k, min(m - in_time, last)]
            mass += chance
        # What logarithms of large numbers are off by, they are off by everywhere.
        forecast[r], waited[r] = total / mass, late / mass
