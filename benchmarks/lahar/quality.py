"""Does carrying probabilities find more than deciding first? Lahar's figures 9 to 11, simulated.

Twenty people walk through a wing for an hour, read at 60 %; the wing is fixed beforehand from what
the paper says of its building (`augury.demo.building.people`), and so are the seeds. The question
is the paper's: outside the coffee room for two steps, then inside. Real time: filtered marginals
against the most likely place of each second (MLE); `realtime.py` has more ways to answer. Archived:
smoothed beliefs with their correlation, and without, against the most likely path (MAP). As in the
paper, a second is detected if its probability is above the threshold, and counts if the truth has a
visit of that person within the tolerance. Figures are means over the hours, differences have a
paired bootstrap interval over them. Everything is asked twice: of the model that is right, and of
one whose rates are counted from another hour. Calibration: of all answers near p, a share p must be
true, to the second.

What is named `... lately` is asked OVER 30: did a visit end in the last 30 seconds? That is what a
tolerance of 30 makes of a detection, so the length was not chosen. It is scored in the same way;
what calibration holds it to is a visit that ended in these seconds, to the second.
Run: python benchmarks/lahar/quality.py [people 20] [seconds 3600] [hours 10] [of those learned 10]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from augury import Session
from augury.demo.building.coffee import coffee, script
from augury.demo.building.people import Building, Place, Rows
from augury.inference.learning import even_model, learn, sensors_of
from augury.inference.model import Model, build
from augury.inference.readings import Readings, arrange
from augury.inference.smoothing import Belief, decoded, filtered, smoothed
from augury.matching.marginal import BEGINNING, Beliefs, Marginaliser
from augury.matching.waiting_line import WaitingLine
from augury.planning.chain_plan import ChainPlan, plan_chain
from lahar.lines import draw
from matching.harness import machine, record, sized

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)
TOLERANCES = (5, 15, 30, 60)
TRAINING, HOURS = 100, tuple(range(101, 111))
ARCHIVED = ("smoothed", "alone", "map")
APPROACHES = ("filtered", "mle", "smoothed", "alone", "map")
OVER = 30
PAIRS = (("filtered", "mle"), ("smoothed", "map"), ("smoothed", "alone"))
# Those who decide first are also compared as they were asked without OVER, lest it weaken them.
LATELY_PAIRS = (
    ("smoothed lately", "map lately"),
    ("smoothed lately", "alone lately"),
    ("smoothed lately", "map"),
    ("smoothed lately", "smoothed"),
    ("map lately", "map"),
)
RESAMPLED = 10_000
# Which components are inside: of a visit, and of a stay of three seconds.
VISIT, STAY = (False, False, True), (True, True, True)
Chances = dict[str, np.ndarray]
Answers = dict[str, Chances]
Told = Callable[[np.ndarray, tuple[bool, ...]], Beliefs]


@dataclass(frozen=True)
class Asked:
    """A question as the language makes a line of it, of a set of places.

    `over` is how many seconds a match counts; 0 is that of its end alone.
    """

    line: WaitingLine
    wants: tuple[bool, bool, bool]
    places: frozenset[str]
    over: int = 0

    def truth(self, path: list[Place]) -> np.ndarray:
        """Return, second by second, whether the answer is yes."""
        inside = np.array([place in self.places for place, _ in path])
        found = np.zeros(len(path), np.bool_)
        a, b, c = (inside == want for want in self.wants)
        found[2:] = a[:-2] & b[1:-1] & c[2:]
        return found


@dataclass(frozen=True)
class Hour:
    """Where everybody was, whether the question holds, and what each approach answers."""

    paths: Mapping[str, list[Place]]
    real: Chances
    found: Answers


# Models ------------------------------------------------------------------------------------------


def model_of(name: str, building: Building, size: tuple[int, int]) -> Model:
    """Return the right model, or the learned one."""
    return right_model(building) if name == "right" else learned_model(building, *size)


def right_model(building: Building) -> Model:
    """Return the model of the building's own tables; everybody begins in an office."""
    tables, names = building.tables(), ("place", "heading")

    def state(row: dict[str, Any], end: str = "") -> tuple[Any, ...]:
        return tuple(row[name + end] for name in names)

    return build(
        "building",
        building.states,
        {state: 1.0 / len(building.offices) for state in building.offices},
        {(state(row, "_from"), state(row, "_to")): row["p"] for row in tables["steps"]},
        {(state(row), row["reader"], None): row["p"] for row in tables["heard"]},
    )


def learned_model(building: Building, people: int, seconds: int) -> Model:
    """Return the model that a labelled hour gives, with one more count for each state.

    Rates are counted; which places adjoin is known from the plan.
    """
    paths, reads = building.paths(people, seconds, TRAINING)
    rows = [((read["person"],), read["t"], read["reader"], None) for read in reads]
    k = len(building.states)
    model = even_model("learned", building.states, sensors_of(rows, k))
    heard = [person for person in paths if any(key == (person,) for key, *_ in rows)]
    readings = steps_of(model, rows, heard, seconds)
    number = {state: n for n, state in enumerate(building.states)}
    labels = [number[place] for (person,) in readings.keys for place in paths[person]]
    found = learn(model, readings, np.array(labels), pseudo=1.0 / k)
    moves = np.where(right_model(building).transition > 0.0, found.transition, 0.0)
    return replace(found, transition=moves / moves.sum(axis=1, keepdims=True))


def steps_of(model: Model, rows: Any, people: list[str], seconds: int) -> Readings:
    """Return the readings of every second, the silent ones at both ends too."""
    since = {(person,): -1 for person in people}
    return arrange(model, rows, 1, until=seconds - 1, since=since)


# Questions ---------------------------------------------------------------------------------------


def questions(building: Building) -> dict[str, Asked]:
    """Return the lines that the language makes of the visit, and of the stay of figure 11."""
    visit = coffee("at")
    stay = visit.replace("NOT IN", "IN").replace("coffee_at", "stay_at")
    lately = visit.replace("BY TIME", f"BY TIME OVER {OVER}").replace("coffee_at", "lately_at")
    ag = Session(engine="local")
    ag.sql(f"{script()} CREATE STREAM at AS FILTER reads USING building;{visit}{stay}{lately}")
    names = ("coffee", "stay", "lately")
    plans = {n: plan_chain(ag._declared.queries[f"{n}_at"][0], ag._declared.catalog) for n in names}
    assert all(isinstance(plan, ChainPlan) for plan in plans.values())
    places, back = frozenset(building.coffee_room), plans["lately"].over
    assert back is not None
    return {
        "coffee": Asked(plans["coffee"].line, VISIT, places),
        "stay": Asked(plans["stay"].line, STAY, places),
        "lately": Asked(plans["lately"].line, VISIT, places, back.steps),
    }


def hour(
    building: Building,
    model: Model,
    questions: Mapping[str, Asked],
    size: tuple[int, int],
    seed: int,
) -> dict[str, Hour]:
    """Return one hour of so many people and seconds, and all that is answered to each question."""
    paths, reads = building.paths(*size, seed)
    found: dict[str, Answers] = {name: {own: {} for own in APPROACHES} for name in questions}
    for person, path in paths.items():
        beliefs = believed(model, reads, person, len(path)) if _is_heard(reads, person) else {}
        for name in APPROACHES:
            silent = dict.fromkeys(questions, np.zeros(len(path)))
            told = chances(questions, model, beliefs[name]) if beliefs else silent
            for asked, own in told.items():
                found[asked][name][person] = own
    return {
        name: Hour(paths, {who: ask.truth(path) for who, path in paths.items()}, found[name])
        for name, ask in questions.items()
    }


def with_lately(own: Mapping[str, Hour]) -> Hour:
    """Return the hour of the visits, with what is answered OVER the last seconds by its name."""
    lately = {f"{name} lately": found for name, found in own["lately"].found.items()}
    return replace(own["coffee"], found={**own["coffee"].found, **lately})


def _is_heard(reads: Rows, person: str) -> bool:
    return any(read["person"] == person for read in reads)


def believed(model: Model, reads: Rows, person: str, seconds: int) -> dict[str, Belief]:
    """Return what each approach makes of one person's readings."""
    rows = [((person,), r["t"], r["reader"], None) for r in reads if r["person"] == person]
    readings = steps_of(model, rows, [person], seconds)
    now, then = filtered(model, readings), smoothed(model, readings)
    return {
        "filtered": now,
        "mle": most_likely_places(model, now),
        "smoothed": then,
        "alone": replace(then, tables=()),
        "map": decoded(model, readings),
    }


def most_likely_places(model: Model, belief: Belief) -> Belief:
    """Return the most likely place of each second: headings are no part of what is compared."""
    names = [state[0] for state in model.states if state is not None]
    places = list(dict.fromkeys(names))
    of = np.array([[name == place for place in places] for name in names], np.float64)
    first = np.array([names.index(place) for place in places])
    best = first[(belief.marginal @ of).argmax(axis=1)]
    marginal = np.zeros_like(belief.marginal)
    marginal[np.arange(len(best)), best] = 1.0
    return replace(belief, marginal=marginal)


def chances(questions: Mapping[str, Asked], model: Model, belief: Belief) -> Chances:
    """Carry each line over the beliefs about one person, with their correlation if they have it."""
    told: Told = _linked(belief) if belief.tables else _apart(belief)
    found = {}
    for name, asked in questions.items():
        inside = np.array([s is not None and s[0] in asked.places for s in model.states])
        rows = told(inside, asked.wants)
        operator = Marginaliser(asked.line, is_markovian=bool(belief.tables), over=asked.over)
        _, answers = operator.advance(operator.start(rows), rows, 2**61)
        found[name] = np.zeros(len(belief.marginal))
        found[name][answers.time] = answers.p
    return found


def meaning(is_inside: np.ndarray, wants: tuple[bool, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return what a place matches (the first component by where it is), and is accepted by."""
    holds = [(is_inside == want).astype(np.int64) for want in wants]
    return holds[0] + 6, sum(own << k for k, own in enumerate(holds))


def _apart(belief: Belief) -> Told:
    """Return how a question reads, by step, the chance of being inside and that of being not."""

    def rows(inside: np.ndarray, wants: tuple[bool, ...]) -> Beliefs:
        n, p = len(belief.marginal), belief.marginal @ inside
        none = np.zeros(2 * n, np.int64)
        matches, accepted = meaning(np.repeat([True, False], n), wants)
        step, time = np.tile(np.arange(n), 2), np.tile(belief.readings.time, 2)
        both = np.concatenate([p, 1.0 - p])
        return Beliefs(none, time, step, none, none, both, matches, accepted)

    return rows


def _linked(belief: Belief) -> Told:
    """Return how a question reads the transitions of a person, step by step."""
    (table,) = belief.tables
    start = belief.marginal[0]
    j = np.flatnonzero(start)
    t, i, k, chance = _transitions(table)
    origin = np.concatenate([0 * j + BEGINNING, i + 2])
    value = np.concatenate([j, k])
    p = np.concatenate([start[j], chance])
    time = belief.readings.time[np.concatenate([0 * j, t + 1])]
    none, number = np.zeros(len(p), np.int64), np.arange(len(p))

    def rows(inside: np.ndarray, wants: tuple[bool, ...]) -> Beliefs:
        matches, accepted = meaning(inside[value], wants)
        return Beliefs(none, time, number, origin, value + 2, p, matches, accepted)

    return rows


def _transitions(table: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return time, origin, target and probability of every transition."""
    i, k = np.nonzero(table.any(axis=0))
    kept = table[:, i, k]
    t, edge = np.nonzero(kept)
    return t, i[edge], k[edge], kept[t, edge]


# Scores ------------------------------------------------------------------------------------------


def scores(own: Hour, name: str, threshold: float, tolerance: int) -> dict[str, float]:
    """Return precision, recall and F1 of the seconds above the threshold."""
    hits = detected = recalled = real = 0
    for person, facts in own.real.items():
        there, told = np.flatnonzero(facts), np.flatnonzero(own.found[name][person] > threshold)
        near = np.abs(told[:, np.newaxis] - there[np.newaxis, :]) <= tolerance
        hits, recalled = hits + int(near.any(axis=1).sum()), recalled + int(near.any(axis=0).sum())
        detected, real = detected + len(told), real + len(there)
    precision = hits / detected if detected else 0.0
    recall = recalled / real if real else 0.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def mean_scores(hours: list[Hour], name: str, threshold: float, tolerance: int) -> Any:
    """Return the means over all hours."""
    own = [scores(each, name, threshold, tolerance) for each in hours]
    return {key: round(float(np.mean([each[key] for each in own])), 4) for key in own[0]}


def gains(
    hours: list[Hour], tolerance: int, pairs: tuple[tuple[str, str], ...] = PAIRS
) -> dict[str, dict[str, Any]]:
    """Return by how much F1 is better: by pair, at each threshold and over all of them."""
    found: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        f1 = np.array(
            [
                [[scores(own, name, t, tolerance)["f1"] for t in THRESHOLDS] for name in pair]
                for own in hours
            ]
        )
        more = f1[:, 0] - f1[:, 1]
        by = {str(t): _interval(more[:, k]) for k, t in enumerate(THRESHOLDS)}
        found[" over ".join(pair)] = by | {"mean": _interval(more.mean(axis=1))}
    return found


def _interval(more: np.ndarray) -> dict[str, float]:
    """Return the mean of a difference over hours, and its 95 % bootstrap interval."""
    rng = np.random.default_rng(1)
    drawn = more[rng.integers(len(more), size=(RESAMPLED, len(more)))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"mean": _4(more.mean()), "from": _4(low), "to": _4(high)}


def _4(number: Any) -> float:
    return round(float(number), 4)


def calibration(hours: list[Hour], name: str) -> dict[str, float]:
    """Return how far answers are from the truth, to the second, and their mean squared error."""
    over = OVER if name.endswith(" lately") else 1
    p = np.concatenate([own.found[name][who] for own in hours for who in own.paths])
    facts = [lasting(own.real[who], over) for own in hours for who in own.paths]
    real = np.concatenate(facts).astype(float)
    told = p >= 0.02
    return {
        "all": _off(p, real),
        "of_0.02_and_more": _off(p[told], real[told]),
        "brier_a_visit": _4(((p - real) ** 2).sum() / max(real.sum(), 1.0)),
        "mean_where_true": _4(p[real > 0].mean()) if real.any() else 0.0,
        "mean_where_false": round(float(p[real == 0].mean()), 6),
    }


def lasting(facts: np.ndarray, over: int) -> np.ndarray:
    """Return, second by second, whether something was true in the last `over` of them."""
    since = np.cumsum(np.concatenate([np.zeros(over, np.int64), facts]))
    return np.asarray(since[over:] > since[:-over])


def _off(p: np.ndarray, real: np.ndarray) -> float:
    if not len(p):
        return 0.0
    bins = np.minimum((p * 10).astype(int), 9)
    parts = [(bins == b) for b in range(10) if (bins == b).any()]
    weighted = sum(own.sum() * abs(p[own].mean() - real[own].mean()) for own in parts)
    return round(float(weighted / len(p)), 5)


def judged(hours: list[Hour]) -> dict[str, Any]:
    """Return everything that is told about one model."""
    names, pairs = tuple(hours[0].found), (*PAIRS, *LATELY_PAIRS)
    figures: dict[str, Any] = {
        "calibration": {name: calibration(hours, name) for name in names},
        "f1_gains": {f"within {d} s": gains(hours, d, pairs) for d in TOLERANCES},
    }
    for d in TOLERANCES:
        figures[f"within {d} s"] = {
            name: {str(t): mean_scores(hours, name, t, d) for t in THRESHOLDS} for name in names
        }
    return figures


def stays(hours: list[Hour]) -> dict[str, Any]:
    """Return what is told about figure 11's question: to the second, for it holds over a while."""
    return {
        "calibration": {name: calibration(hours, name) for name in APPROACHES},
        "f1_gains_to_the_second": gains(hours, 0),
    }


# Charts ------------------------------------------------------------------------------------------


def draw_archived(within: Mapping[str, Any]) -> None:
    """Draw figure 10; `realtime.py` draws figure 9."""
    for measure in ("precision", "recall", "f1"):
        lines = {
            name: [(t, within[name][str(t)][measure]) for t in THRESHOLDS] for name in ARCHIVED
        }
        draw(f"lahar_archived_{measure}", f"{measure}, archived, 30 s", "threshold", lines)
    draw_lately("archived", within, ARCHIVED, "map")


def draw_lately(scene: str, within: Mapping[str, Any], names: tuple[str, ...], rival: str) -> None:
    """Draw what OVER makes of F1, beside the rival as it is asked without."""
    shown = {name: f"{name} lately" for name in names} | {f"{rival}, not OVER": rival}
    lines = {
        label: [(t, within[name][str(t)]["f1"]) for t in THRESHOLDS]
        for label, name in shown.items()
    }
    draw(f"lahar_over_{scene}_f1", f"F1, {scene}, OVER {OVER}, 30 s", "threshold", lines)


def draw_stay(building: Building, model: Model, asked: Asked, size: tuple[int, int]) -> None:
    """Draw figure 11 (a): in one office for three seconds? The first stay of a minute or more."""
    paths, reads = building.paths(*size, HOURS[0])
    person = next(iter(paths))
    room, start, stop = _stay(paths[person])
    ask = replace(asked, places=frozenset(p for p, _ in building.states if p[:-1] == room))
    own = believed(model, reads, person, len(paths[person]))
    span = range(max(start - 20, 0), min(stop + 20, start + 120, len(paths[person])))
    lines = {
        name: [(float(t), float(told[t])) for t in span]
        for name in ("smoothed", "alone", "map")
        if (told := chances({"stay": ask}, model, own[name])["stay"]) is not None
    }
    lines["truth"] = [
        (float(t), float(fact)) for t in span for fact in [ask.truth(paths[person])[t]]
    ]
    draw("lahar_stay", f"P(in {room} for three seconds)", "second", lines)


def _stay(path: list[Place]) -> tuple[str, int, int]:
    """Return the first office that is entered and kept for a minute or more, from when to when."""
    rooms = [place[:-1] if place.startswith("O") else "" for place, _ in path]
    ends = [t for t in range(1, len(rooms)) if rooms[t] != rooms[t - 1]] + [len(rooms)]
    stays = pairwise(ends)
    return next((rooms[a], a, b) for a, b in stays if rooms[a] and b - a >= 60)


def draw_person(own: Hour) -> None:
    """Draw ten minutes of the person with most visits: the probabilities, and the truth."""
    person = max(own.paths, key=lambda who: int(own.real[who].sum()))
    facts = own.real[person]
    first = max(int(np.flatnonzero(facts)[0]) - 60, 0)
    span = range(first, min(first + 600, len(facts)))
    lines = {
        name: [(float(t), float(own.found[name][person][t])) for t in span]
        for name in ("smoothed", "filtered", "map")
    }
    lines["truth"] = [(float(t), float(facts[t])) for t in span]
    draw("lahar_one_person", "P(into the coffee room) of one person", "second", lines)


def main() -> None:
    """Print and store the figures and charts."""
    people, seconds, n, n_learned = (
        int(a)
        for a in [
            *sys.argv[1:],
            *(sized(20, 3), sized(3600, 900), sized(10), sized(10))[len(sys.argv) - 1 :],
        ]
    )
    building, size = Building(), (people, seconds)
    asked = questions(building)
    models = {name: model_of(name, building, size) for name in ("right", "learned")}
    figures: dict[str, Any] = {
        "machine": machine(),
        "people": people,
        "seconds": seconds,
        "places": len({place for place, _ in building.states}),
    }
    for name, model in models.items():
        seeds = HOURS[: n if name == "right" else n_learned]
        both = [hour(building, model, asked, size, seed) for seed in seeds]
        hours = [with_lately(own) for own in both]
        visits = int(sum(facts.sum() for own in hours for facts in own.real.values()))
        figures[f"the {name} model"] = {"seeds": seeds, "visits": visits, **judged(hours)}
        if name == "right":
            figures["in the coffee room for three seconds"] = stays([own["stay"] for own in both])
            draw_archived(figures["the right model"]["within 30 s"])
            draw_person(hours[0])
    record("lahar_quality", figures)
    draw_stay(building, models["right"], asked["stay"], size)


if __name__ == "__main__":
    main()
