"""The table of all keywords: what the lexer may read as more than a name.

Keywords are soft. A word is a keyword only where the grammar accepts that keyword; where a name
is acceptable too, the keyword's `before` and `unless` decide by the token that follows. So streams,
columns and components may be called `at`, `type`, `first` or `count` without quotes.

Invariant: the words here are exactly the words of `grammar.lark` (a test compares them).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from augury.language.expressions import Unit

Topic = Literal[
    "statement",
    "stream",
    "query",
    "pattern",
    "expression",
    "gaps",
    "model",
    "forecast",
    "rule",
    "policy",
]


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word, where it belongs, and what must (not) follow it where a name could stand instead.

    `before` and `unless` hold token kinds (`LPAR`) or words (`WHEN`); an empty `before` asks for
    nothing.
    """

    word: str
    topic: Topic
    before: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()


_CALLED = ("LPAR",)
_NAMED = ("WORD", "QUOTED")
_MEASURE = ("LPAR", "COMMA", "AS")
_AFTER_A_RULES_QUERY = (
    "REFERENCING", "FOR", "AFTER", "WHEN", "THROTTLE", "ON", "DO", "BEGIN", "IF",
)  # fmt: skip


def _words(topic: Topic, text: str) -> dict[str, Keyword]:
    return {word: Keyword(word, topic) for word in text.split()}


def _followed(topic: Topic, text: str, before: tuple[str, ...]) -> dict[str, Keyword]:
    return {word: Keyword(word, topic, before=frozenset(before)) for word in text.split()}


def _unless(topic: Topic, text: str, unless: tuple[str, ...]) -> dict[str, Keyword]:
    return {word: Keyword(word, topic, unless=frozenset(unless)) for word in text.split()}


KEYWORDS: dict[str, Keyword] = {
    **_words("statement", "CREATE STREAM TABLE QUERY EXPLAIN FORMAT WRITE"),
    **_words("stream", "ID KEY TIME ORDER BY TYPE ALTERNATIVES MARKOV LATENESS IDLE"),
    **_words("stream", "FROM OPTIONS"),
    **_words("stream", "MISS RATE"),
    **_words("query", "ON WHERE AFTER USING SKIP TILL MATCH STRICT PARTITION CONTIGUITY WITHIN"),
    **_words("query", "EVENTS EVERY ALLOW ALL MISSED OF HAVING CONFIDENCE CONF THRESHOLD GROUP"),
    **_words("query", "RETURN AS OVER APPROXIMATE LIMIT CORRELATED SCORING AYAC DPCEP LAW"),
    **_words("query", "PAST PER"),
    **_unless("query", "PROBABILITY COUNT", _MEASURE),
    **_followed("query", "TOTAL", ("COUNT",)),
    **_words("pattern", "PATTERN EVENT SUBSCRIPTION WITH"),
    **_followed("pattern", "SEQUENCE SEQ ANY FIRST LAST", _CALLED),
    **_followed("pattern", "NEXT", (*_CALLED, *_NAMED)),
    **_words("pattern", "UNTIL"),
    **_followed("expression", "AND OR CAST", _CALLED),
    **_words("expression", "NOT NULL TRUE FALSE IS IN BETWEEN LIKE WHEN THEN ELSE END"),
    **_followed("expression", "CASE", ("WHEN",)),
    **_followed("expression", "INTERVAL", ("INT", "DECIMAL", "STRING")),
    **_followed("expression", "TIMESTAMP DATE", ("STRING",)),
    **_followed("expression", "SELECT", _NAMED),
    **_words("gaps", "GAPS LEARN TO BEFORE REACHES CORRELATION"),
    **_words("model", "MODEL HMM STATES INITIAL TRANSITION EMISSION STEP"),
    **_words("model", "FILTER SMOOTH VITERBI MAP MLE LAG PRUNE"),
    **_words("forecast", "FORECAST INDEPENDENT EDGES SMOOTHING ONLINE ARRIVALS POISSON STEADY"),
    **_words("forecast", "HALF LIFE"),
    **_words("rule", "STORE AT UNCERTAIN RULE REPLACE REFERENCING NEW FOR EACH BEGIN DO"),
    **_words("rule", "INSERT INTO VALUES CONFLICT NOTHING UPDATE SET DELETE ERROR REJECT"),
    **_words("rule", "REVISIONS THROTTLE PER"),
    "OUTPUT": Keyword("OUTPUT", "rule", frozenset(_NAMED), frozenset(_AFTER_A_RULES_QUERY)),
    **_words("model", "POSITIONS CELLS WALLS ANTENNAS SPEED REST PARTICLES SMOOTHED"),
    **_words("model", "MOVES OBJECTS OWNER PLACE ENTER EXIT HALL DOORS FROM_PLACE PREFER"),
    **_words("model", "IMPOSSIBLE REJECT IDENTIFY REVISE CERTAIN NEVER"),
    **_words("policy", "POLICY PUBLIC PRIVATE WEIGHT NEVER SUPPRESS TYPES GREEDY HYBRID RATES"),
    **_words("policy", "PERIODIC PERIOD ONLINE ESTIMATES WANG PATIENCE LEARNED"),
}

UNITS: dict[str, Unit] = {
    **dict.fromkeys(("MS", "MILLIS", "MILLISECOND", "MILLISECONDS"), "MILLISECOND"),
    **dict.fromkeys(("S", "SEC", "SECS", "SECOND", "SECONDS"), "SECOND"),
    **dict.fromkeys(("M", "MIN", "MINS", "MINUTE", "MINUTES"), "MINUTE"),
    **dict.fromkeys(("H", "HR", "HRS", "HOUR", "HOURS"), "HOUR"),
    **dict.fromkeys(("D", "DAY", "DAYS"), "DAY"),
    **dict.fromkeys(("W", "WEEK", "WEEKS"), "WEEK"),
}

GAP_FAMILIES = ("EXPONENTIAL", "GAMMA", "LOGNORMAL", "UNIFORM", "EMPIRICAL")
EXPLAIN_FORMATS = ("TEXT", "JSON", "SVG", "MERMAID")
AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX")

# Words that open a clause of a query.
CLAUSES: frozenset[str] = frozenset(
    {
        *("ON", "PATTERN", "SEQUENCE", "EVENT", "SUBSCRIPTION", "WHERE", "AFTER", "USING"),
        *("WITHIN", "EVERY"),
        *("ALL", "ALLOW", "MISS", "CORRELATED", "GROUP", "HAVING", "THRESHOLD", "RETURN"),
        *("APPROXIMATE", "MATCH", "SCORING", "OPTIONS"),
    }
)

# Words that open a pattern; in front of a parenthesis they never name one of Lahar's relations.
PATTERN_WORDS = frozenset({"SEQUENCE", "SEQ", "NEXT", "AND", "OR", "ANY", "SUBSCRIPTION"})

# Keywords that some state of the parser accepts where it accepts a name too: the printer
# puts names that are spelled so in backquotes (a test derives this set from the tables).
CONTENDED: frozenset[str] = CLAUSES | {
    *("AND", "ANY", "CASE", "CAST", "COUNT", "DATE", "FALSE", "FIRST", "FORMAT", "INTERVAL"),
    *("LAST", "NEXT"),
    *("NOT", "NULL", "OR", "OUTPUT", "PROBABILITY", "SELECT", "SEQ", "TIMESTAMP", "TOTAL", "TRUE"),
}
