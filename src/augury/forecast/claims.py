"""What every partial match claims in every context, worked out at once when a history has taught.

A standing forecast would otherwise stop at each pair of a token and a context that it meets for the
first time; of a thousand forecasts, some always do. The chain is followed back from the horizon
over all readings and contexts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from augury.forecast.machine import ENDLESS, Reading
from augury.forecast.model import Context, Model
from augury.forecast.tables import Numbers, PartialTables
from augury.kernels.forecast.claims import claim_within
from augury.records import Flags, Reals, Words

# Contexts that could be, of which it is noted which there are.
MOST_CONTEXTS = 2**18


@dataclass(frozen=True)
class Claims:
    """The forecast of each token in each context, by number, and the mean wait until it."""

    forecast: Reals
    expected: Reals


def all_claims(tables: PartialTables) -> Claims | None:
    """Work out all that tokens and contexts become, and claim; None where that is too much."""
    setting, model = tables.values.setting, tables.values.model
    masks = sorted(model.total.after.get((), {}))
    too_many = len(masks) ** model.order > MOST_CONTEXTS
    if setting.horizon.in_time or setting.machine.guards or not masks or too_many:
        return None
    for context in model.total.after:
        tables.contexts.of(context)
    symbols = np.array([tables.symbols.of((mask,)) for mask in masks], np.int64)
    _know_ways(tables, symbols)
    readings, completed, after = _readings(tables, masks)
    if len(readings) * len(tables.contexts) > setting.state_limit:
        return None
    onward = _onward(tables.contexts.things, masks, model.order)
    tables.context_onward[np.arange(len(onward))[:, None], symbols] = onward
    begin, symbol, chance = _chances(tables.contexts.things, masks, model)
    within = np.zeros((len(readings), len(tables.contexts)))
    total, steps = np.zeros_like(within), setting.horizon.length
    claim_within(steps, completed, after, begin, symbol, chance, onward, within, total)
    alone = [readings.of(frozenset([token])) for token in tables.tokens.things]
    forecast, mean = within[alone], steps * within[alone] - total[alone]
    with np.errstate(invalid="ignore", divide="ignore"):
        return Claims(np.minimum(forecast, 1.0), mean / forecast)


def _know_ways(tables: PartialTables, symbols: Words) -> None:
    """Work out what tokens become, whatever comes."""
    done = 0
    while done < len(tables.tokens):
        tables.grow()
        for symbol in symbols.tolist():
            tables.know(done, symbol)
        done += 1
    tables.grow()


def _readings(tables: PartialTables, masks: Sequence[int]) -> tuple[Numbers[Reading], Flags, Words]:
    """Return what lives of one token after some events, and what that becomes."""
    machine = tables.values.machine
    readings = Numbers[Reading](*(frozenset([token]) for token in tables.tokens.things))
    completed, after, done = list[list[bool]](), list[list[int]](), 0
    while done < len(readings):
        told = [machine.read(readings.things[done], mask, ENDLESS) for mask in masks]
        completed.append([ended for ended, _ in told])
        after.append([readings.of(rest) if rest else -1 for _, rest in told])
        done += 1
    return readings, np.array(completed), np.array(after, np.int64)


def _onward(contexts: Sequence[Context], masks: Sequence[int], order: int) -> Words:
    """Return what each context becomes: of the last symbols, so many as anything followed."""
    size, digit = len(masks), {mask: k for k, mask in enumerate(masks)}
    length = np.array([len(context) for context in contexts])
    number = np.zeros(len(contexts), np.int64)
    known = [np.full(size**k, -1, np.int64) for k in range(order + 1)]
    for k, context in enumerate(contexts):
        for mask in context:
            number[k] = number[k] * size + digit[mask]
        known[len(context)][number[k]] = k
    longer = number[:, None] * size + np.arange(size)
    found = np.full(longer.shape, known[0][0])
    for k in range(1, order + 1):
        own = known[k][longer % size**k]
        there = (own >= 0) & (length[:, None] + 1 >= k)
        found[there] = own[there]
    return found


def _chances(
    contexts: Sequence[Context], masks: Sequence[int], model: Model
) -> tuple[Words, Words, Reals]:
    """Return where what follows each context begins, the symbols, and their chances."""
    digit = {mask: k for k, mask in enumerate(masks)}
    told = [model.chances(context, None) for context in contexts]
    begin = np.concatenate([[0], np.cumsum([len(own) for own in told])]).astype(np.int64)
    symbol = np.array([digit[mask] for own in told for mask in own], np.int64)
    return begin, symbol, np.array([chance for own in told for chance in own.values()])
