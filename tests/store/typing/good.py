"""Code that must type-check, with the expected types. It is never called."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar, assert_type

from gateleg.model import Attr, Condition, Entity, Item, Key, PatchModel, Query, Ref, Table, UpdateAction, field
from gateleg.store import AsyncStore, AsyncTransaction, Batch, Page, Store, Transaction, WriteOperation, check, create, delete, patch, put
from gateleg.store.locks import Lock
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
    assert_type(Store.connect("embedded:./data"), Store)
    assert_type(store.using(store.transport), Store)
    with store.lock("nightly", seconds=60) as lock:
        assert_type(lock, Lock)
    with store.batch() as batch:
        assert_type(batch, Batch)
    with store.transaction() as tx:
        assert_type(tx, Transaction)
        tx.create(job)
        tx.patch(job, Job.priority.set(3))
    store.ensure_tables(Job.__table__)
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
    assert_type(AsyncStore.connect("embedded:./data"), AsyncStore)
    async with store.edit(job) as draft:
        assert_type(draft, Job)
    async with store.lock("nightly", seconds=60) as lock:
        assert_type(lock, Lock)
    async with store.transaction() as tx:
        assert_type(tx, AsyncTransaction)


class Named(Entity):
    """A base class of several entities."""

    name: Attr[str]
    seen: Attr[int] = field(0)


class Cat(Named, table=Table("Cats", hash="name")):
    key = Key("{name}")


class CatChanges(PatchModel[Cat]):
    """The body that changes a cat."""


N = TypeVar("N", bound=Named)


def of_a_base(store: Store, cat: Cat, cats: list[Cat], item: Cat | Job) -> None:
    assert_type(store.patch(cat, Cat.name.set("Tom")), Cat)
    assert_type(store.patch(cat, Named.name.set("Tom"), condition=(Named.seen == 0) & (Cat.name == "Tim")), Cat)
    assert_type(store.get(Cat, Named.name == "Tom"), Cat)
    assert_type(store.patch(Cat, *CatChanges().actions(), name="Tom"), Cat)
    store.transact([*(patch(one, Named.seen.add(1)) for one in cats), check(cat.key, Named.seen == 0)])
    conditions: list[Condition] = [Cat.name == "Tom"]
    actions: list[UpdateAction] = [Cat.seen.add(1)]
    store.patch(cat, *actions)
    store.get(Cat, *conditions)
    store.delete(item)


def see(store: Store, entity: type[N], name: str) -> N:
    return store.patch(entity, entity.name == name, entity.seen.add(1))
