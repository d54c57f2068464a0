"""Use cases: create, read, list and change repositories."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Action, Caller
from gateleg.apps.rag.drafts import NewRepository, RepositoryChanges
from gateleg.apps.rag.errors import AccessDenied, BadField, ImmutableField, NotActive, RepositoryExists, StaleVersion, UnknownRepository
from gateleg.apps.rag.keyset import KeysetPage, Pager
from gateleg.apps.rag.rules import check_metadata, check_repository_id, kept_pipelines
from gateleg.apps.rag.tables import READY, Collection, Metadata, Repository, RepositoryConfig, RepositoryStatus
from gateleg.store import AlreadyExists, LostRace, NotFound, ScanProgress, TransactionCanceled, create

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.drafts import MetadataDraft, PipelineDraft
    from gateleg.apps.rag.keyset import Place
    from gateleg.model import Action as WriteAction
    from gateleg.store import AsyncStore

DEFAULT_NAME = "Default"
#: Rows that are read for one page of a list, at most.
_MOST_ROWS = 1_000
#: When repositories were created that do not say so.
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
#: Fields of a repository that RAG administrators change; all others need an administrator of the host.
_PIPELINE_FIELDS = frozenset({"pipelines"})
_IMMUTABLE = ("repository_id", "embedding_model_id", "type", "tenant")


def default_collection(repository: Repository) -> Collection:
    """The collection of documents that name none. Its id is that of the repository's embedding model, always."""
    config = repository.config
    return Collection(
        collection_id=config.embedding_model_id,
        repository_id=repository.repository_id,
        name=DEFAULT_NAME,
        embedding_model=config.embedding_model_id,
        created_by=config.created_by or "system",
        created_at=config.created_at or LONG_AGO,
        updated_at=config.created_at or LONG_AGO,
    )


async def create_repository(store: AsyncStore, caller: Caller, new: NewRepository, usual_model: str) -> Repository:
    """Create a repository with its default collection; both or neither. `usual_model` is the embedding model of those that name none."""
    repository = _made(caller, new, usual_model, store)
    caller.require(Action.CHANGE_REPOSITORY, repository)
    try:
        made, _ = await store.transact([create(repository), create(default_collection(repository))])
    except TransactionCanceled as error:
        if any(isinstance(reason, AlreadyExists) for reason in error.reasons):
            raise RepositoryExists(f"There is a repository {new.repository_id!r} already.") from None
        raise
    assert isinstance(made, Repository)
    return made


def _made(caller: Caller, new: NewRepository, usual_model: str, store: AsyncStore) -> Repository:
    now = store.setup.now()
    config = RepositoryConfig(
        repository_id=check_repository_id(new.repository_id),
        repository_name=new.repository_name,
        description=new.description,
        embedding_model_id=_model(new.embedding_model_id or usual_model),
        type=new.type,
        allowed_groups=_groups(new.allowed_groups),
        allow_user_collections=new.allow_user_collections,
        metadata=metadata_of(new.metadata),
        pipelines=kept_pipelines(new.pipelines, None),
        created_by=caller.user,
        created_at=now,
        updated_at=now,
    )
    return Repository(repository_id=new.repository_id, config=config, tenant=new.tenant)


def _model(model: str) -> str:
    # It becomes part of a key of documents, in which # separates the repository from the collection.
    if "#" in model:
        raise BadField(f"embeddingModelId must not contain '#'; got {model!r}.", fix="Name another model.")
    return model


def _groups(groups: list[str] | None) -> list[str] | None:
    return list(dict.fromkeys(groups)) if groups else None


def metadata_of(draft: MetadataDraft | None) -> Metadata | None:
    """Metadata that was sent, within its bounds."""
    return None if draft is None else check_metadata(Metadata(tags=list(dict.fromkeys(draft.tags)), custom_fields=draft.custom_fields))


def require_pipelines(caller: Caller, repository: Repository, pipelines: Sequence[PipelineDraft] | None) -> None:
    """Refuse pipelines of people who are not administrators: they read whole buckets, and folders of the host."""
    if not pipelines:
        return
    caller.require(Action.CHANGE_PIPELINES, repository)
    if any(one.folder is not None for one in pipelines) and not caller.may(Action.CHANGE_REPOSITORY, repository):
        raise AccessDenied("Only administrators of the host let a pipeline read a folder of it.", fix="Use a bucket, or ask one of them.")


async def get_repository(store: AsyncStore, caller: Caller, repository_id: str, action: Action = Action.READ) -> Repository:
    """A repository with which the caller may do something. Rights are read consistently: a change of groups holds at once."""
    found = await store.find(Repository, repository_id=repository_id, consistent=True)
    if found is None:
        raise UnknownRepository(f"There is no repository {repository_id!r}.")
    caller.require(action, found)
    return found


async def list_repositories(store: AsyncStore, caller: Caller) -> list[Repository]:
    """All repositories that the caller can read, by id: for what is asked of all of them, such as the newest collections.

    This reads a table that holds one row for each repository: the public design has no index for it, and rows that other programs have
    written must be seen. `page_repositories` reads a part of it.
    """
    found = [row async for row in store.export(Repository, consistent=True) if caller.may(Action.READ, row)]
    return sorted(found, key=lambda row: row.repository_id)


async def page_repositories(store: AsyncStore, caller: Caller, *, size: int = 100, token: str | None = None) -> KeysetPage[Repository]:
    """Some of the repositories that the caller can read, read from the key at which the page before ended. Those of a page are in the order
    of their ids; pages follow each other in the order of the table. A page may be short, even empty, before the last one: no more than
    1,000 rows are read for it."""
    seal = Pager.of(store, ["repositories", caller.user], _place, descending=False, size=size, token=token)
    start = None if seal.last is None else Repository.key(repository_id=str(seal.last[0])).key
    progress = ScanProgress({0: start})
    found: list[Repository] = []
    last, seen = None, 0
    # One row more tells whether there is another page.
    async for row in store.export(Repository, progress=progress, page_size=size + 1, consistent=True):
        if len(found) == size or seen == _MOST_ROWS:
            return KeysetPage(sorted(found, key=_place), seal.token_of(last) if last is not None else None)
        seen, last = seen + 1, row
        if caller.may(Action.READ, row):
            found.append(row)
    return KeysetPage(sorted(found, key=_place))


def _place(row: Repository) -> Place:
    return (row.repository_id,)


async def update_repository(
    store: AsyncStore, caller: Caller, repository_id: str, changes: RepositoryChanges, expected: int | None = None
) -> Repository:
    """Change a repository; `expected` is the version that the caller has read. RAG administrators change its pipelines only."""
    sent = changes.sent()
    repository = await get_repository(store, caller, repository_id)
    _refuse_fixed(repository, sent)
    wanted = set(sent) - set(_IMMUTABLE)
    _require_fields(caller, repository, wanted)
    require_pipelines(caller, repository, changes.pipelines)
    for _ in range(10):
        if expected is not None and repository.version != expected:
            raise StaleVersion(f"The repository {repository_id!r} has version {repository.version}, not {expected}.")
        if repository.status not in READY:
            raise NotActive(f"The repository {repository_id!r} is {repository.status.value}.", fix="Wait until it is ready.")
        actions: list[WriteAction] = [Repository.config.set(_changed(repository.config, changes, wanted, store))]
        if repository.status is not RepositoryStatus.UPDATE_COMPLETE:
            actions.append(Repository.status.to(RepositoryStatus.UPDATE_COMPLETE))
        try:
            return await store.patch(repository, *actions)
        except LostRace as lost:
            repository = lost.current
        except NotFound:
            raise UnknownRepository(f"There is no repository {repository_id!r}.") from None
    raise StaleVersion(f"The repository {repository_id!r} was changed by others all the time.", fix="Try again.")


def _refuse_fixed(repository: Repository, sent: dict[str, Any]) -> None:
    config = repository.config
    present = {"tenant": repository.tenant, "type": config.type, "embedding_model_id": config.embedding_model_id}
    present["repository_id"] = repository.repository_id
    for name in _IMMUTABLE:
        if name in sent and sent[name] != present[name]:
            wire = {"embedding_model_id": "embeddingModelId", "repository_id": "repositoryId"}.get(name, name)
            raise ImmutableField(
                f"{wire} of a repository never changes.", fix="Leave it out. For another model, create a repository and ingest there."
            )


def _require_fields(caller: Caller, repository: Repository, wanted: set[str]) -> None:
    if not wanted - _PIPELINE_FIELDS:
        caller.require(Action.CHANGE_PIPELINES, repository)
    elif not caller.may(Action.CHANGE_REPOSITORY, repository) and caller.may(Action.CHANGE_PIPELINES, repository):
        names = ", ".join(sorted(RepositoryChanges.model_fields[name].alias or name for name in wanted - _PIPELINE_FIELDS))
        raise AccessDenied(f"{caller.principal.name!r} may change the pipelines of this repository, and not {names}.")
    else:
        caller.require(Action.CHANGE_REPOSITORY, repository)


def _changed(config: RepositoryConfig, changes: RepositoryChanges, wanted: set[str], store: AsyncStore) -> RepositoryConfig:
    """The config with the changes; validated, unlike what `model_copy` makes."""
    fresh = config.model_copy(deep=True)
    fresh.updated_at = store.setup.now()
    for name in wanted:
        value = getattr(changes, name)
        if name == "allow_user_collections" and value is None:
            raise BadField("allowUserCollections must be true or false.", fix="Leave it out to keep it as it is.")
        if name == "metadata":
            value = metadata_of(value)
        elif name == "allowed_groups":
            value = _groups(value)
        elif name == "pipelines":
            value = kept_pipelines(value, config.pipelines)
        setattr(fresh, name, value)
    return fresh
