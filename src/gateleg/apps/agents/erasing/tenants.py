"""Exports and erases all data of a tenant: items, files and secrets. Both are jobs that host operators start."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.apps.agents.access import check_host_operator
from gateleg.apps.agents.catalogue_tables import Llm, UiComponent, WizardSchema
from gateleg.apps.agents.erasing.contents import contents_of
from gateleg.apps.agents.erasing.job_types import ERASE_TENANT, EXPORT_TENANT, EraseResult, ExportResult, TenantConfig
from gateleg.apps.agents.errors import TenantStillWrites
from gateleg.apps.agents.files import tenant_folder
from gateleg.apps.agents.references import references_of
from gateleg.host import submitted_by
from gateleg.jobs import Submission
from gateleg.model import spec_of
from gateleg.store import ConstraintFailed, LostRace, NotFound, TransactionCanceled, delete, patch

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.apps.agents.partitions import Partition
    from gateleg.apps.agents.references import Target
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.jobs import JobContext
    from gateleg.model import Entity
    from gateleg.store import AsyncStore, WriteOperation

__all__ = ["begin_erasure", "begin_export", "erase_tenant", "export_tenant"]

#: The job output that lists objects; the job's page and the API link to them.
_ARTIFACTS = "s3_artifacts"
#: The maximum number of deletion passes while new data arrives.
_PASSES = 5
#: Catalogue items, which count the items that refer to them.
_SHARED = (Llm, UiComponent, WizardSchema)
_FILES, _SECRETS = "files", "secrets"


async def begin_export(resources: Resources[AgentsSettings], context: Context) -> UUID:
    """Submit a job that writes all data of the context's tenant to one file. Raises `NotAHostOperator`."""
    return await _begin(resources, context, EXPORT_TENANT)


async def begin_erasure(resources: Resources[AgentsSettings], context: Context) -> UUID:
    """Submit a job that permanently deletes all data of the context's tenant. Raises `NotAHostOperator`."""
    return await _begin(resources, context, ERASE_TENANT)


async def _begin(resources: Resources[AgentsSettings], context: Context, job_type: str) -> UUID:
    check_host_operator(context)
    config = TenantConfig(endpoint_id=context.endpoint_id, part_id=context.part_id)
    submission = Submission(job_type, config, subject=context.part_id)
    job = (await resources.queue.submit(submitted_by(context.principal, submission))).job
    await resources.audit.note(context.principal, job_type, context.partition_key, job=str(job.job_id))
    return job.job_id


async def export_tenant(job: JobContext, config: TenantConfig, resources: Resources[AgentsSettings]) -> ExportResult:
    """Write the items of a tenant to a file of DynamoDB JSON lines, with the names of its files and secrets."""
    partition, counts = config.partition, dict[str, int]()
    path = job.scratch / "tenant.jsonl.gz"
    contents = contents_of(partition)
    with gzip.open(path, "wb") as file:
        for number, (kind, questions) in enumerate(contents.items()):
            job.progress(number, len(contents) + 1, kind)
            for question in questions:
                async for item in resources.store.query(question):
                    file.write(orjson.dumps({"kind": kind, "Item": spec_of(type(item)).encode(item)}) + b"\n")
                    counts[kind] = counts.get(kind, 0) + 1
            job.check()
        async for entry in resources.objects.walk(tenant_folder(partition)):
            file.write(orjson.dumps({"kind": _FILES, "key": entry.key}) + b"\n")
            counts[_FILES] = counts.get(_FILES, 0) + 1
        for secret in await resources.secrets.list(tenant=str(partition)):
            file.write(orjson.dumps({"kind": _SECRETS, "name": secret.name}) + b"\n")
            counts[_SECRETS] = counts.get(_SECRETS, 0) + 1
    key = f"agents-exports/{tenant_folder(partition).removeprefix('agents/')}{job.job_id}.jsonl.gz"
    await resources.objects.put(key, path, content_type="application/gzip")
    job.output(_ARTIFACTS, key)
    return ExportResult(items=counts, object_key=key)


async def erase_tenant(job: JobContext, config: TenantConfig, resources: Resources[AgentsSettings]) -> EraseResult:
    """Delete the items, files and secrets of a tenant, and verify that none is left. Raises `TenantStillWrites`."""
    deleted: dict[str, int] = {}
    for _ in range(_PASSES):
        for kind, count in (await _erase(job, config.partition, resources)).items():
            deleted[kind] = deleted.get(kind, 0) + count
        left = await _count(resources, config.partition)
        if not left:
            return EraseResult(deleted={kind: count for kind, count in deleted.items() if count})
        job.log(f"Left: {left}", "WARNING")
    raise TenantStillWrites(f"The tenant {config.part_id!r} still has {left}.", details={"left": left})


async def _erase(job: JobContext, partition: Partition, resources: Resources[AgentsSettings]) -> dict[str, int]:
    store, deleted = resources.store, dict[str, int]()
    contents = contents_of(partition)
    for number, (kind, questions) in enumerate(contents.items()):
        deleted[kind] = 0
        for question in questions:
            async for item in store.query(question):
                deleted[kind] += await _delete(store, item)
                if deleted[kind] % 100 == 1:
                    job.check()
                    job.progress(number, len(contents) + 1, f"{kind}: {deleted[kind]:,} deleted")
    keys = [entry.key async for entry in resources.objects.walk(tenant_folder(partition))]
    await resources.objects.delete_many(keys)
    names = [one.name for one in await resources.secrets.list(tenant=str(partition))]
    for name in names:
        await resources.secrets.delete(name, tenant=str(partition))
    return {**deleted, _FILES: len(keys), _SECRETS: len(names)}


async def _delete(store: AsyncStore, item: Any) -> int:
    """Delete an item and decrement the counts of the catalogue items it refers to. Returns 0 if it no longer exists or has changed; the
    next pass handles it."""
    released = [target for target in references_of(item) if target.entity in _SHARED]
    try:
        if released:
            await _delete_and_release(store, item, released)
        else:
            await store.delete(item)
    except (NotFound, LostRace, TransactionCanceled):
        return 0
    return 1


async def _delete_and_release(store: AsyncStore, item: Entity, released: list[Target]) -> None:
    writes: list[WriteOperation[Any]] = [delete(item, must_exist=True)]
    for target in released:
        still = target.entity.updated_at.set(target.entity.updated_at)
        writes.append(patch(target.ref, target.entity.reference_count.add(-1), still, returning="none"))
    try:
        await store.transact(writes)
    except TransactionCanceled as canceled:
        if any(isinstance(reason, NotFound | ConstraintFailed) for reason in canceled.reasons[1:]):
            # A catalogue item that no longer exists, or whose count is 0, needs no update.
            await store.delete(item)
            return
        raise


async def _count(resources: Resources[AgentsSettings], partition: Partition) -> dict[str, int]:
    """The number of a tenant's items by kind, without kinds that have none."""
    found = {
        kind: sum([await resources.store.count(question, limit=1_000) for question in questions])
        for kind, questions in contents_of(partition).items()
    }
    found[_FILES] = sum([1 async for _ in resources.objects.walk(tenant_folder(partition))])
    found[_SECRETS] = len(await resources.secrets.list(tenant=str(partition)))
    return {kind: count for kind, count in found.items() if count}
