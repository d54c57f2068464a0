"""Writes that go along with another: markers of unique values, and counters."""

from typing import Any

import pytest

from gateleg.model import Attr, Counter, Entity, Key, Table, Unique, Write, field, plan_delete, plan_put, plan_update
from gateleg.model.errors import DerivedKeyUnknown
from tests.model.plans import NOW, condition

members = Table("members", hash="PK", range="SK", tag="kind")


class Club(Entity, table=members, tag="club"):
    club_id: Attr[str]
    active: Attr[int] = field(0)
    all: Attr[int] = field(0)

    key = Key("CLUB#{club_id}", "CLUB")


class Member(Entity, table=members, tag="member"):
    club_id: Attr[str]
    member_id: Attr[str]
    email: Attr[str | None] = field(None)
    active: Attr[bool] = field(True)

    key = Key("CLUB#{club_id}", "MEMBER#{member_id}")
    one_email = Unique("club_id", "email", ignore_case=True)
    counted = Counter(Club.all)
    active_ones = Counter(Club.active, when={"active": [True]})


MARKER = {"PK": {"S": "~unique#Member#one_email#c#ann%23%40x"}, "SK": {"S": "~unique"}}


def purposes(write: Write[Any]) -> list[str]:
    return [companion.purpose for companion in write.companions]


def test_a_create_takes_the_marker_and_counts() -> None:
    write = plan_put(Member(club_id="c", member_id="m", email="Ann#@X"), now=NOW, create=True)
    assert purposes(write) == ["hold Member.one_email", "count Club.all", "count Club.active"]
    assert write.companions[0].parameters["Item"] == MARKER
    assert condition(write.companions[0]) == "attribute_not_exists(#PK)"
    assert [list(entry) for entry in write.transact()] == [["Put"], ["Put"], ["Update"], ["Update"]]


def test_an_item_without_a_value_holds_no_marker() -> None:
    assert "hold Member.one_email" not in purposes(plan_put(Member(club_id="c", member_id="m"), now=NOW, create=True))


def test_a_changed_value_moves_the_marker_and_is_guarded() -> None:
    member = Member(club_id="c", member_id="m", email="ann@x")
    write = plan_update(member, [Member.email.set("bob@x")], now=NOW)
    assert purposes(write) == ["hold Member.one_email", "release Member.one_email"]
    assert "#email = ann@x" in condition(write)


def test_a_change_of_case_alone_moves_nothing() -> None:
    member = Member(club_id="c", member_id="m", email="ann@x")
    assert plan_update(member, [Member.email.set("ANN@x")], now=NOW).companions == ()


def test_a_counter_moves_with_what_it_counts() -> None:
    member = Member(club_id="c", member_id="m")
    (change,) = plan_update(member, [Member.active.set(False)], now=NOW).companions
    assert change.parameters["UpdateExpression"] == "ADD #active :0"
    assert change.parameters["ExpressionAttributeValues"] == {":0": {"N": "-1"}}


def test_a_delete_releases_and_counts_down() -> None:
    write = plan_delete(Member(club_id="c", member_id="m", email="Ann#@X"))
    assert purposes(write) == ["release Member.one_email", "count Club.all", "count Club.active"]
    assert write.companions[0].parameters["Key"] == MARKER
    assert condition(write) == "attribute_exists(#PK) AND #email = Ann#@X AND #active = True"


def test_markers_and_counters_need_to_know_what_was_there() -> None:
    member = Member(club_id="c", member_id="m")
    with pytest.raises(DerivedKeyUnknown):
        plan_put(member, now=NOW)
    with pytest.raises(DerivedKeyUnknown):
        plan_delete(member.key)
    with pytest.raises(DerivedKeyUnknown):
        plan_update(member.key, [Member.email.set("x")], now=NOW)
    assert purposes(plan_put(member, now=NOW, replaces=member.model_copy(update={"active": False}))) == ["count Club.active"]


def test_table_names_come_from_the_caller() -> None:
    write = plan_put(Member(club_id="c", member_id="m"), now=NOW, create=True)
    names = [next(iter(entry.values()))["TableName"] for entry in write.transact(lambda table: f"test-{table.name}")]
    assert names == ["test-members"] * 3


def test_an_upsert_of_what_is_counted_or_unique_is_refused() -> None:
    with pytest.raises(DerivedKeyUnknown, match="create or patch"):
        plan_update(Member.key(club_id="c", member_id="m"), [Member.active.force(True)], now=NOW, mode="upsert", known={"active": False})
