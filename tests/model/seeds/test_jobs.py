from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from gateleg.model import spec_of
from gateleg.model.planning import plan_update
from tests.model.seeds.jobs import Job, JobStatus, LogEntry, Logs, queue

ID = UUID("d290f1ee-6c54-4b01-90e6-d701748f0851")
AT = datetime(2025, 4, 23, 19, 15, tzinfo=UTC)
AT_TEXT = "2025-04-23T19:15:00.000000Z"
spec = spec_of(Job)


def job(**values: Any) -> Job:
    defaults: dict[str, Any] = {
        "job_id": ID,
        "job_type": "PCA",
        "conversation_id": "19305",
        "created_at": AT,
        "updated_at": AT,
        "version": 1,
    }
    return Job(**(defaults | values))


def test_the_job_of_the_document() -> None:
    item = spec.encode(job(job_config={"max_votes": 500000, "n_components": 2}, created_by="server-api"))
    assert item["job_id"] == {"S": str(ID)}
    assert item["status"] == {"S": "PENDING"}
    assert item["priority"] == {"N": "50"}
    assert item["job_config"] == {"M": {"max_votes": {"N": "500000"}, "n_components": {"N": "2"}}}
    assert item["logs"] == {"M": {"entries": {"L": []}}}
    assert not {"worker_id", "started_at", "completed_at", "job_results", "lease_until"} & item.keys()


def test_the_documents_nulls_are_read_as_absent() -> None:
    item = spec.encode(job()) | {"worker_id": {"NULL": True}, "job_results": {"NULL": True}}
    assert spec.decode(item) == job()


def test_a_pending_job_is_ready_and_not_leased() -> None:
    item = spec.encode(job(priority=80))
    assert item["ready_queue"] == {"S": "default"}
    assert item["ready_order"] == {"S": f"919#{AT_TEXT}#{ID}"}
    assert "lease_queue" not in item


def test_ready_jobs_sort_by_priority_and_then_by_time() -> None:
    jobs = [job(priority=50), job(priority=80, created_at=AT + timedelta(hours=1)), job(priority=80), job(priority=100)]
    order = sorted(jobs, key=lambda one: spec.encode(one)["ready_order"]["S"])
    assert [(one.priority, one.created_at) for one in order] == [(100, AT), (80, AT), (80, AT + timedelta(hours=1)), (50, AT)]


def test_a_running_job_is_leased_and_not_ready() -> None:
    item = spec.encode(job(status=JobStatus.PROCESSING, lease_until=AT))
    assert item["lease_queue"] == {"S": "default"}
    assert item["lease_until"] == {"S": AT_TEXT}
    assert "ready_queue" not in item


def test_the_claim_checks_status_and_version_and_moves_between_the_indexes() -> None:
    lease = AT + timedelta(minutes=5)
    actions = [
        Job.status.to(JobStatus.PROCESSING),
        Job.worker_id.set("worker-1"),
        Job.started_at.set(AT),
        Job.lease_until.set(lease),
    ]
    parameters = plan_update(job(), actions, now=AT).parameters
    assert parameters["UpdateExpression"] == (
        "SET #status = :0, #worker_id = :1, #started_at = :2, #lease_until = :3, #lease_queue = :4, #updated_at = :5, #version = :6 "
        "REMOVE #ready_queue, #ready_order"
    )
    assert parameters["ConditionExpression"] == "attribute_exists(#job_id) AND #version = :7 AND #status = :8"
    assert parameters["ExpressionAttributeValues"][":7"] == {"N": "1"}
    assert parameters["ExpressionAttributeValues"][":8"] == {"S": "PENDING"}


def test_jobs_by_status_oldest_first() -> None:
    (request,) = Job.in_status(status="PENDING").requests()
    assert request["IndexName"] == "StatusCreatedIndex"
    assert request["KeyConditionExpression"] == "#status = :0"
    assert "ScanIndexForward" not in request


def test_jobs_of_a_conversation() -> None:
    (request,) = Job.of_conversation(conversation_id="19305").requests()
    assert request["IndexName"] == "ConversationIndex"
    assert request["ExpressionAttributeValues"] == {":0": {"S": "19305"}}


def test_jobs_of_a_type_by_priority() -> None:
    (request,) = Job.of_type(job_type="PCA").where(Job.priority >= 50).requests()
    assert request["IndexName"] == "JobTypeIndex"
    assert request["KeyConditionExpression"] == "#job_type = :0 AND #priority >= :1"
    assert request["ExpressionAttributeValues"][":1"] == {"N": "50"}


def test_jobs_of_a_worker_in_a_status() -> None:
    (request,) = Job.of_worker(worker_id="w", status=JobStatus.PROCESSING).requests()
    assert request["KeyConditionExpression"] == "#worker_id = :0 AND #status = :1"


def test_claimable_jobs_and_expired_leases() -> None:
    assert Job.ready(queue="default").requests(limit=5)[0]["KeyConditionExpression"] == "#ready_queue = :0"
    (request,) = Job.leased(queue="default").where(Job.lease_until < AT).requests()
    assert request["KeyConditionExpression"] == "#lease_queue = :0 AND #lease_until < :1"


def test_the_table_has_the_documented_indexes() -> None:
    definition = queue.definition()
    assert definition["KeySchema"] == [{"AttributeName": "job_id", "KeyType": "HASH"}]
    assert [index["IndexName"] for index in definition["GlobalSecondaryIndexes"]][:4] == [
        "StatusCreatedIndex",
        "ConversationIndex",
        "JobTypeIndex",
        "WorkerStatusIndex",
    ]
    assert {"AttributeName": "priority", "AttributeType": "N"} in definition["AttributeDefinitions"]


def test_log_lines_are_appended_in_place() -> None:
    line = LogEntry(timestamp=AT, level="INFO", message="Started")
    action = Job.logs[Logs.entries].append(line)
    parameters = plan_update(Job.key(job_id=ID), [action], now=AT).parameters
    assert parameters["UpdateExpression"].startswith("SET #logs.#entries = list_append(if_not_exists(#logs.#entries, :0), :1)")
