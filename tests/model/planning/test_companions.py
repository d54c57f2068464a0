"""Companions of a write: markers of unique values, and counters."""

from typing import Any

import pytest

from gateleg.model import Attr, Counter, Entity, Key, Table, Unique, field
from gateleg.model.errors import DerivedKeyUnknown, ReadOnlyAttribute
from gateleg.model.planning import MergedChanges, Write, plan_counters, plan_delete, plan_put, plan_update
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
    return [marker.purpose for marker in write.markers] + [f"count {change.attribute!r} {change.delta:+}" for change in write.counts]


def test_a_create_takes_the_marker_and_counts() -> None:
    write = plan_put(Member(club_id="c", member_id="m", email="Ann#@X"), now=NOW, create=True)
    assert purposes(write) == ["hold Member.one_email", "count Club.all +1", "count Club.active +1"]
    owner = {"M": {name: write.parameters["Item"][name] for name in ("PK", "SK")}}
    assert write.markers[0].parameters["Item"] == {**MARKER, "_owner": owner}
    assert condition(write.markers[0]) == "attribute_not_exists(#PK)"
    assert all(change.required for change in write.counts)


def test_an_item_without_a_value_holds_no_marker() -> None:
    assert "hold Member.one_email" not in purposes(plan_put(Member(club_id="c", member_id="m"), now=NOW, create=True))


def test_a_changed_value_moves_the_marker_and_is_guarded() -> None:
    member = Member(club_id="c", member_id="m", email="ann@x")
    write = plan_update(member, [Member.email.set("bob@x")], now=NOW)
    assert purposes(write) == ["hold Member.one_email", "release Member.one_email"]
    assert "#email = ann@x" in condition(write)


def test_a_change_of_case_only_does_not_move_the_marker() -> None:
    member = Member(club_id="c", member_id="m", email="ann@x")
    assert plan_update(member, [Member.email.set("ANN@x")], now=NOW).alone


def test_a_counter_changes_with_its_items() -> None:
    member = Member(club_id="c", member_id="m")
    (change,) = plan_update(member, [Member.active.set(False)], now=NOW).counts
    assert (change.wire, change.delta, change.required) == ("active", -1, False)


def test_a_delete_releases_and_counts_down() -> None:
    write = plan_delete(Member(club_id="c", member_id="m", email="Ann#@X"))
    assert purposes(write) == ["release Member.one_email", "count Club.all -1", "count Club.active -1"]
    assert write.markers[0].parameters["Key"] == MARKER
    assert condition(write) == "attribute_exists(#PK) AND #email = Ann#@X AND #active = True"


def test_markers_and_counters_need_the_stored_instance() -> None:
    member = Member(club_id="c", member_id="m")
    with pytest.raises(DerivedKeyUnknown):
        plan_put(member, now=NOW)
    with pytest.raises(DerivedKeyUnknown):
        plan_delete(member.key)
    with pytest.raises(DerivedKeyUnknown):
        plan_update(member.key, [Member.email.set("x")], now=NOW)
    assert purposes(plan_put(member, now=NOW, replaces=member.model_copy(update={"active": False}))) == ["count Club.active +1"]


def test_an_upsert_of_an_entity_with_counters_or_unique_constraints_is_refused() -> None:
    with pytest.raises(DerivedKeyUnknown, match="create or patch"):
        plan_update(Member.key(club_id="c", member_id="m"), [Member.active.force(True)], now=NOW, mode="upsert", known={"active": False})


def test_counter_changes_are_one_update_that_never_goes_below_zero() -> None:
    write = plan_counters(Club.key(club_id="c"), MergedChanges({"all": 2, "active": -1}))
    assert write.kind == "Update"
    assert write.parameters["UpdateExpression"] == "REMOVE #_2 ADD #all :0, #active :1"
    assert condition(write) == "attribute_exists(#PK) AND #active >= 1"


def test_a_counter_that_is_too_low_already_ends_at_zero() -> None:
    seen = {"active": {"N": "0"}, "all": {"N": "4"}}
    write = plan_counters(Club.key(club_id="c"), MergedChanges({"all": -1, "active": -1}, seen=seen))
    assert write.parameters["UpdateExpression"].startswith("SET #active = :")
    assert condition(write) == "attribute_exists(#PK) AND #all >= 1 AND #active = 0"


def test_counted_attributes_cannot_be_written_by_hand() -> None:
    club = Club(club_id="c")
    for action in (Club.all.set(77), Club.all.add(1), Club.all.remove(), Club.all.force(1)):
        for target in (club, club.key):
            with pytest.raises(ReadOnlyAttribute, match=r"Club\.all counts items"):
                plan_update(target, [action], now=NOW)
    with pytest.raises(ReadOnlyAttribute):
        plan_update(Club.key(club_id="c"), [Club.all.set(1)], now=NOW, mode="upsert")


def test_a_new_item_starts_at_zero_whatever_its_instance_says() -> None:
    write = plan_put(Club(club_id="c", all=7, active=3), now=NOW, create=True)
    assert write.kind == "Put"
    assert (write.parameters["Item"]["all"], write.parameters["Item"]["active"]) == ({"N": "0"}, {"N": "0"})
    assert write.instance == Club(club_id="c")


def test_a_put_over_an_item_keeps_its_counts() -> None:
    write = plan_put(Club(club_id="c", all=7), now=NOW)
    assert write.kind == "Update"
    assert write.parameters["Key"] == {"PK": {"S": "CLUB#c"}, "SK": {"S": "CLUB"}}
    assert {"N": "7"} not in write.parameters["ExpressionAttributeValues"].values()
    assert "#all = if_not_exists(#all, " in write.parameters["UpdateExpression"]
