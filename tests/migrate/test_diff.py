from dataclasses import replace
from typing import Any

import pytest

from gateleg.migrate import Capacity, Deployed, Plan, TableSettings, TableShape, declared_shape, deployed_shape, plan_table
from gateleg.migrate.shapes import IndexShape, KeyElement
from gateleg.model import GSI, LSI, Table
from tests.model.seeds import agents, delphi, jobs, mv, rag

KEYS = (KeyElement("pk", "HASH", "S"), KeyElement("sk", "RANGE", "S"))


def index(name: str, *attributes: str, type: str = "S", projection: str = "ALL") -> IndexShape:
    roles = ("HASH", "RANGE")
    return IndexShape(name, tuple(KeyElement(a, r, type) for a, r in zip(attributes, roles, strict=False)), projection)


def shape(*indexes: IndexShape, **members: Any) -> TableShape:
    return TableShape("things", KEYS, {entry.name: entry for entry in indexes}, **members)


def plan(wanted: TableShape, have: TableShape, settings: TableSettings | None = None, **options: Any) -> Plan:
    return plan_table(wanted, Deployed(have, "arn:things"), settings, **options)


def actions(plan: Plan) -> list[str]:
    return [step.action for step in plan.steps]


def indexes(plan: Plan) -> list[str]:
    """Which index is made (+) or dropped (-), in order."""
    found = []
    for step in plan.steps:
        for update in step.request.get("GlobalSecondaryIndexUpdates", ()):
            found += ["+" + update["Create"]["IndexName"]] if "Create" in update else []
            found += ["-" + update["Delete"]["IndexName"]] if "Delete" in update else []
    return found


def test_a_missing_table_is_created_and_then_made_to_expire() -> None:
    plan = plan_table(declared_shape(rag.collections), None)
    assert plan.state == "missing"
    assert actions(plan) == ["create-table", "change-ttl"]
    assert plan.steps[0].request == rag.collections.definition()


@pytest.mark.parametrize("table", [mv.projects, jobs.queue, rag.documents, agents.agents, delphi.embeddings], ids=lambda table: table.name)
def test_creation_asks_for_what_the_declaration_defines(table: Table) -> None:
    assert plan_table(declared_shape(table, "dev-"), None).steps[0].request == table.definition("dev-")


def test_a_table_as_declared_needs_nothing() -> None:
    plan_ = plan(shape(index("by-a", "a")), shape(index("by-a", "a")))
    assert plan_.done
    assert plan_.state == "in sync"


def test_the_order_of_members_in_a_description_does_not_matter() -> None:
    description = mv.projects.definition()
    description["KeySchema"].reverse()
    description["AttributeDefinitions"].reverse()
    assert plan_table(declared_shape(mv.projects), deployed_shape(description)).done


def test_new_indexes_come_before_old_ones_go() -> None:
    assert indexes(plan(shape(index("new", "a")), shape(index("old", "b")))) == ["+new", "-old"]


def test_each_index_is_a_step_of_its_own() -> None:
    made = plan(shape(index("one", "a"), index("two", "b")), shape())
    assert [len(step.request["GlobalSecondaryIndexUpdates"]) for step in made.steps] == [1, 1]


def test_an_index_with_another_key_is_dropped_and_made_anew() -> None:
    changed = plan(shape(index("by-a", "a", "b")), shape(index("by-a", "a")))
    assert indexes(changed) == ["-by-a", "+by-a"]
    assert "until it is created again" in changed.steps[0].loses


def test_an_index_with_another_projection_is_dropped_and_made_anew() -> None:
    assert indexes(plan(shape(index("by-a", "a", projection="KEYS_ONLY")), shape(index("by-a", "a")))) == ["-by-a", "+by-a"]


def test_an_attribute_of_another_type_goes_from_all_indexes_before_it_comes_back() -> None:
    have = shape(index("one", "a"), index("two", "a", "b"))
    wanted = shape(index("one", "a", type="N"), index("new", "a", type="N"))
    assert indexes(plan(wanted, have)) == ["-one", "-two", "+one", "+new"]


def test_room_is_made_when_a_table_has_as_many_indexes_as_it_may() -> None:
    full = shape(*(index(f"old-{number}", f"a{number}") for number in range(20)))
    wanted = replace(full, globals={**dict(list(full.globals.items())[2:]), "new": index("new", "b")})
    assert indexes(plan(wanted, full)) == ["-old-0", "+new", "-old-1"]


def test_dropping_an_index_is_asked_about_and_making_one_is_not() -> None:
    steps = plan(shape(index("new", "a")), shape(index("old", "b"))).steps
    assert [bool(step.loses) for step in steps] == [False, True]


def test_an_index_of_a_provisioned_table_gets_its_capacity() -> None:
    made = plan(shape(index("by-a", "a")), shape(capacity=Capacity(7, 3)), TableSettings(billing="keep"))
    update = made.steps[0].request["GlobalSecondaryIndexUpdates"][0]["Create"]
    assert update["ProvisionedThroughput"] == {"ReadCapacityUnits": 7, "WriteCapacityUnits": 3}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (TableShape("things", (KEYS[0],)), "the key is (pk, sk), declared is (pk)"),
        (TableShape("things", (KeyElement("pk", "HASH", "N"), KEYS[1])), "pk has the type S, declared is N"),
        (shape(locals={"late": index("late", "pk", "a")}), "late (pk, a) is missing"),
        (shape(locals={"l-1": index("l-1", "pk", "a", projection="KEYS_ONLY")}), "projecting ALL, declared is"),
        (shape(), "l-1 (pk, a) is not declared"),
    ],
)
def test_what_no_update_can_change_needs_a_new_table(wanted: TableShape, words: str) -> None:
    have = shape(locals={} if "late" in words or "key" in words or "type" in words else {"l-1": index("l-1", "pk", "a")})
    needed = plan(wanted, have)
    assert needed.state == "needs a new table"
    assert not needed.steps
    assert words in needed.rebuild[0]


def test_with_replace_such_a_table_is_deleted_and_made_anew() -> None:
    needed = plan(TableShape("things", (KEYS[0],)), shape(protected=True), replace=True)
    assert actions(needed) == ["change-protection", "delete-table", "create-table"]
    assert [bool(step.loses) for step in needed.steps] == [True, True, False]


def test_replace_changes_nothing_for_a_table_that_can_be_changed() -> None:
    assert actions(plan(shape(index("by-a", "a")), shape(), replace=True)) == ["create-index"]


def test_another_view_of_a_stream_stops_the_old_one_first() -> None:
    changed = plan(shape(stream="NEW_IMAGE"), shape(stream="KEYS_ONLY"))
    assert [step.request["StreamSpecification"]["StreamEnabled"] for step in changed.steps] == [False, True]


def test_another_expiry_attribute_stops_the_old_one_first() -> None:
    changed = plan(shape(ttl="new"), shape(ttl="old"))
    assert [step.request["TimeToLiveSpecification"] for step in changed.steps] == [
        {"Enabled": False, "AttributeName": "old"},
        {"Enabled": True, "AttributeName": "new"},
    ]


def test_provisioning_names_only_what_changes() -> None:
    have = shape(replace(index("by-a", "a"), capacity=Capacity(5, 5)), index("by-b", "b"), capacity=Capacity(5, 5))
    (step,) = plan(have, have, TableSettings(billing=Capacity(5, 5))).steps
    assert [update["Update"]["IndexName"] for update in step.request["GlobalSecondaryIndexUpdates"]] == ["by-b"]
    assert "ProvisionedThroughput" not in step.request


def test_settings_that_are_not_given_are_left_as_they_are() -> None:
    have = shape(protected=True, recoverable=True, tags={"a": "b"}, capacity=Capacity(1, 1))
    assert plan(shape(), have, TableSettings(billing="keep")).done


def test_only_tags_that_are_missing_or_differ_are_set() -> None:
    (step,) = plan(shape(), shape(tags={"a": "1", "b": "2", "x": "9"}), TableSettings(tags={"a": "1", "b": "3", "c": "4"})).steps
    assert step.request == {"ResourceArn": "arn:things", "Tags": [{"Key": "b", "Value": "3"}, {"Key": "c", "Value": "4"}]}


def test_what_the_service_does_not_offer_is_a_note() -> None:
    found = plan(shape(), shape(), TableSettings(recoverable=True, tags={"a": "b"}))
    assert found.done
    assert len(found.notes) == 2


def test_an_index_that_is_being_deleted_is_not_there() -> None:
    description = mv.projects.definition()
    description["GlobalSecondaryIndexes"][0]["IndexStatus"] = "DELETING"
    assert indexes(plan_table(declared_shape(mv.projects), deployed_shape(description))) == ["+status-created-index"]


def test_local_and_global_indexes_are_told_apart() -> None:
    table = Table("t-1", hash="pk", range="sk", indexes=[LSI("l-1", range="a"), GSI("g-1", hash="a")])
    found = declared_shape(table)
    assert (list(found.locals), list(found.globals)) == (["l-1"], ["g-1"])
