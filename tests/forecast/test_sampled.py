"""APPROXIMATE samples futures of the history: within its bound of what enumeration says."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from augury.evaluation.learning import forecast_sampler
from augury.evaluation.stages.forecast import ForecastStage
from augury.evaluation.stages.sampled_forecast import SampledStage, forecast_stage_of
from augury.forecast.draws import Come, Drawer
from augury.planning.forecast_plan import plan_forecast, sampled
from forecast.random_cases import CONSTRUCTS, STRATEGIES, Maker, rows_of
from forecast.staging import Row, batch, rows_for
from forecast.test_against_futures import part_of
from forecast.test_stage import in_steps, told
from matching.as_text import query_text
from oracles.drawn_futures import drawn, played
from oracles.forecasts import Ask
from oracles.model import And, Comp, Event, Not, Or, Query, Rounds, Seq

# Off by more with a chance of one in a thousand million.
ERROR, SURELY = 0.05, "APPROXIMATE (0.05, 0.000000001)"
MANY = max(6, settings().max_examples // 8)
CASES = settings(phases=(Phase.explicit, Phase.generate), max_examples=MANY)
COLUMNS = "(id STRING, kind STRING, v LONG, k STRING, t LONG, p DOUBLE) ID id TIME t TYPE kind"
KINDS = ("A", "B", "C", "X")


def attr(name: str, *index: Any) -> tuple[Any, ...]:
    return ("attr", name, "v", *index)


A, B, C = (Comp(name, kind) for name, kind in zip("abc", "ABC", strict=True))
MORE = Comp("b", "B", 1, None)
RISING = (">", attr("b", "i"), attr("b", "i-1"))
ABOVE = (">", attr("b"), attr("a"))
NEGATED = (">", attr("n"), attr("a"))
N = Not(Comp("n", "X"))
PATTERNS: dict[str, Query] = {
    "sequence": Query(Seq((A, B)), where=(ABOVE,)),
    "three": Query(Seq((A, B, C)), where=(ABOVE, ("<", attr("c"), attr("b")))),
    "and": Query(And((A, B)), where=(ABOVE,)),
    "or": Query(Seq((A, Or((B, C)))), where=(ABOVE,)),
    "rising": Query(Seq((A, MORE, C)), where=(RISING,), within=("events", 5)),
    "sum": Query(
        Seq((A, MORE, C)), where=((">", ("agg", "SUM", "b", "v"), attr("a")),), within=("events", 5)
    ),
    "negated": Query(Seq((A, N, B)), where=(NEGATED,)),
    "negated at the end": Query(Seq((A, B, N)), where=(NEGATED,), within=("events", 4)),
    "negated at the start": Query(
        Seq((N, A, B)), where=((">", attr("n"), attr("b")),), within=("events", 4)
    ),
    "composite": Query(Seq((A, Not(Seq((Comp("m", "B"), Comp("n", "X")))), C)), where=()),
    "after where": Query(Seq((A, B)), after_where=(ABOVE,)),
    "group": Query(Seq((Rounds(Seq((A, B)), 2, 2, "g"), C)), within=("events", 6)),
    "until": Query(Seq((A, Comp("b", "B", 1, None, until=(">", attr("b"), ("lit", 2))), C))),
}
USING = {"any": "any", "next": "next", "strict": "strict"}


def events(draw: random.Random, name: str, count: int) -> tuple[Event, ...]:
    kinds = draw.choices("AABBCX", k=count)
    return tuple(
        Event(f"{name}{t}", t, kind, attrs={"v": draw.randrange(4), "k": "k"})
        for t, kind in enumerate(kinds, 1)
    )


def rows(own: Sequence[Event]) -> list[Row]:
    return [
        {"id": e.id, "kind": e.type, "t": e.ts, "p": e.p, "v": e.attrs["v"], "k": e.attrs["k"]}
        for e in own
    ]


def script(query: Query, clauses: str, how: str, *, uncertain: bool = False) -> str:
    p = " PROBABILITY p" if uncertain else ""
    return f"""
        CREATE STREAM s {COLUMNS}{p}; CREATE STREAM history {COLUMNS};
        {query_text(query)}
        CREATE FORECAST f ON q {clauses} LEARN FROM history {SURELY} RETURN FORECAST BY {how};
    """


def last_rows(text: str, history: Sequence[Event], stream: Sequence[Event]) -> list[Row]:
    ag = Session(engine="local")
    ag.sql(text)
    ag.bind("history", rows(history))
    ag.bind("s", rows(stream))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: list[Row] = ag.table("f").to_pylist()
    return [row for row in found if row["ts"] == stream[-1].ts]


def assert_close(row: Row, forecast: float, expected: float | None) -> None:
    if row["method"] == "exact":
        # Which symbols decide after all.
        assert row["forecast"] == pytest.approx(forecast, abs=1e-9)
        return
    assert row["method"] == "sampled"
    assert row["error_bound"] == ERROR
    assert row["forecast"] == pytest.approx(forecast, abs=ERROR)
    if expected is not None and forecast > 6 * ERROR:
        assert row["expected"] == pytest.approx(expected, rel=2 * ERROR / forecast)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("strategy", USING)
@pytest.mark.parametrize("pattern", PATTERNS)
@CASES
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_what_symbols_do_not_decide_is_sampled(pattern: str, strategy: str, seed: int) -> None:
    draw = random.Random(f"{pattern} {strategy} {seed}")
    # AFTER WHERE is of next-match selection alone.
    strategy = "next" if pattern == "after where" else strategy
    query = replace(PATTERNS[pattern], strategy=strategy)
    history, stream = events(draw, "h", 5), events(draw, "s", draw.randint(1, 5))
    length = draw.randint(1, 1 if pattern == "negated at the end" else 3)
    ask = Ask(query, length, KINDS, order=draw.choice((0, 0, 1)))
    clauses = f"WITHIN {length} EVENTS USING MARKOV {ask.order}"
    wanted = drawn(ask, history, stream)
    (row,) = last_rows(script(query, clauses, "TIME"), history, stream)
    assert wanted.whole is not None
    assert_close(row, *wanted.whole)
    found = {
        part_of(row): row for row in last_rows(script(query, clauses, "MATCH"), history, stream)
    }
    for part, (_, forecast, expected) in wanted.partial.items():
        if part in found:
            assert_close(found[part], forecast, expected)
        else:
            assert forecast < ERROR
    assert found.keys() <= wanted.partial.keys()


@pytest.mark.parametrize("strategy", USING)
@CASES
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_uncertain_pasts_are_drawn_with_their_futures(strategy: str, seed: int) -> None:
    draw = random.Random(f"uncertain {strategy} {seed}")
    query = replace(PATTERNS[draw.choice(("sequence", "negated", "rising"))], strategy=strategy)
    history = events(draw, "h", 5)
    stream = [replace(e, p=draw.choice((0.3, 0.6, 1.0))) for e in events(draw, "s", 4)]
    ask = Ask(query, draw.randint(1, 2), KINDS, order=draw.choice((0, 1)))
    clauses = f"WITHIN {ask.length} EVENTS USING MARKOV {ask.order}"
    wanted = drawn(ask, history, stream).whole
    (row,) = last_rows(script(query, clauses, "TIME", uncertain=True), history, stream)
    assert wanted is not None
    assert_close(row, *wanted)


# What is exact, too -------------------------------------------------------------------------------


def stage_of(text: str, history: Sequence[Row], *, is_sampled: bool) -> ForecastStage:
    ag = Session(engine="local")
    ag.sql(text)
    catalog = ag._declared.catalog
    plan = plan_forecast(ag._declared.forecasts["f"][0], catalog)
    taught = rows_for(catalog.streams["history"], history)
    if is_sampled:
        return SampledStage(sampled(plan), {}, taught)
    return forecast_stage_of(plan, {}, taught)


EXACT = [each for each in CONSTRUCTS if each not in ("online", "fading")]


@pytest.mark.rotating(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("construct", EXACT)
@CASES
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_samples_of_what_symbols_decide_are_what_the_chain_says(
    construct: str, strategy: str, seed: int
) -> None:
    case = Maker(seed, construct, strategy).case()
    rows, history = rows_of(case.stream), rows_of(case.history)
    for by_time in (True,) if construct == "uncertain" else (False, True):
        text = case.script(by_time=by_time).replace(" RETURN", f" {SURELY} RETURN")
        try:
            exact = stage_of(text, history, is_sampled=False)
        except QueryError as error:
            if "[P003]" not in str(error):
                raise
            continue
        if exact.plan.samples:
            continue
        same = [name for name in ("ts", "k", "match_id") if name in exact_names(exact)]
        wanted = {tuple(row[n] for n in same): row for row in told(exact, rows)}
        found = told(stage_of(text, history, is_sampled=True), rows)
        assert {tuple(row[n] for n in same) for row in found} <= wanted.keys()
        for key, row in wanted.items():
            own = [each for each in found if tuple(each[n] for n in same) == key]
            if row["forecast"] is None or not own:
                assert (row["forecast"] or 0.0) < ERROR
            else:
                assert_close(own[0], row["forecast"], row["expected"])


def exact_names(stage: ForecastStage) -> list[str]:
    return ["ts", *(key.name for key in stage.plan.forecast.keys), "match_id"][
        : None if not stage.plan.forecast.by_time else -1
    ]


# Times --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [2, 5, 12])
def test_windows_that_end_within_the_horizon_are_sampled(window: int) -> None:
    draw = random.Random(window)
    query = Query(Seq((A, B, C)), within=("time", window), strategy="next")
    history = [replace(e, ts=3 * e.ts) for e in events(draw, "h", 12)]
    stream = events(draw, "s", 4)
    ask = Ask(query, 20, KINDS, unit="time", order=1)
    (row,) = last_rows(script(query, "WITHIN 20 USING MARKOV 1", "TIME"), history, stream)
    assert row["method"] == "sampled"
    assert row["forecast"] == pytest.approx(played(ask, history, stream, 4000), abs=2 * ERROR)


@pytest.mark.parametrize("horizon", ["3 EVENTS", "9", "40"])
@pytest.mark.parametrize("strategy", ["ANY", "NEXT"])
def test_negations_at_the_end_of_a_window_in_time_are_what_samples_say(
    strategy: str, horizon: str
) -> None:
    draw = random.Random(f"{strategy} {horizon}")
    text = f"""
        CREATE STREAM s {COLUMNS}; CREATE STREAM history {COLUMNS};
        CREATE QUERY q ON s PATTERN SEQ(A a, B b, !X n) USING SKIP TILL {strategy} MATCH WITHIN 20;
        CREATE FORECAST f ON q WITHIN {horizon} USING MARKOV 1 LEARN FROM history
        APPROXIMATE (0.04, 0.000000001) RETURN FORECAST BY MATCH;
    """
    history = rows([replace(e, ts=4 * e.ts) for e in events(draw, "h", 30)])
    own = [replace(e, ts=3 * e.ts) for e in events(draw, "s", 5)]
    stream = rows([*own, replace(own[0], id="s6", ts=18, type="A")])
    exact = told(stage_of(text, history, is_sampled=False), stream)
    found = {
        (r["ts"], r["match_id"]): r for r in told(stage_of(text, history, is_sampled=True), stream)
    }
    assert exact
    for row in exact:
        drawn_row = found.get((row["ts"], row["match_id"]), {"forecast": 0.0, "expected": None})
        assert row["method"] == "exact"
        assert drawn_row["forecast"] == pytest.approx(row["forecast"], abs=0.04)
        if row["forecast"] > 0.1:
            assert drawn_row["expected"] == pytest.approx(row["expected"], rel=0.2)


def test_a_condition_on_times_is_tried_at_times_that_are_drawn() -> None:
    # B comes at the next event, and that within 5 with a chance of 1 - exp(-1/2).
    text = script(Query(Seq((A, B))), "WITHIN 1 EVENTS USING MARKOV 1", "MATCH").replace(
        "USING SKIP", "WHERE b.t < a.t + 5 USING SKIP"
    )
    history = [Event(f"h{t}", 10 * t, "AB"[t % 2], attrs={"v": 0, "k": "k"}) for t in range(8)]
    (row,) = last_rows(text, history, [Event("s", 100, "A", attrs={"v": 0, "k": "k"})])
    assert row["forecast"] == pytest.approx(0.393, abs=ERROR)


# From the rows alone ------------------------------------------------------------------------------

LOCAL = f"""
    CREATE STREAM s {COLUMNS}; CREATE STREAM history {COLUMNS};
    CREATE QUERY q ON s PATTERN SEQ(A a, B+ b, C c) WHERE [k] AND b[i].v > a.v
    USING SKIP TILL NEXT MATCH WITHIN 9;
    CREATE FORECAST f ON q WITHIN 2 EVENTS USING MARKOV 1 LEARN FROM history
    APPROXIMATE (0.1, 0.1) RETURN FORECAST BY HOW;
"""


def many(seed: int, count: int) -> list[Row]:
    draw = random.Random(seed)
    return [
        {
            "id": f"e{t}",
            "kind": draw.choice("AABBCX"),
            "v": draw.randrange(4),
            "k": draw.choice(("k", "l", None)),
            "t": t // 2,
            "p": 1.0,
        }
        for t in range(count)
    ]


@pytest.mark.parametrize("how", ["MATCH", "TIME"])
def test_steps_states_shards_and_orders_change_nothing(how: str) -> None:
    history, stream = many(1, 40), many(2, 24)

    def make() -> ForecastStage:
        return stage_of(LOCAL.replace("HOW", how), history, is_sampled=False)

    whole = told(make(), stream)
    assert len(whole) > 10
    assert in_steps(make, stream, stores=False) == whole
    assert in_steps(make, stream, stores=True) == whole
    assert told(make(), stream[::-1]) == whole
    stage = make()
    assert stage.cut.columns == {"s": ("k",)}
    apart = [
        row
        for keys in (("k", None), ("l",))
        for row in told(stage.learned(), [row for row in stream if row["k"] in keys])
    ]
    assert sorted(map(repr, apart)) == sorted(map(repr, whole))


def test_what_is_pushed_is_told_as_what_is_bound() -> None:
    def session() -> Session:
        ag = Session(engine="local")
        ag.sql(LOCAL.replace("HOW", "MATCH"))
        ag.bind("history", many(1, 40))
        return ag

    here, live, found = session(), session(), list[Row]()
    stream = many(3, 20)
    here.bind("s", stream)
    for number, row in enumerate(stream):
        found += live.push("s", row)
        if number % 5 == 4:
            data, live = live.checkpoint(), session()
            live.restore(data)
    found += [row for row in live.finish() if row["query"] == "f"]
    assert [row for row in found if row["query"] == "f"] == here.table("f").to_pylist()


def test_what_no_future_needs_is_let_go() -> None:
    stage = stage_of(LOCAL.replace("HOW", "TIME"), many(1, 40), is_sampled=False)
    state = stage.start()
    for begin in range(0, 300, 50):
        part = many(4, 300)[begin : begin + 50]
        state, _ = stage.advance(state, batch(stage, part), part[-1]["t"] + 1)
        assert state.rows_held < 50


# What is drawn by the last event ------------------------------------------------------------------

BY_KEY = f"""
    CREATE STREAM s {COLUMNS}; CREATE STREAM history {COLUMNS};
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [k] AND b.v + LENGTH(b.k) >= a.v + 1
    USING SKIP TILL ANY MATCH;
    CREATE FORECAST f ON q WITHIN 3 EVENTS USING MARKOV 0 LEARN FROM history
    APPROXIMATE (0.05, 0.05) RETURN FORECAST BY HOW;
"""


def row_of(number: int, kind: str, k: str, t: int, p: float = 1.0) -> Row:
    return {"id": f"s{number}", "kind": kind, "v": number % 3, "k": k, "t": t, "p": p}


@pytest.mark.parametrize("how", ["MATCH", "TIME"])
def test_a_last_event_that_fits_nothing_parts_its_forecast_beside_others(how: str) -> None:
    # Two partitions share a time; the event of the first of them fits no component.
    stream = [row_of(1, "A", "x", 1), row_of(2, "X", "x", 2), row_of(3, "A", "z", 2)]

    def found(own: list[Row]) -> list[str]:
        stage = stage_of(BY_KEY.replace("HOW", how), many(1, 40), is_sampled=False)
        return sorted(map(repr, told(stage, own)))

    apart = [found([row for row in stream if row["k"] == k]) for k in "xz"]
    assert found(stream) == sorted(apart[0] + apart[1])
    assert found(stream)


# How much is drawn at once, and kept --------------------------------------------------------------

COUNTED = f"""
    CREATE STREAM s {COLUMNS} P; CREATE STREAM history {COLUMNS};
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE ON_KEY b.v > a.v
    USING SKIP TILL ANY MATCH WITHIN WINDOW EVENTS;
    CREATE FORECAST f ON q WITHIN 10 EVENTS USING MARKOV 0 LEARN FROM history
    APPROXIMATE (0.1, 0.1) RETURN FORECAST BY TIME;
"""


def counted(window: int, *, uncertain: bool, on_key: str = "") -> str:
    text = COUNTED.replace("WINDOW", str(window)).replace("ON_KEY", on_key)
    return text.replace(" P;", " PROBABILITY p;" if uncertain else ";")


def test_events_of_others_count_in_how_many_are_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One event in fifty is of x: about fifty of others come before each that is drawn.
    history = [row_of(n, "AB"[n % 2], "x" if n % 50 == 7 else f"o{n}", n) for n in range(400)]
    stage = stage_of(counted(200, uncertain=False, on_key="[k] AND"), history, is_sampled=False)
    at_once, drawn_at_once = 10_000, list[int]()
    monkeypatch.setattr(forecast_sampler, "AT_ONCE", at_once)
    draw = Drawer.draw

    def noted(self: Drawer, *args: Any) -> Come:
        come = draw(self, *args)
        drawn_at_once.append(len(come.event))
        return come

    monkeypatch.setattr(Drawer, "draw", noted)
    assert len(told(stage, [row_of(0, "A", "x", 1)])) == 1
    assert sum(drawn_at_once) > 5 * at_once
    # How many come is drawn: about so many.
    assert max(drawn_at_once) < 1.5 * at_once


def test_a_window_of_events_lets_go_what_certain_events_push_out() -> None:
    def held(p: Sequence[float], *, uncertain: bool) -> int:
        stage = stage_of(counted(4, uncertain=uncertain), many(1, 40), is_sampled=False)
        state = stage.start()
        for t, chance in enumerate(p):
            part = batch(stage, [row_of(t, "AB"[t % 2], "k", t, chance)])
            state, _ = stage.advance(state, part, t + 1)
        return int(state.rows_held)

    sure = held([1.0] * 60, uncertain=False)
    assert sure == 8
    assert held([1.0] * 60, uncertain=True) == sure
    # One in two is certain: eight of these stand for any world.
    assert held([1.0, 0.5] * 30, uncertain=True) == 2 * sure
    # Where none is certain, all of the last events may not have happened.
    assert held([0.5] * 20, uncertain=True) == 20


@pytest.mark.parametrize(("p", "kept"), [(0.5, 16), (0.4, 60)])
def test_alternatives_of_which_one_is_certain_push_out_as_one_event(p: float, kept: int) -> None:
    text = counted(4, uncertain=True).replace("p;", "p ALTERNATIVES kind;", 1)
    text = text.replace(" ID id TIME t TYPE kind PROB", " TIME t TYPE kind PROB", 1)
    stage = stage_of(text, many(1, 40), is_sampled=False)
    state = stage.start()
    for t in range(30):
        pair = [row_of(t, kind, "k", t, p) for kind in "AB"]
        state, _ = stage.advance(state, batch(stage, pair), t + 1)
    assert state.rows_held == kept


@CASES
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_what_a_window_lets_go_is_in_no_match_of_any_world(seed: int) -> None:
    draw = random.Random(f"let go {seed}")
    shape = draw.choice(("sequence", "negated", "negated at the start"))
    strategy = draw.choice(tuple(USING))
    query = replace(PATTERNS[shape], strategy=strategy, within=("events", 2))
    history = events(draw, "h", 5)
    stream = [replace(e, p=draw.choice((0.5, 1.0, 1.0))) for e in events(draw, "s", 7)]
    ask = Ask(query, 2, KINDS, order=draw.choice((0, 1)))
    clauses = f"WITHIN 2 EVENTS USING MARKOV {ask.order}"
    wanted = drawn(ask, history, stream).whole
    text = script(query, clauses, "TIME", uncertain=True)

    def make() -> ForecastStage:
        return stage_of(text, rows(history), is_sampled=False)

    found = in_steps(make, rows(stream), stores=True)
    assert found == told(make(), rows(stream))
    assert wanted is not None
    assert_close(found[-1], *wanted)


# Which are sampled, and which are not -------------------------------------------------------------


def explained(text: str) -> str:
    ag = Session(engine="local")
    ag.sql(text)
    return str(ag.explain("f"))


def test_explain_says_what_is_sampled() -> None:
    text = explained(script(PATTERNS["sequence"], "WITHIN 2 EVENTS", "TIME"))
    assert "sampled: off by 0.05 at most, but for a risk of 1e-09" in text
    text = explained(script(Query(Seq((A, B))), "WITHIN 2 EVENTS", "TIME"))
    assert "exact under the model" in text
    assert "sampled where a history leads to more than 100,000 states" in text


def test_an_automaton_beyond_its_limit_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_FORECAST_STATE_LIMIT", "5")
    draw = random.Random(8)
    query = Query(And((A, B, C)))
    history, stream = events(draw, "h", 6), events(draw, "s", 3)
    for how in ("TIME", "MATCH"):
        text = script(query, "WITHIN 2 EVENTS", how)
        with pytest.raises(QueryError, match="P001"):
            last_rows(text.replace(SURELY, ""), history, stream)
        wanted = drawn(Ask(query, 2, KINDS), history, stream)
        for row in last_rows(text, history, stream):
            part = wanted.whole if how == "TIME" else wanted.partial[part_of(row)][1:]
            assert part is not None
            assert_close(row, *part)


REFUSED = {
    "online": ("LEARN FROM history ONLINE", "counted, not kept"),
    "edges": ("USING EDGES LEARN FROM history", "of which no events can be drawn"),
}


@pytest.mark.parametrize(("clauses", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_drawn_is_refused(clauses: str, reason: str) -> None:
    text = script(PATTERNS["sequence"], "WITHIN 2 EVENTS", "TIME")
    with pytest.raises(QueryError, match=rf"P003.*{reason}"):
        explained(text.replace("LEARN FROM history", clauses))


def test_bounds_are_between_0_and_1() -> None:
    text = script(PATTERNS["sequence"], "WITHIN 2 EVENTS", "TIME").replace("(0.05,", "(1.5,")
    with pytest.raises(QueryError, match=r"A059.*error of APPROXIMATE"):
        explained(text)


def test_a_history_has_what_conditions_read() -> None:
    text = script(PATTERNS["sequence"], "WITHIN 2 EVENTS", "TIME")
    text = text.replace(f"history {COLUMNS}", f"history {COLUMNS.replace('v LONG, ', '')}")
    with pytest.raises(QueryError, match=r"A103.*no column v"):
        explained(text)
