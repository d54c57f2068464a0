"""Versions of agents, prompts and flows: versions share a logical id, exactly one is active, and a pointer item names it.

A version is always written in one transaction with its pointer, conditional on the pointer's revision, so concurrent writers are
serialised: the second reads again and retries. Finding the active version takes one read of the pointer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gateleg.apps.agents.access import check_editor
from gateleg.apps.agents.changes import Changes, WriteConflict, commit, retry_on_conflict
from gateleg.apps.agents.errors import ActiveVersion, BadField, NotFoundInPartition, StillUsed
from gateleg.apps.agents.items import author, build, contents
from gateleg.apps.agents.model_names import reserve_name
from gateleg.apps.agents.references import AGENT, FLOW, PROMPT
from gateleg.apps.agents.secret_references import redact
from gateleg.apps.agents.tables import (
    MAX_NAME_LENGTH,
    Agent,
    FlowSnippet,
    PromptTemplate,
    ReferencedItem,
    VersionPointer,
    VersionStatus,
    is_identifier,
    new_id,
)
from gateleg.store import AlreadyExists, TransactionCanceled, check, create

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore, WriteOperation

V = TypeVar("V", bound=ReferencedItem)
_COPY_SUFFIX = " (Copy)"
#: Attributes that a new version does not copy from its predecessor.
_NOT_COPIED = frozenset({"created_at", "updated_at", "reference_count", "revision", "status"})
#: Attributes that `differences` ignores.
_IDENTITY = frozenset({*_NOT_COPIED, "partition", "updated_by"})
_MAX_LABEL_LENGTH = 50


@dataclass(frozen=True)
class VersionedKind(Generic[V]):
    """An entity with versions (agent, prompt or flow), and the names of its id and name attributes."""

    kind: str
    entity: type[V]
    version_id: str
    logical_id: str
    name: str

    def version_of(self, item: V) -> str:
        """The id of this version."""
        return str(getattr(item, self.version_id))

    def logical_of(self, item: V) -> str:
        """The id shared by all its versions."""
        return str(getattr(item, self.logical_id))


AGENTS = VersionedKind(AGENT, Agent, "agent_version_uuid", "agent_uuid", "agent_name")
PROMPTS = VersionedKind(PROMPT, PromptTemplate, "prompt_version_uuid", "prompt_uuid", "prompt_name")
FLOWS = VersionedKind(FLOW, FlowSnippet, "flow_snippet_version_uuid", "flow_snippet_uuid", "flow_name")


async def find_pointer(store: AsyncStore, context: Context, of: VersionedKind[Any], logical_uuid: str) -> VersionPointer | None:
    """The pointer to the active version, with one read; None if there is no such agent, prompt or flow."""
    if not is_identifier(logical_uuid):
        return None
    found = await store.find(VersionPointer, partition=context.partition, kind=of.kind, logical_uuid=logical_uuid, consistent=True)
    return found if found is not None else await _adopt(store, context, of, logical_uuid)


async def _adopt(store: AsyncStore, context: Context, of: VersionedKind[V], logical_uuid: str) -> VersionPointer | None:
    """Create the pointer for versions that lack one, such as those still being migrated from the older key layout."""
    versions = [one async for one in store.query(versions_of(context, of, logical_uuid), consistent=True)]
    if not versions:
        return None
    active = [one for one in versions if one.status is VersionStatus.ACTIVE] or versions
    chosen = max(active, key=lambda one: (one.updated_at, of.version_of(one)))
    pointer = pointer_to(of, chosen).model_copy(update={"version_count": len(versions)})
    exists = getattr(of.entity, of.version_id).exists()
    try:
        await store.transact([create(pointer), check(chosen, exists)])
    except TransactionCanceled:
        return await store.find(VersionPointer, partition=context.partition, kind=of.kind, logical_uuid=logical_uuid, consistent=True)
    return pointer


async def find_version(store: AsyncStore, context: Context, of: VersionedKind[V], version_uuid: str) -> V | None:
    """A version by its own id, or None."""
    if not is_identifier(version_uuid):
        return None
    return await store.find(of.entity, partition=context.partition, consistent=True, **{of.version_id: version_uuid})


async def find_active(store: AsyncStore, context: Context, of: VersionedKind[V], logical_uuid: str) -> V | None:
    """The active version, or None."""
    pointer = await find_pointer(store, context, of, logical_uuid)
    return None if pointer is None else await find_version(store, context, of, pointer.active_version_uuid)


async def load_active(store: AsyncStore, context: Context, of: VersionedKind[V], logical_uuids: Sequence[str]) -> list[V | None]:
    """The active versions of many logical ids, in order, with two batch reads."""
    refs = [VersionPointer.key(partition=context.partition, kind=of.kind, logical_uuid=one) for one in logical_uuids]
    read = await store.batch_get(refs, consistent=True)
    pointers = [
        pointer or await _adopt(store, context, of, one) if is_identifier(one) else None
        for one, pointer in zip(logical_uuids, read, strict=True)
    ]
    wanted: Any = of.entity
    active = [
        None if one is None else wanted.key(partition=context.partition, **{of.version_id: one.active_version_uuid}) for one in pointers
    ]
    found = iter(await store.batch_get([ref for ref in active if ref is not None], consistent=True))
    return [None if ref is None else next(found) for ref in active]


async def create_first(
    store: AsyncStore,
    context: Context,
    of: VersionedKind[V],
    values: Mapping[str, Any],
    complete: Callable[[V], Awaitable[V]] | None = None,
) -> V:
    """Create an agent, prompt or flow with its first version, and reserve the model name of an agent."""
    check_editor(context)
    given = {name: value for name, value in values.items() if value is not None}
    named = {of.logical_id: f"{of.kind}-{new_id()}", **given, of.version_id: new_id(), "status": VersionStatus.ACTIVE}
    item = build(of.entity, {**named, "partition": context.partition, "updated_by": author(context, values)})
    item = item if complete is None else await complete(item)

    async def attempt() -> V:
        changes, pointer = Changes(), pointer_to(of, item)
        if isinstance(item, Agent):
            pointer, reservation = await reserve_name(store, item, pointer)
            changes.also(*reservation)
        changes.create(item)
        changes.create(pointer)
        try:
            await commit(store, changes)
        except AlreadyExists:
            # Another agent was faster to reserve the name.
            raise WriteConflict from None
        return await _reload(store, context, of, of.version_of(item))

    return await retry_on_conflict(attempt)


async def create_next(
    store: AsyncStore,
    context: Context,
    of: VersionedKind[V],
    logical_uuid: str,
    values: Mapping[str, Any],
    *,
    complete: Callable[[V], Awaitable[V]] | None = None,
    also: Callable[[V, V], Sequence[WriteOperation[Any]]] | None = None,
) -> V:
    """Create a version from the active one with some values changed, and make it the active one.

    `also` receives the previous and the new version, and returns further writes for the same transaction.
    """
    check_editor(context)

    async def attempt() -> V:
        pointer, active = await _load_active_version(store, context, of, logical_uuid)
        kept = {name: value for name, value in contents(active).items() if name not in _NOT_COPIED}
        item = build(
            of.entity, {**kept, **values, of.logical_id: logical_uuid, of.version_id: new_id(), "updated_by": author(context, values)}
        )
        item = item if complete is None else await complete(item)
        changes = Changes()
        changes.create(item)
        changes.update(active, active.model_copy(update={"status": VersionStatus.INACTIVE}))
        changes.update(pointer, _with_active(pointer, of.version_of(item), pointer.version_count + 1))
        changes.also(*(also(active, item) if also is not None else ()))
        await commit(store, changes)
        return await _reload(store, context, of, of.version_of(item))

    return await retry_on_conflict(attempt)


async def update_version(
    store: AsyncStore,
    context: Context,
    of: VersionedKind[V],
    version_uuid: str,
    values: Mapping[str, Any],
    complete: Callable[[V], Awaitable[V]] | None = None,
) -> V:
    """Change a version in place. Status "active" activates it; the active version can only be replaced, not deactivated."""
    check_editor(context)
    wanted = {name: value for name, value in values.items() if name not in (of.version_id, of.logical_id, "status")}
    status = None if values.get("status") is None else _status(values["status"])

    async def attempt() -> V:
        item = await get_version(store, context, of, version_uuid)
        pointer, active = await _load_active_version(store, context, of, of.logical_of(item))
        is_active = pointer.active_version_uuid == version_uuid
        if is_active and status is VersionStatus.INACTIVE:
            raise ActiveVersion(f"{version_uuid!r} is the active version of the {of.kind} {of.logical_of(item)!r}.")
        after = build(of.entity, {**contents(item), **wanted, "updated_by": author(context, values)})
        after = after if complete is None or not wanted else await complete(after)
        changes = Changes()
        if status is VersionStatus.ACTIVE and not is_active:
            after = after.model_copy(update={"status": VersionStatus.ACTIVE})
            changes.update(active, active.model_copy(update={"status": VersionStatus.INACTIVE}))
            changes.update(pointer, _with_active(pointer, version_uuid, pointer.version_count))
        changes.update(item, after)
        await commit(store, changes)
        return await _reload(store, context, of, version_uuid)

    return await retry_on_conflict(attempt)


async def activate(store: AsyncStore, context: Context, of: VersionedKind[V], version_uuid: str) -> V:
    """Make a version the active one again."""
    return await update_version(store, context, of, version_uuid, {"status": VersionStatus.ACTIVE})


async def delete_version(store: AsyncStore, context: Context, of: VersionedKind[V], version_uuid: str) -> bool:
    """Delete a version; if it was active, the newest other version becomes active. Returns False if it does not exist.

    Raises `StillUsed` while other items refer to the version or, for the last version, to its logical id.
    """
    check_editor(context)

    async def attempt() -> bool:
        item = await find_version(store, context, of, version_uuid)
        if item is None:
            return False
        pointer = await find_pointer(store, context, of, of.logical_of(item))
        changes = Changes()
        changes.delete(item)
        if pointer is not None:
            _check_labels(pointer, version_uuid)
            await _repoint(store, context, of, item, pointer, changes)
        await commit(store, changes)
        return True

    return await retry_on_conflict(attempt)


async def _repoint(store: AsyncStore, context: Context, of: VersionedKind[V], item: V, pointer: VersionPointer, changes: Changes) -> None:
    """Point to another version than the deleted one, or delete the pointer with the last version."""
    if pointer.active_version_uuid != of.version_of(item):
        changes.update(pointer, _with_active(pointer, pointer.active_version_uuid, max(pointer.version_count - 1, 1)))
        return
    heir = await _newest_other(store, context, of, item)
    if heir is None:
        changes.delete(pointer)
        return
    changes.update(heir, heir.model_copy(update={"status": VersionStatus.ACTIVE}))
    changes.update(pointer, _with_active(pointer, of.version_of(heir), max(pointer.version_count - 1, 1)))


async def _newest_other(store: AsyncStore, context: Context, of: VersionedKind[V], item: V) -> V | None:
    """The newest other version. Imported version ids do not sort by time, so all versions are compared."""
    newest: V | None = None
    question = versions_of(context, of, of.logical_of(item))
    async for other in store.query(question, consistent=True):
        if of.version_of(other) != of.version_of(item) and (newest is None or other.created_at > newest.created_at):
            newest = other
    return newest


def versions_of(context: Context, of: VersionedKind[V], logical_uuid: str) -> Any:
    """The query for all versions of a logical id."""
    entity: Any = of.entity
    return entity.versions(partition=context.partition, **{of.logical_id: logical_uuid})


async def duplicate(
    store: AsyncStore, context: Context, of: VersionedKind[V], version_uuid: str, values: Mapping[str, Any] | None = None
) -> V:
    """Create a new agent, prompt or flow from a version. References to the original stay as they are."""
    original = await get_version(store, context, of, version_uuid)
    kept = {name: value for name, value in contents(original).items() if name not in (*_NOT_COPIED, of.logical_id, of.version_id)}
    kept[of.name] = str(kept[of.name])[: MAX_NAME_LENGTH - len(_COPY_SUFFIX)] + _COPY_SUFFIX
    given = {name: value for name, value in (values or {}).items() if value is not None and name not in (of.version_id, "status")}
    return await create_first(store, context, of, {**kept, **given})


def differences(of: VersionedKind[V], before: V, after: V) -> dict[str, tuple[Any, Any]]:
    """The attributes that differ between two versions, each with the earlier and the later value. Secrets are hidden."""
    old, new = contents(before), contents(after)
    names = [name for name in old if name not in (*_IDENTITY, of.version_id, of.logical_id) and old[name] != new[name]]
    return {name: (_redacted(old[name]), _redacted(new[name])) for name in names}


def _redacted(value: Any) -> Any:
    return redact(value) if isinstance(value, dict) else value


async def label(
    store: AsyncStore, context: Context, of: VersionedKind[V], logical_uuid: str, name: str, version_uuid: str | None
) -> VersionPointer:
    """Label a version, for example `stable`; None removes the label. A labelled version cannot be deleted."""
    check_editor(context)
    if not 1 <= len(name) <= _MAX_LABEL_LENGTH or not name.isprintable():
        raise BadField(f"A label has 1 to {_MAX_LABEL_LENGTH} visible characters.", details={"field": "label"})

    async def attempt() -> VersionPointer:
        pointer, _ = await _load_active_version(store, context, of, logical_uuid)
        labels = {one: version for one, version in pointer.labels.items() if one != name}
        if version_uuid is not None:
            version = await get_version(store, context, of, version_uuid)
            if of.logical_of(version) != logical_uuid:
                raise NotFoundInPartition(f"The {of.kind} {logical_uuid!r} has no version {version_uuid!r}.")
            labels[name] = version_uuid
        changes = Changes()
        changes.update(pointer, pointer.model_copy(update={"labels": labels}))
        await commit(store, changes)
        return pointer.model_copy(update={"labels": labels, "revision": pointer.revision + 1})

    return await retry_on_conflict(attempt)


def pointer_to(of: VersionedKind[V], item: V) -> VersionPointer:
    """The pointer for a newly created first version."""
    return VersionPointer(partition=item.partition, kind=of.kind, logical_uuid=of.logical_of(item), active_version_uuid=of.version_of(item))


def _with_active(pointer: VersionPointer, version_uuid: str, count: int) -> VersionPointer:
    return pointer.model_copy(update={"active_version_uuid": version_uuid, "version_count": count})


def _status(value: Any) -> VersionStatus:
    try:
        return VersionStatus(value)
    except ValueError:
        raise BadField(f"status is {value!r}; it can be active or inactive.", details={"field": "status"}) from None


def _check_labels(pointer: VersionPointer, version_uuid: str) -> None:
    names = [name for name, version in pointer.labels.items() if version == version_uuid]
    if names:
        raise StillUsed(f"The version {version_uuid!r} has the label {', '.join(names)}.", fix="Give the label to another version first.")


async def get_version(store: AsyncStore, context: Context, of: VersionedKind[V], version_uuid: str) -> V:
    """A version by its own id. Raises `NotFoundInPartition`."""
    found = await find_version(store, context, of, version_uuid)
    if found is None:
        raise NotFoundInPartition(f"There is no version {version_uuid!r} of {'an' if of.kind == 'agent' else 'a'} {of.kind}.")
    return found


async def _load_active_version(store: AsyncStore, context: Context, of: VersionedKind[V], logical_uuid: str) -> tuple[VersionPointer, V]:
    pointer = await find_pointer(store, context, of, logical_uuid)
    if pointer is None:
        raise NotFoundInPartition(f"There is no {of.kind} {logical_uuid!r}.")
    active = await find_version(store, context, of, pointer.active_version_uuid)
    if active is None:
        # Deleted since the pointer was read.
        raise WriteConflict
    return pointer, active


async def _reload(store: AsyncStore, context: Context, of: VersionedKind[V], version_uuid: str) -> V:
    found = await find_version(store, context, of, version_uuid)
    if found is None:
        raise NotFoundInPartition(f"The version {version_uuid!r} was deleted by another user.")
    return found
