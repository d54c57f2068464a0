import pytest

from gateleg.model import GSI, LSI, TTL, Attr, Entity, Key, Pattern, S3Key, States, Table, Unique, field, spec_of, state
from gateleg.model.inspection import describe, lint
from gateleg.model.tables import is_marker, markers

shelves = Table(
    "shelves",
    hash="room",
    range="n",
    stream="NEW_AND_OLD_IMAGES",
    types={"spare": "B"},
    indexes=[
        GSI("by-phase", hash="phase"),
        GSI("some", hash="owner", range="n", project=["label", "room"]),
        GSI("bare", hash="spare", project="keys"),
        LSI("local", range="owner"),
    ],
)


class Phase(States):
    NEW = state("new", to=["old"])
    OLD = state("old")


class Shelf(Entity, table=shelves):
    """A shelf.

    More about it.
    """

    room: Attr[str]
    n: Attr[int]
    phase: Attr[Phase] = field(Phase.NEW, description="Where it stands")
    owner: Attr[str | None] = field(None)
    label_s3_key: Attr[str | None] = field(None)
    good_s3_key: Attr[S3Key | None] = field(None)
    gone: Attr[TTL | None] = field(None)

    key = Key("{room}", "{n}")
    in_phase = Pattern("by-phase", title="Shelves in a phase", description="All of them")


def test_the_definition_is_a_create_table_request() -> None:
    assert shelves.definition("test-") == {
        "TableName": "test-shelves",
        "AttributeDefinitions": [
            {"AttributeName": "n", "AttributeType": "N"},
            {"AttributeName": "owner", "AttributeType": "S"},
            {"AttributeName": "phase", "AttributeType": "S"},
            {"AttributeName": "room", "AttributeType": "S"},
            {"AttributeName": "spare", "AttributeType": "B"},
        ],
        "KeySchema": [{"AttributeName": "room", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-phase",
                "KeySchema": [{"AttributeName": "phase", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            },
            {
                "IndexName": "some",
                "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["label", "room"]},
            },
            {
                "IndexName": "bare",
                "KeySchema": [{"AttributeName": "spare", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            },
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": "local",
                "KeySchema": [{"AttributeName": "room", "KeyType": "HASH"}, {"AttributeName": "owner", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def test_the_ttl_attribute_is_found() -> None:
    assert shelves.ttl() == "gone"
    assert Table("t", hash="id").ttl() is None


def test_an_entity_that_lacks_the_attributes_of_an_index_is_not_in_it() -> None:
    assert "bare" not in spec_of(Shelf).indexes


def test_lint_finds_object_keys_declared_as_text() -> None:
    assert [finding.where for finding in lint(shelves) if finding.code == "s3-key-as-text"] == ["Shelf.label_s3_key"]


def test_lint_finds_partitions_of_few_values() -> None:
    assert [finding.where for finding in lint(shelves) if finding.code == "hot-partition"] == ["shelves by-phase"]


def test_lint_finds_an_index_that_does_not_project_the_tag() -> None:
    table = Table("t", hash="PK", tag="kind", indexes=[GSI("g", hash="G", project="keys")])

    class One(Entity, table=table, tag="one"):
        id: Attr[str]
        key = Key("ONE#{id}")
        g = Key("{id}", index="g")

    class Two(Entity, table=table, tag="two"):
        id: Attr[str]
        key = Key("TWO#{id}")

    assert "tag-not-projected" in [finding.code for finding in lint(table)]


def test_a_table_describes_itself() -> None:
    described = describe(shelves)
    (shelf,) = described["entities"]
    assert shelf["doc"] == "A shelf."
    assert shelf["key"]["forms"] == {"room": "{room}", "n": "{n}"}
    assert shelf["patterns"] == [
        {
            "name": "Shelf.in_phase",
            "title": "Shelves in a phase",
            "description": "All of them",
            "index": "by-phase",
            "required": ["phase"],
            "optional": [],
            "order": "asc",
        }
    ]
    phase = next(attribute for attribute in shelf["attributes"] if attribute["name"] == "phase")
    assert phase["states"] == {"new": ["old"], "old": []}
    assert phase["description"] == "Where it stands"
    assert phase["wire_type"] == "S"


def test_a_marker_belongs_to_no_entity() -> None:
    table = Table("t", hash="id")

    class Named(Entity, table=table):
        id: Attr[str]
        name: Attr[str]
        key = Key("{id}")
        once = Unique("name")

    (marker,) = markers(spec_of(Named), {"name": "x"}).values()
    assert is_marker(table, marker)
    assert table.spec_for(marker) is None
    assert table.spec_for(spec_of(Named).encode(Named(id="1", name="~unique#"))) is spec_of(Named)


@pytest.mark.parametrize("size", [1, 8])
def test_a_reloaded_class_replaces_its_older_edition(size: int) -> None:
    table = Table("t", hash="id")
    for _ in range(size):

        class Same(Entity, table=table):
            id: Attr[str]
            key = Key("{id}")

    assert len(table.specs) == 1
