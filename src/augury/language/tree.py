"""Statements and patterns of the syntax tree: what a script says, before anything is looked up.

Names are kept as written. Whether a bare word is a type or a name, which stream a column belongs
to, and whether anything exists is decided by `augury.analysis`. Papers' dialects are read into
these same nodes; only Lahar's positional spelling keeps a node of its own (`Subgoals`), because the
meaning of its positions needs the declared columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as Choice

from augury.errors import NOWHERE, Span
from augury.language.expressions import Attribute, Duration, Expression, Node

# Patterns ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repetition(Node):
    """How often: `+` is (1, None), `*` is (0, None), `?` is (0, 1), `{2,5}` is (2, 5).

    `{3}` is (3, 3) and `{2,}` is (2, None). `+?` is reluctant: as few as will do.
    """

    minimum: int
    maximum: int | None
    reluctant: bool = False


@dataclass(frozen=True, slots=True)
class Component(Node):
    """`TYPE name`, a bare `word` (name is None), or `_ name` (word is `_`), with its filter.

    `SEQ(at a, at c (c.place = 'b'))` gives the second component the filter `c.place = 'b'`. A
    repetition ends before the event for which `until` holds.
    """

    word: str
    name: str | None = None
    repetition: Repetition | None = None
    filter: Expression | None = None
    until: Expression | None = None


@dataclass(frozen=True, slots=True)
class Group(Node):
    """SEQ, NEXT, AND or OR (ANY reads as OR) of parts, as written (flattening is analysis).

    `(SEQ(A a, B b))+ g` is a group with a repetition and, if it has one, a name.
    """

    operator: Choice["SEQ", "NEXT", "AND", "OR"]
    parts: tuple[Pattern, ...]
    repetition: Repetition | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Not(Node):
    """`!A a`, `!SEQ(...)`, or `!NEXT A a` of the neighbour."""

    part: Pattern
    neighbour: bool = False


@dataclass(frozen=True, slots=True)
class Edge(Node):
    """`FIRST(A a)` or `LAST(A a)`."""

    which: Choice["FIRST", "LAST"]
    component: Component


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """A variable of Lahar's spelling, such as `l` in `At('joe', l)`; `_` matches anything."""

    name: str


@dataclass(frozen=True, slots=True)
class Holds(Node):
    """`Hallway(l)` in a Lahar condition: the terms are a row of the relation."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Compares(Node):
    """`y = 'b'` or `x < y` in a Lahar condition."""

    operator: Choice["=", "<>", "<", "<=", ">", ">="]
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Combines(Node):
    """AND or OR of Lahar conditions, or NOT of one."""

    operator: Choice["AND", "OR", "NOT"]
    parts: tuple[LaharCondition, ...]


@dataclass(frozen=True, slots=True)
class Kleene(Node):
    """`+<{p}, Hallway(l)>`: variables shared across unfoldings, conditions on each."""

    shared: tuple[str, ...]
    conditions: tuple[LaharCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class Subgoal(Node):
    """`At('joe', l)`, with the conditions selected inside it and its repetition.

    `inner` filters candidates (sigma inside the subgoal); `kleene` is None for a plain subgoal.
    """

    relation: str
    terms: tuple[Term, ...]
    inner: tuple[LaharCondition, ...] = ()
    kleene: Kleene | None = None


@dataclass(frozen=True, slots=True)
class Subgoals(Node):
    """A Lahar query: subgoals in left-associated sequence.

    `selections[i]` are the conditions of sigmas around the prefix that ends with subgoal i,
    applied after its successor was chosen (Lahar Example 3.11).
    """

    goals: tuple[Subgoal, ...]
    selections: tuple[tuple[LaharCondition, ...], ...]


Term = Variable | Expression
LaharCondition = Holds | Compares | Combines
Pattern = Component | Group | Not | Edge | Subgoals

# Statements ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColumnDefinition(Node):
    """A column of a stream or table; the type name is upper case."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Rate(Node):
    """A miss rate for one value of a column, or for one component of a query."""

    of: str
    rate: float


@dataclass(frozen=True, slots=True)
class MissRate(Node):
    """`MISS RATE 0.15` (overall), or `MISS RATE BY reader ('A' 0.10, 'B' 0.25)`."""

    overall: float | None = None
    column: str | None = None
    rates: tuple[Rate, ...] = ()


@dataclass(frozen=True, slots=True)
class Option(Node):
    """`key = value` in OPTIONS (...); keys may have dots (`kafka.servers`) or be quoted."""

    key: str
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class External(Node):
    """After FROM or TO: `parquet 'reads/' OPTIONS (...)`; the format is lower case."""

    format: str
    path: str | None = None
    options: tuple[Option, ...] = ()

    @property
    def settings(self) -> dict[str, str]:
        """The options as Spark takes them: all values are text."""
        return {option.key: _setting(option.value) for option in self.options}


def _setting(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class CreateStream(Node):
    """CREATE STREAM: columns, and which of them carry identity, time, type and uncertainty."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    id: str | None = None
    key: tuple[str, ...] = ()
    time: str | None = None
    order_by: str | None = None
    type: str | None = None
    probability: str | None = None
    alternatives: tuple[str, ...] = ()
    markov: str | None = None
    miss_rate: MissRate | None = None
    lateness: Duration | int | None = None
    source: External | None = None
    idle: Duration | None = None


@dataclass(frozen=True, slots=True)
class CreateTable(Node):
    """CREATE TABLE: a relation for IN and subqueries; rules may write it.

    `store` names where it lies, None is the embedded default. UNCERTAIN: each world has its own.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    source: External | None = None
    key: tuple[str, ...] = ()
    store: str | None = None
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class CreateStore(Node):
    """`CREATE STORE ward AT 'sqlite:///ward.db'`: a database; `${NAME}` is of the environment."""

    name: str
    url: str


Strategy = Choice["ANY", "NEXT", "STRICT", "PARTITION"]


@dataclass(frozen=True, slots=True)
class Window(Node):
    """`WITHIN 12 HOURS` (length is a Duration), `100 EVENTS` (events), or bare ticks (a number)."""

    length: Duration | int | float
    events: bool = False


SkipTo = Choice["PAST LAST", "NEXT", "FIRST", "LAST"]


@dataclass(frozen=True, slots=True)
class Skip(Node):
    """`AFTER MATCH SKIP PAST LAST EVENT`, `TO NEXT EVENT`, `TO FIRST x` or `TO LAST x`."""

    to: SkipTo
    component: str | None = None


@dataclass(frozen=True, slots=True)
class Allow(Node):
    """`ALLOW 2 MISSED OF (x, z)`; count None is ALL, an empty `of` is every positive component."""

    count: int | None
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Having(Node):
    """`HAVING CONFIDENCE >= 0.8`, `HAVING PROBABILITY > 0.5` or `HAVING FORECAST > 0.7`."""

    measure: Choice["CONFIDENCE", "PROBABILITY", "FORECAST"]
    threshold: float
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ReturnColumn(Node):
    """`z.tag AS tag`; alias is None where none was written."""

    value: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Return(Node):
    """RETURN columns, `*`, a count, PROBABILITY, or that BY TIME, which may be OVER a while."""

    kind: Choice["COLUMNS", "STAR", "COUNT", "TOTAL COUNT", "PROBABILITY", "PROBABILITY BY TIME"]
    columns: tuple[ReturnColumn, ...] = ()
    over: Window | None = None


@dataclass(frozen=True, slots=True)
class Approximate(Node):
    """`APPROXIMATE (error, risk)`."""

    error: float
    risk: float


@dataclass(frozen=True, slots=True)
class CreateQuery(Node):
    """CREATE QUERY in canonical clauses; None or empty means that the clause was not written.

    `name` is None for a bare dialect query (it gets a name from analysis). `streams` is empty where
    ON was not written (the only stream of the catalog is meant). `places` has the span of each
    clause by its keyword, for diagnostics. `strategy_over` has the names that the thesis lists in
    `skip_till_next_match(x, y) {...}`: all components are meant, so it says nothing more.
    `each_event` is ALL EVENTS PER MATCH: the answer has a row for each event of a match.
    """

    name: str | None
    streams: tuple[str, ...]
    pattern: Pattern
    where: Expression | None = None
    after_where: Expression | None = None
    strategy: Strategy | None = None
    within: Window | None = None
    every: Window | None = None
    allow: Allow | None = None
    miss_rates: tuple[Rate, ...] = ()
    correlated_by: str | None = None
    group_by: tuple[Attribute, ...] = ()
    having: Having | None = None
    returns: Return | None = None
    approximate: Approximate | None = None
    match_limit: int | None = None
    scoring: Choice["LAW", "AYAC", "DPCEP"] | None = None
    options: tuple[Option, ...] = ()
    after_match: Skip | None = None
    each_event: bool = False
    strategy_over: tuple[str, ...] = field(default=(), compare=False, repr=False)
    places: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Gap(Node):
    """`x TO y EXPONENTIAL(20 MINUTES) REACHES 0.9`, or `x BEFORE z ...` looking back from z.

    `family` is upper case: EXPONENTIAL, GAMMA, LOGNORMAL, UNIFORM or EMPIRICAL.
    """

    earlier: str
    later: str
    backward: bool
    family: str
    parameters: tuple[Duration | int | float, ...]
    reaches: float | None = None


@dataclass(frozen=True, slots=True)
class CreateGaps(Node):
    """`CREATE GAPS name ON query LEARN FROM history` or with gaps in parentheses."""

    name: str
    query: str
    learn_from: str | None = None
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateCorrelation(Node):
    """`CREATE CORRELATION name LEARN FROM history`."""

    name: str
    learn_from: str


@dataclass(frozen=True, slots=True)
class Explain(Node):
    """`EXPLAIN [ANALYZE] query [FORMAT text | json | svg | mermaid]`."""

    query: str
    format: Choice["TEXT", "JSON", "SVG", "MERMAID"] = "TEXT"
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Write(Node):
    """`WRITE query TO parquet 'hits/' OPTIONS (...)`: where a run puts the answers of a query."""

    query: str
    target: External


@dataclass(frozen=True, slots=True)
class CreateModel(Node):
    """CREATE MODEL ... HMM or POSITIONS: tables by name, and what it is learned from.

    With `learn_on`, `learn_from` has the states of the readings in `learn_on`; without, it is
    readings alone, by which the model of the tables is improved. A model of positions has a floor
    of cells, walls and antennas, and how people walk on it.
    """

    name: str
    kind: Choice["HMM", "POSITIONS"] = "HMM"
    states: str | None = None
    initial: str | None = None
    transition: str | None = None
    emission: str | None = None
    step: Duration | None = None
    learn_from: str | None = None
    learn_on: str | None = None
    cells: str | None = None
    walls: str | None = None
    antennas: str | None = None
    speed: float | None = None
    rest: float | None = None


Method = Choice["FILTER", "SMOOTH", "VITERBI", "MLE", "PARTICLES"]


@dataclass(frozen=True, slots=True)
class InferStream(Node):
    """`CREATE STREAM at AS SMOOTH readings USING building LAG 5 PRUNE 0.001`.

    `AS PARTICLES (1000)` has its number in `particles`, and is SMOOTHED or not. `FILTER` and `LAG`
    may be CORRELATED: then steps are no longer taken by themselves.
    """

    name: str
    method: Method
    readings: str
    model: str
    lag: int | None = None
    prune: float | None = None
    particles: int | None = None
    smoothed: bool = False
    correlated: bool = False


@dataclass(frozen=True, slots=True)
class Future(Node):
    """`USING MARKOV 1`, `INDEPENDENT` (of order 0), `EDGES` or `MODEL building`."""

    kind: Choice["MARKOV", "EDGES", "MODEL"]
    order: int = 0
    model: str | None = None


@dataclass(frozen=True, slots=True)
class CreateForecast(Node):
    """CREATE FORECAST ... ON query; None, False or empty means that the clause was not written.

    `of_stream` is `WITHIN n EVENTS OF STREAM`, `half_life` is of ONLINE. `places` has the span of
    each clause by its keyword.
    """

    name: str
    query: str
    within: Window | None = None
    of_stream: bool = False
    future: Future | None = None
    smoothing: float | None = None
    learn_from: str | None = None
    online: bool = False
    half_life: Window | None = None
    by: tuple[str, ...] = ()
    arrivals: Choice["POISSON", "STEADY"] | None = None
    having: Having | None = None
    by_time: bool | None = None
    approximate: Approximate | None = None
    places: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)


# Rules ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting(Node):
    """`n = n + 1` in SET."""

    column: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Insert(Node):
    """INSERT INTO; no `columns` means all of the table, in their order.

    `conflict` is what is done where the key is there: an error (None), nothing, `settings` on the
    row that is there, or the new row in its place.
    """

    table: str
    rows: tuple[tuple[Expression, ...], ...]
    columns: tuple[str, ...] = ()
    conflict: Choice["NOTHING", "UPDATE", "REPLACE"] | None = None
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, slots=True)
class Update(Node):
    """`UPDATE t SET ... WHERE`; without a condition, every row."""

    table: str
    settings: tuple[Setting, ...]
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Delete(Node):
    """`DELETE FROM t WHERE`; without a condition, every row."""

    table: str
    condition: Expression | None = None


Change = Insert | Update | Delete


@dataclass(frozen=True, slots=True)
class Throttle(Node):
    """`THROTTLE 1 PER 10 MINUTES BY worker`: how many firings go through in a span of time."""

    most: int
    per: Window
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateRule(Node):
    """CREATE RULE: what is done to tables for each match of a query.

    `event` is the name of the match in WHEN and in the changes. `rejects` is ON ERROR REJECT,
    `replaces` is OR REPLACE, `waits` is AFTER REVISIONS.
    """

    name: str
    query: str
    changes: tuple[Change, ...]
    event: str = "new"
    when: Expression | None = None
    rejects: bool = False
    replaces: bool = False
    waits: bool = False
    throttle: Throttle | None = None
    query_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateMoves(Node):
    """CREATE MODEL ... MOVES: who there is (`objects`), and how people get about.

    Either a hall with `enter` and `exit`, or `doors`: a table and its two columns. `prefer` is
    a table and its columns of people, places and weights. `by` tells wards apart.
    """

    name: str
    objects: str | None = None
    owner: str | None = None
    place: str | None = None
    enter: str | int | float | bool | None = None
    exit: str | int | float | bool | None = None
    hall: str | int | float | bool | None = None
    doors: tuple[str, str, str] | None = None
    from_place: str | None = None
    by: str | None = None
    prefer: tuple[str, str, str, str] | None = None
    rejects_impossible: bool = False
    step: Window | None = None


@dataclass(frozen=True, slots=True)
class IdentifyStream(Node):
    """`CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 60 MINUTES REVISE ANY`.

    `by` is the difference of REVISE BY.
    """

    name: str
    readings: str
    model: str
    within: Window | None = None
    revise: Choice["ANY", "CERTAIN", "BY", "NEVER"] = "ANY"
    by: float | None = None


@dataclass(frozen=True, slots=True)
class WeightedQuery(Node):
    """`cleaned WEIGHT 5`, or `therapy NEVER`; weight None is what is meant where none is given."""

    query: str
    weight: float | None = None
    never: bool = False


PolicyMethod = Choice["TYPES", "GREEDY", "HYBRID", "HYBRID RATES", "HYBRID PERIODIC"]


@dataclass(frozen=True, slots=True)
class CreatePolicy(Node):
    """CREATE POLICY: what is public and private of a stream, and how it is decided what is kept.

    `patience` is a number, LEARNED, or None where it was not written.
    """

    name: str
    stream: str
    public: tuple[WeightedQuery, ...] = ()
    private: tuple[WeightedQuery, ...] = ()
    method: PolicyMethod | None = None
    period: Window | None = None
    learn_from: str | None = None
    online: bool = False
    over: Window | None = None
    by: str | None = None
    wang: bool = False
    patience: float | Choice["LEARNED"] | None = None
    places: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SuppressStream(Node):
    """`CREATE STREAM published AS SUPPRESS behaviour USING discreet`: the events that are kept."""

    name: str
    stream: str
    policy: str


Statement = (
    CreateStream
    | CreateTable
    | CreateStore
    | CreateRule
    | CreateQuery
    | CreateGaps
    | CreateCorrelation
    | CreateModel
    | InferStream
    | CreateForecast
    | CreateMoves
    | IdentifyStream
    | CreatePolicy
    | SuppressStream
    | Explain
    | Write
)
