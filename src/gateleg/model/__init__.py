"""Declare data models: tables, entities, keys, access patterns, states, expressions and the codec. Pure, no I/O.

Declaring
    jobs = Table("DelphiJobQueue", hash="job_id", indexes=[GSI("StatusCreatedIndex", hash="status", range="created_at")])

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
    spec.decode_partial(item) -> dict   the attributes that a projected item has, validated, by Python name
    spec.ref(job) -> Ref                which item: `.key` is the wire key, `.legacy()` the keys to try when it is not found
    Job.key(job_id=...) -> Ref          the same from components; `job.key` from an instance
    spec.index_keys(values, key)        the derived index key attributes of an item with these values
    spec.table                          `.definition(prefix)` is the CreateTable request, `.ttl()` the TTL attribute, `.specs` all entities,
                                        `.spec_for(item)` the spec of the entity that an item belongs to
    spec.patterns, .attributes, .version, .uniques, .counters, .upcasters

Reading
    Job.waiting(status="PENDING") -> Query            also `.where(sort condition)`, `.filter(condition)`, `.reversed()`
    query.requests(table_name=, limit=, consistent=, start=, select=, project=) -> tuple of Query requests
                                        one, or one for each shard; then merge by `query.sort_value(item)`
    query.resume_key(item)              the ExclusiveStartKey after an item
    Collection(Project, Scene, title=)(project_id=...).requests(...); `.sort(items)` -> Collected: `.of(Scene)`, `.one(Project)`

Writing: plans are `Write` values
    plan_put(job, now=, create=, replaces=, condition=, check_version=)
    plan_update(job or Ref, [Job.status.to(...), ...], now=, mode="patch" | "upsert", known=, condition=, check_version=)
    plan_delete(job or Ref, must_exist=, condition=, check_version=), plan_check(job or Ref, condition)
    write.request(name_of) is the single request; unless `write.alone`, its `markers` and `counts` belong in the same transaction.
    After success, `write.owned` holds the version and stamps for the instance in hand.
    changed_attributes(before, after) -> actions for a partial save.

Expressions: `condition.render(Placeholders())`, `render_actions(actions, Placeholders())`, then `placeholders.parameters()`.

Streams: `read_change(table, record)` decodes a stream record of the table as a change of an entity.

For tools: `describe(table)` is plain data for documents, `lint(table)` lists probable mistakes.
"""

from gateleg.model.attributes.attr import Attr
from gateleg.model.attributes.fields import field, new_uuid, required, stamp
from gateleg.model.attributes.special_types import TTL, Compressed, JsonText, S3Key, Version, check_s3_key
from gateleg.model.attributes.states import ANY, States, state
from gateleg.model.attributes.time_formats import TimeFormat
from gateleg.model.codec.stream_records import Change, read_change
from gateleg.model.codec.unchecked import construct_unchecked, copy_unchecked
from gateleg.model.codec.upcasters import Upcaster, schema_of, upcaster
from gateleg.model.codec.wire import Item, Value
from gateleg.model.counters import Counter, CounterChange, Joined, counter_changes
from gateleg.model.entity import Entity, Record, unknown_attributes
from gateleg.model.errors import DeclarationError, DecodeError, ModelError
from gateleg.model.expressions.actions import Action, render_actions
from gateleg.model.expressions.nodes import Condition, Operand, Placeholders, all_of
from gateleg.model.inspection.describe import describe
from gateleg.model.inspection.lint import Finding, lint
from gateleg.model.keys.key import Key, KeyPlan, Ref, shard_of
from gateleg.model.keys.parts import KeyPart, same_as
from gateleg.model.patterns import Access, Pattern
from gateleg.model.planning.collections import Collected, Collection, CollectionQuery
from gateleg.model.planning.queries import Query
from gateleg.model.planning.updates import changed_attributes, plan_update
from gateleg.model.planning.writes import Write, plan_check, plan_delete, plan_put
from gateleg.model.spec import Attribute, Spec
from gateleg.model.spec_lookup import spec_of
from gateleg.model.tables import GSI, LSI, Index, Table
from gateleg.model.uniques import Unique, is_marker, markers

__all__ = [
    "ANY",
    "GSI",
    "LSI",
    "TTL",
    "Access",
    "Action",
    "Attr",
    "Attribute",
    "Change",
    "Collected",
    "Collection",
    "CollectionQuery",
    "Compressed",
    "Condition",
    "Counter",
    "CounterChange",
    "DeclarationError",
    "DecodeError",
    "Entity",
    "Finding",
    "Index",
    "Item",
    "Joined",
    "JsonText",
    "Key",
    "KeyPart",
    "KeyPlan",
    "ModelError",
    "Operand",
    "Pattern",
    "Placeholders",
    "Query",
    "Record",
    "Ref",
    "S3Key",
    "Spec",
    "States",
    "Table",
    "TimeFormat",
    "Unique",
    "Upcaster",
    "Value",
    "Version",
    "Write",
    "all_of",
    "changed_attributes",
    "check_s3_key",
    "construct_unchecked",
    "copy_unchecked",
    "counter_changes",
    "describe",
    "field",
    "is_marker",
    "lint",
    "markers",
    "new_uuid",
    "plan_check",
    "plan_delete",
    "plan_put",
    "plan_update",
    "read_change",
    "render_actions",
    "required",
    "same_as",
    "schema_of",
    "shard_of",
    "spec_of",
    "stamp",
    "state",
    "unknown_attributes",
    "upcaster",
]
