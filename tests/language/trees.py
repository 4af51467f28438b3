"""Hypothesis strategies for syntax trees: every tree that some text reads into, and no other.

What reading normalises never occurs here: nested chains of one operator, a minus in front of a bare
number, a component whose filter is missing parentheses.
"""

from __future__ import annotations

from hypothesis import strategies as st

from augury.language import expressions as ex
from augury.language import tree
from augury.language.keywords import AGGREGATES, EXPLAIN_FORMATS, GAP_FAMILIES, KEYWORDS

_ODD = [
    "HCW-ID",
    "a b",
    "Room#",
    "back`tick",
    "\N{GREEK SMALL LETTER SIGMA}",
    "skip_till_any_match",
]
names = st.one_of(
    st.sampled_from(["a", "b", "x", "place", "at", "_x", "i", "min", "h"]),
    st.sampled_from(sorted(KEYWORDS)).map(str.lower),
    st.sampled_from(_ODD),
    st.text(
        st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1, max_size=5
    ),
)
some_names = st.lists(names, min_size=1, max_size=3).map(tuple)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
naturals = st.integers(0, 2**63 - 1)
counts = st.integers(0, 1000)
decimals = st.floats(0, allow_nan=False, allow_infinity=False).map(abs)
chances = st.floats(0, 1).map(abs)
types = st.sampled_from(["LONG", "STRING", "DECIMAL(10,2)", "TIMESTAMP"])


def optional(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.none() | strategy


units = st.sampled_from(["MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK"])
durations = st.builds(ex.Duration, naturals | decimals, units)
numbers = st.builds(
    ex.Literal,
    st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False),
)
literals = numbers | st.builds(ex.Literal, st.none() | st.booleans() | texts)
indices = st.one_of(
    st.builds(ex.Index, st.just("number"), st.integers(1, 99)),
    st.builds(ex.Index, st.sampled_from(["each", "previous", "last"])),
)
bare = st.builds(ex.Attribute, st.none(), names)
leaves = st.one_of(
    literals,
    durations,
    bare,
    st.builds(ex.TypedLiteral, st.sampled_from(["TIMESTAMP", "DATE"]), texts),
    st.builds(ex.Attribute, names, names, optional(indices)),
    st.builds(ex.Aggregate, st.just("COUNT"), names),
    st.builds(ex.Aggregate, st.sampled_from(AGGREGATES[1:]), names, names),
    st.builds(ex.Equate, some_names),
)


def _logic(operator: str, operands: list) -> ex.Logic:
    flat = []
    for operand in operands:
        same = isinstance(operand, ex.Logic) and operand.operator == operator
        flat.extend(operand.operands if same else [operand])
    return ex.Logic(operator, tuple(flat))


def _is_number(node: ex.Expression) -> bool:
    return isinstance(node, ex.Literal) and type(node.value) in (int, float)


def _larger(inner: st.SearchStrategy) -> st.SearchStrategy:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    yes_no = st.booleans()
    operators = st.sampled_from(["+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">="])
    branches = st.lists(st.tuples(inner, inner), min_size=1, max_size=2).map(tuple)
    functions = st.sampled_from(["ABS", "LOWER", "MIN", "COUNT", "SEQ", "CASE", "A B"])
    return st.one_of(
        st.builds(_logic, st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2, max_size=4)),
        st.builds(ex.Unary, st.just("NOT"), inner),
        st.builds(ex.Unary, st.just("-"), inner.filter(lambda node: not _is_number(node))),
        st.builds(ex.Binary, operators, inner, inner),
        st.builds(ex.IsNull, inner, yes_no),
        st.builds(ex.InList, inner, several, yes_no),
        st.builds(ex.InTable, several, names, yes_no),
        st.builds(ex.Between, inner, inner, inner, yes_no),
        st.builds(ex.Like, inner, texts, yes_no),
        st.builds(ex.Case, branches, optional(inner)),
        st.builds(ex.Call, functions, st.lists(inner, max_size=3).map(tuple)),
        st.builds(ex.Cast, inner, types),
        st.builds(ex.Attribute, names, names, optional(indices), inner),
        st.builds(ex.Lookup, names, names, optional(inner)),
        st.builds(ex.Lookup, st.none(), names, optional(inner), st.just("COUNT")),
        st.builds(ex.Lookup, names, names, optional(inner), st.sampled_from(AGGREGATES[1:])),
    )


expressions = st.recursive(leaves, _larger, max_leaves=8)

# Patterns ----------------------------------------------------------------------------------------

repetitions = st.tuples(st.integers(0, 5), optional(st.integers(0, 5))).map(
    lambda pair: tree.Repetition(pair[0], None if pair[1] is None else max(1, sum(pair)))
)
components = st.builds(
    tree.Component,
    names | st.just("_"),
    optional(names),
    optional(repetitions),
    optional(st.recursive(leaves, _larger, max_leaves=2)),
)
patterns = st.recursive(
    components | st.builds(tree.Edge, st.sampled_from(["FIRST", "LAST"]), components),
    lambda inner: st.one_of(
        st.builds(
            tree.Group,
            st.sampled_from(["SEQ", "NEXT", "AND", "OR"]),
            st.lists(inner, min_size=1, max_size=4).map(tuple),
        ),
        st.builds(tree.Not, inner),
    ),
    max_leaves=6,
)

terms = st.builds(tree.Variable, names | st.just("_")) | numbers | st.builds(ex.Literal, texts)
conditions = st.one_of(
    st.builds(tree.Holds, names, st.lists(terms, max_size=2).map(tuple)),
    st.builds(tree.Compares, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), terms, terms),
)
many_conditions = st.lists(conditions, max_size=2).map(tuple)
kleenes = st.builds(tree.Kleene, st.lists(names, max_size=2).map(tuple), many_conditions)
goals = st.builds(
    tree.Subgoal, names, st.lists(terms, max_size=3).map(tuple), many_conditions, optional(kleenes)
)


@st.composite
def subgoals(draw: st.DrawFn) -> tree.Subgoals:
    drawn = draw(st.lists(goals, min_size=1, max_size=3))
    selections = [draw(many_conditions) for _ in drawn]
    if drawn[0].kleene is None:
        selections[0] = ()  # a sigma around one plain subgoal is read as its inner condition
    return tree.Subgoals(tuple(drawn), tuple(selections))


# Statements --------------------------------------------------------------------------------------

windows = st.builds(tree.Window, durations | naturals | decimals) | st.builds(
    tree.Window, naturals, st.just(True)
)
option_values = texts | st.booleans() | st.integers(-99, 99) | decimals
options = st.lists(
    st.builds(
        tree.Option, st.sampled_from(["seed", "kafka.servers", "on", "a-b", ""]), option_values
    ),
    max_size=2,
).map(tuple)
rates = st.lists(st.builds(tree.Rate, names, chances), min_size=1, max_size=2).map(tuple)
value_rates = st.lists(st.builds(tree.Rate, texts, chances), min_size=1, max_size=2).map(tuple)
sources = st.builds(
    tree.External, st.sampled_from(["parquet", "kafka", "on"]), optional(texts), options
)
columns = st.lists(st.builds(tree.ColumnDefinition, names, types), min_size=1, max_size=3).map(
    tuple
)
miss_rates = st.one_of(
    st.builds(tree.MissRate, chances),
    st.builds(tree.MissRate, st.none(), names, value_rates),
)
streams = st.builds(
    tree.CreateStream,
    names,
    columns,
    id=optional(names),
    key=st.just(()) | some_names,
    type=optional(names),
    probability=optional(names),
    alternatives=st.just(()) | some_names,
    markov=optional(names),
    miss_rate=optional(miss_rates),
    lateness=optional(durations | naturals),
    source=optional(sources),
    time=optional(names),
) | st.builds(tree.CreateStream, names, columns, time=names, order_by=names)
tables = st.builds(
    tree.CreateTable,
    names,
    columns,
    optional(sources),
    st.just(()) | some_names,
    optional(names),
    st.booleans(),
)
stores = st.builds(tree.CreateStore, names, texts)

returned = st.one_of(
    st.builds(
        tree.Return,
        st.sampled_from(["STAR", "COUNT", "TOTAL COUNT", "PROBABILITY", "PROBABILITY BY TIME"]),
    ),
    st.builds(
        tree.Return,
        st.sampled_from(["PROBABILITY", "PROBABILITY BY TIME"]),
        over=st.builds(tree.Window, durations | naturals),
    ),
    st.builds(
        tree.Return,
        st.just("COLUMNS"),
        st.lists(
            st.builds(tree.ReturnColumn, expressions, optional(names)), min_size=1, max_size=3
        ).map(tuple),
    ),
)
group_items = st.builds(ex.Attribute, optional(names), names)
_clauses = {
    "where": optional(expressions),
    "after_where": optional(expressions),
    "within": optional(windows),
    "every": optional(windows),
    "allow": optional(st.builds(tree.Allow, optional(counts), st.just(()) | some_names)),
    "miss_rates": st.just(()) | rates,
    "correlated_by": optional(names),
    "group_by": st.lists(group_items, max_size=2).map(tuple),
    "having": optional(
        st.builds(
            tree.Having, st.sampled_from(["CONFIDENCE", "PROBABILITY"]), chances, st.booleans()
        )
    ),
    "approximate": optional(st.builds(tree.Approximate, chances, chances)),
    "match_limit": optional(counts),
    "scoring": st.sampled_from([None, "LAW", "AYAC", "DPCEP"]),
    "options": options,
}
strategies = st.sampled_from(["ANY", "NEXT", "STRICT", "PARTITION"])
queries = st.builds(
    tree.CreateQuery,
    optional(names),
    st.just(()) | some_names,
    patterns,
    strategy=optional(strategies),
    returns=optional(returned),
    **_clauses,
) | st.builds(
    tree.CreateQuery,
    optional(names),
    st.just(()) | some_names,
    subgoals(),
    strategy=strategies,
    returns=returned,
    **_clauses,
)
gaps = st.builds(
    tree.Gap,
    names,
    names,
    st.booleans(),
    st.sampled_from(GAP_FAMILIES),
    st.lists(durations | naturals | decimals, min_size=1, max_size=3).map(tuple),
    optional(chances),
)
gap_statements = st.builds(tree.CreateGaps, names, names, names) | st.builds(
    tree.CreateGaps, names, names, st.none(), st.lists(gaps, min_size=1, max_size=3).map(tuple)
)
correlations = st.builds(tree.CreateCorrelation, names, names)
explains = st.builds(tree.Explain, names, st.sampled_from(EXPLAIN_FORMATS))
writes = st.builds(tree.Write, names, sources)
_parts = dict.fromkeys(("states", "initial", "transition", "emission"), names)
models = st.builds(tree.CreateModel, names, **_parts, step=optional(durations)) | st.builds(
    tree.CreateModel, names, learn_from=names, learn_on=optional(names)
)
models |= st.builds(
    tree.CreateModel,
    names,
    st.just("POSITIONS"),
    cells=names,
    initial=optional(names),
    walls=optional(names),
    antennas=optional(names),
    speed=optional(chances),
    rest=optional(chances),
    step=optional(durations),
)
inferred = st.builds(
    tree.InferStream,
    names,
    st.sampled_from(("FILTER", "SMOOTH", "VITERBI", "MLE")),
    names,
    names,
    optional(naturals),
    optional(chances),
    smoothed=st.booleans(),
    correlated=st.booleans(),
)
inferred |= st.builds(
    tree.InferStream, names, st.just("PARTICLES"), names, names, particles=naturals
)
futures = (
    st.builds(tree.Future, st.just("MARKOV"), st.integers(0, 9))
    | st.just(tree.Future("EDGES"))
    | st.builds(tree.Future, st.just("MODEL"), model=names)
)
forecasts = st.builds(
    tree.CreateForecast,
    names,
    names,
    optional(windows),
    future=optional(futures),
    smoothing=optional(decimals),
    learn_from=optional(names),
    online=st.just(True),
    half_life=optional(st.builds(tree.Window, durations | naturals | decimals)),
    by=st.just(()) | some_names,
    arrivals=optional(st.sampled_from(("POISSON", "STEADY"))),
    having=optional(st.builds(tree.Having, st.just("FORECAST"), chances, st.booleans())),
    by_time=optional(st.booleans()),
    approximate=optional(st.builds(tree.Approximate, chances, chances)),
)
forecasts |= st.builds(
    tree.CreateForecast,
    names,
    names,
    st.builds(tree.Window, naturals, st.just(True)),
    of_stream=st.just(True),
)
small = st.recursive(leaves, _larger, max_leaves=3)
settings = st.lists(st.builds(tree.Setting, names, small), min_size=1, max_size=2).map(tuple)
new_rows = st.lists(st.lists(small, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2).map(
    tuple
)
inserts = st.builds(
    tree.Insert,
    names,
    new_rows,
    st.just(()) | some_names,
    st.sampled_from([None, "NOTHING", "REPLACE"]),
) | st.builds(tree.Insert, names, new_rows, st.just(()), st.just("UPDATE"), settings)
changes = st.one_of(
    inserts,
    st.builds(tree.Update, names, settings, optional(small)),
    st.builds(tree.Delete, names, optional(small)),
)
rules = st.builds(
    tree.CreateRule,
    names,
    names,
    st.lists(changes, min_size=1, max_size=3).map(tuple),
    names,
    optional(small),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
values = st.text(max_size=3) | st.integers(-9, 9) | st.booleans()
moves = st.builds(
    tree.CreateMoves,
    names,
    objects=names,
    owner=optional(names),
    place=optional(names),
    enter=optional(values),
    exit=optional(values),
    hall=optional(values),
    doors=optional(st.tuples(names, names, names)),
    from_place=optional(names),
    by=optional(names),
    prefer=optional(st.tuples(names, names, names, names)),
    rejects_impossible=st.booleans(),
    step=optional(st.builds(tree.Window, durations | naturals)),
)
identified = st.builds(
    tree.IdentifyStream,
    names,
    names,
    names,
    optional(st.builds(tree.Window, durations | naturals)),
    st.sampled_from(("ANY", "CERTAIN", "NEVER")),
)
identified |= st.builds(tree.IdentifyStream, names, names, names, revise=st.just("BY"), by=chances)
weighted = st.builds(tree.WeightedQuery, names, optional(decimals)) | st.builds(
    tree.WeightedQuery, names, never=st.just(True)
)
lengths = st.builds(tree.Window, durations | naturals | decimals)
_learning = st.fixed_dictionaries(
    {
        "learn_from": optional(names),
        "online": st.booleans(),
        "over": optional(lengths),
        "by": optional(names),
    }
)
policies = st.builds(
    lambda learning, **given: tree.CreatePolicy(**given, **learning),
    _learning,
    name=names,
    stream=names,
    public=st.lists(weighted, max_size=3).map(tuple),
    private=st.lists(weighted, min_size=1, max_size=3).map(tuple),
    method=optional(
        st.sampled_from(["TYPES", "GREEDY", "HYBRID", "HYBRID RATES", "HYBRID PERIODIC"])
    ),
    period=optional(lengths),
    wang=st.booleans(),
    patience=optional(chances | st.just("LEARNED")),
)
suppressed = st.builds(tree.SuppressStream, names, names, names)
statements = st.one_of(
    streams,
    tables,
    stores,
    rules,
    queries,
    gap_statements,
    correlations,
    models,
    inferred,
    forecasts,
    moves,
    identified,
    policies,
    suppressed,
    explains,
    writes,
)
