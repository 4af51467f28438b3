"""Rules: test the conjuncts over several components or items, as soon as they can be tested.

A rule can be tested once each component it reads is complete, or is read item by item and holds
one. An item just taken is tested alone where all before it were tested already.
"""

from __future__ import annotations

from numba import carray

from augury.kernels.jit import part
from augury.kernels.memory import array_at, get, put, put_flag, put_real
from augury.kernels.search import opcodes as op
from augury.kernels.search.aggregates import add_double, add_long
from augury.kernels.search.layout import (
    COMPLETE,
    COUNT,
    EACH_COMPONENT,
    EACH_FROM,
    EACH_LAG,
    EACH_LEADER,
    EACH_ROWS,
    END_COUNT,
    END_RULES,
    FOREVER,
    HELD,
    HELD_FROM,
    INDEX,
    IS_FLOAT,
    ITEM_COMPONENT,
    NULLS,
    RULE_NEEDS,
    RULE_READS,
    RULE_READS_WHOLE,
    RULE_ROWS,
    RULES,
    SLOT_COLUMN,
    SLOT_COMPONENT,
    SLOT_KIND,
    SLOT_NUMBER,
    SLOT_ROWS,
    VALUES,
    entry,
    frame_at,
    of,
    real_of,
)
from augury.kernels.search.predicates import Predicates, evaluate


@part
def hold(s, component, event):
    """Give an event to a component."""
    put(
        s.m,
        get(s.m, HELD) + entry(s, HELD_FROM, component) + get(s.m, get(s.m, COUNT) + component),
        event,
    )
    put(s.m, get(s.m, COUNT) + component, get(s.m, get(s.m, COUNT) + component) + 1)


@part
def load_item(s, j, component, column, place):
    """Put an attribute of the item at `place` (from 0) into a slot; an item not there is NULL."""
    if place < 0 or place >= get(s.m, get(s.m, COUNT) + component):
        put(s.slots, j, 0)
        put_flag(s.slot_nulls, j, True)
        return
    event = get(s.m, get(s.m, HELD) + entry(s, HELD_FROM, component) + place)
    put(s.slots, j, of(s, event, VALUES + column))
    put_flag(s.slot_nulls, j, (of(s, event, NULLS) >> column) & 1)


@part
def load_aggregate(s, j, component, column, kind, held):
    """Put SUM, AVG, MIN or MAX over the first `held` items of a component into a slot."""
    real = entry(s, IS_FLOAT, column)
    n, whole, total, fine = 0, 0, 0.0, True
    for place in range(held):
        event = get(s.m, get(s.m, HELD) + entry(s, HELD_FROM, component) + place)
        if (of(s, event, NULLS) >> column) & 1:
            continue
        word = of(s, event, VALUES + column)
        if real or kind == op.AVG:
            value = real_of(s, event, VALUES + column) if real else float(word)
            total = add_double(kind, n, total, value)
        else:
            whole, fits = add_long(kind, n, whole, word)
            fine = fine and fits
        n += 1
    if kind == op.AVG and n > 0:
        total /= n
    if real or kind == op.AVG:
        put_real(s.slots, j, total)
    else:
        put(s.slots, j, whole)
    put_flag(s.slot_nulls, j, n == 0 or not fine)


@part
def load_slots(s, rule):
    """Fill the slots of a rule for the items that `index` points at."""
    first = entry(s, SLOT_ROWS, rule)
    for slot in range(first, entry(s, SLOT_ROWS, rule + 1)):
        component, kind = entry(s, SLOT_COMPONENT, slot), entry(s, SLOT_KIND, slot)
        column = entry(s, SLOT_COLUMN, slot)
        held = get(s.m, get(s.m, COUNT) + component)
        if kind >= op.RUNNING:
            kind -= op.RUNNING
            held = min(held, get(s.m, get(s.m, INDEX) + component) + 1)
        if kind == op.COUNT:
            put(s.slots, slot - first, held)
            put_flag(s.slot_nulls, slot - first, False)
        elif kind >= op.SUM:
            load_aggregate(s, slot - first, component, column, kind, held)
        else:
            load_item(s, slot - first, component, column, place_of(s, slot, component, kind))


@part
def place_of(s, slot, component, kind):
    """Return which item (from 0) a slot reads."""
    if kind == op.NUMBER:
        return entry(s, SLOT_NUMBER, slot) - 1
    if kind == op.LAST:
        return get(s.m, get(s.m, COUNT) + component) - 1
    return get(s.m, get(s.m, INDEX) + component) - (1 if kind == op.PREVIOUS else 0)


@part
def point_at_first(s, rule, fixed):
    """Point at the first items a rule ranges over (of `fixed`, the newest); False if none."""
    reads, needs, c = entry(s, RULE_READS, rule), entry(s, RULE_NEEDS, rule), 0
    while reads >> c != 0:
        if (needs >> c) & 1 and get(s.m, get(s.m, COUNT) + c) == 0:
            return False
        put(s.m, get(s.m, INDEX) + c, 0)
        c += 1
    for i in range(entry(s, EACH_ROWS, rule), entry(s, EACH_ROWS, rule + 1)):
        if entry(s, EACH_LEADER, i) != i - entry(s, EACH_ROWS, rule):
            continue
        c, least = entry(s, EACH_COMPONENT, i), entry(s, EACH_FROM, i) - 1
        # Where a default stands in for an absent repetition, the rule is applied once.
        if get(s.m, get(s.m, COUNT) + c) == 0 and not (needs >> c) & 1:
            continue
        held, newest = rounds_of(s, rule, i), newest_round(s, rule, i, fixed)
        if held <= least or newest >= held or (0 <= newest < least):
            return False
        point_at(s, rule, i, newest if newest >= 0 else least)
    return True


@part
def point_at_next(s, rule, fixed):
    """Point at the next combination of items, leaving that of `fixed`; False if there is none."""
    for i in range(entry(s, EACH_ROWS, rule), entry(s, EACH_ROWS, rule + 1)):
        if entry(s, EACH_LEADER, i) != i - entry(s, EACH_ROWS, rule):
            continue
        if newest_round(s, rule, i, fixed) >= 0:
            continue
        c = entry(s, EACH_COMPONENT, i)
        point_at(s, rule, i, get(s.m, get(s.m, INDEX) + c) + 1)
        if get(s.m, get(s.m, INDEX) + c) < rounds_of(s, rule, i):
            return True
        point_at(s, rule, i, entry(s, EACH_FROM, i) - 1)
    return False


@part
def rounds_of(s, rule, leader):
    """Return how many items, or rounds of a group, can be read of what goes with a row."""
    first, held = entry(s, EACH_ROWS, rule), FOREVER
    for i in range(first, entry(s, EACH_ROWS, rule + 1)):
        if entry(s, EACH_LEADER, i) == leader - first:
            own = get(s.m, get(s.m, COUNT) + entry(s, EACH_COMPONENT, i)) + entry(s, EACH_LAG, i)
            held = min(held, own)
    return held


@part
def newest_round(s, rule, leader, fixed):
    """Return which round (from 0) the newest item of `fixed` is read in, or -1 if it is not."""
    first = entry(s, EACH_ROWS, rule)
    for i in range(first, entry(s, EACH_ROWS, rule + 1)):
        if entry(s, EACH_LEADER, i) == leader - first and entry(s, EACH_COMPONENT, i) == fixed:
            return get(s.m, get(s.m, COUNT) + fixed) - 1 + entry(s, EACH_LAG, i)
    return -1


@part
def point_at(s, rule, leader, place):
    """Point at an item of a repetition, or at those of one round of a group."""
    first = entry(s, EACH_ROWS, rule)
    for i in range(first, entry(s, EACH_ROWS, rule + 1)):
        if entry(s, EACH_LEADER, i) == leader - first:
            put(s.m, get(s.m, INDEX) + entry(s, EACH_COMPONENT, i), place)


@part
def is_true(s, rule):
    """Run the program of a rule over the slots."""
    code = carray(array_at(s.code, 0), 1)
    words = carray(array_at(s.words, 0), op.STACK_DEPTH)
    nulls = carray(array_at(s.nulls, False), op.STACK_DEPTH)
    slots = carray(array_at(s.slots, 0), 1)
    slot_nulls = carray(array_at(s.slot_nulls, False), 1)
    return evaluate(Predicates(code, words, nulls), rule, slots, slot_nulls) == 1


@part
def rule_holds(s, rule, fixed):
    """Whether a rule holds for all items it ranges over (of `fixed`, the newest), or is idle."""
    if not point_at_first(s, rule, fixed):
        return True
    while True:
        load_slots(s, rule)
        if not is_true(s, rule):
            return False
        if not point_at_next(s, rule, fixed):
            return True


@part
def rules_hold(s, first, stop, rules):
    """Whether the rules in rows `first` to `stop` of a table hold."""
    for r in range(first, stop):
        if not rule_holds(s, entry(s, rules, r), -1):
            return False
    return True


@part
def is_testable(s, rule, complete, component, fewer):
    """Whether a rule can be tested: its components are complete, or it reads them item by item.

    `fewer` items of `component` are left out: 1 asks how it was before the newest was taken.
    """
    if entry(s, RULE_READS_WHOLE, rule) & ~complete != 0:
        return False
    waiting, c = entry(s, RULE_READS, rule) & ~complete, 0
    while waiting >> c != 0:
        if (waiting >> c) & 1:
            if get(s.m, get(s.m, COUNT) + c) - (fewer if c == component else 0) <= 0:
                return False
        c += 1
    return True


@part
def newest_is_consistent(s, depth):
    """Whether every rule that the newest item makes testable, or is read by, holds."""
    component = get(s.m, frame_at(s, depth, ITEM_COMPONENT))
    complete, before = (
        get(s.m, frame_at(s, depth, COMPLETE)),
        get(s.m, frame_at(s, depth - 1, COMPLETE)),
    )
    for r in range(entry(s, RULE_ROWS, component), entry(s, RULE_ROWS, component + 1)):
        rule = entry(s, RULES, r)
        if not is_testable(s, rule, complete, component, 0):
            continue
        if not is_testable(s, rule, before, component, 1):
            if not rule_holds(s, rule, -1):
                return False
        elif (entry(s, RULE_READS, rule) >> component) & 1:
            if not rule_holds(s, rule, component):
                return False
    return True


@part
def end_rules_hold(s, depth):
    """Whether the rules hold that had to wait for the end of the match."""
    complete = get(s.m, frame_at(s, depth, COMPLETE))
    for r in range(get(s.m, END_COUNT)):
        rule = entry(s, END_RULES, r)
        if not is_testable(s, rule, complete, -1, 0) and not rule_holds(s, rule, -1):
            return False
    return True
