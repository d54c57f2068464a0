"""What must not type-check. Each line with an ignore is an error to both checkers; the test takes the ignores away and counts."""

from gateleg.store import AsyncStore, Store
from tests.model.seeds.jobs import Job


def called(store: Store, job: Job) -> None:
    store.get("Job", job_id="1")  # type: ignore
    store.get(Job, job_id="1", consistent="yes")  # type: ignore
    _ = store.get(Job, job_id="1").prioriti  # type: ignore
    _ = store.find(Job, job_id="1").priority  # type: ignore
    store.get(Job, Job.priority == "high")  # type: ignore
    store.get(Job, Job.jobid == "1")  # type: ignore
    store.get(job, consistnet=True)  # type: ignore
    store.patch(job, Job.priority == 3, Job.priority.set(4))  # type: ignore
    store.patch(job, Job.priority.set(3), conditon=Job.priority == 3)  # type: ignore
    store.query(Job.ready, Job.queue == 3)  # type: ignore
    store.create(Job)  # type: ignore
    store.create(job, condition=True)  # type: ignore
    store.patch(job, "priority = 3")  # type: ignore
    store.patch(job, Job.priority.set(3), returning="everything")  # type: ignore
    _ = store.patch(job, Job.priority.set(3), returning="none").priority  # type: ignore
    store.query(Job, queue="q")  # type: ignore
    store.page(Job.ready, queue="q")  # type: ignore
    store.page(Job.ready, queue="q", limit="3")  # type: ignore
    store.transact([job])  # type: ignore
    store.batch_write([3])  # type: ignore
    store.update(job)  # type: ignore
    store.retrying(job, lambda found: found.prioriti)  # type: ignore
    _ = next(store.query(Job.ready, queue="q")).prioriti  # type: ignore
    Store("embedded")  # type: ignore


async def awaited(store: AsyncStore, job: Job) -> None:
    _ = store.get(Job, job_id="1").priority  # type: ignore
    for found in store.query(Job.ready, queue="q"):  # type: ignore
        print(found)
    _ = (await store.get(Job, job_id="1")).prioriti  # type: ignore
    with store.transaction() as tx:  # type: ignore
        tx.create(job)
    with store.batch() as batch:  # type: ignore
        batch.delete(job)
    with store.edit(job) as draft:  # type: ignore
        draft.priority = 3
    with store.lock("nightly", seconds=60):  # type: ignore
        pass
