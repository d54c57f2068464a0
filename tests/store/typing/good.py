"""What must type-check, with the types that it must have. Never called."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_type

from gateleg.model import Item, Query, Ref
from gateleg.store import AsyncStore, Page, Store, WriteOperation, create, delete, patch, put
from tests.model.seeds.jobs import Job, JobStatus, queue
from tests.model.seeds.mv import Project, Scene, project_with_scenes


def called(store: Store, job: Job) -> None:
    assert_type(store.get(Job, job_id="1"), Job)
    assert_type(store.get(Job.key(job_id="1"), consistent=True), Job)
    assert_type(store.get(job), Job)
    assert_type(store.get(Job, Job.job_id == job.job_id), Job)
    assert_type(store.patch(Job, Job.job_id == job.job_id, Job.priority.set(3)), Job)
    assert_type(store.patch(Job, Job.priority.set(3), job_id="1", returning="none"), None)
    assert_type(store.delete(Job, Job.job_id == job.job_id, returning="old"), Job | None)
    assert_type(store.query(Job.ready, Job.queue == "q", limit=3), Iterator[Job])
    assert_type(store.get(Job, job_id="1", project=[Job.status]), dict[str, Any])
    assert_type(store.find(Job, job_id="1"), Job | None)
    assert_type(store.create(job), Job)
    assert_type(store.put(job), Job)
    assert_type(store.put(job, returning="old"), Job | None)
    assert_type(store.patch(job, Job.status.to(JobStatus.FAILED), condition=Job.priority > 3), Job)
    assert_type(store.patch(job, returning="changed"), dict[str, Any])
    assert_type(store.upsert(Job.key(job_id="1"), Job.priority.set(3)), Job)
    assert_type(store.delete(job, returning="old"), Job | None)
    assert_type(store.query(Job.ready, queue="q", limit=3), Iterator[Job])
    assert_type(store.query(Job.ready(queue="q").filter(Job.priority > 3)), Iterator[Job])
    assert_type(store.query(Job.ready, queue="q", project=[Job.status]), Iterator[dict[str, Any]])
    assert_type(store.page(Job.ready, queue="q", limit=3), Page[Job])
    assert_type(store.page(Job.ready, queue="q", limit=3, project=[Job.status]), Page[dict[str, Any]])
    assert_type(store.count(Job.ready, queue="q"), int)
    assert_type(store.collect(project_with_scenes, project_id="1").of(Scene), list[Scene])
    assert_type(store.batch_get([Job.key(job_id="1")]), list[Job | None])
    store.batch_get([Scene.key(project_id="1", sequence=1), Project.key(project_id="1")])
    assert_type(store.retrying(job, lambda found: [Job.priority.set(found.priority + 1)]), Job)
    assert_type(store.save(job, before=job), Job)
    assert_type(store.export(Job), Iterator[Job])
    assert_type(store.scan(queue), Iterator[Item])
    assert_type(store.loader(Job).load(job_id="1"), Job | None)
    assert_type(store.scope(queue="q"), Store)
    assert_type(store.within(3), Store)
    assert_type(store.ask(Job.ready, queue="q"), Query[Job])
    assert_type(store.ref(Job, job_id="1"), Ref[Job])
    with store.edit(job) as draft:
        assert_type(draft, Job)
    with store.transaction() as tx:
        tx.create(job)
        tx.patch(job, Job.priority.set(3))
    store.transact([create(job), patch(job, Job.priority.set(3)), delete(job)])
    assert_type(put(job), WriteOperation[Job])
    assert_type(store.run(put(job)), Job)


async def awaited(store: AsyncStore, job: Job) -> None:
    assert_type(await store.get(Job, job_id="1"), Job)
    assert_type(await store.find(Job, job_id="1"), Job | None)
    assert_type(await store.patch(job, Job.priority.set(3), returning="none"), None)
    assert_type(store.query(Job.ready, queue="q"), AsyncIterator[Job])
    assert_type(await store.page(Job.ready, queue="q", limit=3), Page[Job])
    assert_type(await store.loader(Job).load(job_id="1"), Job | None)
    assert_type(store.scope(queue="q"), AsyncStore)
    async with store.edit(job) as draft:
        assert_type(draft, Job)
