"""Deletions: everything is removed, counted, and removed once."""

import asyncio
import itertools
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gateleg.apps.rag.deleting.purge_sweep import purge_deleted
from gateleg.apps.rag.evaluating.tables import GoldenSet
from gateleg.apps.rag.object_keys import repository_prefix
from gateleg.apps.rag.tables import Chunk, Collection, CollectionStatus, Document, Fingerprint, Repository, RepositoryStatus
from gateleg.jobs import JobContext, Jobs, JobStatus, Submission
from gateleg.model import spec_of
from tests.apps.rag.served import ROOT, Served


async def everything(served: Served) -> dict[str, int]:
    """How many items and objects there are of each kind, markers of names included."""
    found: dict[str, int] = {}
    for entity in (Repository, Collection, Document, Chunk, Fingerprint, GoldenSet):
        items = await served.host.store.transport.call("Scan", {"TableName": spec_of(entity).table.name})
        found[entity.__name__] = len(items["Items"])
    found["objects"] = len([entry async for entry in served.host.objects.walk("rag/")])
    return found


def vectors(served: Served, repository_id: str, collection_id: str) -> int:
    return served.indexes.open(repository_id, collection_id).count()


async def hard_delete(served: Served, repository_id: str, collection_id: str, who: str = "creator") -> dict[str, Any]:
    answer = await served[who].delete(f"{ROOT}/{repository_id}/collections/{collection_id}", params={"hardDelete": "true"})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_collection_is_removed_with_everything_in_it(served: Served, tmp_path: Path) -> None:
    before = await everything(served)
    collection_id = await served.collection("creator", "legal", "Contracts")
    for number in range(3):
        await served.document("legal", collection_id, f"{number}.txt")
    golden = {"name": "Set", "questions": [{"question": "What?", "documents": ["0.txt"]}]}
    assert (await served["creator"].post(f"{ROOT}/legal/collections/{collection_id}/golden-sets", json=golden)).status_code == 201
    # What a killed ingestion has left: chunks of a generation that no document names, and an object of none.
    await served.host.store.create(served._chunk(Document(repository_id="legal", collection_id=collection_id), 9, 0))
    await served.host.objects.put(f"{repository_prefix('legal')}{collection_id}/lost/source/x.txt", b"x")
    assert vectors(served, "legal", collection_id) == 12
    begun = await hard_delete(served, "legal", collection_id)
    assert (begun["deletionType"], begun["summary"]["lisaManagedDocuments"]) == ("full", 3)
    await served.work(begun["jobId"])
    assert await everything(served) == before
    assert not served.indexes.path("legal", collection_id).exists()
    job = await served.host.queue.get(UUID(begun["jobId"]))
    assert job.status is JobStatus.COMPLETED
    assert job.job_results is not None
    assert job.job_results.value == {"documents": 3, "chunks": 13, "vectors": 12, "objects": 7, "collections": 1}
    assert (await served["creator"].get(f"{ROOT}/legal/collections/{collection_id}")).status_code == 404
    assert (await served["creator"].post(f"{ROOT}/legal/collections", json={"name": "CONTRACTS"})).status_code == 201


async def test_other_collections_keep_what_is_theirs(served: Served) -> None:
    doomed = await served.collection("creator", "legal", "Doomed")
    kept = await served.collection("creator", "legal", "Kept")
    await served.document("legal", doomed)
    stays = await served.document("legal", kept)
    await served.work((await hard_delete(served, "legal", doomed))["jobId"])
    assert vectors(served, "legal", kept) == 4
    assert await served.host.objects.get(stays.source) == b"The text of a.txt."
    assert (await served["creator"].get(f"{ROOT}/legal/document/{stays.document_id}")).status_code == 200


async def test_second_deletion_answers_with_the_same_job(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    first, second = [await hard_delete(served, "legal", collection_id) for _ in range(2)]
    assert first["jobId"] == second["jobId"]
    assert len((await served.host.queue.jobs_page(limit=100)).items) == 1
    several = await asyncio.gather(*(hard_delete(served, "legal", collection_id, "rag admin") for _ in range(3)))
    assert {one["jobId"] for one in several} == {first["jobId"]}


async def test_collection_that_is_being_removed_takes_nothing_and_shows_nothing(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    await hard_delete(served, "legal", collection_id)
    where = f"{ROOT}/legal/collections/{collection_id}"
    assert (await served["lawyer"].get(where)).status_code == 404
    assert (await served["creator"].get(where)).json()["status"] == "DELETE_IN_PROGRESS"
    assert (await served["creator"].put(where, json={"description": "x"})).status_code == 409
    upload = {"name": "a.txt", "collectionId": collection_id}
    assert (await served["creator"].post(f"{ROOT}/legal/presigned-url", json=upload)).status_code == 409


async def test_default_collection_is_emptied_and_stays(served: Served) -> None:
    await served.document("legal", "local:minilm", username="lena")
    other = await served.document("commons", "local:minilm")
    begun = await hard_delete(served, "legal", "default", "admin")
    assert begun["deletionType"] == "partial"
    await served.work(begun["jobId"])
    found = (await served["lawyer"].get(f"{ROOT}/legal/collections/default")).json()
    assert (found["status"], found["collectionId"], found["deleteJobId"]) == ("ACTIVE", "local:minilm", None)
    listed = await served["lawyer"].get(f"{ROOT}/legal/document", params={"collectionId": "default"})
    assert listed.json()["totalDocuments"] == 0
    # The default collection of another repository has the same id, and is another collection.
    assert vectors(served, "commons", "local:minilm") == 4
    assert (await served["lawyer"].get(f"{ROOT}/commons/document/{other.document_id}")).status_code == 200


async def test_repository_is_removed_with_all_its_collections(served: Served) -> None:
    await served.repository("doomed", allowedGroups=["lawyers"])
    before = await everything(served)
    ids = [await served.collection("creator", "doomed", f"c{number}") for number in range(3)]
    for collection_id in (*ids, "local:minilm", "gone"):  # one of them has no row
        await served.document("doomed", collection_id)
    first = await served["admin"].delete(f"{ROOT}/doomed")
    second = await served["admin"].delete(f"{ROOT}/doomed")
    assert (first.status_code, first.json()["jobId"]) == (202, second.json()["jobId"])
    assert (await served["creator"].post(f"{ROOT}/doomed/collections", json={"name": "new"})).status_code == 409
    await served.work(first.json()["jobId"])
    after = await everything(served)
    # Its entry in the list of repositories lies in the table of the fingerprints.
    assert after == {**before, "Repository": 2, "Collection": before["Collection"] - 2, "Fingerprint": before["Fingerprint"] - 1}
    assert (await served["admin"].get(f"{ROOT}/doomed")).status_code == 404


async def test_documents_are_removed_and_those_that_cannot_be_say_why(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    own = await served.document("legal", collection_id, "own.txt", username="lena")
    foreign = await served.document("legal", collection_id, "foreign.txt", username="paul")
    elsewhere = await served.document("commons", "local:minilm", username="lena")
    before = await everything(served)
    ids = [own.document_id, foreign.document_id, elsewhere.document_id, "nothing"]
    answer = await served["lawyer"].request("DELETE", f"{ROOT}/legal/document", json={"documentIds": ids})
    assert answer.status_code == 202
    outcomes = {one["documentId"]: one for one in answer.json()["jobs"]}
    assert outcomes[own.document_id]["status"] == "DELETE_PENDING"
    assert [outcomes[one]["error"] for one in ids[1:]] == ["rag-access-denied", "unknown-document", "unknown-document"]
    hidden = (await served["lawyer"].get(f"{ROOT}/legal/document/{own.document_id}")).json()
    assert (hidden["status"], hidden["generation"]) == ("DELETE_IN_PROGRESS", None)
    await served.work(outcomes[own.document_id]["jobId"])
    removed = {"Document": 1, "Chunk": 4, "Fingerprint": 5, "objects": 2}
    assert await everything(served) == {kind: number - removed.get(kind, 0) for kind, number in before.items()}
    assert vectors(served, "legal", collection_id) == 4
    assert vectors(served, "commons", "local:minilm") == 4


async def test_one_document(served: Served) -> None:
    document = await served.document("commons", "local:minilm", username="olga")
    assert (await served["lawyer"].delete(f"{ROOT}/commons/document/{document.document_id}")).status_code == 403
    answer = await served["outsider"].delete(f"{ROOT}/commons/document/{document.document_id}")
    assert answer.status_code == 202
    await served.work(answer.json()["jobId"])
    assert (await served["outsider"].get(f"{ROOT}/commons/document/{document.document_id}")).status_code == 404


async def test_running_ingestion_is_cancelled_and_waited_for(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    jobs, running = Jobs(), asyncio.Event()

    @jobs.handler("slow-ingestion")
    async def ingest(job: JobContext, config: dict[str, Any]) -> None:
        running.set()
        try:
            for page in itertools.count():
                # What is said is written soon, and with it comes the news that the job was cancelled.
                job.progress(page, page + 1)
                await asyncio.sleep(0.01)
        finally:
            # Its last words, after it was told to stop.
            await served.document("legal", collection_id, "late.txt")

    served.host.queue.context.jobs.include(jobs)
    submission = Submission("slow-ingestion", {}, subject=f"rag/legal/{collection_id}")
    slow = (await served.host.queue.submit(submission)).job
    worker_ends = asyncio.ensure_future(served.work(str(slow.job_id)))
    await running.wait()
    begun = await hard_delete(served, "legal", collection_id)
    await worker_ends
    await served.work(begun["jobId"])
    assert (await served.host.queue.get(slow.job_id)).status is JobStatus.CANCELLED
    assert (await served.host.queue.get(UUID(begun["jobId"]))).status is JobStatus.COMPLETED
    assert await served.host.store.count(Document.in_collection, repository_id="legal", collection_id=collection_id) == 0


async def test_deletion_that_fails_says_so_and_can_be_asked_for_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    await served.document("legal", collection_id)

    def broken(*_: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(type(served.indexes), "drop", broken)
        begun = await hard_delete(served, "legal", collection_id)
        job = await served.host.queue.get(UUID(begun["jobId"]))
        await served.host.store.patch(type(job).key(job_id=job.job_id), type(job).max_retries.set(0))
        await served.work(begun["jobId"])
    found = (await served["creator"].get(f"{ROOT}/legal/collections/{collection_id}")).json()
    assert found["status"] == "DELETE_FAILED"
    shown = (await served["creator"].get(f"{ROOT}/legal/jobs/{begun['jobId']}")).json()
    assert shown["status"] == "FAILED"
    assert "the disk is gone" in str(shown)
    again = await hard_delete(served, "legal", collection_id)
    await served.work(again["jobId"])
    assert await served.host.store.find(Collection, collection_id=collection_id, repository_id="legal") is None


async def test_deletion_whose_job_was_cancelled_can_be_asked_for_again(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    begun = await hard_delete(served, "legal", collection_id)
    assert (await served["creator"].post(f"/api/rag/jobs/{begun['jobId']}/cancel")).json()["status"] == "CANCELLED"
    again = await hard_delete(served, "legal", collection_id)
    assert again["jobId"] != begun["jobId"]
    await served.work(again["jobId"])
    assert (await served["creator"].get(f"{ROOT}/legal/collections/{collection_id}")).status_code == 404


async def test_deleted_collections_are_purged_not_before_the_promised_date(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    fresh = await served.collection("creator", "legal", "Fresh")
    await served.document("legal", collection_id)
    for one in (collection_id, fresh):
        assert (await served["creator"].delete(f"{ROOT}/legal/collections/{one}")).status_code == 200
    row = await served.host.store.get(Collection, collection_id=collection_id, repository_id="legal")
    now = served.host.store.setup.now().replace(microsecond=0)
    row = await served.host.store.patch(row, Collection.deleted_at.set(now + timedelta(minutes=1)))
    assert await purge_deleted(served.host.queue) == 0
    restored = await served["creator"].put(f"{ROOT}/legal/collections/{collection_id}", json={"status": "ACTIVE"})
    assert (restored.status_code, restored.json()["status"]) == (200, "ACTIVE")
    assert (await served["creator"].delete(f"{ROOT}/legal/collections/{collection_id}")).status_code == 200
    row = await served.host.store.get(Collection, collection_id=collection_id, repository_id="legal")
    await served.host.store.patch(row, Collection.deleted_at.set(now - timedelta(minutes=1)))
    assert await purge_deleted(served.host.queue) == 1
    row = await served.host.store.get(Collection, collection_id=collection_id, repository_id="legal")
    assert (row.status, row.deleted_at) == (CollectionStatus.DELETE_IN_PROGRESS, None)
    await served.work(str(row.delete_job_id))
    assert await served.host.store.count(Document.in_collection, repository_id="legal", collection_id=collection_id) == 0
    assert await purge_deleted(served.host.queue) == 0


async def test_collection_whose_date_is_over_is_purged_while_its_row_is_there(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    await served.document("legal", collection_id)
    await served["creator"].delete(f"{ROOT}/legal/collections/{collection_id}")
    store = served.host.store
    row = await store.get(Collection, collection_id=collection_id, repository_id="legal")
    await store.patch(row, Collection.deleted_at.set(store.setup.now() - timedelta(hours=1)))
    assert await store.find(row.key) is None
    assert await purge_deleted(served.host.queue) == 1
    row = await store.get(Collection, collection_id=collection_id, repository_id="legal")
    await served.work(str(row.delete_job_id))
    assert await store.count(Document.in_collection, repository_id="legal", collection_id=collection_id) == 0


async def test_the_purge_is_scheduled_daily(served: Served) -> None:
    jobs = served.host.queue.context.jobs
    assert [one.cron for one in jobs.schedules if one.job_type == "rag.purge"] == ["0 3 * * *"]


async def test_removal_of_a_repository_is_shown_in_its_status(served: Served) -> None:
    await served["admin"].delete(f"{ROOT}/legal")
    row = await served.host.store.get(Repository, repository_id="legal")
    assert row.status is RepositoryStatus.DELETE_IN_PROGRESS


async def take_by_ttl(served: Served, collection_id: str) -> None:
    """Mark a collection deleted as the design's snippet does, with a date in the past, and let the engine's TTL take its row."""
    store = served.host.store
    past = int(store.setup.now().timestamp()) - 60
    await store.transport.call(
        "UpdateItem",
        {
            "TableName": "LisaRagCollectionsTable",
            "Key": {"collectionId": {"S": collection_id}, "repositoryId": {"S": "legal"}},
            "UpdateExpression": "SET #status = :deleted, deletedAt = :ttl",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": {":deleted": {"S": "DELETED"}, ":ttl": {"N": str(past)}},
        },
    )
    transport: Any = store.transport
    await asyncio.to_thread(transport.engine.maintain)
    key = {"collectionId": {"S": collection_id}, "repositoryId": {"S": "legal"}}
    assert "Item" not in await store.transport.call("GetItem", {"TableName": "LisaRagCollectionsTable", "Key": key})


async def removal_jobs(served: Served) -> list[str]:
    page = await served.host.queue.jobs_page(job_type="rag.delete-collection", limit=50)
    return [str(job.job_id) for job in page]


async def test_what_ttl_leaves_behind_is_removed_with_the_name(served: Served) -> None:
    before = await everything(served)
    collection_id = await served.collection("creator", "legal", "Contracts")
    await served.document("legal", collection_id)
    # An index of another model has been in use, whose number only the row knew.
    second = served.indexes.open("legal", f"{collection_id}#1")
    assert second.count() == 0
    await take_by_ttl(served, collection_id)
    taken = await served["creator"].post(f"{ROOT}/legal/collections", json={"name": "Contracts"})
    assert taken.status_code == 409
    assert await purge_deleted(served.host.queue) == 1
    await served.work(*await removal_jobs(served))
    assert await everything(served) == before
    assert served.indexes.existing("legal", collection_id) == []
    await served.collection("creator", "legal", "contracts")
    assert await purge_deleted(served.host.queue) == 0


async def test_documents_of_a_row_that_another_program_removed_are_removed_after_a_day(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No name was reserved for it, so only its documents show that it existed."""
    before = await everything(served)
    row = Collection(repository_id="legal", name="Foreign", embedding_model="local:minilm", created_by="ann")
    store = served.host.store
    await store.transport.call("PutItem", {"TableName": "LisaRagCollectionsTable", "Item": spec_of(Collection).encode(row)})
    await served.document("legal", row.collection_id)
    await take_by_ttl(served, row.collection_id)
    assert await purge_deleted(served.host.queue) == 0
    assert await purge_deleted(served.host.queue) == 0
    now = type(store.setup).now
    monkeypatch.setattr(type(store.setup), "now", lambda setup: now(setup) + timedelta(days=1))
    assert await purge_deleted(served.host.queue) == 1
    monkeypatch.undo()
    await served.work(*await removal_jobs(served))
    assert await everything(served) == before


async def test_documents_of_a_default_collection_without_a_row_stay(served: Served) -> None:
    await served.document("legal", "local:minilm")
    changed = await served["admin"].put(f"{ROOT}/legal/collections/default", json={"description": "All"})
    assert changed.status_code == 200, changed.text
    await take_by_ttl(served, "local:minilm")
    assert await purge_deleted(served.host.queue) == 0
    assert await served.host.store.count(Document.in_collection, repository_id="legal", collection_id="local:minilm") == 1
    assert await removal_jobs(served) == []
