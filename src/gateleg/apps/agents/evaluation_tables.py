"""Sets of questions with checks, and their evaluations. They belong to a tenant; an evaluation belongs to whoever had it made."""

from datetime import datetime
from typing import Any

from gateleg.apps.agents.tables import NAME, identifier, own_identifier
from gateleg.apps.agents.tenancy import Partition
from gateleg.model import Attr, Entity, Key, Pattern, States, Table, field, required, stamp, state

evaluations = Table("aace-evaluations", hash="partition_key", range="evaluation_key", tag="entity_type")
EVALUATION_TABLES = (evaluations,)
#: Questions of a set: with two versions, their answers fit into one item.
MOST_CASES = 50


class EvaluationStatus(States):
    """From the first question to the last check."""

    RUNNING = state("running", to=["completed", "failed"])
    COMPLETED = state("completed")
    FAILED = state("failed")


class EvaluationSet(Entity, table=evaluations, tag="set"):
    """Questions, each with what its answer must fulfil."""

    partition: Attr[Partition] = required(name="partition_key")
    evaluation_set_uuid: Attr[str] = own_identifier()
    name: Attr[str] = required(min_length=1, max_length=NAME)
    #: maps with question, checks and output_schema
    cases: Attr[list[dict[str, Any]]] = required(min_length=1, max_length=MOST_CASES)
    updated_by: Attr[str] = field("", max_length=NAME)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")

    key = Key("{partition}", "SET#{evaluation_set_uuid}")
    in_partition = Pattern(title="The sets of questions of a tenant, newest first", order="desc")


class Evaluation(Entity, table=evaluations, tag="evaluation"):
    """The answers of one or two versions of an agent to a set, and which checks they pass."""

    partition: Attr[Partition] = required(name="partition_key")
    evaluation_uuid: Attr[str] = own_identifier()
    evaluation_set_uuid: Attr[str] = identifier()
    name: Attr[str] = required(min_length=1, max_length=NAME)
    #: the caller who had it made, `Context.owner`
    owner_id: Attr[str] = required(read_only=True)
    agent_uuid: Attr[str] = identifier()
    agent_version_uuids: Attr[list[str]] = required(min_length=1, max_length=2)
    #: as they were when it began
    cases: Attr[list[dict[str, Any]]] = required(max_length=MOST_CASES)
    status: Attr[EvaluationStatus] = field(EvaluationStatus.RUNNING)
    #: a map for each case: question, and for each version answer, passed, checks, run_uuid, thread_uuid, cost
    results: Attr[list[dict[str, Any]]] = field(factory=list, max_length=MOST_CASES)
    #: how many cases each version passes
    passed: Attr[dict[str, int]] = field(factory=dict)
    error: Attr[str | None] = field(None, max_length=5_000)
    job_id: Attr[str | None] = field(None)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")

    key = Key("{partition}", "EVALUATION#{evaluation_uuid}")
    in_partition = Pattern(title="The evaluations of a tenant, newest first", order="desc")
