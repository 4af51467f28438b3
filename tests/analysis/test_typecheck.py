"""Types of expressions: what compares, what adds, what is refused."""

from __future__ import annotations

import pytest

from analysis.checking import PLACES, READS, codes, query, shown


def condition(text: str) -> list[str]:
    return codes(
        (
            f"CREATE QUERY q ON reads PATTERN SEQ(SHELF a, EXIT+ b, EXIT c) WHERE "
            f"{text} WITHIN 1 HOUR;"
        ),
        READS + PLACES,
    )


@pytest.mark.parametrize(
    "text",
    [
        "a.price > 3",
        "a.id = 3.5",
        "a.id % 500 = 0",
        "a.price / 2 + 1 - -a.id * 3 < 7",
        "c.at - a.at < INTERVAL 5 MINUTES",
        "c.at > a.at + INTERVAL 2 HOURS",
        "c.at - a.at >= INTERVAL 1 SECOND * 2",
        "a.at < TIMESTAMP '2026-01-01 00:00:00' OR a.at > DATE '2026-01-02'",
        "a.tag || 'x' = c.tag",
        "a.tag LIKE 'x%' AND a.tag NOT LIKE '_'",
        "a.tag IN ('x', 'y')",
        "a.door IS NULL OR NOT a.price BETWEEN 1 AND 2",
        "CASE WHEN a.price > 1 THEN 1 WHEN a.id > 2 THEN 2.5 ELSE NULL END > 1",
        "CAST(a.tag AS LONG) > 3 AND CAST(a.price AS STRING) = '1'",
        "ABS(a.price) > ROUND(a.price, 1) AND SQRT(a.id) < FLOOR(a.price) + CEIL(a.price)",
        "LEAST(a.id, a.price, 3) < GREATEST(1, 2) AND COALESCE(a.door, c.door, 'x') = 'y'",
        "NULLIF(a.tag, 'x') = LOWER(UPPER(a.tag)) AND LENGTH(a.tag) = 3",
        "b[i].price > b[i-1].price AND b[1].price > 2 AND LAST(b).price < 9 AND b.price > 0",
        (
            "COUNT(b) >= 2 AND SUM(b.price) < 10 AND AVG(b.id) > 1 AND MIN(b.at) > "
            "a.at AND MAX(b.tag) = 'x'"
        ),
        "a.door IN Hallway",
        "a.tag['x'] = 'x'",
    ],
)
def test_sound_conditions_pass(text: str) -> None:
    assert condition(text) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a.tag = 3", "A040"),
        ("a.at = '2026-01-01'", "A040"),
        ("a.tag IN (1, 'x')", "A040"),
        ("a.price BETWEEN 'a' AND 3", "A040"),
        ("a.tag[3] = 'x'", "A040"),
        ("c.at - a.at < 300", "A040"),
        ("a.at + c.at > a.at", "A041"),
        ("a.tag + 1 > 2", "A041"),
        ("-a.tag = 'x'", "A041"),
        ("a.price LIKE 'x'", "A041"),
        ("AVG(b.tag) > 1", "A041"),
        ("a.price", "A042"),
        ("a.price > 1 OR a.tag", "A042"),
        ("NOPE(a.price) > 1", "A043"),
        ("ABS() > 1 AND a.id = 1", "A044"),
        ("LENGTH(a.price) = 3", "A044"),
        ("CAST(a.at AS LONG) = 3", "A045"),
        ("CAST(a.at - c.at AS STRING) = 'x'", "A045"),
        ("a.at > TIMESTAMP 'noon'", "A046"),
        ("NOT [tag]", "A047"),
        ("a.price IN Hallway", "A049"),
        ("COUNT(a) = 1", "A039"),
        ("LAST(a).price = 1", "A039"),
    ],
)
def test_unsound_conditions_are_refused_with_one_finding(text: str, code: str) -> None:
    assert condition(text) == [code]


def test_one_mistake_gives_one_finding() -> None:
    assert condition("ABS(a.prise + 1) * 2 > 'x'") == ["A012"]


def test_ticks_are_compared_with_numbers() -> None:
    text = "CREATE QUERY q ON At PATTERN SEQ(At a, At b) WHERE b.t - a.t < 5 WITHIN 10;"
    assert codes(text, PLACES) == []
    assert codes(text.replace("< 5", "< INTERVAL 5 SECONDS"), PLACES) == ["A040"]


def test_an_attribute_must_be_on_every_stream_that_plays_the_component() -> None:
    streams = READS + "CREATE STREAM other (tag STRING, at TIMESTAMP) TIME at;"
    q = "CREATE QUERY q ON reads, other PATTERN SEQ(_ a, _ b) WHERE {} WITHIN 1 HOUR;"
    assert codes(q.format("a.tag = b.tag"), streams) == []
    assert codes(q.format("a.door = 'x'"), streams) == ["A012"]


def test_true_is_no_conjunct() -> None:
    q = query(
        "CREATE QUERY q ON reads PATTERN SEQ(A a, B b) WHERE TRUE AND a.price > 1 WITHIN 1 HOUR;"
    )
    assert [shown(c) for c in q.conjuncts] == ["a.price > 1"]
