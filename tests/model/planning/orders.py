"""Orders of shops, whose index keys depend on most of their attributes."""

from datetime import UTC, datetime
from typing import Any

from gateleg.model import GSI, Attr, Entity, Key, KeyPart, States, Table, Version, field, stamp, state
from gateleg.model.keys import shard_of

THEN = datetime(2026, 1, 1, tzinfo=UTC)


class Phase(States):
    NEW = state("new", to=["busy"])
    BUSY = state("busy", to=["done", "new"])
    DONE = state("done")


store = Table(
    "orders",
    hash="PK",
    range="SK",
    tag="kind",
    indexes=[
        GSI("by-phase", hash="G1", range="G1S"),
        GSI("open", hash="G2", range="G2S"),
        GSI("by-owner", hash="owner", range="placed_at"),
        GSI("spread", hash="G3", range="placed_at"),
    ],
)


class Shop(Entity, table=store, tag="shop"):
    shop_id: Attr[str]
    open_orders: Attr[int] = field(0)
    orders: Attr[int] = field(0)

    key = Key("SHOP#{shop_id}", "SHOP")


class Place(KeyPart, template="{country}#{city}"):
    country: str
    city: str


class Order(Entity, table=store, tag="order"):
    shop_id: Attr[str]
    number: Attr[int]
    phase: Attr[Phase] = field(Phase.NEW)
    owner: Attr[str | None] = field(None)
    total: Attr[int] = field(0)
    place: Attr[Place | None] = field(None)
    note: Attr[str | None] = field(None)
    placed_at: Attr[datetime] = stamp(on="create")
    changed_at: Attr[datetime] = stamp(on="write")
    source: Attr[str] = field("web", read_only=True)

    key = Key("SHOP#{shop_id}", "ORDER#{number:06d}")
    phase_key = Key("{phase}", "{placed_at}#{number:06d}", index="by-phase")
    open_key = Key("OPEN#{shop_id}", "{owner}#{placed_at}", index="open", when={"phase": ["new", "busy"]})
    spread_key = Key("P#{phase}", index="spread", shards=4)


class Versioned(Order, table=Table("versioned", hash="PK", range="SK", tag="kind", indexes=store.indexes), tag="order"):
    version: Attr[Version] = field(0)


def order(**values: Any) -> Order:
    defaults: dict[str, Any] = {"shop_id": "s", "number": 7, "placed_at": THEN, "changed_at": THEN}
    return Order(**(defaults | values))


def versioned(**values: Any) -> Versioned:
    defaults: dict[str, Any] = {"shop_id": "s", "number": 7, "placed_at": THEN, "changed_at": THEN, "version": 3}
    return Versioned(**(defaults | values))


KEY = {"PK": {"S": "SHOP#s"}, "SK": {"S": "ORDER#000007"}}
SHARD = shard_of(KEY, 4)
