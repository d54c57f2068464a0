"""Create, read, change, archive, delete and restore collections. A job removes them for good: see `deleting`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import DELETED_STATUSES, Action
from gateleg.apps.rag.drafts import CollectionChanges
from gateleg.apps.rag.errors import (
    BadValue,
    DefaultCollection,
    ImmutableField,
    NameTaken,
    NotActive,
    StaleVersion,
    UnknownCollection,
)
from gateleg.apps.rag.repositories import default_collection, get_repository, metadata_of, require_pipelines
from gateleg.apps.rag.rules import check_groups, check_name, check_strategy, is_default, merge_pipelines
from gateleg.apps.rag.tables import READY, Collection, CollectionStatus, Repository
from gateleg.store import IllegalTransition, LostRace, NotFound, TransactionCanceled, UniqueTaken

if TYPE_CHECKING:
    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.drafts import NewCollection
    from gateleg.model import UpdateAction
    from gateleg.store import AsyncStore

#: An alias for the id of the default collection, which may contain characters that are awkward in a path.
DEFAULT_ALIAS = "default"
#: The type of repositories whose documents are in a service that keeps its own collections.
KNOWLEDGE_BASE = "bedrock_knowledge_base"
_IMMUTABLE = ("collection_id", "repository_id", "embedding_model", "created_by", "created_at", "updated_at", "default")
_NEVER_NULL = ("name", "allow_chunking_override", "private", "status")
#: Attempts at a change while others keep changing the same row.
_MAX_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class OpenedCollection:
    """A collection and its repository, after the access check."""

    repository: Repository
    collection: Collection

    @property
    def is_default(self) -> bool:
        """Whether it is the default collection of the repository."""
        return is_default(self.collection, self.repository)


@dataclass(frozen=True, slots=True)
class CollectionChange:
    """A collection after a change, with warnings for its owner."""

    opened: OpenedCollection
    warnings: tuple[str, ...] = ()


async def find_collection(store: AsyncStore, repository: Repository, id_or_name: str) -> Collection | None:
    """Find a collection of a repository by its id, or by its name ignoring case. Does not check access."""
    model = repository.config.embedding_model_id
    collection_id = model if id_or_name == DEFAULT_ALIAS else id_or_name
    collection = await _find_by_id(store, repository.repository_id, collection_id)
    if collection is not None:
        return collection
    if collection_id == model:
        return default_collection(repository)
    return await _find_by_name(store, repository.repository_id, id_or_name)


async def _find_by_name(store: AsyncStore, repository_id: str, name: str) -> Collection | None:
    folded = name.casefold()
    async for row in store.query(Collection.in_repository, repository_id=repository_id):
        if row.name is not None and row.name.casefold() == folded:
            # The index is eventually consistent; access must be decided on the row in the table.
            return await _find_by_id(store, repository_id, row.collection_id)
    return None


async def _check_name_free(store: AsyncStore, repository_id: str, name: str | None, own_id: str | None = None) -> None:
    """Refuse a name that a row of another program has: it reserves none. Names of rows written here are reserved with the write itself."""
    taken = None if name is None else await _find_by_name(store, repository_id, name)
    if taken is not None and taken.collection_id != own_id:
        raise _name_taken(name, repository_id)


async def _find_by_id(store: AsyncStore, repository_id: str, collection_id: str) -> Collection | None:
    if not 1 <= len(collection_id) <= 200:
        return None
    return await store.find(Collection, collection_id=collection_id, repository_id=repository_id, consistent=True)


async def open_collection(
    store: AsyncStore, caller: Caller, repository_id: str, id_or_name: str, action: Action = Action.READ
) -> OpenedCollection:
    """Read a collection and require access to it. Reads are strongly consistent, so changed rights apply at once."""
    repository = await get_repository(store, caller, repository_id)
    collection = await find_collection(store, repository, id_or_name)
    if collection is None or not caller.may(Action.READ, repository, collection):
        # Repeat the name from the request: the id would reveal that a collection with this name exists.
        raise UnknownCollection(f"There is no collection {id_or_name!r} in the repository {repository_id!r}.")
    caller.require(action, repository, collection)
    return OpenedCollection(repository, collection)


async def create_collection(store: AsyncStore, caller: Caller, repository_id: str, new: NewCollection) -> OpenedCollection:
    """Create a collection. The repository's embedding model and groups apply if `new` names none."""
    repository = await get_repository(store, caller, repository_id, Action.CREATE_COLLECTION)
    if repository.status not in READY:
        raise NotActive(f"The repository {repository_id!r} is {repository.status.value}.", fix="Wait until it is ready.")
    if repository.config.type == KNOWLEDGE_BASE:
        raise BadValue(
            f"The repository {repository_id!r} is a knowledge base of Bedrock, which has no collections of its own.",
            fix="Create the collection in another repository.",
        )
    require_pipelines(caller, repository, new.pipelines)
    collection = Collection(
        repository_id=repository_id,
        name=check_name(new.name),
        description=new.description,
        chunking_strategy=check_strategy(new.chunking_strategy),
        allow_chunking_override=new.allow_chunking_override,
        metadata=metadata_of(new.metadata),
        allowed_groups=check_groups(new.allowed_groups, repository),
        embedding_model=new.embedding_model or repository.config.embedding_model_id,
        created_by=caller.user,
        created_at=store.setup.now(),
        private=new.private,
        pipelines=merge_pipelines(new.pipelines, None),
    )
    await _check_name_free(store, repository_id, collection.name)
    return OpenedCollection(repository, await _create_row(store, collection))


async def _create_row(store: AsyncStore, collection: Collection) -> Collection:
    try:
        return await store.create(collection)
    except UniqueTaken:
        raise _name_taken(collection.name, collection.repository_id) from None


def _name_taken(name: str | None, repository_id: str) -> NameTaken:
    return NameTaken(f"The repository {repository_id!r} already has a collection named {name!r} (names ignore case).")


async def ensure_stored(store: AsyncStore, opened: OpenedCollection) -> Collection:
    """The row of a collection. A default collection that was never changed has none yet; then the row is created."""
    if opened.collection.version > 0 or not opened.is_default:
        return opened.collection
    row = await _find_by_id(store, opened.repository.repository_id, opened.collection.collection_id)
    if row is not None:
        return row
    try:
        return await store.create(opened.collection)
    except UniqueTaken:
        # Another collection has taken the name "Default" before this row existed, so this one gets no name.
        renamed = opened.collection.model_copy(update={"name": None})
        return await store.create(renamed)


async def update_collection(
    store: AsyncStore,
    caller: Caller,
    repository_id: str,
    id_or_name: str,
    changes: CollectionChanges,
    expected: int | None = None,
) -> CollectionChange:
    """Change the fields that were sent; null clears a field. `expected` is the version that the caller has read."""
    opened = await open_collection(store, caller, repository_id, id_or_name, Action.CHANGE_COLLECTION)
    _check_version(opened.collection, expected)
    sent = _check_changes(opened, changes)
    require_pipelines(caller, opened.repository, changes.pipelines)
    row = await ensure_stored(store, opened)
    if sent.get("name") is not None:
        await _check_name_free(store, row.repository_id, sent["name"], row.collection_id)
    for _ in range(_MAX_ATTEMPTS):
        _check_status(row, sent)
        actions = _update_actions(opened.repository, row, sent)
        if not actions:
            return CollectionChange(OpenedCollection(opened.repository, row))
        try:
            changed = await _patch_row(store, row, actions, sent)
        except LostRace as lost:
            row = lost.current
            if expected is not None:
                raise _stale(row, expected) from None
            caller.require(Action.CHANGE_COLLECTION, opened.repository, row)
            continue
        return CollectionChange(OpenedCollection(opened.repository, changed), _warnings(row, changed))
    raise StaleVersion(f"Others changed the collection during each of {_MAX_ATTEMPTS} attempts.", fix="Try again.")


async def _patch_row(store: AsyncStore, row: Collection, actions: list[UpdateAction], sent: dict[str, Any]) -> Collection:
    try:
        return await store.patch(row, *actions)
    except UniqueTaken:
        raise _name_taken(sent.get("name"), row.repository_id) from None
    except TransactionCanceled as error:  # a change of the name moves its marker in the same transaction
        reasons = [reason for reason in error.reasons if reason is not None]
        if any(isinstance(reason, UniqueTaken) for reason in reasons):
            raise _name_taken(sent.get("name"), row.repository_id) from None
        raise (reasons[0] if len(reasons) == 1 else error) from None
    except NotFound:
        raise UnknownCollection(f"There is no collection {row.collection_id!r} in the repository {row.repository_id!r}.") from None


def _check_version(collection: Collection, expected: int | None) -> None:
    if expected is not None and collection.version != expected:
        raise _stale(collection, expected)


def _stale(collection: Collection, expected: int) -> StaleVersion:
    return StaleVersion(f"The collection has version {collection.version}, not {expected}: somebody has changed it since it was read.")


def _check_changes(opened: OpenedCollection, changes: CollectionChanges) -> dict[str, Any]:
    """The fields to change. Immutable fields are dropped if sent with their current value, and refused otherwise."""
    sent = changes.sent()
    for name in _IMMUTABLE:
        if name in sent and not _is_unchanged(opened, name, sent.pop(name)):
            raise ImmutableField(f"{_wire_name(name)} of a collection never changes.")
    for name in _NEVER_NULL:
        if name in sent and sent[name] is None:
            raise BadValue(f"{_wire_name(name)} cannot be cleared.", fix="Leave it out to keep it as it is.")
    return sent


def _wire_name(name: str) -> str:
    return CollectionChanges.model_fields[name].alias or name


def _is_unchanged(opened: OpenedCollection, name: str, value: Any) -> bool:
    present = opened.is_default if name == "default" else getattr(opened.collection, name)
    if isinstance(present, datetime):
        # Clients send timestamps back as they read them; compare them to the second.
        return isinstance(value, str) and value[:19] == present.isoformat()[:19]
    return bool(value == present)


def _check_status(row: Collection, sent: dict[str, Any]) -> None:
    """Refuse changes of a deleted collection, and statuses that cannot be set by an update."""
    new_status = sent.get("status")
    if new_status in DELETED_STATUSES and new_status is not row.status:
        raise BadValue(f"status cannot be set to {new_status.value}.", fix="Send DELETE to delete the collection.")
    if row.status in DELETED_STATUSES and not (row.status is CollectionStatus.DELETED and new_status is CollectionStatus.ACTIVE):
        raise NotActive(f"The collection is {row.status.value}.", fix="Restore a deleted one first: set its status to ACTIVE.")


def _update_actions(repository: Repository, row: Collection, sent: dict[str, Any]) -> list[UpdateAction]:
    checked: dict[str, Any] = dict(sent)
    if "name" in sent:
        checked["name"] = check_name(sent["name"])
    if "chunking_strategy" in sent:
        checked["chunking_strategy"] = check_strategy(sent["chunking_strategy"])
    if "metadata" in sent:
        checked["metadata"] = metadata_of(sent["metadata"])
    if "allowed_groups" in sent:
        checked["allowed_groups"] = check_groups(sent["allowed_groups"], repository)
    if "pipelines" in sent:
        checked["pipelines"] = merge_pipelines(sent["pipelines"], row.pipelines)
    actions: list[UpdateAction] = []
    for name, value in checked.items():
        attribute = getattr(Collection, name)
        if value == getattr(row, name):
            continue
        if name == "status":
            actions.append(attribute.to(value))
            if row.deleted_at is not None:
                actions.append(Collection.deleted_at.remove())
        else:
            actions.append(attribute.remove() if value is None else attribute.set(value))
    return actions


def _warnings(before: Collection, after: Collection) -> tuple[str, ...]:
    """Warnings about changes that do not apply to existing documents."""
    changed = [("chunking strategy", "chunking_strategy"), ("metadata", "metadata")]
    words = [word for word, name in changed if getattr(before, name) != getattr(after, name)]
    text = "The new {} applies to documents ingested from now on. POST .../reingest applies it to the others."
    return tuple(text.format(word) for word in words)


async def soft_delete_collection(store: AsyncStore, caller: Caller, repository_id: str, id_or_name: str, *, days: int) -> OpenedCollection:
    """Mark a collection as deleted; it can be restored for `days` days. Does nothing if it is deleted already."""
    opened = await open_collection(store, caller, repository_id, id_or_name, Action.CHANGE_COLLECTION)
    if opened.is_default:
        raise DefaultCollection("The default collection of a repository cannot be deleted: documents without a collection belong to it.")
    if opened.collection.status is CollectionStatus.DELETED:
        return opened
    until = store.setup.now() + timedelta(days=days)
    moved = await _set_status(store, opened.collection, CollectionStatus.DELETED, Collection.deleted_at.set(until))
    return OpenedCollection(opened.repository, moved)


async def _set_status(store: AsyncStore, row: Collection, status: CollectionStatus, *more: UpdateAction) -> Collection:
    """Set the status, regardless of other changes since the row was read."""
    try:
        return await store.patch(row.key, Collection.status.to(status), *more)
    except IllegalTransition as error:
        present = error.current.status.value if isinstance(error.current, Collection) else "in another status"
        raise NotActive(f"The collection is {present} by now.", fix="Read it again.") from None
    except NotFound:
        raise UnknownCollection(f"There is no collection {row.collection_id!r} in the repository {row.repository_id!r}.") from None
