"""Records of a stream as changes of entities, as the engine writes them."""

from datetime import UTC, datetime
from typing import Any

from gateleg.model import TTL, Attr, Entity, Key, Table, Unique, field, read_change
from gateleg.store import Store

notes = Table("Notes", hash="pk", range="sk", tag="kind", stream="NEW_AND_OLD_IMAGES")


class Note(Entity, table=notes, tag="note"):
    book: Attr[str]
    number: Attr[int]
    text: Attr[str] = field("")
    until: Attr[TTL | None] = field(None)

    key = Key("BOOK#{book}", "NOTE#{number:03d}")
    once = Unique("book", "text")


def records(store: Store) -> list[dict[str, Any]]:
    call = store.transport.call
    stream = call("DescribeTable", {"TableName": "Notes"})["Table"]["LatestStreamArn"]
    shard = call("DescribeStream", {"StreamArn": stream})["StreamDescription"]["Shards"][0]["ShardId"]
    start = {"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    found: list[dict[str, Any]] = call("GetRecords", {"ShardIterator": call("GetShardIterator", start)["ShardIterator"]})["Records"]
    return found


def test_markers_are_not_in_the_changes_of_an_item() -> None:
    with Store.embedded() as store:
        store.create_tables(notes)
        note = store.create(Note(book="b", number=1, text="one"))
        changed = store.patch(note, Note.text.set("two"))
        store.delete(changed)
        told = [change for record in records(store) if (change := read_change(notes, record)) is not None]
    assert [(change.kind, change.before, change.after) for change in told] == [
        ("created", None, note),
        ("changed", note, changed),
        ("deleted", changed, None),
    ]
    assert [change.sequence for change in told] == sorted(change.sequence for change in told)
    assert {change.entity for change in told} == {Note}
    assert told[0].at is not None
    assert told[0].at.tzinfo is UTC


KEYS = {"pk": {"S": "BOOK#b"}, "sk": {"S": "NOTE#001"}}


def test_with_a_stream_of_keys_the_key_determines_the_entity() -> None:
    change = read_change(notes, {"eventName": "MODIFY", "dynamodb": {"Keys": KEYS, "SequenceNumber": "7"}})
    assert change is not None
    assert (change.entity, change.key, change.before, change.after, change.sequence) == (Note, KEYS, None, None, "7")


def test_expired_items_are_distinguished_from_deleted_ones() -> None:
    record = {"eventName": "REMOVE", "dynamodb": {"Keys": KEYS, "ApproximateCreationDateTime": 1_700_000_000}}
    service = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    plain, expired = read_change(notes, record), read_change(notes, record | {"userIdentity": service})
    assert plain is not None
    assert expired is not None
    assert (plain.expired, expired.expired) == (False, True)
    assert expired.at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_items_without_an_entity_are_none() -> None:
    assert read_change(notes, {"eventName": "INSERT", "dynamodb": {"Keys": {"pk": {"S": "x"}, "sk": {"S": "y"}}}}) is None
