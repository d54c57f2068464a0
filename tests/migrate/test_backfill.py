"""Bringing stored items up to the present declaration."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateleg.migrate import backfill
from gateleg.migrate.backfill import bring_up
from gateleg.model import GSI, Attr, Entity, Item, Key, ModelError, Table, Version, field, spec_of, upcaster
from gateleg.store import Store
from gateleg.store.flow import Request
from gateleg.store.operations import ScanProgress
from gateleg.store.transports import ServiceError
from tests.store import libraries
from tests.store.doubles import play, quiet_setup, refusal

people = Table("People", hash="pk", range="sk", indexes=[GSI("by-city", hash="city_pk", range="city_sk")])


class Person(Entity, table=people, schema=2):
    """A person, who used to have two names, no place in an index, and a shorter key."""

    org: Attr[str]
    team: Attr[str] = field("none")
    person: Attr[str]
    name: Attr[str]
    city: Attr[str] = field("nowhere")

    key = Key("{org}#{team}", "P#{person}", legacy=["{org}"])
    city_key = Key("CITY#{city}", "{name}", index="by-city")


@upcaster(Person, to=2)
def join_names(item: Item) -> Item:
    return {**item, "name": {"S": f"{item['first']['S']} {item['last']['S']}"}}


def older(number: int, **changes: Any) -> Item:
    item = {
        "pk": {"S": "acme#none"},
        "sk": {"S": f"P#{number}"},
        "org": {"S": "acme"},
        "person": {"S": str(number)},
        "first": {"S": "Ada"},
        "last": {"S": str(number)},
    }
    return item | changes


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.embedded() as opened:
        opened.create_tables(people)
        for number in range(10):
            opened.transport.call("PutItem", {"TableName": "People", "Item": older(number)})
        yield opened


def test_old_items_get_their_schema_their_names_and_their_index_keys(store: Store) -> None:
    *_, report = backfill(store, Person, write_units=1e6, read_units=1e6)
    assert (report.seen, report.rewritten, report.moved, report.done) == (10, 10, 0, True)
    item = next(store.scan(people))
    assert item["_schema"] == {"N": "2"}
    assert item["city_pk"] == {"S": "CITY#nowhere"}
    assert item["first"] == {"S": "Ada"}


def test_a_second_run_has_nothing_to_do(store: Store) -> None:
    list(backfill(store, Person))
    *_, report = backfill(store, Person)
    assert (report.seen, report.rewritten) == (10, 0)


def test_a_dry_run_tells_what_is_left_and_writes_nothing(store: Store) -> None:
    before = list(store.scan(people))
    *_, report = backfill(store, Person, dry_run=True)
    assert report.rewritten == 10
    assert list(store.scan(people)) == before


def test_items_under_an_older_key_are_moved(store: Store) -> None:
    store.transport.call("PutItem", {"TableName": "People", "Item": older(99, pk={"S": "acme"}, team={"S": "blue"})})
    *_, report = backfill(store, Person)
    assert (report.moved, report.rewritten) == (1, 10)
    assert store.get(Person, org="acme", team="blue", person="99").name == "Ada 99"
    assert sorted({item["pk"]["S"] for item in store.scan(people)}) == ["acme#blue", "acme#none"]


def test_an_item_that_cannot_be_read_is_told_and_left(store: Store) -> None:
    broken = older(5, first={"S": "Ada"}, last={"S": "x"}, city={"N": "1"})
    store.transport.call("PutItem", {"TableName": "People", "Item": broken})
    *_, report = backfill(store, Person)
    assert report.rewritten == 9
    assert [fault.key["sk"] for fault in report.faults] == [{"S": "P#5"}]
    assert "city" in report.faults[0].why


def test_a_run_that_was_cut_short_goes_on_where_it_was(store: Store) -> None:
    progress = ScanProgress.fresh(4)
    for report in backfill(store, Person, progress=progress, every=1):
        if report.seen == 3:
            break
    resumed = list(backfill(store, Person, progress=ScanProgress(dict(progress.starts), 4)))[-1]
    assert resumed.done
    assert all(item["_schema"] == {"N": "2"} for item in store.scan(people))


def test_an_item_that_a_user_changed_first_is_looked_at_again() -> None:
    spec = spec_of(Person)
    newer = older(1, city={"S": "Ulm"})
    played = play(bring_up(older(1), spec, quiet_setup()), [refusal("ConditionalCheckFailedException"), {"Item": newer}, {}])
    assert played.result == "rewritten"
    assert played.requests[-1].payload["Item"]["city_pk"] == {"S": "CITY#Ulm"}


def test_an_item_that_was_deleted_meanwhile_stays_deleted() -> None:
    played = play(bring_up(older(1), spec_of(Person), quiet_setup()), [refusal("ConditionalCheckFailedException"), {}])
    assert played.result == "gone"


def test_an_item_that_never_rests_is_a_fault() -> None:
    answers: list[Any] = [refusal("ConditionalCheckFailedException"), {"Item": older(1)}] * 5
    with pytest.raises(ModelError, match="5 times"):
        play(bring_up(older(1), spec_of(Person), quiet_setup()), answers)


CHANGES = ["SET tags = :tags", "SET city = :city", "REMOVE tags"]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("key", ["acme#none", "acme"], ids=["rewritten", "moved"])
def test_what_a_user_changed_since_it_was_read_is_kept(store: Store, change: str, key: str) -> None:
    """Also what is neither text nor number, what was not there before, and what no version tells."""
    where: dict[str, Any] = {"TableName": "People", "Key": {"pk": {"S": key}, "sk": {"S": "P#20"}}}
    item = older(20, pk={"S": key}, tags={"L": [{"S": "old"}]}, **({} if key == "acme" else {"team": {"S": "none"}}))
    store.transport.call("PutItem", {"TableName": "People", "Item": item})
    values = {":tags": {"L": [{"S": "new"}]}, ":city": {"S": "Ulm"}}
    used = {name: value for name, value in values.items() if name in change}
    update: dict[str, Any] = where | {"UpdateExpression": change} | ({"ExpressionAttributeValues": used} if used else {})
    flow = bring_up(item, spec_of(Person), store.setup)
    request = next(flow)
    assert isinstance(request, Request)
    if request.operation == "GetItem":
        request = flow.send(store.transport.call("GetItem", request.payload))
        assert isinstance(request, Request)
    store.transport.call("UpdateItem", update)
    changed = store.transport.call("GetItem", where)["Item"]
    with pytest.raises(ServiceError, match=r"ConditionalCheck|cancelled"):
        store.transport.call(request.operation, request.payload)
    assert store.transport.call("GetItem", where)["Item"] == changed


def test_a_version_is_not_all_that_a_rewrite_compares() -> None:
    class Note(Entity, table=Table("Versioned", hash="id"), schema=2):
        id: Attr[str]
        version: Attr[Version] = field(0)
        lines: Attr[list[str]] = field(factory=list)
        key = Key("{id}")

    upcaster(Note, to=2)(lambda item: item)
    item: Item = {"id": {"S": "1"}, "version": {"N": "3"}, "lines": {"L": []}}
    (request,) = play(bring_up(item, spec_of(Note), quiet_setup()), [{}]).requests
    condition = "attribute_exists(#id) AND #version = :0 AND #lines = :1 AND attribute_not_exists(#_schema)"
    assert request.payload["ConditionExpression"] == condition
    assert request.payload["Item"]["version"] == {"N": "3"}


@pytest.mark.parametrize("dry_run", [True, False])
def test_upcasters_that_ask_the_store_are_answered(dry_run: bool) -> None:
    with Store.embedded() as store:
        store.create_tables(libraries.documents, libraries.repositories)
        store.put(libraries.Repository(repository_id="r", model="titan"))
        for number in range(3):
            one = libraries.Document(document_id=f"d{number}", repository_id="r", collection_id="titan", upload_date=number)
            libraries.put_old(store, one)
        *_, report = backfill(store, libraries.Document, dry_run=dry_run)
        assert (report.seen, report.moved, report.faults) == (3, 3, [])
        assert {item["pk"]["S"] for item in store.scan(libraries.documents)} == ({"r"} if dry_run else {"r#titan"})
