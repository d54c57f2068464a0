"""Create, read, list and change repositories."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Action, Caller
from gateleg.apps.rag.drafts import NewRepository, RepositoryChanges
from gateleg.apps.rag.errors import BadValue, ImmutableField, NotActive, RagAccessDenied, RepositoryExists, StaleVersion, UnknownRepository
from gateleg.apps.rag.keyset import KeysetPage, Pager
from gateleg.apps.rag.repository_list import entry_of, listed_repositories, place_of
from gateleg.apps.rag.rules import check_metadata, check_repository_id, merge_pipelines
from gateleg.apps.rag.tables import READY, Collection, Metadata, Repository, RepositoryConfig, RepositoryStatus
from gateleg.store import AlreadyExists, LostRace, NotFound, TransactionCanceled, create, put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.drafts import MetadataDraft, PipelineDraft
    from gateleg.apps.rag.keyset import SortKey
    from gateleg.model import UpdateAction
    from gateleg.store import AsyncStore

DEFAULT_NAME = "Default"
#: Attempts at a change while others keep changing the same row.
_MAX_ATTEMPTS = 10
#: Rows read at most for one page of a list.
_MAX_ROWS_PER_PAGE = 1_000
#: Stands in for the creation time of repositories without one.
UNKNOWN_CREATION_TIME = datetime(1970, 1, 1, tzinfo=UTC)
#: Fields that RAG administrators may change; all others need an administrator of the host.
_PIPELINE_FIELDS = frozenset({"pipelines"})
_IMMUTABLE = ("repository_id", "embedding_model_id", "type", "tenant")


def default_collection(repository: Repository) -> Collection:
    """The collection of documents without a collection. Its id is always the id of the repository's embedding model."""
    config = repository.config
    return Collection(
        collection_id=config.embedding_model_id,
        repository_id=repository.repository_id,
        name=DEFAULT_NAME,
        embedding_model=config.embedding_model_id,
        created_by=config.created_by or "system",
        created_at=config.created_at or UNKNOWN_CREATION_TIME,
        updated_at=config.created_at or UNKNOWN_CREATION_TIME,
    )


async def create_repository(store: AsyncStore, caller: Caller, new: NewRepository, default_model: str) -> Repository:
    """Create a repository with its default collection and its entry in the list; all or nothing.

    `default_model` is the embedding model if `new` names none.
    """
    repository = _build_repository(caller, new, default_model, store)
    caller.require(Action.CHANGE_REPOSITORY, repository)
    try:
        made, *_ = await store.transact([create(repository), create(default_collection(repository)), put(entry_of(repository))])
    except TransactionCanceled as error:
        if any(isinstance(reason, AlreadyExists) for reason in error.reasons):
            raise RepositoryExists(f"There is a repository {new.repository_id!r} already.") from None
        raise
    assert isinstance(made, Repository)
    return made


def _build_repository(caller: Caller, new: NewRepository, default_model: str, store: AsyncStore) -> Repository:
    now = store.setup.now()
    config = RepositoryConfig(
        repository_id=check_repository_id(new.repository_id),
        repository_name=new.repository_name,
        description=new.description,
        embedding_model_id=_check_model_id(new.embedding_model_id or default_model),
        type=new.type,
        allowed_groups=_unique_groups(new.allowed_groups),
        allow_user_collections=new.allow_user_collections,
        metadata=metadata_of(new.metadata),
        pipelines=merge_pipelines(new.pipelines, None),
        created_by=caller.user,
        created_at=now,
        updated_at=now,
    )
    return Repository(repository_id=new.repository_id, config=config, tenant=new.tenant)


def _check_model_id(model: str) -> str:
    # The model's id becomes part of the documents' key, where # separates repository and collection.
    if "#" in model:
        raise BadValue(f"embeddingModelId must not contain '#'; got {model!r}.", fix="Name another model.")
    return model


def _unique_groups(groups: list[str] | None) -> list[str] | None:
    return list(dict.fromkeys(groups)) if groups else None


def metadata_of(draft: MetadataDraft | None) -> Metadata | None:
    """Convert metadata from a request and check its limits."""
    return None if draft is None else check_metadata(Metadata(tags=list(dict.fromkeys(draft.tags)), custom_fields=draft.custom_fields))


def require_pipelines(caller: Caller, repository: Repository, pipelines: Sequence[PipelineDraft] | None) -> None:
    """Require administrators for pipelines, because these read whole buckets, and host administrators for folders."""
    if not pipelines:
        return
    caller.require(Action.CHANGE_PIPELINES, repository)
    if any(pipeline.folder is not None for pipeline in pipelines) and not caller.may(Action.CHANGE_REPOSITORY, repository):
        raise RagAccessDenied(
            "Only administrators of the host can declare a pipeline that reads a folder.", fix="Use a bucket, or ask one of them."
        )


async def get_repository(store: AsyncStore, caller: Caller, repository_id: str, action: Action = Action.READ) -> Repository:
    """Read a repository and require access to it. The read is strongly consistent, so changed groups apply at once."""
    found = await store.find(Repository, repository_id=repository_id, consistent=True)
    if found is None:
        raise UnknownRepository(f"There is no repository {repository_id!r}.")
    caller.require(action, found)
    return found


async def list_repositories(store: AsyncStore, caller: Caller) -> list[Repository]:
    """All repositories that the caller can read, sorted by id; for queries across all of them, such as the newest collections."""
    found = [row async for row in listed_repositories(store, caller.principal) if caller.may(Action.READ, row)]
    return sorted(found, key=lambda row: row.repository_id)


async def page_repositories(store: AsyncStore, caller: Caller, *, size: int = 100, token: str | None = None) -> KeysetPage[Repository]:
    """A page of the repositories that the caller can read: those without a tenant, then tenant by tenant, each by id.

    At most 1,000 rows are read for a page, so any page may be short or even empty.
    """
    pager = Pager.of(store, ["repositories", caller.user], _sort_key, descending=False, size=size, token=token)
    after = None if pager.last is None else str(pager.last[0])
    found: list[Repository] = []
    last, read = None, 0
    # One extra row shows whether there is another page.
    async for row in listed_repositories(store, caller.principal, after=after, batch=min(size + 1, 100)):
        if len(found) == size or read == _MAX_ROWS_PER_PAGE:
            return KeysetPage(found, pager.token_of(last) if last is not None else None)
        read, last = read + 1, row
        if caller.may(Action.READ, row):
            found.append(row)
    return KeysetPage(found)


def _sort_key(row: Repository) -> SortKey:
    return (place_of(row),)


async def update_repository(
    store: AsyncStore, caller: Caller, repository_id: str, changes: RepositoryChanges, expected: int | None = None
) -> Repository:
    """Change a repository; `expected` is the version that the caller has read. RAG administrators may change only its pipelines."""
    sent = changes.sent()
    repository = await get_repository(store, caller, repository_id)
    _check_immutable(repository, sent)
    fields = set(sent) - set(_IMMUTABLE)
    _require_field_rights(caller, repository, fields)
    require_pipelines(caller, repository, changes.pipelines)
    for _ in range(_MAX_ATTEMPTS):
        if expected is not None and repository.version != expected:
            raise StaleVersion(f"The repository {repository_id!r} has version {repository.version}, not {expected}.")
        if repository.status not in READY:
            raise NotActive(f"The repository {repository_id!r} is {repository.status.value}.", fix="Wait until it is ready.")
        actions: list[UpdateAction] = [Repository.config.set(_apply_changes(repository.config, changes, fields, store))]
        if repository.status is not RepositoryStatus.UPDATE_COMPLETE:
            actions.append(Repository.status.to(RepositoryStatus.UPDATE_COMPLETE))
        try:
            return await store.patch(repository, *actions)
        except LostRace as lost:
            repository = lost.current
        except NotFound:
            raise UnknownRepository(f"There is no repository {repository_id!r}.") from None
    raise StaleVersion(f"Others changed the repository {repository_id!r} during each of {_MAX_ATTEMPTS} attempts.", fix="Try again.")


def _check_immutable(repository: Repository, sent: dict[str, Any]) -> None:
    config = repository.config
    present = {"tenant": repository.tenant, "type": config.type, "embedding_model_id": config.embedding_model_id}
    present["repository_id"] = repository.repository_id
    for name in _IMMUTABLE:
        if name in sent and sent[name] != present[name]:
            wire = {"embedding_model_id": "embeddingModelId", "repository_id": "repositoryId"}.get(name, name)
            raise ImmutableField(
                f"{wire} of a repository never changes.", fix="Leave it out. For another model, create a repository and ingest there."
            )


def _require_field_rights(caller: Caller, repository: Repository, fields: set[str]) -> None:
    if not fields - _PIPELINE_FIELDS:
        caller.require(Action.CHANGE_PIPELINES, repository)
    elif not caller.may(Action.CHANGE_REPOSITORY, repository) and caller.may(Action.CHANGE_PIPELINES, repository):
        names = ", ".join(sorted(RepositoryChanges.model_fields[name].alias or name for name in fields - _PIPELINE_FIELDS))
        raise RagAccessDenied(f"{caller.principal.name!r} may change the pipelines of this repository, but not {names}.")
    else:
        caller.require(Action.CHANGE_REPOSITORY, repository)


def _apply_changes(config: RepositoryConfig, changes: RepositoryChanges, fields: set[str], store: AsyncStore) -> RepositoryConfig:
    """A copy of the config with the changes, validated (`model_copy(update=...)` would not validate)."""
    fresh = config.model_copy(deep=True)
    fresh.updated_at = store.setup.now()
    for name in fields:
        value = getattr(changes, name)
        if name == "allow_user_collections" and value is None:
            raise BadValue("allowUserCollections must be true or false.", fix="Leave it out to keep it as it is.")
        if name == "metadata":
            value = metadata_of(value)
        elif name == "allowed_groups":
            value = _unique_groups(value)
        elif name == "pipelines":
            value = merge_pipelines(value, config.pipelines)
        setattr(fresh, name, value)
    return fresh
