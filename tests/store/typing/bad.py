"""What must not type-check. Each line with an ignore is an error to both checkers; the test takes the ignores away and counts."""

from gateleg.model import PatchModel
from gateleg.store import AsyncStore, Store, check, patch
from tests.model.seeds.jobs import Job
from tests.model.seeds.mv import Scene


class SceneChanges(PatchModel[Scene]):
    """What may be changed of a scene."""


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


def of_another_entity(store: Store, job: Job, scene: Scene) -> None:
    store.get(Job, Scene.sequence == 1)  # type: ignore
    store.find(Job, Job.priority == 1, Scene.sequence == 1)  # type: ignore
    store.query(Job.ready, Scene.sequence == 1)  # type: ignore
    store.page(Job.ready, Job.priority == 1, Scene.sequence == 1, limit=3)  # type: ignore
    store.query(Job.ready(queue="q").filter(Scene.sequence == 1))  # type: ignore
    store.query(Job.ready(queue="q").where(Scene.sequence > 1))  # type: ignore
    store.count(Job.ready, Scene.sequence == 1)  # type: ignore
    store.patch(job, Scene.sequence.set(1))  # type: ignore
    store.patch(job.key, Job.priority.set(1), Scene.sequence.add(1))  # type: ignore
    store.patch(Job, Job.job_id == job.job_id, Scene.sequence.set(1))  # type: ignore
    store.patch(job, Job.priority.set(1), condition=Scene.sequence == 1)  # type: ignore
    store.patch(job, Job.priority.set(1), condition=(Job.priority == 1) & (Scene.sequence == 1))  # type: ignore
    store.upsert(job, Scene.sequence.set(1))  # type: ignore
    store.create(job, condition=Scene.sequence == 1)  # type: ignore
    store.delete(Job, Scene.sequence == 1)  # type: ignore
    store.retrying(job, lambda found: [Scene.sequence.set(1)])  # type: ignore
    patch(job, Scene.sequence.set(1))  # type: ignore
    store.transact([check(job, Scene.sequence == 1)])  # type: ignore
    store.patch(job, *SceneChanges().actions())  # type: ignore
    Job.key(Scene.sequence == 1)  # type: ignore
    Job.ready(Scene.sequence == 1)  # type: ignore
