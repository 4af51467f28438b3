"""Events of many partitions in one sequence, linked to the one before them in their partition.

Events are numbered as they come; `before[n]` is the event of the same partition before event n, and
`last[p]` the newest event of partition p. Following the links gives one partition without touching
the others, so a step costs what is in the partitions that it touches. Both hold numbers that count
all events ever, so that letting old ones go changes nothing; a number below the oldest live one is
as good as none.

Shapes: T new events, P partitions, L live events.
"""

from __future__ import annotations

from augury.kernels.jit import kernel


@kernel
def link(partition, first, last, before):
    """Link T new events, numbered from `first`, into `before` (T), and make them the last ones."""
    for k in range(partition.shape[0]):
        before[k] = last[partition[k]]
        last[partition[k]] = first + k


@kernel
def gather_linked(touched, last, before, oldest, places, numbers):
    """List the live events of the partitions `touched`, each partition in the order of time.

    `places` gets where an event stands among the live ones, `numbers` the number of its partition
    among those touched.
    """
    end = 0
    for k in range(touched.shape[0]):
        begin, number = end, last[touched[k]]
        while number >= oldest:
            places[end] = number - oldest
            numbers[end] = k
            end += 1
            number = before[number - oldest]
        low, high = begin, end - 1
        while low < high:
            places[low], places[high] = places[high], places[low]
            low += 1
            high -= 1
