"""What other programs write, as seed 002 describes it: its example items and its code that claims a job."""

from datetime import datetime
from typing import Any

from boto3.dynamodb.types import TypeSerializer
from botocore.exceptions import ClientError

from gateleg.engine import boto3_session
from gateleg.jobs.queue import Queue
from gateleg.model import spec_of
from gateleg.store.transports.embedded import EmbeddedTransport

PCA = "d290f1ee-6c54-4b01-90e6-d701748f0851"
PIPELINE = "0b1c2d3e-4f50-4162-8374-95a6b7c8d9e0"
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
