"""A script is judged as a whole, in order, without noise and without raising."""

from __future__ import annotations

from analysis.checking import PLACES, READS, codes, query
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.script import check, check_text
from augury.errors import Source
from augury.language.expressions import Attribute, Binary, Expression, Literal, Unary
from augury.language.tree import Component, CreateQuery

SHOP = "CREATE QUERY shop ON reads PATTERN SEQ(SHELF x, EXIT z) WHERE [tag] WITHIN 1 HOUR"


def test_findings_come_in_the_order_of_the_text() -> None:
    text = (
        READS + "EXPLAIN b; EXPLAIN a; CREATE STREAM s (a LONG); CREATE STREAM t (b STRNG, c LONG);"
    )
    starts = [d.span.start for d in check_text(text).diagnostics]
    assert len(starts) == 5
    assert starts == sorted(starts)


def test_a_faulty_stream_is_reported_once_and_its_queries_are_not_judged() -> None:
    text = """CREATE STREAM s (a LONG);
    CREATE QUERY q ON s PATTERN SEQ(s x, s y) WHERE x.nothing = y.never;
    CREATE QUERY r ON q PATTERN SEQ(q x, q y) WHERE x.what = 3; EXPLAIN q;"""
    assert codes(text, streams="") == ["A016"]


def test_what_a_query_says_beyond_its_broken_stream_is_still_judged() -> None:
    text = (
        "CREATE STREAM s (a LONG); CREATE QUERY q ON s PATTERN SEQ(s x, s x) HAVING CONFIDENCE > 2;"
    )
    assert codes(text, streams="") == ["A016", "A031", "A057"]


def test_a_statement_that_cannot_be_parsed_does_not_make_its_name_unknown() -> None:
    text = "CREATE QUERY p ON reads; CREATE QUERY q ON p PATTERN SEQ(p a, p b) WITHIN 1 HOUR;"
    assert codes(text) == ["A006"]


def test_the_first_declaration_of_a_name_stays() -> None:
    checked = check_text(READS + SHOP + "; CREATE TABLE SHOP (a LONG);")
    assert [d.code for d in checked.diagnostics] == ["A010"]
    assert checked.catalog.query("Shop") is not None
    assert checked.catalog.table("shop") is None


def test_a_catalog_given_to_a_check_is_not_changed() -> None:
    before = check_text(READS).catalog
    after = check_text(SHOP + ";", catalog=before).catalog
    assert (before.query("shop"), before.readable("shop")) == (None, None)
    assert after.readable("shop") is not None
    assert after.stream("READS") == before.stream("reads")


def test_gaps_given_after_a_query_are_its_gaps() -> None:
    shop = query(SHOP + "; CREATE GAPS g ON shop (x TO z EXPONENTIAL(20 MINUTES) REACHES 0.9);")
    assert [(g.earlier, g.later, g.family, g.parameters, g.reaches) for g in shop.gaps] == [
        (0, 1, "EXPONENTIAL", (1_200_000_000.0,), 0.9)
    ]


def test_gaps_for_a_query_of_an_earlier_script_give_that_query_again() -> None:
    earlier = check_text(READS + SHOP + ";")
    later = check_text(
        "CREATE GAPS g ON shop (x TO z EXPONENTIAL(1 HOUR));", catalog=earlier.catalog
    )
    assert earlier.queries[0].gaps == ()
    assert [(q.name, len(q.gaps)) for q in later.queries] == [("shop", 1)]


def test_findings_about_later_gaps_point_into_the_later_text() -> None:
    text = SHOP.replace("WITHIN 1 HOUR", "")
    earlier = check_text(READS + text + ";", "earlier.sql")
    gaps = "CREATE GAPS g ON shop (z TO x EXPONENTIAL(1 HOUR));"
    later = check_text(gaps, "later.sql", earlier.catalog)
    assert [(d.code, d.source.name) for d in later.diagnostics] == [("A068", "later.sql")]
    right = check_text(gaps.replace("z TO x", "x TO z"), "later.sql", earlier.catalog)
    assert right.diagnostics == ()
    assert [(w.code, w.source.name) for w in right.queries[0].warnings] == [("W001", "earlier.sql")]


def test_learned_gaps_name_their_history() -> None:
    assert query(SHOP + "; CREATE GAPS g ON shop LEARN FROM Reads;").learn_gaps_from == "reads"


def test_a_query_without_a_name_gets_a_free_one() -> None:
    text = (
        "CREATE QUERY query_1 ON reads PATTERN SEQ(A a, B b) WITHIN 1 HOUR; "
        "PATTERN SEQ(A a, B b) WITHIN 1 HOUR;"
    )
    checked = check_text(READS + text)
    assert [q.name for q in checked.queries] == ["query_1", "query_2"]


def test_a_query_may_read_an_earlier_query() -> None:
    pairs = query(
        SHOP + " RETURN z.door AS gate, x.price;"
        "CREATE QUERY twice ON shop PATTERN SEQ(shop a, shop b)"
        " WHERE [tag] AND a.gate = b.gate AND a.end_ts - a.start_ts < INTERVAL 1 HOUR WITHIN 1 DAY;"
    )
    schema = pairs.streams[0]
    assert (schema.id, schema.key, schema.time, schema.probability) == (
        "match_id",
        ("tag",),
        "end_ts",
        "confidence",
    )
    assert [(c.name, c.type.value) for c in schema.columns] == [
        ("match_id", "STRING"),
        ("tag", "STRING"),
        ("start_ts", "TIMESTAMP"),
        ("end_ts", "TIMESTAMP"),
        ("confidence", "DOUBLE"),
        ("gate", "STRING"),
        ("price", "DOUBLE"),
    ]


def test_the_only_stream_is_meant_where_on_is_missing() -> None:
    assert query("CREATE QUERY q PATTERN SEQ(A a, B b) WITHIN 1 HOUR;").streams[0].name == "reads"


def test_the_streams_that_the_pattern_names_are_meant_where_on_is_missing() -> None:
    q = query("CREATE QUERY q PATTERN AND(reads, shop) WITHIN 1 HOUR;", READS + PLACES + SHOP + ";")
    assert [s.name for s in q.streams] == ["reads", "shop"]


def test_a_tree_nested_without_end_is_a_finding() -> None:
    deep: Expression = Binary("=", Attribute("a", "id"), Literal(1))
    for _ in range(5000):
        deep = Unary("NOT", deep)
    statement = CreateQuery("q", ("reads",), Component("reads", "a"), where=deep)
    checked = check([statement], Source("t", ""), check_text(READS).catalog)
    assert [d.code for d in checked.diagnostics] == ["A077"]


def test_an_empty_script_is_right() -> None:
    checked = check_text("", catalog=Catalog())
    assert (checked.queries, checked.diagnostics) == ((), ())
