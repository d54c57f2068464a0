from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import computed_field

from gateleg.model import GSI, LSI, Attr, Entity, Key, Table, field, spec_of, stamp
from gateleg.model.errors import (
    DerivedKeyUnknown,
    EmptyKey,
    EmptySet,
    ExpressionError,
    ImmutableKey,
    MissingComponent,
    ReadOnlyAttribute,
    StateNeedsTransition,
)
from gateleg.model.planning import Write, changed_attributes, plan_put, plan_update
from tests.model.planning.orders import SHARD, THEN, Order, Phase, Place, Shop, Versioned, order, versioned
from tests.model.plans import NOW, condition, removed, sets

NOW_TEXT = "2026-05-06T07:08:09.000000Z"


def test_a_patch_requires_that_the_item_exists() -> None:
    write = plan_update(Shop.key(shop_id="s"), [Shop.orders.set(3)], now=NOW)
    assert write.kind == "Update"
    assert write.request()["Key"] == {"PK": {"S": "SHOP#s"}, "SK": {"S": "SHOP"}}
    assert condition(write) == "attribute_exists(#PK)"
    assert write.request()["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


def test_a_transition_is_conditional_on_the_predecessors() -> None:
    write = plan_update(order(phase=Phase.BUSY), [Order.phase.to(Phase.DONE)], now=NOW)
    assert "#phase = busy" in condition(write)
    back = plan_update(order(), [Order.phase.to(Phase.NEW)], now=NOW)
    assert "#phase = busy" in condition(back)


def test_a_changed_component_rewrites_its_index_key() -> None:
    write = plan_update(order(owner="ann"), [Order.phase.to(Phase.BUSY)], now=NOW)
    assert sets(write)["G1"] == {"S": "busy"}
    assert "G1S" not in sets(write)


def test_index_keys_of_natural_attributes_need_no_rewriting() -> None:
    write = plan_update(Order.key(shop_id="s", number=7), [Order.note.set("x")], now=NOW)
    assert sets(write) == {"note": {"S": "x"}, "changed_at": {"S": NOW_TEXT}}


def test_an_item_that_leaves_a_sparse_index_loses_its_keys_there() -> None:
    write = plan_update(order(owner="ann", phase=Phase.BUSY), [Order.phase.to(Phase.DONE)], now=NOW)
    assert removed(write) == {"G2", "G2S"}


def test_an_item_that_enters_a_sparse_index_gets_all_its_keys() -> None:
    write = plan_update(order(phase=Phase.BUSY), [Order.owner.set("ann")], now=NOW)
    assert sets(write)["G2"] == {"S": "OPEN#s"}
    assert sets(write)["G2S"] == {"S": "ann#2026-01-01T00:00:00.000000Z"}


def test_a_removed_component_removes_the_index_keys() -> None:
    write = plan_update(Order.key(shop_id="s", number=7), [Order.owner.remove()], now=NOW)
    assert removed(write) == {"owner", "G2", "G2S"}


def test_the_values_a_key_was_built_from_must_be_current() -> None:
    write = plan_update(order(phase=Phase.BUSY), [Order.owner.set("ann")], now=NOW)
    assert "#phase = busy" in condition(write)
    assert "#placed_at = 2026-01-01" in condition(write)


def test_a_version_check_replaces_those_conditions() -> None:
    write = plan_update(versioned(phase=Phase.BUSY), [Versioned.owner.set("ann")], now=NOW)
    assert condition(write) == "attribute_exists(#PK) AND #version = 3"


def test_a_reference_without_known_values_cannot_rewrite_a_key() -> None:
    with pytest.raises(DerivedKeyUnknown, match="phase, placed_at"):
        plan_update(Order.key(shop_id="s", number=7), [Order.owner.set("ann")], now=NOW)


def test_known_values_complete_a_key_and_are_checked() -> None:
    ref = Order.key(shop_id="s", number=7)
    write = plan_update(ref, [Order.owner.set("ann")], now=NOW, known={"phase": "busy", "placed_at": THEN})
    assert sets(write)["G2S"] == {"S": "ann#2026-01-01T00:00:00.000000Z"}
    assert "#phase = busy" in condition(write)


def test_a_component_that_only_the_database_knows_is_refused() -> None:
    class Numbered(Entity, table=Table("numbered", hash="id", indexes=[GSI("g", hash="g")])):
        id: Attr[str]
        n: Attr[int] = field(0)

        key = Key("{id}")
        g = Key("N#{n:03d}", index="g")

    with pytest.raises(DerivedKeyUnknown, match="plain values"):
        plan_update(Numbered(id="1"), [Numbered.n.add(1)], now=NOW)
    with pytest.raises(DerivedKeyUnknown):
        plan_update(Numbered(id="1"), [Numbered.n.set(Numbered.n + 1)], now=NOW)


def test_a_sharded_hash_keeps_its_shard() -> None:
    item = spec_of(Order).encode(order())
    assert item["G3"] == {"S": f"P#new#{SHARD}"}
    write = plan_update(order(), [Order.phase.to(Phase.BUSY)], now=NOW)
    assert sets(write)["G3"] == {"S": f"P#busy#{SHARD}"}


def test_a_changed_key_part_rewrites_its_denormalised_fields() -> None:
    write = plan_update(order(), [Order.place.set(Place("de", "ulm"))], now=NOW)
    assert sets(write) | {} == {
        "place": {"S": "de#ulm"},
        "country": {"S": "de"},
        "city": {"S": "ulm"},
        "changed_at": {"S": NOW_TEXT},
    }
    gone = plan_update(order(place=Place("de", "ulm")), [Order.place.remove()], now=NOW)
    assert removed(gone) == {"place", "country", "city"}


def test_the_version_is_incremented_and_checked() -> None:
    write = plan_update(versioned(), [Versioned.note.set("x")], now=NOW)
    assert sets(write)["version"] == {"N": "4"}
    assert write.owned == {"changed_at": NOW, "version": 4}


def test_the_version_check_can_be_left_out() -> None:
    write = plan_update(versioned(), [Versioned.note.set("x")], now=NOW, check_version=False)
    assert condition(write) == "attribute_exists(#PK)"
    assert sets(write)["version"].startswith("if_not_exists(#version")


def test_a_patch_by_reference_increments_the_version() -> None:
    write = plan_update(Versioned.key(shop_id="s", number=7), [Versioned.note.set("x")], now=NOW)
    assert "if_not_exists(#version, :" in write.parameters["UpdateExpression"]


def test_a_condition_of_the_caller_is_added() -> None:
    write = plan_update(order(), [Order.note.set("x")], now=NOW, condition=Order.total > 5)
    assert condition(write) == "attribute_exists(#PK) AND #total > 5"


@pytest.mark.parametrize(
    ("action", "error"),
    [
        (Order.number.set(8), ImmutableKey),
        (Order.source.set("app"), ReadOnlyAttribute),
        (Order.placed_at.set(NOW), ReadOnlyAttribute),
        (Versioned.version.set(9), ReadOnlyAttribute),
        (Order.phase.set(Phase.DONE), StateNeedsTransition),
        (Order.placed_at.remove(), ReadOnlyAttribute),
        (Shop.orders.set(1), ExpressionError),
    ],
)
def test_updates_of_protected_attributes_are_refused(action: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        plan_update(versioned(), [action], now=NOW)


def test_a_state_can_be_forced() -> None:
    write = plan_update(order(owner="a"), [Order.phase.force(Phase.DONE)], now=NOW)
    assert "#phase =" not in condition(write)
    assert sets(write)["G1"] == {"S": "done"}


def test_an_upsert_writes_everything_that_a_new_item_needs() -> None:
    write = plan_update(Shop.key(shop_id="s"), [Shop.orders.add(1)], now=NOW, mode="upsert")
    assert (
        write.parameters["UpdateExpression"]
        == "SET #shop_id = :1, #kind = :2, #open_orders = if_not_exists(#open_orders, :3) ADD #orders :0"
    )
    assert "ConditionExpression" not in write.parameters


def test_an_upsert_that_could_not_create_a_valid_item_is_refused() -> None:
    class Named(Entity, table=Table("named", hash="id")):
        id: Attr[str]
        name: Attr[str]
        n: Attr[int] = field(0)

        key = Key("{id}")

    with pytest.raises(MissingComponent, match="name"):
        plan_update(Named.key(id="1"), [Named.n.add(1)], now=NOW, mode="upsert")
    assert plan_update(Named.key(id="1"), [Named.name.set("x")], now=NOW, mode="upsert").kind == "Update"


def test_an_upsert_gives_a_new_item_its_index_keys() -> None:
    class Ticket(Entity, table=Table("tickets", hash="id", indexes=[GSI("g", hash="GP", range="GS")])):
        id: Attr[str]
        phase: Attr[Phase] = field(Phase.NEW)
        note: Attr[str | None] = field(None)
        made_at: Attr[datetime] = stamp(on="create")

        key = Key("{id}")
        g = Key("{phase}", "{made_at}", index="g")

    write = plan_update(Ticket.key(id="1"), [Ticket.note.set("x")], now=NOW, mode="upsert")
    assert write.parameters["UpdateExpression"] == (
        "SET #note = :0, #phase = if_not_exists(#phase, :1), #made_at = if_not_exists(#made_at, :2), "
        "#GP = if_not_exists(#GP, :3), #GS = if_not_exists(#GS, :4)"
    )
    assert write.parameters["ExpressionAttributeValues"][":4"] == {"S": NOW_TEXT}


def test_an_upsert_into_a_sparse_index_is_refused() -> None:
    with pytest.raises(DerivedKeyUnknown, match="open"):
        plan_update(Order.key(shop_id="s", number=7), [Order.total.set(1)], now=NOW, mode="upsert", known={"owner": "x"})


def test_an_empty_key_of_an_index_is_refused() -> None:
    with pytest.raises(EmptyKey):
        plan_update(order(phase=Phase.DONE), [Order.owner.set("")], now=NOW)
    with pytest.raises(EmptyKey):
        plan_put(order(owner=""), now=NOW)


def test_computed_attributes_are_recomputed() -> None:
    class Person(Entity, table=Table("people", hash="id")):
        id: Attr[str]
        first: Attr[str]
        last: Attr[str]

        key = Key("{id}")

        @computed_field  # type: ignore[prop-decorator]
        @property
        def full(self) -> str:
            return f"{self.first} {self.last}"

    person = Person(id="1", first="Ann", last="Lee")
    write = plan_update(person, [Person.last.set("Ray")], now=NOW)
    assert sets(write) == {"last": {"S": "Ray"}, "full": {"S": "Ann Ray"}}
    assert "#first = Ann" in condition(write)
    with pytest.raises(DerivedKeyUnknown):
        plan_update(Person.key(id="1"), [Person.last.set("Ray")], now=NOW)


def test_a_partial_save_writes_the_changed_attributes() -> None:
    before = versioned()
    after = before.model_copy(update={"note": "x", "phase": Phase.BUSY})
    write = plan_update(before, changed_attributes(before, after), now=NOW)
    assert {"note", "phase", "G1", "G3"} <= sets(write).keys()
    assert "#phase IN" in condition(write) or "#phase = new" in condition(write)


def applied(item: Any, write: Write[Any]) -> Any:
    """The item after an update of plain SET and REMOVE clauses."""
    kept = {name: value for name, value in item.items() if name not in removed(write)}
    return kept | {name: value for name, value in sets(write).items() if name}


@given(
    phase=st.sampled_from([Phase.NEW, Phase.BUSY]),
    owner=st.none() | st.sampled_from(["ann", "bob"]),
    changes=st.fixed_dictionaries(
        {"total": st.integers(0, 9)},
        optional={
            "phase": st.sampled_from(Phase),
            "owner": st.none() | st.sampled_from(["ann", "cid"]),
            "place": st.none() | st.builds(Place, st.sampled_from(["de", "fr"]), st.just("x")),
            "note": st.none() | st.text(),
        },
    ),
)
def test_an_updated_item_equals_a_put_of_the_changed_instance(phase: Phase, owner: str | None, changes: dict[str, Any]) -> None:
    before = versioned(phase=phase, owner=owner)
    actions = [attr.force(value) if attr.name == "phase" else attr.set(value) for attr, value in _attrs(changes)]
    write = plan_update(before, actions, now=NOW)
    after = before.model_copy(update=changes | dict(write.owned))
    assert applied(spec_of(Versioned).encode(before), write) == spec_of(Versioned).encode(after)


def _attrs(changes: dict[str, Any]) -> list[tuple[Attr[Any], Any]]:
    return [(spec_of(Versioned).attributes[name].attr, value) for name, value in changes.items()]


class Tagged(Entity, table=Table("tagged", hash="id")):
    id: Attr[str]
    tags: Attr[set[str]] = field(factory=set)
    marks: Attr[set[str] | None] = field(None)
    key = Key("{id}")


def test_a_set_that_becomes_empty_is_removed_where_empty_is_its_default() -> None:
    assert removed(plan_update(Tagged.key(id="1"), [Tagged.tags.set(set())], now=NOW)) == {"tags"}
    actions = changed_attributes(Tagged(id="1", tags={"a"}), Tagged(id="1"))
    assert removed(plan_update(Tagged.key(id="1"), actions, now=NOW)) == {"tags"}
    with pytest.raises(EmptySet):
        Tagged.marks.set(set())


inverted = Table(
    "inverted",
    hash="PK",
    range="SK",
    indexes=[GSI("by-queue", hash="queue", range="G"), GSI("turned", hash="SK", range="PK2"), LSI("by-name", range="name")],
)


class Task(Entity, table=inverted):
    owner: Attr[str]
    number: Attr[int]
    queue: Attr[str] = field("q")
    priority: Attr[int] = field(0)
    name: Attr[str | None] = field(None)

    key = Key("O#{owner}", "T#{number:03d}")
    queued = Key("{queue}", "{priority:03d}#{number:03d}", index="by-queue")
    turned = Key("T#{number:03d}", "{name}#{owner}", index="turned")


TASK = Task.key(owner="ada", number=7)


def test_a_derived_range_is_rewritten_though_the_hash_beside_it_is_not_known() -> None:
    write = plan_update(TASK, [Task.priority.set(5)], now=NOW)
    assert sets(write) == {"priority": {"N": "5"}, "G": {"S": "005#007"}}
    assert removed(write) == set()


def test_an_update_never_writes_key_attributes_that_an_index_shares_with_the_table() -> None:
    named = plan_update(Task(owner="ada", number=7), [Task.name.set("n")], now=NOW)
    assert sets(named) == {"name": {"S": "n"}, "PK2": {"S": "n#ada"}}
    nameless = plan_update(Task(owner="ada", number=7, name="n"), [Task.name.remove()], now=NOW)
    assert removed(nameless) == {"name", "PK2"}
