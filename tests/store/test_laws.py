"""Invariant after every write: the stored item equals the encoding of the entity."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.model import (
    GSI,
    LSI,
    Attr,
    Entity,
    Key,
    KeyPart,
    ModelError,
    Ref,
    States,
    Table,
    Unique,
    UpdateAction,
    Version,
    field,
    spec_of,
    stamp,
    state,
)
from gateleg.store import IllegalTransition, Store, UniqueTaken


class Phase(States):
    NEW = state("new", to=["busy"])
    BUSY = state("busy", to=["new", "done"])
    DONE = state("done")


class Place(KeyPart, template="{country}#{city}"):
    country: str
    city: str


table = Table(
    "Everything",
    hash="PK",
    range="SK",
    tag="kind",
    indexes=[
        GSI("by-phase", hash="G1", range="G1S"),
        GSI("open", hash="G2", range="G2S"),
        GSI("by-queue", hash="queue", range="G3"),
        GSI("spread", hash="G4", range="created"),
        GSI("turned", hash="SK", range="G5"),
        GSI("by-place", hash="place", range="city"),
        GSI("by-rank", hash="owner", range="rank"),
        LSI("by-title", range="title"),
        LSI("by-both", range="L1"),
    ],
)


class Thing(Entity, table=table, tag="thing"):
    owner: Attr[str]
    number: Attr[int]
    phase: Attr[Phase] = field(Phase.NEW)
    queue: Attr[str] = field("q")
    rank: Attr[int] = field(0)
    title: Attr[str | None] = field(None)
    note: Attr[str | None] = field(None)
    place: Attr[Place | None] = field(None)
    created: Attr[datetime] = stamp(on="create")
    changed: Attr[datetime] = stamp(on="write")

    key = Key("O#{owner}", "T#{number:03d}")
    phase_key = Key("{phase}", "{created}#{rank:03d}", index="by-phase")
    open_key = Key("OPEN#{owner}", "{title}#{rank:03d}", index="open", when={"phase": ["new", "busy"]})
    queue_key = Key("{queue}", "{rank:03d}#{number:03d}", index="by-queue")
    spread_key = Key("P#{phase}", index="spread", shards=4)
    turned_key = Key("T#{number:03d}", "{note}#{owner}", index="turned")
    both_key = Key("O#{owner}", "{queue}#{note}", index="by-both")


class Guarded(Thing, table=Table("Guarded", hash="PK", range="SK", tag="kind", indexes=table.indexes), tag="thing"):
    version: Attr[Version] = field(0)


class Single(Thing, table=Table("Single", hash="PK", range="SK", tag="kind", indexes=table.indexes), tag="thing"):
    once = Unique("title", "queue")


KINDS: list[type[Thing]] = [Thing, Guarded, Single]
words = st.sampled_from(["a", "b"])
maybe = st.none() | words
ACTIONS: dict[str, st.SearchStrategy[Callable[[type[Thing]], UpdateAction]]] = {
    "phase": st.sampled_from([lambda kind, phase=phase: kind.phase.to(phase) for phase in (Phase.BUSY, Phase.NEW, Phase.DONE)]),
    "queue": words.map(lambda value: lambda kind: kind.queue.set(value)),
    "rank": st.integers(0, 3).map(lambda value: lambda kind: kind.rank.set(value)),
    "sum": st.just(lambda kind: kind.rank.set(kind.rank + 1)),
    "title": maybe.map(lambda value: lambda kind: kind.title.set(value)),
    "note": maybe.map(lambda value: lambda kind: kind.note.set(value)),
    "place": st.sampled_from([None, Place(country="de", city="ulm"), Place(country="de", city="bonn")]).map(
        lambda value: lambda kind: kind.place.set(value)
    ),
}
updates = st.sets(st.sampled_from(sorted(ACTIONS)), min_size=1, max_size=3).flatmap(
    lambda names: st.tuples(*(ACTIONS[name] for name in sorted(names - {"sum"} if "rank" in names else names)))
)


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, tuple[Any, ...]]]:
    return draw(st.lists(st.tuples(st.sampled_from(["instance", "reference", "known", "upsert", "save"]), updates), min_size=1, max_size=6))


def stored(store: Store, ref: Ref[Any]) -> Any:
    reply = store.transport.call("GetItem", {"TableName": spec_of(ref.entity).table.name, "Key": ref.key, "ConsistentRead": True})
    return reply["Item"]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changes=steps())
def test_every_change_leaves_the_item_as_its_entity_writes_it(kind: type[Thing], changes: list[tuple[str, tuple[Any, ...]]]) -> None:
    with Store.embedded(clock=lambda: datetime(2026, 5, 6, tzinfo=UTC).timestamp()) as store:
        spec = spec_of(kind)
        store.create_tables(spec.table)
        current = store.create(kind(owner="o", number=1))
        for way, makers in changes:
            actions = [make(kind) for make in makers]
            try:
                if way == "instance":
                    current = store.patch(current, *actions)
                elif way == "reference":
                    current = store.patch(kind.key(owner="o", number=1), *actions)
                elif way == "known":
                    known = {name: getattr(current, name) for name in ("phase", "queue", "rank", "title", "note", "created")}
                    current = store.patch(kind.key(owner="o", number=1), *actions, known=known)
                elif way == "upsert":
                    current = store.upsert(kind.key(owner="o", number=1), *actions)
                else:
                    current = store.save(current.model_copy(update={"note": "saved", "rank": 2}), before=current)
            except (ModelError, IllegalTransition, UniqueTaken):
                continue
            item = stored(store, spec.ref(current))
            assert spec.encode(spec.decode(item)) == item
            assert spec.decode(item) == current
