"""What a forecast has learned, in words: symbols, ways of the automaton, the curve, the tables."""

from __future__ import annotations

from collections.abc import Iterator

from augury.evaluation.stages.forecast import ForecastStage, limits_named
from augury.forecast.machine import ENDLESS, Reading, Token
from augury.forecast.model import Context
from augury.forecast.values import Moment, SymbolValues
from augury.planning.forecast_plan import ForecastPlan

# Numbers of events of the curve, as far as the horizon goes.
CURVE = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)
MOST_SYMBOLS, MOST_PLACES = 12, 12
# A partial match, and the last symbols where it has just come about.
Place = tuple[Token, Context]


def explain_learned(stage: ForecastStage) -> str:
    """Return what a forecast that learns from a history knows before any event."""
    if stage.history is None or not stage.history.table.num_rows:
        return ""
    taught = stage._known.taught
    if not isinstance(taught.values, SymbolValues):
        return ""
    with limits_named(stage.plan):
        return "\n".join(_lines(stage, taught.values)) + "\n"


def _lines(stage: ForecastStage, values: SymbolValues) -> Iterator[str]:
    plan, model = stage.plan, values.model
    chances = sorted(model.chances((), None).items(), key=lambda item: -item[1])
    shown = [f"{_symbol(plan, s)} {p:.3g}" for s, p in chances[:MOST_SYMBOLS]]
    more = f", and {len(chances) - len(shown)} more" if len(chances) > len(shown) else ""
    yield f"  learned     {model.events:g} events: {', '.join(shown)}{more}"
    gap = model.mean_gap(None) if plan.setting.needs_gaps else None
    if gap is not None:
        yield f"  gap         {gap:g} on the average between neighbours of a partition"
    places = _places(values, [s for s, _ in chances], plan)
    for token, context in places:
        yield f"  from {_place(plan, token):<12}{', '.join(_ways(plan, values, token, context))}"
    setting = plan.setting
    if setting.horizon.in_time or setting.needs_shares or setting.waits_in_time:
        return
    length = plan.setting.horizon.length
    marks = [n for n in CURVE if n < length] + [length]
    yield f"  within      {''.join(f'{n:>8,}' for n in marks)}  events"
    span = (plan.setting.window or ENDLESS + 1) - 1 if plan.setting.counts_events else ENDLESS
    for token, context in places:
        reading: Reading = frozenset([token])
        if plan.setting.by_time:
            reading = values.machine.thinned([token, values.machine.empty])
        table = values._table(Moment(0, 0, None), (reading, context), length, span)
        yield f"    {_place(plan, token):<10}{''.join(f'{table[n]:8.4f}' for n in marks)}"
    states = sum(len(chain.states) for chain in values.chains.values())
    size = sum(chain.within.nbytes for chain in values.chains.values())
    yield f"  tables      {states:,} states so far, {size:,} bytes"


def _places(values: SymbolValues, symbols: list[int], plan: ForecastPlan) -> list[Place]:
    """Return what a partial match may be, and the symbols that led there; the start first."""
    machine, order = values.machine, values.model.order
    found: list[Place] = [(machine.empty, ())]
    seen, at = {machine.empty[:4]}, 0
    while at < len(found) and len(found) < MOST_PLACES:
        before, path = found[at]
        for symbol in symbols:
            _, after = machine.read(frozenset([before]), symbol, ENDLESS)
            for token in sorted(after):
                fresh = token._replace(last=-1, left=ENDLESS)
                if token.state >= 0 and fresh[:4] not in seen:
                    seen.add(fresh[:4])
                    found.append((fresh, (*path, symbol)))
        at += 1
    shortened = values.model.shortened
    ends = [(token, shortened(path[-order:] if order else ())) for token, path in found]
    return ends if plan.setting.by_time else ends[1:] or ends


def _ways(
    plan: ForecastPlan, values: SymbolValues, token: Token, context: Context
) -> Iterator[str]:
    """Yield where the next event leads, and how likely."""
    led: dict[str, float] = {}
    for symbol, chance in values.model.chances(context, None).items():
        completed, after = values.machine.read(frozenset([token]), symbol, ENDLESS)
        taken = [t for t in after if t.bound != token.bound]
        if completed:
            where = "complete"
        elif taken:
            where = _place(plan, taken[0])
        else:
            where = "stays" if after else "out"
        led[where] = led.get(where, 0.0) + chance
    yield from (f"{where} {chance:.3g}" for where, chance in led.items())


def _symbol(plan: ForecastPlan, symbol: int) -> str:
    names = [c.name for c in plan.forecast.query.components if symbol >> c.index & 1]
    return "+".join(names) or "none"


def _place(plan: ForecastPlan, token: Token) -> str:
    names = [c.name for c in plan.forecast.query.components if token.bound >> c.index & 1]
    return " ".join(names) or "nothing"
