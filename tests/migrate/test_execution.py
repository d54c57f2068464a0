from collections.abc import Iterator
from typing import Any

import pytest

from gateleg.migrate import Step, TableSettings, apply, plan_of
from gateleg.migrate.execution import until_settled
from gateleg.migrate.shapes import inspect_table
from gateleg.model import GSI, LSI, Table
from gateleg.store import Refused, Store
from gateleg.store.flow import Pause, Request
from gateleg.store.transports import ServiceError
from gateleg.store.transports.embedded import open_embedded
from tests.migrate.watchers import Recorder
from tests.model.seeds import agents, delphi, jobs, mv, rag

OLD = Table("things", hash="pk", range="sk", indexes=[GSI("old", hash="a")])
NEW = Table("things", hash="pk", range="sk", indexes=[GSI("new", hash="b")])
OTHER_KEY = Table("things", hash="id")
SEEDS = [mv.projects, jobs.queue, rag.collections, rag.documents, rag.vector_stores, agents.agents, agents.threads, delphi.embeddings]


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(open_embedded(), sleep=lambda seconds: None) as store:
        yield store


class Without:
    """A transport whose service does not know some operations."""

    def __init__(self, inner: Any, *operations: str) -> None:
        self.inner = inner
        self.operations = operations

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        if operation in self.operations:
            raise ServiceError("UnknownOperationException")
        answer: dict[str, Any] = self.inner.call(operation, request, timeout=timeout)
        return answer

    def close(self) -> None:
        self.inner.close()


class Overtaken(Without):
    """A transport of which another process sends every change to a table a moment before."""

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        if operation in self.operations:
            self.inner.call(operation, request, timeout=timeout)
        answer: dict[str, Any] = self.inner.call(operation, request, timeout=timeout)
        return answer


def test_a_change_that_another_process_made_a_moment_before_is_fine(store: Store) -> None:
    changes = ("CreateTable", "UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups", "TagResource")
    overtaken = Store(Overtaken(store.transport, *changes), sleep=lambda seconds: None)
    for table in (OLD, NEW, rag.collections):
        left = apply(overtaken, table, TableSettings(), Recorder()).left
        assert left is not None
        assert left.done


def test_a_change_that_is_refused_and_was_not_made_is_an_error(store: Store) -> None:
    class Refusing(Without):
        def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
            if operation in self.operations:
                raise ServiceError("ValidationException", "no")
            answer: dict[str, Any] = self.inner.call(operation, request, timeout=timeout)
            return answer

    with pytest.raises(Refused, match="no"):
        apply(Store(Refusing(store.transport, "CreateTable"), sleep=lambda seconds: None), OLD, TableSettings(), Recorder())


@pytest.mark.parametrize("table", SEEDS, ids=lambda table: table.name)
def test_applying_leaves_nothing_to_do(store: Store, table: Table) -> None:
    outcome = apply(store, table, TableSettings(), Recorder())
    assert outcome.left is not None
    assert outcome.left.done
    assert plan_of(store, table, TableSettings()).done


def test_applying_twice_does_nothing_the_second_time(store: Store) -> None:
    apply(store, rag.collections, TableSettings(), Recorder())
    assert not apply(store, rag.collections, TableSettings(), Recorder()).done


def test_indexes_are_changed_one_after_another(store: Store) -> None:
    apply(store, OLD, TableSettings(), Recorder())
    watcher = Recorder()
    apply(store, NEW, TableSettings(), watcher)
    assert watcher.begun == ["create-index", "delete-index"]
    assert watcher.asked == ["delete-index"]


def test_items_stay_when_indexes_change(store: Store) -> None:
    apply(store, OLD, TableSettings(), Recorder())
    item = {"pk": {"S": "1"}, "sk": {"S": "2"}, "b": {"S": "3"}}
    store.transport.call("PutItem", {"TableName": "things", "Item": item})
    apply(store, NEW, TableSettings(), Recorder())
    assert store.transport.call("Scan", {"TableName": "things", "IndexName": "new"})["Items"] == [item]


def test_what_is_not_agreed_to_is_left_and_the_rest_is_done(store: Store) -> None:
    apply(store, OLD, TableSettings(), Recorder())
    outcome = apply(store, NEW, TableSettings(protected=True), Recorder(agrees=lambda step: False))
    assert [step.action for step in outcome.done] == ["create-index", "change-protection"]
    assert [step.action for step in outcome.declined] == ["delete-index"]
    assert outcome.left is not None
    assert outcome.left.state == "differs"


def test_an_index_is_not_made_anew_when_its_deletion_was_declined(store: Store) -> None:
    apply(store, OLD, TableSettings(), Recorder())
    changed = Table("things", hash="pk", range="sk", indexes=[GSI("old", hash="a", range="b")])
    assert not apply(store, changed, TableSettings(), Recorder(agrees=lambda step: False)).done


def test_a_stream_is_not_started_when_the_end_of_the_other_was_declined(store: Store) -> None:
    apply(store, Table("things", hash="pk", stream="KEYS_ONLY"), TableSettings(), Recorder())
    watcher = Recorder(agrees=lambda step: False)
    outcome = apply(store, Table("things", hash="pk", stream="NEW_IMAGE"), TableSettings(protected=True), watcher)
    assert [step.action for step in outcome.done] == ["change-protection"]
    assert watcher.asked == ["change-stream"]


def test_a_table_that_needs_a_new_one_is_left_alone(store: Store) -> None:
    apply(store, OLD, TableSettings(), Recorder())
    watcher = Recorder()
    outcome = apply(store, OTHER_KEY, TableSettings(), watcher)
    assert (outcome.done, watcher.asked) == ([], [])
    assert outcome.left is not None
    assert outcome.left.rebuild


def test_replacing_a_table_backs_it_up_first(store: Store) -> None:
    apply(store, OLD, TableSettings(), Recorder())
    item = {"pk": {"S": "1"}, "sk": {"S": "2"}}
    store.transport.call("PutItem", {"TableName": "things", "Item": item})
    watcher = Recorder()
    outcome = apply(store, OTHER_KEY, TableSettings(), watcher, replace=True)
    assert watcher.begun == ["delete-table", "create-table"]
    assert outcome.left is not None
    assert outcome.left.done
    ((_, backup),) = watcher.backups
    store.transport.call("RestoreTableFromBackup", {"TargetTableName": "restored", "BackupArn": backup})
    assert store.transport.call("Scan", {"TableName": "restored"})["Items"] == [item]


def test_a_service_without_backups_is_told_of(store: Store) -> None:
    bare = store.using(Without(store.transport, "CreateBackup"))
    apply(bare, OLD, TableSettings(), Recorder())
    watcher = Recorder()
    apply(bare, OTHER_KEY, TableSettings(), watcher, replace=True)
    assert watcher.backups == [("things", None)]


def test_a_replacement_that_is_declined_deletes_nothing(store: Store) -> None:
    apply(store, OLD, TableSettings(protected=True), Recorder())
    watcher = Recorder(agrees=lambda step: step.action == "change-protection")
    outcome = apply(store, OTHER_KEY, TableSettings(), watcher, replace=True)
    assert [step.action for step in outcome.done] == ["change-protection"]
    assert plan_of(store, OLD, TableSettings()).done


def test_an_interrupted_run_goes_on_where_it_was(store: Store) -> None:
    def stop(step: Step) -> bool:
        raise KeyboardInterrupt

    apply(store, OLD, TableSettings(), Recorder())
    with pytest.raises(KeyboardInterrupt):
        apply(store, NEW, TableSettings(), Recorder(agrees=stop))
    watcher = Recorder()
    apply(store, NEW, TableSettings(), watcher)
    assert watcher.begun == ["delete-index"]


def test_a_service_without_expiry_tags_and_recovery_can_be_planned(store: Store) -> None:
    bare = store.using(Without(store.transport, "DescribeTimeToLive", "ListTagsOfResource", "DescribeContinuousBackups"))
    apply(store, OLD, TableSettings(), Recorder())
    assert plan_of(bare, OLD, TableSettings(recoverable=True, tags={"a": "b"})).done


def test_a_service_that_lets_nothing_expire_gets_its_tables_all_the_same(store: Store) -> None:
    bare = store.using(Without(store.transport, "DescribeTimeToLive", "UpdateTimeToLive"))
    outcome = apply(bare, rag.collections, TableSettings(), Recorder())
    assert [step.action for step in outcome.done] == ["create-table"]
    assert outcome.left is not None
    assert outcome.left.done
    assert "does not let items expire" in outcome.left.notes[0]


def test_a_step_that_the_service_does_not_offer_is_left_out(store: Store) -> None:
    bare = store.using(Without(store.transport, "UpdateTimeToLive"))
    outcome = apply(bare, rag.collections, TableSettings(recoverable=True), Recorder())
    assert [step.action for step in outcome.done] == ["create-table", "change-recovery"]
    assert [step.action for step in outcome.unknown] == ["change-ttl"]


def test_local_indexes_that_are_missing_need_a_new_table(store: Store) -> None:
    apply(store, OLD, TableSettings(), Recorder())
    late = Table("things", hash="pk", range="sk", indexes=[GSI("old", hash="a"), LSI("late", range="a")])
    assert plan_of(store, late, TableSettings()).state == "needs a new table"


def _described(status: str, index: str) -> dict[str, Any]:
    return {
        "Table": {"TableName": "things", "TableStatus": status, "GlobalSecondaryIndexes": [{"IndexName": "by-a", "IndexStatus": index}]}
    }


def test_waiting_ends_when_the_table_and_its_indexes_are_at_rest() -> None:
    waited: list[str] = []
    flow = until_settled("things", waited.append)
    assert isinstance(next(flow), Request)
    assert isinstance(flow.send(_described("UPDATING", "CREATING")), Pause)
    assert isinstance(flow.send(None), Request)
    assert isinstance(flow.send(_described("UPDATING", "ACTIVE")), Pause)
    assert isinstance(flow.send(None), Request)
    with pytest.raises(StopIteration):
        flow.send(_described("ACTIVE", "ACTIVE"))
    assert waited == ["by-a is creating", "things is updating"]


def _answers(flow: Any, *replies: dict[str, Any]) -> Any:
    """What a flow ends with when it gets these replies."""
    next(flow)
    try:
        for reply in replies:
            flow.send(reply)
    except StopIteration as end:
        return end.value
    raise AssertionError("the flow wants more")


@pytest.mark.parametrize(("status", "ttl"), [("ENABLED", "x"), ("ENABLING", "x"), ("DISABLING", None), ("DISABLED", None)])
def test_expiry_that_is_being_stopped_counts_as_none(status: str, ttl: str | None) -> None:
    table = {"Table": OLD.definition() | {"TableArn": "arn"}}
    expiry = {"TimeToLiveDescription": {"TimeToLiveStatus": status, "AttributeName": "x"}}
    assert _answers(inspect_table("things", TableSettings()), table, expiry).shape.ttl == ttl


def test_a_table_with_a_name_of_its_own_is_planned_and_made_by_it() -> None:
    table = Table("Songs", hash="pk")
    with Store.embedded(prefix="dev-", table_names={"Songs": "prod-songs"}) as store:
        apply(store, table, TableSettings(), Recorder())
        assert store.transport.call("ListTables", {})["TableNames"] == ["prod-songs"]
        assert plan_of(store, table, TableSettings()).done
