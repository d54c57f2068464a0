"""A program on PynamoDB and one on Gateleg share tables: each reads what the other writes, on the endpoint."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from pynamodb.attributes import (
    JSONAttribute,
    ListAttribute,
    NumberAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model

from gateleg.endpoint import EndpointOptions, serve_in_thread
from gateleg.engine import Engine
from gateleg.model import GSI, TTL, Attr, Entity, JsonText, Key, Pattern, Table, TimeFormat, Version, field
from gateleg.store import Store
from gateleg.store.transports.http import WireTransport
from tests.store.transports.callers import KEY, options_for

Time = Annotated[datetime, TimeFormat.PYNAMODB]
AT = datetime(2024, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)
LATER = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
visits = Table("Visits", hash="user", range="at", indexes=[GSI("by-page", hash="page", range="at")])


class Visit(Entity, table=visits):
    """A visit, declared with Gateleg."""

    user: Attr[str]
    at: Attr[Time]
    page: Attr[str] = field("-")
    seconds: Attr[int] = field(0)
    left: Attr[Time | None] = field(None)
    tags: Attr[set[str]] = field(factory=set)
    steps: Attr[list[str]] = field(factory=list)
    details: Attr[JsonText[dict[str, int]]] = field(factory=dict)
    expires: Attr[TTL | None] = field(None)
    version: Attr[Version] = field(0)

    key = Key("{user}", "{at}")
    of_user = Pattern(title="The visits of a user, oldest first")
    of_page = Pattern("by-page", title="The visits of a page, oldest first")


@pytest.fixture
def shared() -> Iterator[tuple[Store, Any]]:
    with (
        Engine(":memory:", durability="relaxed") as engine,
        serve_in_thread(engine, EndpointOptions(credentials={KEY.key_id: KEY.secret})) as url,
    ):

        class ByPage(GlobalSecondaryIndex[Any]):  # type: ignore[no-untyped-call]
            class Meta:
                index_name = "by-page"
                projection = AllProjection()

            page = UnicodeAttribute(hash_key=True)
            at = UTCDateTimeAttribute(range_key=True)

        class OldVisit(Model):
            class Meta:
                table_name = "Visits"
                host = url
                region = "us-east-1"
                aws_access_key_id = KEY.key_id
                aws_secret_access_key = KEY.secret

            user = UnicodeAttribute(hash_key=True)
            at = UTCDateTimeAttribute(range_key=True)
            page = UnicodeAttribute(default="-")
            seconds = NumberAttribute(default=0)
            left = UTCDateTimeAttribute(null=True)
            tags = UnicodeSetAttribute(null=True)
            steps: ListAttribute[Any] = ListAttribute(default=list)
            details = JSONAttribute(default=dict)
            expires = TTLAttribute(null=True)
            version = VersionAttribute()
            by_page = ByPage()

        with Store(WireTransport(options_for(url, None))) as store:
            store.create_tables(visits)
            yield store, OldVisit


WHOLE = {"page": "/", "seconds": 3, "left": AT, "tags": {"a"}, "steps": ["x", "y"], "details": {"n": 1}, "expires": LATER}


def test_each_reads_what_the_other_writes(shared: tuple[Store, Any]) -> None:
    store, OldVisit = shared
    written = store.create(Visit(user="new", at=AT, **WHOLE))  # type: ignore[arg-type]
    old = OldVisit.get("new", AT)
    assert {name: getattr(old, name) for name in WHOLE} == WHOLE
    assert old.version == 1
    OldVisit("old", AT, **WHOLE).save()
    assert store.get(Visit, user="old", at=AT) == written.model_copy(update={"user": "old"})
    assert sorted(visit.user for visit in OldVisit.by_page.query("/", OldVisit.at >= AT)) == ["new", "old"]
    assert sorted(visit.user for visit in store.query(Visit.of_page(page="/").where(Visit.at >= AT))) == ["new", "old"]


def test_both_change_the_same_item_in_turn(shared: tuple[Store, Any]) -> None:
    store, OldVisit = shared
    old = OldVisit("u", AT)
    old.save()
    visit = store.patch(store.get(Visit, user="u", at=AT), Visit.seconds.add(5), Visit.left.set(AT))
    assert visit.version == 2
    old.refresh()
    old.update(actions=[OldVisit.seconds.set(9), OldVisit.left.set(AT + timedelta(seconds=1))])
    again = store.get(visit)
    assert (again.seconds, again.left, again.version) == (9, AT + timedelta(seconds=1), 3)
    store.put(again.model_copy(update={"page": "/put"}))
    old.refresh()
    assert (old.page, old.version) == ("/put", 4)
    store.delete(store.get(visit))
    assert OldVisit.count("u") == 0


def test_an_entity_without_the_format_still_finds_what_it_has_read(shared: tuple[Store, Any]) -> None:
    store, OldVisit = shared
    table = Table("Visits", hash="user", range="at")

    class Plain(Entity, table=table):
        user: Attr[str]
        at: Attr[datetime]
        page: Attr[str] = field("-")

        key = Key("{user}", "{at}")
        of_user = Pattern(title="The visits of a user")

    OldVisit("u", AT).save()
    (read,) = store.query(Plain.of_user, user="u")
    assert store.patch(read, Plain.page.set("/new")).at == AT
    assert OldVisit.get("u", AT).page == "/new"
    store.delete(read)
    assert OldVisit.count("u") == 0
