"""Tables: create, wait, enable TTL, delete."""

from typing import Any

import pytest

from gateleg.model import GSI, Table
from gateleg.store import KeysDiffer, Refused, Store, TableBusy, TimedOut
from gateleg.store.flow import Request
from gateleg.store.operations import create_tables, delete_tables, ensure_tables
from gateleg.store.transports import ServiceError
from tests.jobs.interleaving import Actor, Choices, run, search
from tests.model.seeds.rag import collections
from tests.store.doubles import Answer, play, quiet_setup, refusal
from tests.store.notes import Note, shelf, titles


def test_tables_are_created_with_a_prefix(memory: Store) -> None:
    store = Store(memory.transport, "dev-")
    assert store.create_tables(shelf, titles) == ["dev-Notes", "dev-Titles"]
    store.put(Note(book="b", number=1))
    assert memory.transport.call("ListTables", {})["TableNames"] == ["dev-Notes", "dev-Titles"]


def test_existing_table_is_refused_by_create_and_not_changed_by_ensure(memory: Store) -> None:
    memory.create_tables(shelf)
    with pytest.raises(TableBusy, match="use `ensure_tables`"):
        memory.create_tables(shelf)
    assert memory.ensure_tables(shelf, titles) == ["Titles"]
    assert memory.ensure_tables(shelf, titles) == []


def test_tables_with_another_key_are_refused_together_before_any_is_created(memory: Store) -> None:
    memory.create_tables(Table("Notes", hash="book", range="number"), Table("Titles", hash="id", range="title"))
    with pytest.raises(KeysDiffer) as refused:
        memory.ensure_tables(collections, shelf, titles)
    assert refused.value.problems == {
        "Notes": ["The table Notes has the key (book S, number S), but (pk S, sk S) is declared."],
        "Titles": ["The table Titles has the key (id S, title S), but (id S) is declared."],
    }
    assert memory.transport.call("ListTables", {})["TableNames"] == ["Notes", "Titles"]
    assert {problem for one in refused.value.problems.values() for problem in one} <= set(memory.health(shelf, titles).problems)


def test_a_key_or_an_index_with_another_type_is_refused(memory: Store) -> None:
    numbered = {"TableName": "Titles", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}
    memory.transport.call("CreateTable", {**numbered, "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}]})
    with pytest.raises(KeysDiffer, match=r"The table Titles has the key \(id N\), but \(id S\) is declared"):
        memory.ensure_tables(titles)
    memory.create_tables(Table("Notes", hash="pk", range="sk", indexes=[GSI("by-author", hash="author", range="number")]))
    with pytest.raises(KeysDiffer, match="The table Notes indexes number as a string, but a number is declared"):
        memory.ensure_tables(shelf)


def test_a_missing_index_is_not_another_key(memory: Store) -> None:
    memory.create_tables(Table("Notes", hash="pk", range="sk"))
    assert memory.ensure_tables(shelf) == []


def test_deleted_tables_are_named_and_missing_ones_passed_over(memory: Store) -> None:
    memory.create_tables(shelf)
    assert memory.delete_tables(shelf, titles) == ["Notes"]
    assert memory.create_tables(shelf) == ["Notes"]


def test_states_of_tables_include_missing_ones(memory: Store) -> None:
    memory.create_tables(shelf)
    assert memory.table_states(shelf, titles) == {"Notes": "ACTIVE", "Titles": "MISSING"}
    assert memory.scope(book="b").table_states(shelf) == {"Notes": "ACTIVE"}


def described(*states: str, of: Table = shelf) -> Any:
    """DescribeTable responses of a table with these states in turn; an empty state is a missing table."""
    left = list(states)

    def answer(request: Request) -> Answer:
        if request.operation != "DescribeTable":
            return {"TimeToLiveDescription": {}}
        state = left.pop(0) if len(left) > 1 else left[0]
        if not state:
            return refusal("ResourceNotFoundException")
        table, _, index = state.partition("/")
        return {"Table": {**of.definition(), "TableStatus": table, "GlobalSecondaryIndexes": [{"IndexStatus": index or "ACTIVE"}]}}

    return answer


def test_creation_waits_until_the_table_and_its_indexes_are_active() -> None:
    played = play(create_tables(shelf).flow(quiet_setup()), described("", "CREATING", "ACTIVE/CREATING", "ACTIVE"))
    assert [request.operation for request in played.requests] == ["CreateTable"] + ["DescribeTable"] * 4
    assert len(played.pauses) == 3


def test_deletion_waits_until_the_table_is_deleted() -> None:
    played = play(delete_tables(shelf).flow(quiet_setup()), described("DELETING", "DELETING", ""))
    assert len(played.pauses) == 2


def test_waiting_times_out() -> None:
    with pytest.raises(TimedOut, match="still not active"):
        play(create_tables(shelf).flow(quiet_setup()), described("CREATING"))
    with pytest.raises(TimedOut, match="still not deleted"):
        play(delete_tables(shelf).flow(quiet_setup()), described("DELETING"))


def test_table_that_another_process_creates_at_the_same_moment_is_fine() -> None:
    states = described("", "ACTIVE")

    def answer(request: Request) -> Answer:
        reply: Answer = refusal("ResourceInUseException") if request.operation == "CreateTable" else states(request)
        return reply

    assert play(ensure_tables(shelf).flow(quiet_setup()), answer).result == []


def test_expiry_is_switched_on_once() -> None:
    on = {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED"}}

    def answer(request: Request) -> Answer:
        reply: Answer = on if request.operation == "DescribeTimeToLive" else described("ACTIVE", of=collections)(request)
        return reply

    operations = [request.operation for request in play(ensure_tables(collections).flow(quiet_setup()), answer).requests]
    assert "UpdateTimeToLive" not in operations


def test_two_processes_that_start_together_both_get_their_tables_whatever_the_order_of_their_requests() -> None:
    def scenario(choices: Choices) -> None:
        with Store.embedded() as store:
            starters = [Actor(name, ensure_tables(collections, shelf).flow(store.setup)) for name in ("host", "worker")]
            run(starters, store.transport, choices, preemptions=2)
            assert [starter.error for starter in starters] == [None, None]
            assert sorted(name for starter in starters for name in starter.result) == sorted(
                store.setup.name_of(table) for table in (collections, shelf)
            )
            described = store.transport.call("DescribeTimeToLive", {"TableName": store.setup.name_of(collections)})
            assert described["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"

    assert search(scenario) > 50


@pytest.mark.parametrize("code", ["ValidationException", "ResourceInUseException"])
def test_expiry_that_cannot_be_switched_on_is_an_error(code: str) -> None:
    def answer(request: Request) -> Answer:
        if request.operation == "UpdateTimeToLive":
            return refusal(code)
        reply: Answer = described("ACTIVE", of=collections)(request)
        return reply

    with pytest.raises((Refused, ServiceError)):
        play(ensure_tables(collections).flow(quiet_setup()), answer)
