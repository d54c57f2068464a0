"""Declare data models: tables, entities, keys, access patterns, states, expressions and the codec. Pure, no I/O.

Declaring
    jobs = Table("JobQueue", hash="job_id", indexes=[GSI("StatusCreatedIndex", hash="status", range="created_at")])

    class Job(Entity, table=jobs):
        job_id: Attr[UUID] = new_uuid()
        status: Attr[JobStatus] = field(JobStatus.PENDING)
        created_at: Attr[datetime] = stamp(on="create")
        version: Attr[Version] = field(0)

        key = Key("{job_id}")
        waiting = Pattern("StatusCreatedIndex", title="Jobs in a status, oldest first")

An attribute with a default is `field(default)`, one with constraints only is `required(...)`. `Job.status` is an expression,
`job.status` a value. Mistakes in a declaration are raised at import as a `DeclarationError` that names the fix.

For stores: everything about an entity is in its `Spec`, `spec_of(Job)`
    spec.encode(job) -> item            the whole wire item, with derived keys, tag and schema number; JSON-ready
    spec.decode(item) -> job            validated; unknown attributes are kept and written back; raises DecodeError, WrongEntity
    spec.decode_partial(item) -> dict   the attributes of a projected item, validated, by Python name
    spec.ref(job) -> Ref                addresses the item: `.key` is its wire key, `.legacy()` older keys to try when it is not found
    Job.key(job_id=...) -> Ref          the same from components; `job.key` from an instance
    spec.table                          `.definition(prefix)` is the CreateTable request, `.ttl()` the TTL attribute, `.specs` all entities,
                                        `.spec_for(item)` the spec of the entity that an item belongs to
    spec.patterns, .attributes, .version, .uniques, .counters, .upcasters

HTTP routes: `class NewJob(InputModel[Job], exclude=["owner"])` is the body that creates an item, `PatchModel[Job]` the body that changes
one, and `OutputModel[Job]` the response.

Reading
    Job.waiting(status="PENDING") -> Query            also `.where(sort condition)`, `.filter(condition)`, `.reversed()`
    query.requests(table_name=, limit=, consistent=, start=, select=, project=) -> tuple of Query requests
                                        one, or one for each shard; then merge by `query.sort_value(item)`
    query.resume_key(item)              the ExclusiveStartKey after an item
    Collection(Project, Scene, title=)(project_id=...).requests(...); `.sort(items)` -> Collected: `.of(Scene)`, `.one(Project)`

Writing (`gateleg.model.planning`): plans are `Write` values
    plan_put(job, now=, create=, replaces=, condition=, check_version=)
    plan_update(job or Ref, [Job.status.to(...), ...], now=, mode="patch" | "upsert", known=, condition=, check_version=)
    plan_delete(job or Ref, must_exist=, condition=, check_version=), plan_check(job or Ref, condition)
    write.request(table_name) is the single request; unless `write.alone`, its `markers` and `counts` belong in the same transaction.
    After success, `write.owned` holds the new version and stamps to set on the caller's instance.
    changed_attributes(before, after) -> actions for a partial save

Expressions (`gateleg.model.expressions`): `condition.render(Placeholders())`, `render_actions(actions, Placeholders())`, then
    `placeholders.parameters()`.

Streams: `read_change(table, record)` decodes a stream record of the table as a change of an entity.

Tools (`gateleg.model.inspection`): `describe(table)` returns plain data for documents, `lint(table)` lists probable mistakes.
"""

from gateleg.model.attr import Attr
from gateleg.model.entity import Entity, Record, unknown_attributes
from gateleg.model.errors import DeclarationError, DecodeError, ModelError
from gateleg.model.expressions.nodes import Condition, UpdateAction
from gateleg.model.fields import ANY, States, field, new_uuid, required, stamp, state
from gateleg.model.key_parts import KeyPart, same_as
from gateleg.model.keys import Key, Ref, spec_of
from gateleg.model.patterns import Access, Collection, Pattern, Query
from gateleg.model.route_models import InputModel, OutputModel, PatchModel
from gateleg.model.spec import Change, Spec, read_change
from gateleg.model.stored_forms import upcaster
from gateleg.model.tables import GSI, LSI, Counter, Index, Table, Unique
from gateleg.model.times import TimeFormat, first_time_uuid, time_uuid
from gateleg.model.types import TTL, Compressed, JsonText, S3Key, Version
from gateleg.model.wire import Item

__all__ = [
    "ANY",
    "GSI",
    "LSI",
    "TTL",
    "Access",
    "Attr",
    "Change",
    "Collection",
    "Compressed",
    "Condition",
    "Counter",
    "DeclarationError",
    "DecodeError",
    "Entity",
    "Index",
    "InputModel",
    "Item",
    "JsonText",
    "Key",
    "KeyPart",
    "ModelError",
    "OutputModel",
    "PatchModel",
    "Pattern",
    "Query",
    "Record",
    "Ref",
    "S3Key",
    "Spec",
    "States",
    "Table",
    "TimeFormat",
    "Unique",
    "UpdateAction",
    "Version",
    "field",
    "first_time_uuid",
    "new_uuid",
    "read_change",
    "required",
    "same_as",
    "spec_of",
    "stamp",
    "state",
    "time_uuid",
    "unknown_attributes",
    "upcaster",
]


def __dir__() -> list[str]:
    """List the public names only, without submodules."""
    return __all__
