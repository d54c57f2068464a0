"""However a SELECT is read, it gives the rows that its condition holds for, each of them once."""

import math
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateleg.engine.engine import Engine
from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import compile_condition
from gateleg.engine.partiql import grammar
from gateleg.engine.partiql.conditions import condition_of
from gateleg.engine.partiql.selects import MAX_READS
from gateleg.engine.partiql.statements import parse

from .client import PartiQL
from .conftest import SONGS

_ENGINE = Engine(":memory:")
_ENGINE.call("CreateTable", SONGS)
_ITEMS = [
    {"artist": {"S": artist}, "title": {"S": title}, "n": {"N": str(number)}, "genre": {"S": f"g{number % 3}"}}
    for artist in "abc"
    for number, title in enumerate("1234")
]
for item in _ITEMS:
    _ENGINE.call("PutItem", {"TableName": "Songs", "Item": item})

_artist = st.sampled_from(["'a'", "'b'", "'z'"])
_title = st.sampled_from(["'1'", "'2'", "'3'", "'12'"])
_leaf = st.one_of(
    _artist.map(lambda value: f"artist = {value}"),
    _artist.map(lambda value: f"{value} = artist"),
    st.lists(_artist, min_size=1, max_size=3, unique=True).map(lambda values: f"artist IN [{', '.join(values)}]"),
    _artist.map(lambda value: f"artist > {value}"),
    st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), _title).map(lambda pair: f"title {pair[0]} {pair[1]}"),
    st.lists(_title, min_size=1, max_size=3, unique=True).map(lambda values: f"title IN [{', '.join(values)}]"),
    _title.map(lambda value: f"begins_with(title, {value})"),
    st.lists(_title, min_size=2, max_size=2).map(sorted).map(lambda values: f"title BETWEEN {values[0]} AND {values[1]}"),
    st.integers(0, 4).map(lambda number: f"n = {number}"),
    st.just("genre = 'g1'"),
)
_condition = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        inner.map(lambda part: f"NOT ({part})"),
    ),
    max_leaves=6,
)


def _expected(text: str) -> set[str]:
    statement = parse(f"SELECT * FROM Songs WHERE {text}").statement
    assert isinstance(statement, grammar.SelectStatement)
    assert statement.where is not None
    test = compile_condition(condition_of(statement.where, {}))
    return {item["artist"]["S"] + item["title"]["S"] for item in _ITEMS if test(item, {})}


def _most_reads(text: str) -> int:
    """More reads than a condition can be taken apart into: those of lists are multiplied at most, and others added."""
    lists: list[int] = [found.count(",") + 1 for found in re.findall(r"IN \[([^]]*)\]", text)]
    words: list[str] = re.findall(r" (?:AND|OR) ", text)
    return math.prod(lists) * math.prod(2 for _ in words)


@example("(artist IN ['a', 'b', 'z'] AND (title IN ['1', '2', '3'] AND (artist IN ['a', 'b', 'z'] AND title IN ['1', '2', '3'])))", "Songs")
@settings(max_examples=400, deadline=None)
@given(_condition, st.sampled_from(["Songs", '"Songs"."by-genre"']))
def test_a_select_gives_the_rows_that_its_condition_holds_for(condition: str, source: str) -> None:
    try:
        found = _ENGINE.call("ExecuteStatement", {"Statement": f"SELECT artist, title FROM {source} WHERE {condition}"})["Items"]
    except EngineError as error:
        told = error.message or ""
        if "Too many decomposed" in told:
            assert _most_reads(condition) > MAX_READS
        elif "Overlapping conditions" not in told and "does not project" not in told:
            raise
        return
    rows = [item["artist"]["S"] + item["title"]["S"] for item in found]
    assert len(set(rows)) == len(rows)
    if source == "Songs" or "n = " not in condition:
        assert set(rows) == _expected(condition)


OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
WRONG_TYPE = "Key attribute's data type should match its data type in table's schema: Key "
UNPROJECTED = "One or more parameter values were invalid: Secondary index by-genre does not project one or more filter attributes: "


@pytest.fixture
def songs(partiql: PartiQL) -> PartiQL:
    for artist in "ab":
        for title in "123":
            partiql.song(artist, title, n={"N": title}, genre={"S": f"g{artist}"}, label={"S": f"l{title}"}, length={"N": "3"})
    return partiql


def titles(partiql: PartiQL, condition: str, **more: Any) -> list[str]:
    return partiql.column("title", f"SELECT title FROM Songs WHERE {condition}", **more)


def pairs(partiql: PartiQL, condition: str) -> list[str]:
    items = partiql.items(f"SELECT * FROM Songs WHERE {condition}")
    return [item["artist"]["S"] + item["title"]["S"] for item in items]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("artist = 'a'", ["1", "2", "3"]),
        ("artist = 'a' AND title = '2'", ["2"]),
        ("artist = 'a' AND title > '1' AND title <= '3'", ["2", "3"]),
        ("artist = 'a' AND '2' <= title", ["2", "3"]),
        ("artist = 'a' AND title BETWEEN '2' AND '9'", ["2", "3"]),
        ("artist = 'a' AND begins_with(title, '2')", ["2"]),
        ("artist = 'a' AND title < '1'", []),
        ("artist = 'a' AND title > '2' AND title < '2'", []),
        ("artist = 'a' AND (title = '1' OR title = '3')", ["1", "3"]),
        ("artist = 'a' AND title IN ['3', '1']", ["1", "3"]),
        ("artist = 'a' AND (title < '2' OR title > '2' OR title = '2')", ["1", "2", "3"]),
        ("artist = 'a' AND NOT title = '1'", ["2", "3"]),
        ("artist = 'a' AND title <> '1' AND title > '0'", ["2", "3"]),
        ("artist = 'a' AND n >= 2 AND attribute_exists(artist)", ["2", "3"]),
        ("artist = 'a' AND artist = 'a' AND title = '1' AND title > '0'", ["1"]),
        ("artist = 'a' AND artist = 'b'", []),
        ("artist > 'a' AND n = 1", ["1"]),
        ("artist > 1", []),
    ],
)
def test_a_condition_selects_rows(songs: PartiQL, condition: str, expected: list[str]) -> None:
    assert titles(songs, condition) == expected


@pytest.mark.parametrize(
    "condition",
    ["NOT title = '1'", "title <> '1'", "NOT begins_with(title, '1')", "NOT title IN ['1']", "NOT title < '2'", "NOT (title = '1')"],
)
def test_branches_with_a_negated_range_condition_are_united(songs: PartiQL, condition: str) -> None:
    assert sorted(titles(songs, f"artist = 'a' AND {condition} OR artist = 'a' AND title = '2'")) == ["2", "3"]


@pytest.mark.parametrize(
    "condition",
    [
        "artist IN ['a', 'a']",
        "artist = 'a' OR artist = 'a'",
        "artist = 'a' AND (title > '0' OR title < '5')",
        "artist = 'a' AND (title = '1' OR n = 2)",
        "(artist = 'a' AND n = 1) OR (artist = 'a' AND n = 2)",
        "artist = 'a' AND n <> 1 OR artist = 'a' AND title = '2'",
    ],
)
def test_reads_that_cross_are_refused(songs: PartiQL, condition: str) -> None:
    assert songs.message(f"SELECT * FROM Songs WHERE {condition}") == OVERLAP


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("artist = 1", f"{WRONG_TYPE}artist"),
        ("artist = 1 OR artist = 'a'", f"{WRONG_TYPE}artist"),
        ("artist = 'a' AND title IN ['1', 2]", f"{WRONG_TYPE}title"),
        ("artist = true", "Key value must be of type S, N, or B. Key name: artist, Key type: BOOL"),
        (
            "artist = ''",
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. "
            "Key: artist",
        ),
    ],
)
def test_a_key_of_the_wrong_type_is_refused(songs: PartiQL, condition: str, message: str) -> None:
    assert songs.message(f"SELECT * FROM Songs WHERE {condition}") == message


def values(count: int) -> str:
    return ", ".join(f"'v{i}'" for i in range(count))


@pytest.mark.parametrize(
    "condition",
    [f"artist IN [{values(51)}]", f"artist = 'a' AND title IN [{values(51)}]", f"artist IN [{values(26)}] AND title IN ['1', '2']"],
)
def test_more_than_fifty_reads_are_refused(songs: PartiQL, condition: str) -> None:
    assert songs.message(f"SELECT * FROM Songs WHERE {condition}") == "Too many decomposed read operations for a given query."


def test_fifty_reads_are_read_and_more_are_scanned_if_the_partition_is_open(songs: PartiQL) -> None:
    assert titles(songs, f"artist IN [{values(49)}, 'a'] AND n = 1") == ["1"]
    assert titles(songs, f"artist IN [{values(51)}] OR n = 1") == ["1", "1"]


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("artist = 'a' ORDER BY title", ["a1", "a2", "a3"]),
        ("artist = 'a' ORDER BY title DESC", ["a3", "a2", "a1"]),
        ("artist = 'a' ORDER BY artist ASC", ["a3", "a2", "a1"]),
        ("artist IN ['a', 'b'] ORDER BY artist DESC, title ASC", ["b1", "b2", "b3", "a1", "a2", "a3"]),
        ("artist IN ['b', 'a'] AND title IN ['1', '3'] ORDER BY artist, title DESC", ["a3", "a1", "b3", "b1"]),
        ("artist IN ['b', 'a']", ["a1", "a2", "a3", "b1", "b2", "b3"]),
    ],
)
def test_rows_come_in_the_order_of_their_keys(songs: PartiQL, clause: str, expected: list[str]) -> None:
    assert pairs(songs, clause) == expected


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("ORDER BY title", "Must have WHERE clause in the statement when using ORDER BY clause."),
        ("WHERE artist = 'a' ORDER BY n", "Attribute n in ORDER BY clause must be part of the primary key"),
        (
            "WHERE artist > 'a' ORDER BY title",
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
        ),
        (
            "WHERE artist IN ['a', 'b'] ORDER BY title",
            "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.",
        ),
    ],
)
def test_an_order_that_no_key_gives_is_refused(songs: PartiQL, clause: str, message: str) -> None:
    assert songs.message(f"SELECT * FROM Songs {clause}") == message


def test_columns_are_called_by_their_last_name_and_positions(partiql: PartiQL) -> None:
    partiql.song("a", "t", m={"M": {"k": {"L": [{"S": "c"}, {"M": {"x": {"N": "1"}}}]}}})
    text = "SELECT title, m.k[0], m.k[-0].x, m.k[1].x, m.nope, \"m.k\" FROM Songs WHERE artist = 'a'"
    assert partiql.message(text) == "Duplicate identifiers in select clause: x"
    items = partiql.items("SELECT title, m.k[-0], m.k[1].x, m.nope, \"m.k\" FROM Songs WHERE artist = 'a'")
    assert items == [{"title": {"S": "t"}, "k[0]": {"S": "c"}, "x": {"N": "1"}}]


def test_items_without_the_columns_are_answered_empty(songs: PartiQL) -> None:
    assert songs.items("SELECT nope FROM Songs WHERE artist = 'a' AND title = '1'") == [{}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT COUNT(*) FROM Nowhere", "Unexpected path component at 1:8:5"),
        ("SELECT a,\n attribute_exists(b) FROM Songs", "Unexpected path component at 2:2:16"),
        ("SELECT l[-1] FROM Songs", "List index is not within the allowable range; index: [-1] at 1:11:1"),
        ("SELECT l[2147483648] FROM Songs", "List index is not within the allowable range; index: [2147483648] at 1:10:10"),
        (
            "SELECT artist.x FROM Songs",
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: artist",
        ),
        ("SELECT * FROM Songs s", "Aliasing is not supported"),
        ("SELECT * FROM Songs AS s", "Aliasing is not supported"),
        ("SELECT title AS t FROM Songs", "Aliasing is not supported"),
        ("SELECT title FROM Songs LIMIT 5", "Unsupported clause: LIMIT at 1:31:1"),
        ('SELECT * FROM ""', "Path component cannot be an empty string"),
        ('SELECT * FROM "Songs".""', "Path component cannot be an empty string"),
        ('SELECT * FROM "Songs"."by-genre"."x"', "A path may contain at most 2 components in the FROM clause"),
        ('SELECT * FROM "Songs"."nope"', "The table does not have the specified index"),
        ("a IS INT4", "Unsupported operation: IsType"),
    ],
)
def test_a_select_that_means_nothing_is_refused(partiql: PartiQL, text: str, message: str) -> None:
    assert partiql.message(text) == message


@pytest.mark.parametrize("text", ["SELECT * FROM Nowhere", 'SELECT * FROM "Nowhere"."by-genre"', "DELETE FROM Nowhere WHERE a = 1"])
def test_a_table_that_does_not_exist_is_not_found(partiql: PartiQL, text: str) -> None:
    error = partiql.refused(text)
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found")


def test_a_table_may_be_named_by_its_arn(songs: PartiQL) -> None:
    arn = songs.engine.call("DescribeTable", {"TableName": "Songs"})["Table"]["TableArn"]
    assert songs.column("title", f"SELECT title FROM \"{arn}\" WHERE artist = 'a' AND title = '1'") == ["1"]


def walk(partiql: PartiQL, text: str, limit: int) -> list[list[str]]:
    """The artists and titles of each page of a SELECT."""
    pages = []
    token: dict[str, Any] = {}
    while True:
        answer = partiql.run(text, Limit=limit, **token)
        pages.append([item["artist"]["S"] + item["title"]["S"] for item in answer["Items"]])
        if "NextToken" not in answer:
            return pages
        token = {"NextToken": answer["NextToken"]}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM Songs",
        "SELECT * FROM Songs WHERE artist IN ['a', 'b']",
        "SELECT * FROM Songs WHERE artist IN ['a', 'b'] ORDER BY artist DESC",
        'SELECT * FROM "Songs"."by-genre"',
        "SELECT * FROM \"Songs\".\"by-genre\" WHERE genre IN ['ga', 'gb']",
        "SELECT * FROM \"Songs\".\"by-label\" WHERE artist IN ['a', 'b']",
        "SELECT * FROM Songs WHERE artist IN ['a', 'b'] AND title IN ['1', '2', '3']",
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
def test_pages_give_every_row_once(songs: PartiQL, text: str, limit: int) -> None:
    pages = walk(songs, text, limit)
    assert all(len(page) <= limit for page in pages)
    rows = [row for page in pages for row in page]
    assert rows == [item["artist"]["S"] + item["title"]["S"] for item in songs.items(text)]
    assert len(rows) == 6


def test_the_limit_counts_rows_that_the_filter_drops(songs: PartiQL) -> None:
    assert walk(songs, "SELECT * FROM Songs WHERE artist = 'a' AND n = 3", 2) == [[], ["a3"]]


def test_one_item_by_its_key_has_no_next_page(songs: PartiQL) -> None:
    assert walk(songs, "SELECT * FROM Songs WHERE artist = 'a' AND title = '1'", 1) == [["a1"]]


def test_a_page_ends_at_a_megabyte(partiql: PartiQL) -> None:
    for title in "1234":
        partiql.song("a", title, x={"S": "x" * 350_000})
    answer = partiql.run("SELECT title FROM Songs WHERE artist = 'a'")
    assert len(answer["Items"]) == 3
    assert len(partiql.items("SELECT title FROM Songs WHERE artist = 'a'", NextToken=answer["NextToken"])) == 1


def test_a_token_belongs_to_its_statement_and_parameters(songs: PartiQL) -> None:
    text = "SELECT * FROM Songs WHERE artist = ?"
    token = songs.run(text, {"S": "a"}, Limit=1)["NextToken"]
    assert songs.column("title", text, {"S": "a"}, NextToken=token) == ["2", "3"]
    mismatch = "NextToken does not match request"
    assert songs.message(text, {"S": "b"}, NextToken=token) == mismatch
    assert songs.message("SELECT * FROM Songs", NextToken=token) == mismatch
    assert songs.message("SELECT * FROM Plain", NextToken=token) == mismatch


def test_a_token_that_was_tampered_with_is_refused(songs: PartiQL) -> None:
    text = "SELECT * FROM Songs"
    token = songs.run(text, Limit=1)["NextToken"]
    for wrong in ("garbage", "", token[:-8], token[:30] + ("B" if token[30] == "A" else "A") + token[31:]):
        if wrong:
            assert songs.message(text, NextToken=wrong) == "Invalid NextToken"


def test_a_global_index_answers_only_what_it_holds(songs: PartiQL) -> None:
    assert sorted(songs.column("title", 'SELECT title FROM "Songs"."by-genre" WHERE genre = \'ga\' AND length = 3')) == ["1", "2", "3"]
    assert set(songs.items('SELECT * FROM "Songs"."by-genre" WHERE genre = \'ga\'')[0]) == {"artist", "title", "genre", "length"}
    message = songs.message('SELECT n, label, title FROM "Songs"."by-genre" WHERE genre = \'ga\'')
    assert message == "One or more parameter values were invalid: Global secondary index by-genre does not project [n, label]"


@pytest.mark.parametrize(
    ("condition", "missing"),
    [
        ("genre = 'ga' AND n = 1", "[n]"),
        ("genre = 'ga' AND NOT (n = 1 OR length = 3)", "[n]"),
        ("genre = 'ga' AND y = 1 AND (x = 2 OR length = 3)", "[x, y]"),
        ("genre = 'ga' AND (zz = 1 OR aa = 2 OR mm = 3)", "[zz, aa, mm]"),
        ("genre IN ['ga', 'gb'] AND n = 1", "[n]"),
        ("(genre = 'gb' AND u = 1) OR (genre = 'ga' AND v = 1)", "[u]"),
    ],
)
def test_an_index_read_by_its_key_filters_only_by_what_it_holds(songs: PartiQL, condition: str, missing: str) -> None:
    assert songs.message(f'SELECT title FROM "Songs"."by-genre" WHERE {condition}') == UNPROJECTED + missing


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("n = 1", 0),
        ("NOT n = 1", 6),
        ("genre > 'a' AND n = 1", 0),
        ("(genre = 'ga' AND n = 1) OR genre = 'gb'", 3),
        ("genre = 'ga' AND n = 1 OR n = 2", 0),
    ],
)
def test_an_index_that_is_walked_filters_by_what_it_holds(songs: PartiQL, condition: str, count: int) -> None:
    assert len(songs.items(f'SELECT title FROM "Songs"."by-genre" WHERE {condition}')) == count


def test_a_local_index_is_completed_from_the_table_for_columns_only(songs: PartiQL) -> None:
    assert songs.column("n", "SELECT n FROM \"Songs\".\"by-label\" WHERE artist = 'a' AND label >= 'l2'") == ["2", "3"]
    assert songs.items('SELECT n FROM "Songs"."by-label" WHERE n = 1') == []
    assert set(songs.items('SELECT * FROM "Songs"."by-label" WHERE artist = \'a\'')[0]) == {"artist", "title", "label"}
    message = songs.message('SELECT n FROM "Songs"."by-label" WHERE artist = \'a\' AND n = 1')
    assert message == UNPROJECTED.replace("by-genre", "by-label") + "[n]"


def test_consistent_reads_are_refused_on_global_indexes_only(songs: PartiQL) -> None:
    message = "Strongly consistent read is not supported on Global Secondary Indexes"
    assert songs.message('SELECT * FROM "Songs"."by-genre"', ConsistentRead=True) == message
    assert len(songs.items('SELECT * FROM "Songs"."by-label" WHERE artist = \'a\'', ConsistentRead=True)) == 3


def capacity(partiql: PartiQL, text: str, mode: str = "INDEXES", **more: Any) -> Any:
    return partiql.run(text, ReturnConsumedCapacity=mode, **more).get("ConsumedCapacity")


def test_reads_consume_what_they_walk(songs: PartiQL) -> None:
    text = "SELECT title FROM Songs WHERE artist = 'a' AND n = 9"
    assert capacity(songs, text, "TOTAL") == {"TableName": "Songs", "CapacityUnits": 0.5}
    assert capacity(songs, text, ConsistentRead=True) == {"TableName": "Songs", "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}}
    assert capacity(songs, text, "NONE") is None
    by_genre = capacity(songs, 'SELECT * FROM "Songs"."by-genre" WHERE genre = \'ga\'')
    assert by_genre["GlobalSecondaryIndexes"] == {"by-genre": {"CapacityUnits": 0.5}}
    assert by_genre["Table"] == {"CapacityUnits": 0.0}


def test_completing_a_local_index_is_paid_for_row_by_row(songs: PartiQL) -> None:
    consumed = capacity(songs, "SELECT n FROM \"Songs\".\"by-label\" WHERE artist = 'a' AND NOT title = '1'")
    assert consumed == {
        "TableName": "Songs",
        "CapacityUnits": 2.0,
        "Table": {"CapacityUnits": 1.5},
        "LocalSecondaryIndexes": {"by-label": {"CapacityUnits": 0.5}},
    }


def test_an_index_of_several_key_attributes_is_refused(partiql: PartiQL) -> None:
    partiql.engine.call(
        "CreateTable",
        {
            "TableName": "Wide",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "x", "y")],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "both",
                    "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}, {"AttributeName": "y", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        },
    )
    refused = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
    for text in ("SELECT * FROM Wide.both WHERE x = 1", "SELECT COUNT(*) FROM Wide.both", "SELECT * FROM Wide.both"):
        assert partiql.message(text) == refused
    assert partiql.items("SELECT * FROM Wide WHERE id = 'a'") == []


def test_stored_items_are_spliced_into_the_answer(songs: PartiQL) -> None:
    body = songs.engine.call_json("ExecuteStatement", b"{\"Statement\": \"SELECT * FROM Songs WHERE artist = 'a' AND title = '1'\"}")
    assert b'"title":{"S":"1"}' in body
