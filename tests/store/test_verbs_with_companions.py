"""The law of the verbs for writes that change other items too: on every kind of store, they leave the same items in the whole table.

Members have a unique email, are counted by their club, are found by a sharded index, and expire.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gateleg.model import GSI, TTL, Attr, Counter, Entity, Key, Pattern, Table, Unique, Version, field
from gateleg.store import AsyncStore, Store, create, delete, patch
from gateleg.store.errors import OutOfScope
from gateleg.store.group_commit import GroupCommitStore
from gateleg.store.transports.embedded import GroupCommitTransport, open_async_embedded
from tests.store import test_verbs
from tests.store.test_drivers import VERBS
from tests.store.test_verbs import Quiet, _async_outcome, _outcome
from tests.store.transports.openers import ASYNC_NETWORK, NETWORK

members = Table("VerbMembers", hash="PK", range="SK", tag="kind", indexes=[GSI("by-age", hash="G1", range="age")])
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


class Club(Entity, table=members, tag="club"):
    club: Attr[str]
    members: Attr[int] = field(0)
    active: Attr[int] = field(0)

    key = Key("C#{club}", "CLUB")


class Member(Entity, table=members, tag="member"):
    club: Attr[str]
    name: Attr[str]
    email: Attr[str | None] = field(None)
    active: Attr[bool] = field(True)
    age: Attr[int] = field(30)
    expires: Attr[TTL | None] = field(None)
    version: Attr[Version] = field(0)

    key = Key("C#{club}", "M#{name}")
    age_key = Key("C#{club}", index="by-age", shards=3)
    by_age = Pattern("by-age", title="Members by age")
    of_club = Pattern(title="Members by name")
    one_email = Unique("club", "email")
    counted = Counter(Club.members)
    counted_active = Counter(Club.active, when={"active": [True]})


ANN = Member(club="c", name="ann", email="ann@x", age=41, version=1)
BOB = Member(club="c", name="bob", email="bob@x", age=17, version=1)
CID = Member(club="c", name="cid", expires=LONG_AGO)


def member(name: str, email: str | None = None, **more: Any) -> Member:
    return Member(club="c", name=name, email=email, **more)


#: Each verb, called on a store that has the club "c" with Ann and Bob, and Cid, who has expired.
CALLS: dict[str, Callable[[Any], Any]] = {
    "create": lambda store: store.create(member("dora", "dora@x")),
    "create with an email that is taken": lambda store: store.create(member("dora", "ann@x")),
    "create again": lambda store: store.create(member("ann", "new@x")),
    "create over what has expired": lambda store: store.create(member("cid", "cid@x")),
    "create in a club that is missing": lambda store: store.create(Member(club="d", name="ann")),
    "put over what is not known": lambda store: store.put(member("ann", "new@x", version=1)),
    "put instead of another": lambda store: store.put(member("ann", "new@x", active=False, version=1), replaces=ANN),
    "put a club": lambda store: store.put(Club(club="c", members=9), check_version=False),
    "patch the email": lambda store: store.patch(ANN, Member.email.set("new@x")),
    "patch to an email that is taken": lambda store: store.patch(ANN, Member.email.set("bob@x")),
    "patch the email away": lambda store: store.patch(ANN, Member.email.remove()),
    "patch what is counted": lambda store: store.patch(ANN, Member.active.set(False), returning="changed"),
    "patch what is not known": lambda store: store.patch(Member.key(club="c", name="ann"), Member.email.set("new@x")),
    "patch what is known": lambda store: store.patch(
        Member.key(club="c", name="ann"), Member.email.set("new@x"), known={"email": "ann@x", "active": True}
    ),
    "patch what is known wrongly": lambda store: store.patch(
        Member.key(club="c", name="ann"), Member.email.set("new@x"), known={"email": "old@x", "active": True}
    ),
    "patch neither": lambda store: store.patch(ANN, Member.age.set(Member.age + 1)),
    "patch what was changed": lambda store: store.patch(member("ann", "ann@x", version=4), Member.email.set("new@x")),
    "upsert": lambda store: store.upsert(Member.key(club="c", name="eve"), Member.age.set(5)),
    "save": lambda store: store.save(member("ann", "new@x", active=False, version=1), before=ANN),
    "retrying": lambda store: store.retrying(
        Member.key(club="c", name="ann"), lambda one: [Member.email.set(f"{one.name}@y"), Member.active.set(False)]
    ),
    "delete": lambda store: store.delete(ANN, returning="old"),
    "delete what is not known": lambda store: store.delete(Member.key(club="c", name="ann")),
    "delete on a condition": lambda store: store.delete(ANN, condition=Member.age < 18),
    "delete the club": lambda store: store.delete(Club.key(club="c")),
    "delete_all": lambda store: store.delete_all(Member.of_club, club="c"),
    "batch_write": lambda store: store.batch_write([member("dora")]),
    "batch_write clubs": lambda store: store.batch_write([Club(club="c", members=7)]),
    "transact": lambda store: store.transact([delete(BOB), create(member("dora", "bob@x")), patch(ANN, Member.active.set(False))]),
    "transact a swap": lambda store: store.transact([patch(ANN, Member.email.set("bob@x")), patch(BOB, Member.email.set("ann@x"))]),
    "transact one email twice": lambda store: store.transact([create(member("dora", "d@x")), create(member("eve", "d@x"))]),
    "get": lambda store: store.get(Member, club="c", name="ann"),
    "get what has expired": lambda store: store.find(Member, club="c", name="cid"),
    "get by reference to what has expired": lambda store: store.get(CID),
    "batch_get": lambda store: store.batch_get([Member.key(club="c", name=name) for name in ("ann", "cid", "bob")]),
    "query": lambda store: store.query(Member.of_club, club="c"),
    "query the shards": lambda store: store.query(Member.by_age, club="c"),
    "query the shards backwards": lambda store: store.query(Member.by_age, club="c", newest_first=True, limit=1),
    "page the shards": lambda store: store.page(Member.by_age, club="c", limit=1),
    "page the shards, a few at a time": lambda store: store.page(Member.by_age, Member.age > 20, club="c", limit=1, examine=1),
    "count": lambda store: store.count(Member.of_club, club="c"),
    "count the shards": lambda store: store.count(Member.by_age, club="c"),
    "table_states": lambda store: store.table_states(members),
    "delete_tables": lambda store: store.delete_tables(members),
}
#: The verbs that read or change whole tables, which a scope does not allow.
BEYOND_SCOPES = {"delete_tables"}


def _transact(store: Any) -> Any:
    with store.transaction() as block:
        block.create(member("dora", "dora@x"))
        block.delete(BOB)
    return block.results


async def _transact_awaited(store: Any) -> Any:
    async with store.transaction() as block:
        block.create(member("dora", "dora@x"))
        block.delete(BOB)
    return block.results


def _batch(store: Any) -> Any:
    with store.batch() as block:
        block.put(Club(club="c", members=4))


async def _batch_awaited(store: Any) -> Any:
    async with store.batch() as block:
        block.put(Club(club="c", members=4))


def _edit(store: Any) -> Any:
    with store.edit(ANN) as ann:
        ann.email, ann.active = "new@x", False
    return ann


async def _edit_awaited(store: Any) -> Any:
    async with store.edit(ANN) as ann:
        ann.email, ann.active = "new@x", False
    return ann


def _load(store: Any) -> Any:
    return store.loader(Member).load_many([Member.key(club="c", name=name) for name in ("ann", "cid", "bob", "ann")])


async def _load_awaited(store: Any) -> Any:
    return await store.loader(Member).load_many([Member.key(club="c", name=name) for name in ("ann", "cid", "bob", "ann")])


#: Blocks and loaders, called and awaited.
BLOCKS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "transaction": (_transact, _transact_awaited),
    "batch": (_batch, _batch_awaited),
    "edit": (_edit, _edit_awaited),
    "loader": (_load, _load_awaited),
}
ALL = {name: (call, call) for name, call in CALLS.items()} | BLOCKS


def _items(reply: dict[str, Any]) -> list[Any]:
    return sorted(reply["Items"], key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


def _asked_on(store: Store, call: Callable[[Any], Any]) -> Any:
    plain = Store(store.transport)
    plain.ensure_tables(members)
    for item in store.transport.call("Scan", {"TableName": "VerbMembers"})["Items"]:
        store.transport.call("DeleteItem", {"TableName": "VerbMembers", "Key": {name: item[name] for name in ("PK", "SK")}})
    plain.create(Club(club="c"))
    for one in (ANN, BOB, CID):
        plain.create(one.model_copy(update={"version": 0}))
    outcome = _outcome(lambda: call(store))
    if "VerbMembers" not in store.transport.call("ListTables", {})["TableNames"]:
        return outcome, None
    return outcome, _items(store.transport.call("Scan", {"TableName": "VerbMembers", "ConsistentRead": True}))


async def _awaited_on(store: AsyncStore, call: Callable[[Any], Any]) -> Any:
    plain = AsyncStore(store.transport)
    await plain.ensure_tables(members)
    await plain.create(Club(club="c"))
    for one in (ANN, BOB, CID):
        await plain.create(one.model_copy(update={"version": 0}))
    outcome = await _async_outcome(lambda: call(store))
    if "VerbMembers" not in (await store.transport.call("ListTables", {}))["TableNames"]:
        return outcome, None
    return outcome, _items(await store.transport.call("Scan", {"TableName": "VerbMembers", "ConsistentRead": True}))


@pytest.fixture(scope="module")
def called() -> Iterator[dict[str, Store]]:
    """The kinds of stores that are called, besides a plain one."""
    with ExitStack() as stack:
        yield {
            "hooked": stack.enter_context(Store.embedded(hooks=[Quiet()])),
            "scoped": stack.enter_context(Store.embedded().scope(club="c")),
            "wire": stack.enter_context(NETWORK["wire"](stack, Path())),
            "botocore": stack.enter_context(NETWORK["botocore"](stack, Path())),
        }


@pytest.fixture
async def awaited(tmp_path: Path) -> AsyncIterator[dict[str, AsyncStore]]:
    """The kinds of stores that are awaited."""
    async with AsyncExitStack() as stack:

        async def grouped(name: str) -> AsyncStore:
            transport = GroupCommitTransport(open_async_embedded(str(tmp_path / name)))
            return GroupCommitStore(await stack.enter_async_context(AsyncStore(transport)), transport)

        servers = stack.enter_context(ExitStack())
        yield {
            "async": await stack.enter_async_context(AsyncStore.embedded()),
            "async hooked": await stack.enter_async_context(AsyncStore.embedded(hooks=[Quiet()])),
            "async scoped": (await stack.enter_async_context(AsyncStore.embedded())).scope(club="c"),
            "group commit": await grouped("one"),
            "group commit scoped": (await grouped("two")).scope(club="c"),
            "async wire": await stack.enter_async_context(ASYNC_NETWORK["wire"](servers, tmp_path)),
        }


@pytest.mark.parametrize("verb", ALL)
async def test_a_verb_leaves_the_same_items_on_every_kind_of_store(
    verb: str, called: dict[str, Store], awaited: dict[str, AsyncStore]
) -> None:
    call, call_awaited = ALL[verb]
    with Store.embedded() as store:
        expected = _asked_on(store, call)
    found = {name: _asked_on(other, call) for name, other in called.items()}
    found |= {name: await _awaited_on(other, call_awaited) for name, other in awaited.items()}
    for name, outcome in found.items():
        if "scoped" in name and (verb in BEYOND_SCOPES or "that is missing" in verb):
            assert outcome[0][0] is OutOfScope, name
        else:
            assert outcome == expected, name


def test_the_laws_hold_every_verb() -> None:
    held = {name.partition(" ")[0] for name in (*ALL, *test_verbs.CALLS)}
    # `health` and `lock` answer with a time; the others run what they are given, or open and close.
    assert set(VERBS) - held == {"health", "lock", "carry_out", "stream", "using", "close"}
