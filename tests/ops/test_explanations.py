from typing import Any

import pytest

from gateleg.migrate import TableSettings, apply
from gateleg.model import GSI, Access, Attr, Entity, Key, Pattern, Table, spec_of
from gateleg.model.errors import UnknownArgument
from gateleg.ops import explain
from gateleg.store import Store
from tests.migrate.watchers import Recorder
from tests.model.seeds import agents, delphi, jobs, mv, rag

TABLES = [mv.projects, jobs.queue, rag.collections, rag.documents, agents.agents, delphi.embeddings]
PATTERNS = [access for table in TABLES for spec in table.specs for access in spec.patterns.values()]


@pytest.mark.parametrize("access", PATTERNS, ids=lambda access: access.name)
def test_the_request_of_every_pattern_is_one_that_the_service_takes(access: Access[Any]) -> None:
    with Store.embedded() as store:
        apply(store, spec_of(access.entity).table, TableSettings(), Recorder())
        for request in explain(access).requests:
            assert store.transport.call("Query", request)["Items"] == []


def test_the_condition_has_its_values_in_place() -> None:
    told = explain(mv.Scene.in_project, {"project_id": "00000000-0000-4000-8000-000000000001", "sequence": 7})
    assert told.condition == 'PK = "PROJECT#00000000-0000-4000-8000-000000000001" AND SK = "SCENE#007"'
    assert not told.sampled


def test_the_order_tells_components_that_count_down() -> None:
    assert explain(jobs.Job.ready).order == "priority descending, created_at ascending, job_id ascending"


def test_the_order_leaves_out_what_the_arguments_fix() -> None:
    assert explain(agents.Agent.versions).order.startswith("none")


def test_local_indexes_and_the_table_can_be_read_consistently() -> None:
    told = [explain(access).consistent for access in (agents.Agent.versions, mv.Scene.in_project, mv.Project.by_status)]
    assert told == [True, True, False]


def test_the_prefix_stands_before_the_table() -> None:
    assert explain(jobs.Job.ready, prefix="dev-").requests[0]["TableName"] == "dev-DelphiJobQueue"


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (mv.Project.by_status, "Hot partition: status"),
        (jobs.Job.ready, "Sparse: only items where status is PENDING"),
        (jobs.Job.of_worker, "Sparse: items without worker_id"),
        (agents.Agent.versions, "10 GB"),
        (rag.Collection.in_repository, "Expired items (deletedAt)"),
    ],
    ids=lambda value: value.name if isinstance(value, Access) else None,
)
def test_what_to_know_is_told(access: Access[Any], words: str) -> None:
    assert any(words in remark for remark in explain(access).remarks)


def test_an_argument_that_is_none_is_refused() -> None:
    with pytest.raises(UnknownArgument):
        explain(jobs.Job.ready, {"nothing": "x"})


def test_shards_and_partial_indexes_are_told_and_paid_for() -> None:
    table = Table("notes", hash="id", indexes=[GSI("by-topic", hash="topic_key", range="id", project="keys")])

    class Note(Entity, table=table):
        id: Attr[str]
        topic: Attr[str]
        key = Key("{id}")
        topic_key = Key("TOPIC#{topic}", "{id}", index="by-topic", shards=4)
        on_topic = Pattern("by-topic", title="Notes on a topic")

    told = explain(Note.on_topic)
    assert len(told.requests) == 4
    assert told.cost.hydrate > 0
    assert any("4 shards" in remark for remark in told.remarks)
    assert any("hydrate=True" in remark for remark in told.remarks)
