"""Evaluation sets (questions with checks) and evaluations. Sets belong to a tenant, an evaluation to the caller who requested it."""

from datetime import datetime
from typing import Any

from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tables import MAX_NAME_LENGTH, identifier, own_identifier
from gateleg.model import Attr, Entity, Key, Pattern, States, Table, field, required, stamp, state

evaluations = Table("aace-evaluations", hash="partition_key", range="evaluation_key", tag="entity_type")
EVALUATION_TABLES = (evaluations,)
#: Maximum questions of a set, so that the answers of two versions fit into one item.
MOST_CASES = 50


class EvaluationStatus(States):
    """The states of an evaluation."""

    RUNNING = state("running", to=["completed", "failed"])
    COMPLETED = state("completed")
    FAILED = state("failed")


class EvaluationSet(Entity, table=evaluations, tag="set"):
    """Questions with checks for their answers."""

    partition: Attr[Partition] = required(name="partition_key")
    evaluation_set_uuid: Attr[str] = own_identifier()
    name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    #: maps with question, checks and output_schema
    cases: Attr[list[dict[str, Any]]] = required(min_length=1, max_length=MOST_CASES)
    updated_by: Attr[str] = field("", max_length=MAX_NAME_LENGTH)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")

    key = Key("{partition}", "SET#{evaluation_set_uuid}")
    in_partition = Pattern(title="The sets of questions of a tenant, newest first", order="desc")


class Evaluation(Entity, table=evaluations, tag="evaluation"):
    """The answers of one or two agent versions to a set, with check results."""

    partition: Attr[Partition] = required(name="partition_key")
    evaluation_uuid: Attr[str] = own_identifier()
    evaluation_set_uuid: Attr[str] = identifier()
    name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    #: the caller who requested it (`Context.owner`)
    owner_id: Attr[str] = required(read_only=True)
    agent_uuid: Attr[str] = identifier()
    agent_version_uuids: Attr[list[str]] = required(min_length=1, max_length=2)
    #: copied from the set when the evaluation started
    cases: Attr[list[dict[str, Any]]] = required(max_length=MOST_CASES)
    status: Attr[EvaluationStatus] = field(EvaluationStatus.RUNNING)
    #: one map per case: question, and per version answer, passed, checks, run_uuid, thread_uuid, cost
    results: Attr[list[dict[str, Any]]] = field(factory=list, max_length=MOST_CASES)
    #: number of passed cases per version
    passed: Attr[dict[str, int]] = field(factory=dict)
    error: Attr[str | None] = field(None, max_length=5_000)
    job_id: Attr[str | None] = field(None)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")

    key = Key("{partition}", "EVALUATION#{evaluation_uuid}")
    in_partition = Pattern(title="The evaluations of a tenant, newest first", order="desc")
