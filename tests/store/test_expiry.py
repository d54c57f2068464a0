"""An expired item counts as missing, even before the service deletes it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateleg.model import GSI, TTL, Attr, Collection, Entity, Key, Pattern, Table, field, spec_of
from gateleg.store import AlreadyExists, AsyncStore, NotFound, Store, create
from gateleg.store.operations.tables import wait_active

sessions = Table(
    "Sessions",
    hash="user",
    range="sid",
    indexes=[
        GSI("by-device", hash="device", range="sid", project="keys"),
        GSI("by-expiry", hash="device", range="expires_at"),
    ],
)
NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Session(Entity, table=sessions):
    """A session that expires."""

    user: Attr[str]
    sid: Attr[str]
    device: Attr[str] = field("phone")
    visits: Attr[int] = field(0)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("{user}", "{sid}")
    of_user = Pattern(title="The sessions of a user")
    on_device = Pattern("by-device", title="The sessions on a device")
    ending = Pattern("by-expiry", title="The sessions on a device by their end")


tokens = Table("Tokens", hash="user", range="sid")


class Token(Entity, table=tokens):
    """A token that may expire."""

    user: Attr[str]
    sid: Attr[str]
    ends: Attr[TTL | None] = field(None)

    key = Key("{user}", "{sid}")
    of_user = Pattern(title="The tokens of a user")


both = Collection(Session, title="All of a user")


def session(sid: str, minutes: float | None, **values: Any) -> Session:
    return Session(user="ada", sid=sid, expires_at=None if minutes is None else NOW + timedelta(minutes=minutes), **values)


ENDLESS, LIVE, DEAD, DEADER = session("a", None), session("b", 5), session("c", -5), session("d", 0)
REFS = [spec_of(Session).ref(entry) for entry in (ENDLESS, LIVE, DEAD, DEADER)]


class Clock:
    """A clock for the store, but not for the service."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now.timestamp()


def _with_clock(store: Any) -> Any:
    """The store with another clock. TTL is not enabled in the service, so expired items stay, as they may for days on DynamoDB."""
    return store._with(clock=Clock())


@pytest.fixture
def opened(store: Store) -> Store:
    store.transport.call("CreateTable", sessions.definition())
    store.drive(wait_active(sessions.name))
    timed: Store = _with_clock(store)
    timed.reading(expired=True).batch_write([ENDLESS, LIVE, DEAD, DEADER])
    return timed


def test_reads_do_not_return_expired_items(opened: Store) -> None:
    assert opened.get(Session, user="ada", sid="b") == LIVE
    assert opened.find(Session, user="ada", sid="c") is None
    with pytest.raises(NotFound):
        opened.get(Session, user="ada", sid="d")
    with pytest.raises(NotFound):
        opened.get(Session, user="ada", sid="c", project=[Session.device])
    assert opened.get(Session, user="ada", sid="b", project=[Session.device]) == {"device": "phone"}
    assert opened.batch_get(REFS) == [ENDLESS, LIVE, None, None]
    assert opened.transact_get(REFS) == [ENDLESS, LIVE, None, None]
    assert opened.loader(Session).load_many(REFS) == [ENDLESS, LIVE, None, None]
    assert opened.collect(both, user="ada").of(Session) == [ENDLESS, LIVE]
    assert len(list(opened.scan(sessions))) == 2


def test_queries_do_not_return_expired_items(opened: Store) -> None:
    assert list(opened.query(Session.of_user, user="ada")) == [ENDLESS, LIVE]
    assert list(opened.query(Session.of_user, user="ada", newest_first=True, limit=1)) == [LIVE]
    assert list(opened.query(Session.on_device, device="phone", hydrate=True)) == [ENDLESS, LIVE]
    assert list(opened.query(Session.ending, device="phone")) == [LIVE]
    assert list(opened.query(Session.ending, device="phone", project=[Session.sid])) == [{"sid": "b"}]
    assert [opened.count(pattern) for pattern in (Session.of_user(user="ada"), Session.on_device(device="phone"))] == [2, 2]
    assert opened.count(Session.ending, device="phone") == 1
    assert opened.count(Session.of_user, user="ada", limit=1) == 1


def test_pages_are_full_without_expired_items_and_cursors_stay_valid(opened: Store) -> None:
    more = [session(f"{number}", 5 if number % 2 else -5) for number in range(9)]
    opened.batch_write(more)
    wanted = [*(entry for entry in more if entry.sid in "1357"), ENDLESS, LIVE]
    first = opened.page(Session.of_user, user="ada", limit=4)
    assert first.items == wanted[:4]
    clock: Any = opened.setup.clock
    clock.now += timedelta(seconds=1)
    second = opened.page(Session.of_user, user="ada", limit=4, cursor=first.next)
    assert (second.items, second.next) == (wanted[4:], None)
    assert opened.page(Session.of_user, user="ada", limit=4, cursor=second.previous).items == first.items


def test_items_expire_by_the_clock_of_the_store(opened: Store) -> None:
    clock: Any = opened.setup.clock
    clock.now = NOW + timedelta(minutes=5, seconds=-1)
    assert opened.find(Session, user="ada", sid="b") == LIVE
    clock.now = NOW + timedelta(minutes=5)
    assert opened.find(Session, user="ada", sid="b") is None


def test_expired_items_are_returned_on_request(opened: Store) -> None:
    everything = opened.reading(expired=True)
    assert everything.get(Session, user="ada", sid="c") == DEAD
    assert list(everything.query(Session.of_user, user="ada")) == [ENDLESS, LIVE, DEAD, DEADER]
    assert everything.count(Session.of_user, user="ada") == 4
    assert len(list(opened.export(Session))) == 4
    assert opened.delete_all(Session.of_user, user="ada") == 4


def test_an_expired_item_can_be_created_again(opened: Store) -> None:
    again = session("c", 5, visits=1)
    assert opened.create(again) == again
    opened.transact([create(session("d", 5))])
    for taken in (LIVE, ENDLESS, again):
        with pytest.raises(AlreadyExists):
            opened.create(taken)


def test_an_item_with_an_invalid_ttl_does_not_expire(opened: Store) -> None:
    opened.transport.call("CreateTable", tokens.definition())
    opened.drive(wait_active(tokens.name))
    opened.transport.call("PutItem", {"TableName": "Tokens", "Item": {"user": {"S": "ada"}, "sid": {"S": "x"}, "ends": {"NULL": True}}})
    token = Token(user="ada", sid="x")
    assert opened.get(token) == token
    assert list(opened.query(Token.of_user, user="ada")) == [token]


async def test_an_async_store_does_not_return_expired_items(async_store: AsyncStore) -> None:
    await async_store.transport.call("CreateTable", sessions.definition())
    await async_store.drive(wait_active(sessions.name))
    timed: AsyncStore = _with_clock(async_store)
    await timed.batch_write([LIVE, DEAD])
    scoped = timed.scope(user="ada")
    assert await scoped.find(Session, sid="c") is None
    assert [entry async for entry in scoped.query(Session.of_user)] == [LIVE]
    assert await scoped.count(Session.of_user) == 1
    assert await scoped.reading(expired=True).count(Session.of_user) == 2
    assert await scoped.create(session("c", 1)) == session("c", 1)
