"""Code that must type-check, with the expected types."""

from datetime import UTC, datetime
from typing import Any, assert_type
from uuid import UUID

from gateleg.model import Attr, Condition, Query, Ref, Spec, UpdateAction, spec_of
from gateleg.model.expressions import Operand
from gateleg.model.planning import Write, plan_delete, plan_put, plan_update
from tests.model.seeds.agents import Partition
from tests.model.seeds.jobs import Job, JobStatus, LogEntry, Logs
from tests.model.seeds.mv import Project, Scene, project_with_scenes
from tests.model.seeds.rag import Collection, Document

NOW = datetime.now(UTC)

job = Job(job_type="PCA", conversation_id="1")
full = Job(job_id=UUID(int=1), job_type="PCA", conversation_id="1", priority=7, worker_id=None, logs=Logs(entries=[]))

assert_type(job.priority, int)
assert_type(job.worker_id, str | None)
assert_type(job.status, JobStatus)
assert_type(job.logs.entries, list[LogEntry])
assert_type(Job.priority, Attr[int, Job])
job.priority = 5

assert_type(Job.priority == 3, Condition[Job])
assert_type((Job.priority > 3) & ~Job.worker_id.exists() | (Job.status == JobStatus.PENDING), Condition[Job])
assert_type(Job.priority.between(1, 2), Condition[Job])
assert_type(Job.status.is_in([JobStatus.PENDING]), Condition[Job])
assert_type(Job.dependencies.size() > 3, Condition[Job])
assert_type(Job.priority + 1, Operand[int])

assert_type(Job.priority.set(5), UpdateAction[Job])
assert_type(Job.priority.set(Job.priority + 1), UpdateAction[Job])
assert_type(Job.priority.set(Job.retry_count), UpdateAction[Job])
assert_type(Job.retry_count.set(Job.retry_count.if_not_exists(0) + 1), UpdateAction[Job])
assert_type(Job.worker_id.set(None), UpdateAction[Job])
assert_type(Job.status.to(JobStatus.PROCESSING), UpdateAction[Job])
assert_type(Job.dependencies.append(UUID(int=1)), UpdateAction[Job])
assert_type(Collection.allowed_groups.append("staff"), UpdateAction[Collection])

assert_type(Job.dependencies[0], Attr[UUID, Job])
assert_type(Job.logs[Logs.entries][0][LogEntry.message], Attr[str, Job])
assert_type(Job.job_config["n_neighbors"], Attr[Any, Job])

assert_type(spec_of(Job), Spec[Job])
assert_type(spec_of(Job).decode(spec_of(Job).encode(job)), Job)
assert_type(Job.key(job_id=UUID(int=1)), Ref[Job])
assert_type(job.key, Ref[Job])
assert_type(Scene.in_project(project_id=UUID(int=1)), Query[Scene])
assert_type(Scene.in_project(project_id=UUID(int=1)).where(Scene.sequence > 3), Query[Scene])
assert_type(Document.in_collection(collection_id="c").reversed(), Query[Document])
assert_type(project_with_scenes(project_id=UUID(int=1)).sort([]).of(Scene), list[Scene])
assert_type(project_with_scenes(project_id=UUID(int=1)).sort([]).one(Project), Project | None)

assert_type(plan_put(job, now=NOW), Write[Job])
assert_type(plan_update(job, [Job.status.to(JobStatus.PROCESSING)], now=NOW), Write[Job])
assert_type(plan_update(Job.key(job_id=job.job_id), [Job.created_by.remove()], now=NOW), Write[Job])
assert_type(plan_delete(job), Write[Job])

assert_type(Partition("aws"), Partition)
assert_type(Partition("aws", "acme").part_id, str)
