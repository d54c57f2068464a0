from datetime import UTC, datetime
from typing import Any

import pytest

from gateleg.model import GSI, LSI, Attr, Collection, Entity, Key, Pattern, Query, Table, field, spec_of
from gateleg.model.errors import (
    ConsistentOnGlobal,
    DeclarationError,
    EmptyKey,
    KeyInFilter,
    KeyValueError,
    MissingComponent,
    NotAKeyCondition,
    QueryError,
    UnknownArgument,
)

library = Table(
    "library",
    hash="PK",
    range="SK",
    tag="kind",
    indexes=[
        GSI("shelf", hash="G1", range="G1S"),
        GSI("genre", hash="genre", range="year"),
        GSI("many", hash=["country", "city"], range=["street", "house"]),
        GSI("spread", hash="G2", range="year"),
        LSI("by-year", range="year"),
    ],
)


class Book(Entity, table=library, tag="book"):
    library_id: Attr[str]
    number: Attr[int]
    genre: Attr[str] = field("novel")
    year: Attr[int] = field(2000)
    building: Attr[str] = field("main")
    room: Attr[str] = field("a")
    shelf: Attr[int] = field(1)
    country: Attr[str] = field("de")
    city: Attr[str] = field("ulm")
    street: Attr[str] = field("x")
    house: Attr[int] = field(1)
    added: Attr[datetime] = field(datetime(2026, 1, 1, tzinfo=UTC))

    key = Key("LIB#{library_id}", "BOOK#{number:05d}")
    place = Key("LIB#{library_id}", "B#{building}#{room}#{shelf:03d}", index="shelf")
    spread = Key("G#{genre}", index="spread", shards=3)

    all = Pattern(title="Books of a library")
    placed = Pattern("shelf", title="Books by place")
    of_genre = Pattern("genre", title="Books of a genre, newest first", order="desc")
    at_address = Pattern("many", title="Books at an address")
    everywhere = Pattern("spread", title="Books of a genre over all shards")
    by_year = Pattern("by-year", title="Books of a library by year")
    found = Pattern(by=["genre"], sorted_by="year", title="The index is found")


class Reader(Entity, table=library, tag="reader"):
    library_id: Attr[str]
    name: Attr[str]
    genre: Attr[str]
    year: Attr[int]

    key = Key("LIB#{library_id}", "READER#{name}")
    all = Pattern(title="Readers of a library")
    of_genre = Pattern("genre", title="Readers who like a genre")


def asked(query: Query[Any]) -> tuple[str, list[Any]]:
    (request,) = query.requests()
    return request["KeyConditionExpression"], [next(iter(v.values())) for v in request["ExpressionAttributeValues"].values()]


def test_a_query_of_the_table_finds_one_entity_by_its_prefix() -> None:
    assert asked(Book.all(library_id="x")) == ("#PK = :0 AND begins_with(#SK, :1)", ["LIB#x", "BOOK#"])
    assert "FilterExpression" not in Book.all(library_id="x").requests()[0]


def test_a_whole_key_is_equality() -> None:
    assert asked(Book.all(library_id="x", number=7)) == ("#PK = :0 AND #SK = :1", ["LIB#x", "BOOK#00007"])


def test_a_partial_sort_key_is_a_prefix_that_ends_in_a_delimiter() -> None:
    assert asked(Book.placed(library_id="x", building="f34")) == ("#G1 = :0 AND begins_with(#G1S, :1)", ["LIB#x", "B#f34#"])


def test_where_narrows_the_next_component() -> None:
    query = Book.placed(library_id="x", building="f", room="r").where(Book.shelf.between(3, 7))
    assert asked(query) == ("#G1 = :0 AND #G1S BETWEEN :1 AND :2", ["LIB#x", "B#f#r#003", "B#f#r#007"])
    assert asked(Book.all(library_id="x").where(Book.number >= 5))[0] == "#PK = :0 AND #SK BETWEEN :1 AND :2"


def test_where_on_a_natural_sort_key_is_the_operator_itself() -> None:
    assert asked(Book.by_year(library_id="x").where(Book.year < 1990)) == ("#PK = :0 AND #year < :1", ["LIB#x", "1990", "book"])
    assert asked(Book.of_genre(genre="novel").where(Book.year.between(1980, 1990)))[0] == "#genre = :0 AND #year BETWEEN :1 AND :2"


def test_where_takes_a_true_prefix_of_text() -> None:
    assert asked(Book.placed(library_id="x").where(Book.building.begins_with("f3"))) == (
        "#G1 = :0 AND begins_with(#G1S, :1)",
        ["LIB#x", "B#f3"],
    )
    assert asked(Reader.all(library_id="x").where(Reader.name == "ann")) == ("#PK = :0 AND #SK = :1", ["LIB#x", "READER#ann"])


def test_a_range_of_a_component_without_width_in_the_middle_is_refused() -> None:
    with pytest.raises(NotAKeyCondition, match="no fixed width"):
        Book.placed(library_id="x").where(Book.building > "f")


@pytest.mark.parametrize("condition", [Book.year > 3, Book.number != 3, (Book.number > 3) & (Book.number < 5), Book.number.exists()])
def test_where_refuses_conditions_that_do_not_restrict_the_key(condition: Any) -> None:
    with pytest.raises(NotAKeyCondition):
        Book.all(library_id="x").where(condition)


def test_where_can_be_called_once() -> None:
    with pytest.raises(NotAKeyCondition):
        Book.all(library_id="x").where(Book.number > 1).where(Book.number < 5)


def test_arguments_with_a_gap_are_refused() -> None:
    with pytest.raises(QueryError, match="room passed without building"):
        Book.placed(library_id="x", room="r")


def test_a_missing_or_unknown_argument_is_named() -> None:
    with pytest.raises(MissingComponent, match="library_id"):
        Book.all()
    with pytest.raises(UnknownArgument, match="genre"):
        Book.all(library_id="x", genre="novel")


def test_an_argument_of_another_type_is_refused() -> None:
    with pytest.raises(KeyValueError, match=r"Book\.number"):
        Book.all(library_id="x", number="many")
    with pytest.raises(EmptyKey):
        Book.all(library_id="").requests()


def test_a_key_that_other_entities_share_is_filtered_by_tag() -> None:
    (request,) = Book.of_genre(genre="novel").requests()
    assert request["FilterExpression"] == "#kind = :1"
    assert request["ExpressionAttributeValues"][":1"] == {"S": "book"}


def test_filters_are_compiled_with_the_tag() -> None:
    (request,) = Book.of_genre(genre="novel").filter(Book.room == "a").filter(Book.shelf > 1).requests()
    assert request["FilterExpression"] == "#room = :1 AND #shelf > :2 AND #kind = :3"


def test_a_key_of_the_index_in_a_filter_is_refused() -> None:
    with pytest.raises(KeyInFilter, match="year"):
        Book.of_genre(genre="novel").filter(Book.year > 3)


def test_order_is_the_patterns_and_can_be_reversed() -> None:
    assert Book.of_genre(genre="x").requests()[0]["ScanIndexForward"] is False
    assert "ScanIndexForward" not in Book.of_genre(genre="x").reversed().requests()[0]


def test_options_of_the_request() -> None:
    start = {"PK": {"S": "a"}}
    (request,) = Book.all(library_id="x").requests(table_name="t", limit=5, consistent=True, start=start, project=[Book.number, Book.room])
    assert request["TableName"] == "t"
    assert request["Limit"] == 5
    assert request["ConsistentRead"] is True
    assert request["ExclusiveStartKey"] == start
    assert request["ProjectionExpression"] == "#number, #room"
    assert Book.all(library_id="x").requests(select="COUNT")[0]["Select"] == "COUNT"


def test_consistent_reads_are_for_tables_and_local_indexes() -> None:
    assert Book.by_year(library_id="x").requests(consistent=True)[0]["IndexName"] == "by-year"
    with pytest.raises(ConsistentOnGlobal):
        Book.of_genre(genre="x").requests(consistent=True)


def test_several_hash_and_range_attributes() -> None:
    assert asked(Book.at_address(country="de", city="ulm")) == ("#country = :0 AND #city = :1", ["de", "ulm"])
    narrowed = Book.at_address(country="de", city="ulm", street="x").where(Book.house > 4)
    assert asked(narrowed) == ("#country = :0 AND #city = :1 AND #street = :2 AND #house > :3", ["de", "ulm", "x", "4"])
    with pytest.raises(MissingComponent):
        Book.at_address(country="de")


def test_a_sharded_pattern_queries_every_shard() -> None:
    requests = Book.everywhere(genre="novel").requests()
    assert [request["ExpressionAttributeValues"][":0"] for request in requests] == [{"S": f"G#novel#{shard}"} for shard in range(3)]


def test_answers_of_shards_merge_by_the_sort_key_as_numbers() -> None:
    query = Book.everywhere(genre="novel")
    items = [spec_of(Book).encode(Book(library_id="x", number=n, year=year)) for n, year in enumerate((1000, 999, 10000))]
    assert [item["year"]["N"] for item in sorted(items, key=query.sort_value)] == ["999", "1000", "10000"]


def test_a_query_resumes_after_any_item() -> None:
    item = spec_of(Book).encode(Book(library_id="x", number=1, year=5))
    assert Book.of_genre(genre="novel").resume_key(item) == {
        "PK": {"S": "LIB#x"},
        "SK": {"S": "BOOK#00001"},
        "genre": {"S": "novel"},
        "year": {"N": "5"},
    }


def test_the_index_of_a_pattern_is_found_by_its_attributes() -> None:
    assert Book.found(genre="x").plan.index.name == "genre"


def test_a_pattern_knows_its_arguments() -> None:
    assert Book.placed.required == ("library_id",)
    assert Book.placed.optional == ("building", "room", "shelf")
    assert Book.placed.name == "Book.placed"


everything = Collection(Book, Reader, title="A library")


def test_a_collection_queries_one_partition() -> None:
    (request,) = everything(library_id="x").requests(limit=3, consistent=True)
    assert request == {
        "TableName": "library",
        "KeyConditionExpression": "#PK = :0",
        "ExpressionAttributeNames": {"#PK": "PK"},
        "ExpressionAttributeValues": {":0": {"S": "LIB#x"}},
        "Limit": 3,
        "ConsistentRead": True,
    }


def test_a_collection_sorts_its_items_by_entity() -> None:
    book, reader = Book(library_id="x", number=1), Reader(library_id="x", name="ann", genre="g", year=1)
    items = [spec_of(Book).encode(book), spec_of(Reader).encode(reader), {"PK": {"S": "LIB#x"}, "SK": {"S": "OTHER"}}]
    found = everything(library_id="x").sort(items)
    assert found.of(Book) == [book]
    assert found.one(Reader) == reader


def test_items_without_a_tag_are_distinguished_by_their_keys() -> None:
    item = spec_of(Book).encode(Book(library_id="x", number=1))
    del item["kind"]
    assert library.spec_for(item) is spec_of(Book)
    assert library.spec_for({"PK": {"S": "LIB#x"}, "SK": {"S": "BOOK#1"}}) is None


def test_a_collection_of_other_partitions_is_refused() -> None:
    class Lonely(Entity, table=library, tag="lonely"):
        id: Attr[str]

        key = Key("LONELY#{id}", "LONELY")

    with pytest.raises(DeclarationError, match="does not share"):
        Collection(Book, Lonely, title="x")


def test_arguments_of_a_collection_are_checked() -> None:
    with pytest.raises(MissingComponent):
        everything()
    with pytest.raises(UnknownArgument):
        everything(library_id="x", number=1)


organisation = Table("organisation", hash="PK", range="SK", tag="kind")


class Team(Entity, table=organisation, tag="team"):
    org: Attr[str]
    team: Attr[str]

    key = Key("ORG#{org}", "TEAM#{team}")
    all = Pattern(title="Teams of an organisation")


class Member(Entity, table=organisation, tag="member"):
    org: Attr[str]
    team: Attr[str]
    member: Attr[str]

    key = Key("ORG#{org}", "TEAM#{team}#MEMBER#{member}")


teams = Collection(Team, Member, title="Teams and their members")


def test_a_collection_is_restricted_by_common_sort_components() -> None:
    (request,) = teams(org="o", team="a").requests()
    assert request["KeyConditionExpression"] == "#PK = :0 AND #SK BETWEEN :1 AND :2"
    assert request["ExpressionAttributeValues"][":1"] == {"S": "TEAM#a"}
    assert request["ExpressionAttributeValues"][":2"]["S"].startswith("TEAM#a#MEMBER#")


def test_a_restricted_collection_excludes_other_texts_in_its_range() -> None:
    items = [spec_of(Team).encode(Team(org="o", team=team)) for team in ("a", "a b")]
    items.append(spec_of(Member).encode(Member(org="o", team="a", member="m")))
    found = teams(org="o", team="a").sort(items)
    assert [team.team for team in found.of(Team)] == ["a"]
    assert [member.member for member in found.of(Member)] == ["m"]


def test_a_collection_is_not_restricted_by_components_of_one_entity() -> None:
    with pytest.raises(UnknownArgument):
        teams(org="o", team="a", member="m")


def test_a_query_of_the_shorter_form_drops_the_longer_by_its_tag() -> None:
    (request,) = Team.all(org="o").requests()
    assert request["FilterExpression"] == "#kind = :2"


class Paper(Entity, table=Table("papers", hash="PK", indexes=[GSI("topic", hash="topic", range="year")])):
    paper: Attr[str]
    shelf: Attr[str]
    topic: Attr[str]
    year: Attr[int]

    key = Key("{shelf}#{paper}")
    on_topic = Pattern("topic", title="Papers on a topic of one shelf", within="shelf")


def test_within_arguments_are_required_and_filter() -> None:
    (request,) = Paper.on_topic(Paper.year > 1990, topic="t", shelf="s").requests()
    assert request["KeyConditionExpression"] == "#topic = :0 AND #year > :1"
    assert (request["FilterExpression"], request["ExpressionAttributeValues"][":2"]) == ("#shelf = :2", {"S": "s"})
    assert Paper.on_topic.required == ("topic", "shelf")
    with pytest.raises(MissingComponent, match="shelf"):
        Paper.on_topic(topic="t")


@pytest.mark.parametrize(
    ("year", "shelf", "found"), [(1995, "s", True), (1990, "s", False), (1995, "other", False), (2000, "s", True), (2001, "s", False)]
)
def test_a_query_knows_which_items_it_finds(year: int, shelf: str, found: bool) -> None:
    paper = Paper(paper="p", shelf=shelf, topic="t", year=year)
    query = (
        Paper.on_topic(Paper.year > 1990, topic="t", shelf="s").filter(Paper.paper == "p")
        if year != 2001
        else Paper.on_topic(topic="x", shelf="s")
    )
    assert query.finds(spec_of(Paper).encode(paper), spec_of(Paper).values(paper)) is found
