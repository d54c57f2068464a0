"""What other programs write, as seed 002 describes it: its example items and its code that claims a job."""

from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

from boto3.dynamodb.types import TypeSerializer
from botocore.exceptions import ClientError

from gateleg.engine import boto3_session
from gateleg.jobs.queue import Queue
from gateleg.model import spec_of
from gateleg.store.transports.embedded import EmbeddedTransport

PCA = "d290f1ee-6c54-4b01-90e6-d701748f0851"
PIPELINE = "0b1c2d3e-4f50-4162-8374-95a6b7c8d9e0"
#: The id of the pipeline in the seed, which is no UUID.
NO_UUID = "a1b2c3d4-5e6f-7g8h-9i0j-k1l2m3n4o5p6"
_serialize = TypeSerializer().serialize


def pca_item(**changes: Any) -> dict[str, Any]:
    """The seed's example of a PCA job, with the placeholder that its index needs."""
    return {
        "job_id": PCA,
        "status": "PENDING",
        "created_at": "2025-04-23T19:15:00Z",
        "updated_at": "2025-04-23T19:15:00Z",
        "started_at": None,
        "completed_at": None,
        "worker_id": "unassigned",
        "job_type": "PCA",
        "priority": 50,
        "conversation_id": "19305",
        "retry_count": 0,
        "max_retries": 3,
        "timeout_seconds": 3600,
        "job_config": {"max_votes": 500000, "batch_size": 50000, "n_components": 2},
        "job_results": None,
        "logs": {"entries": [], "log_location": None},
        "created_by": "server-api",
        "dependencies": [],
        "dependent_jobs": [],
        **changes,
    }


def pipeline_item(**changes: Any) -> dict[str, Any]:
    """The seed's example of a pipeline, with an id that is a UUID."""
    stages = [
        {"stage": "PCA", "config": {"max_votes": 500000, "batch_size": 50000}},
        {"stage": "UMAP", "config": {"n_neighbors": 15}},
        {"stage": "REPORT", "config": {"model": "claude-3-7-sonnet-20250219", "include_topics": True}},
    ]
    return (
        pca_item(
            job_id=PIPELINE,
            created_at="2025-04-23T19:17:00Z",
            updated_at="2025-04-23T19:17:00Z",
            job_type="FULL_PIPELINE",
            priority=80,
            timeout_seconds=7200,
            job_config={"stages": stages, "visualizations": ["basic", "enhanced", "multilayer"]},
            created_by="admin-ui",
        )
        | changes
    )


def wire_item(item: dict[str, Any]) -> dict[str, Any]:
    """An item in DynamoDB's JSON, as boto3 sends it."""
    return {name: _serialize(value) for name, value in item.items()}


def boto3_table(queue: Queue) -> Any:
    """The queue's table in boto3."""
    assert isinstance(queue.store.transport, EmbeddedTransport)
    return (
        boto3_session(queue.store.transport.engine).resource("dynamodb").Table(queue.store.setup.name_of(spec_of(queue.tables.job).table))
    )


def seed_claim(table: Any, job_id: str, worker_id: str, current_version: int, now: str | None = None) -> dict[str, Any] | None:
    """Claim a job with the seed's code, word for word. `now` replaces the time."""
    try:
        response = table.update_item(
            Key={
                'job_id': job_id
            },
            UpdateExpression='''
                SET #status = :new_status,
                    updated_at = :now,
                    started_at = :now,
                    worker_id = :worker_id,
                    version = :new_version
            ''',
            ConditionExpression='#status = :old_status AND version = :current_version',
            ExpressionAttributeNames={
                '#status': 'status'
            },
            ExpressionAttributeValues={
                ':old_status': 'PENDING',
                ':new_status': 'PROCESSING',
                ':now': now or datetime.now().isoformat(),
                ':worker_id': worker_id,
                ':current_version': current_version,
                ':new_version': current_version + 1
            },
            ReturnValues='ALL_NEW'
        )  # fmt: skip
    except ClientError as e:
        if e.response['Error']['Code'] == 'ConditionalCheckFailedException':  # fmt: skip
            return None
        raise
    claimed: dict[str, Any] = response["Attributes"]
    return claimed


def seed_completion(table: Any, job_id: str, current_version: int, now: str) -> bool:
    """Complete a job as a program does that goes by the seed; False if the version has changed since it claimed the job."""
    results = {
        "result_type": "SUCCESS",
        "output_location": {
            "dynamodb_tables": ["ConversationMeta", "CommentClusters"],
            "s3_artifacts": ["s3://polis-analysis/19305/visualization.html"],
        },
        "summary_metrics": {"votes_processed": 12500, "groups_identified": 3},
    }
    try:
        table.update_item(
            Key={"job_id": job_id},
            UpdateExpression="SET #status = :done, updated_at = :now, completed_at = :now, job_results = :results, version = :next",
            ConditionExpression="#status = :running AND version = :version",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={
                ":done": "COMPLETED",
                ":running": "PROCESSING",
                ":now": now,
                ":results": results,
                ":version": current_version,
                ":next": current_version + 1,
            },
        )
    except ClientError as error:
        if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
            return False
        raise
    return True


#: Values of wrong types, odd times, and numbers that nobody expects.
ODD_VALUES: tuple[Any, ...] = (
    *(
        None,
        "",
        " ",
        "unassigned",
        True,
        False,
        0,
        -1,
        1,
        50,
        101,
        5000,
        Decimal("0.5"),
        Decimal("-7.25"),
        10**30,
        -(10**30),
        Decimal("1E+100"),
    ),
    *("50", "-3", "1e400", "nan", "inf", "PENDING", "pending", "PROCESSING", "DONE", "default", "math", "#", "a/b", "\u0000", "ä" * 40),
    *("2025-04-23T19:15:00Z", "2025-04-23T19:15:00", "2025-04-23", "yesterday", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"),
    *(
        "1745435700",
        "{}",
        "[]",
        "null",
        '{"a": 1}',
        "[" * 2000,
        [],
        {},
        [1, "a", None],
        {"entries": "no"},
        {"entries": [None, 1, {"level": 3}]},
    ),
    *({"result_type": "MAYBE"}, {"output_location": 3}, [{"number": "x"}], b"bytes", {"a", "b"}, {Decimal(1), Decimal(2)}),
    *(["d290f1ee-6c54-4b01-90e6-d701748f0851"], "d290f1ee-6c54-4b01-90e6-d701748f0851", ["not a UUID"]),
)
#: The attributes that another program may write, Gateleg's own included.
ODD_NAMES = (
    *(
        "status",
        "created_at",
        "updated_at",
        "started_at",
        "completed_at",
        "worker_id",
        "job_type",
        "priority",
        "retry_count",
        "max_retries",
    ),
    *(
        "timeout_seconds",
        "job_config",
        "job_results",
        "logs",
        "created_by",
        "dependencies",
        "dependent_jobs",
        "version",
        "queue",
        "readiness",
    ),
    *("run_at", "start_by", "attempt", "attempts", "losses", "lease_until", "lease_token", "lease_queue", "ready_queue", "ready_order"),
    *("due_queue", "waiting_for", "root_job_id", "tree_path", "parent_job_id", "tags", "concurrency_key", "concurrency_limit", "owner"),
    *(
        "cancel_requested",
        "progress",
        "emitted",
        "snoozes",
        "expires_at",
        "delayed_at",
        "tenant",
        "unique_key",
        "subject",
        "something_else",
    ),
)
_STATUSES = ("PENDING", "PENDING", "PENDING", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED", "WAITING")


def odd_item(chance: Random) -> dict[str, Any]:
    """An item of the shape of the seed, with some attributes missing and others as nobody should write them."""
    item = pca_item(
        job_id=str(UUID(int=chance.getrandbits(128), version=4)) if chance.random() < 0.95 else f"job-{chance.random()}",
        status=chance.choice(_STATUSES),
        job_type=chance.choice(["PCA", "UMAP", "plain", "work"]),
        created_at=chance.choice(["2025-04-23T19:15:00Z", "2025-04-23T19:15:00", "2101-01-01T00:00:00", "soon"]),
        version=chance.choice([0, 1, 7]),
        job_config={},
    )
    for name in chance.sample(sorted(item.keys() - {"job_id"}), chance.randrange(4)):
        del item[name]
    for name in chance.sample(ODD_NAMES, chance.randrange(5)):
        item[name] = chance.choice(ODD_VALUES)
    return item


def put_odd(table: Any, item: dict[str, Any]) -> bool:
    """Put an item; False if DynamoDB refuses it, as it does where a key of an index has another type."""
    try:
        table.put_item(Item=item)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationException":
            return False
        raise
    return True
