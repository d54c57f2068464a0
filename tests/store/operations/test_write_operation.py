"""Prepared patches send the same requests and return the same results as planned ones."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from gateleg.engine import Engine
from gateleg.engine.expressions import prepare_unchecked
from gateleg.model import GSI, Attr, Entity, Key, Table, Unique, Version, field, stamp
from gateleg.model.planning import PreparedUpdate
from gateleg.model.wire import iso
from gateleg.plain import is_plain
from gateleg.store import AsyncStore, LostRace, Store, WriteOperation, create, patch
from gateleg.store.flow import Request
from gateleg.store.group_commit import GroupCommitStore
from gateleg.store.operations import transact
from gateleg.store.operations.write_operation import PreparedPatch, prepare_patch
from gateleg.store.setup import Setup
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport, GroupCommitTransport

NOW = datetime(2026, 11, 16, 10, tzinfo=UTC)
EXAMPLE = datetime(2001, 2, 3, 4, 5, 6, 7, tzinfo=UTC)

lamps = Table("Lamps", hash="name", indexes=[GSI("by_room", hash="room_key", range="changed_at")])


class Lamp(Entity, table=lamps):
    """A lamp in a room."""

    name: Attr[str]
    room: Attr[str]
    level: Attr[int] = field(0)
    changed_at: Attr[datetime] = stamp(on="write")
    version: Attr[Version] = field(0)

    key = Key("{name}")
    room_key = Key("ROOM#{room}", "{changed_at}", index="by_room")


class Named(Entity, table=Table("Named", hash="id")):
    """Something with a unique name, which needs a transaction."""

    id: Attr[str]
    name: Attr[str]

    key = Key("{id}")
    one_name = Unique("name")


def move(lamp: Lamp, room: str) -> WriteOperation[Lamp]:
    return patch(lamp, Lamp.room.set(room))


def wire(lamp: Lamp, room: str, now: datetime) -> dict[str, dict[str, str]]:
    return {
        "room": {"S": room},
        "room_key": {"S": f"ROOM#{room}"},
        "now": {"S": iso(now)},
        "seen": {"N": str(lamp.version)},
        "version": {"N": str(lamp.version + 1)},
    }


def prepared() -> PreparedUpdate:
    lamp = Lamp(name="any", room="before", version=987_654_321, changed_at=EXAMPLE)
    return prepare_patch(move(lamp, "the room"), wire(lamp, "the room", EXAMPLE), EXAMPLE)


def prepared_move(lamp: Lamp, room: str, now: datetime = NOW) -> PreparedPatch[Lamp]:
    return PreparedPatch(Lamp, UPDATE, {"name": {"S": lamp.name}}, wire(lamp, room, now), lambda: move(lamp, room))


UPDATE = prepared()


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(EmbeddedTransport(Engine(":memory:"), owned=True), clock=NOW.timestamp) as store:
        store.create_tables(lamps)
        yield store


def test_a_prepared_patch_sends_the_same_request_as_a_planned_one() -> None:
    setup = Setup(prefix="test-", clock=NOW.timestamp)
    lamp = Lamp(name="desk", room="attic", version=3, changed_at=EXAMPLE)
    sent, planned = (operation.start(setup) for operation in (prepared_move(lamp, "hall"), move(lamp, "hall")))
    assert isinstance(sent, Request)
    assert isinstance(planned, Request)
    assert sent.payload == planned.payload


def test_a_prepared_patch_returns_the_stored_item(store: Store) -> None:
    lamp = store.create(Lamp(name="desk", room="attic"))
    assert store.run(prepared_move(lamp, "hall")) == store.get(Lamp, name="desk") != lamp


def test_an_error_is_the_same_as_for_the_planned_patch(store: Store) -> None:
    lamp = store.create(Lamp(name="desk", room="attic"))
    store.patch(lamp, Lamp.level.set(5))
    with pytest.raises(LostRace):
        store.run(prepared_move(lamp, "hall"))


def test_a_prepared_patch_can_be_part_of_a_transaction(store: Store) -> None:
    lamp = store.create(Lamp(name="desk", room="attic"))
    store.run(transact([prepared_move(lamp, "hall"), create(Lamp(name="floor", room="hall"))]))
    assert store.get(Lamp, name="desk").room == "hall"


def test_an_update_has_a_place_for_every_example() -> None:
    lamp = Lamp(name="desk", room="attic", version=1)
    with pytest.raises(ValueError, match="does not contain the example of elsewhere"):
        prepare_patch(move(lamp, "hall"), {"elsewhere": {"S": "nowhere"}}, NOW)


def test_a_patch_that_needs_a_transaction_cannot_be_prepared() -> None:
    with pytest.raises(ValueError, match="more than one write"):
        prepare_patch(patch(Named(id="1", name="old"), Named.name.set("new")), {"name": {"S": "new"}}, NOW)


@pytest.mark.skipif(is_plain("plans") or is_plain("request_plans"), reason="no plans are kept")
async def test_the_engine_has_one_plan_for_all_patches_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(":memory:")
    transport = GroupCommitTransport(AsyncEmbeddedTransport(engine, owned=True))
    store = GroupCommitStore(AsyncStore(transport, clock=NOW.timestamp), transport)
    await store.create_tables(lamps)
    known: list[bool] = []
    prepare_call = transport.prepare_call

    def noted(operation: str, request: dict[str, Any]) -> Any:
        if operation == "UpdateItem":
            known.append(prepare_unchecked(request, operation) is not None)
        return prepare_call(operation, request)

    monkeypatch.setattr(transport, "prepare_call", noted)
    lamp = await store.create(Lamp(name="desk", room="attic"))
    for room in ("hall", "cellar", "attic"):
        lamp = await store.patch(lamp, Lamp.room.set(room))
    # The first is planned, and the others are bound from its plan.
    assert known[1:] == [True, True]
    known.clear()
    lamp = await store.run(prepared_move(lamp, "hall"))
    lamp = await store.run(prepared_move(lamp, "cellar"))
    assert (await store.get(Lamp, name="desk")).room == "cellar"
    assert known[1:] == [True]
    await store.close()
