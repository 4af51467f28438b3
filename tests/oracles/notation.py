"""Short ways to write streams, components and expressions in tests of the oracle."""

from __future__ import annotations

from dataclasses import replace

from oracles.model import Comp, Event, Seq

A, B, C, D = (Comp(name, name.upper()) for name in "abcd")
X, Y = Comp("x", "X"), Comp("y", "Y")
ABD = Seq((A, B, D))


def stream(text, **attrs):
    """Read `a1 .6 b3 x2' .5`: type, time, mark for a twin, and the probability if below 1."""
    events = []
    for word in text.split():
        if word[0] == ".":
            events[-1] = replace(events[-1], p=float(word))
        else:
            events.append(Event(word, int(word[1:].strip("'")), word[0].upper(), attrs=attrs))
    return events


def shown(found):
    """Write each match as its components with event ids, in order of the names."""
    return {
        " ".join(f"{name}={','.join(map(str, ids))}" for name, ids in sorted(match)): confidence
        for match, confidence in found.items()
    }


def times(found):
    """Write each match as the times in its event ids."""
    return {
        tuple(sorted(int(i[1:]) for _, ids in match for i in ids)): confidence
        for match, confidence in found.items()
    }


def plus(name, minimum=1, maximum=None):
    return Comp(name, name.upper(), minimum, maximum)


def attr(name, attribute="v", *index):
    return ("attr", name, attribute, *index)


def lit(value):
    return ("lit", value)
