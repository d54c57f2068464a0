"""Add local files to a collection, for the command line and the demo."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import create_collection, find_collection, open_collection
from gateleg.apps.rag.drafts import NewCollection, NewRepository
from gateleg.apps.rag.errors import NameTaken, RepositoryExists
from gateleg.apps.rag.ingesting.originals import store_original
from gateleg.apps.rag.ingesting.submission import NewDocument, document_id_of, ingest_document
from gateleg.apps.rag.object_keys import original_key
from gateleg.apps.rag.repositories import create_repository, get_repository
from gateleg.apps.rag.tables import Document, DocumentStatus, Repository
from gateleg.errors import GatelegError
from gateleg.objects import plain_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from uuid import UUID

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.collections import OpenedCollection
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file and its name in the collection."""

    path: Path
    name: str


@dataclass
class AddResult:
    """Submitted jobs and document ids by file name, unchanged files, and refused files with the reason."""

    jobs: dict[str, UUID] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def find_files(paths: Iterable[Path]) -> list[LocalFile]:
    """The given files, and all files below the given folders except hidden ones, named by their path below the folder."""
    found: dict[Path, LocalFile] = {}
    for path in paths:
        if path.is_file():
            found[path.resolve()] = LocalFile(path, path.name)
            continue
        for inner in sorted(path.rglob("*")):
            below = inner.relative_to(path)
            if inner.is_file() and not inner.is_symlink() and not any(part.startswith(".") for part in below.parts):
                found[inner.resolve()] = LocalFile(inner, below.as_posix())
    return list(found.values())


async def open_or_create(
    resources: Resources[RagSettings],
    caller: Caller,
    repository_id: str,
    collection: str,
    *,
    title: str | None = None,
    strategy: Mapping[str, Any] | None = None,
) -> OpenedCollection:
    """Open a collection by its name. Create it and its repository if they do not exist."""
    store = resources.store
    if await store.find(Repository, repository_id=repository_id, consistent=True) is None:
        default_model = resources.settings.embedding_model or str(resources.models.embeddings().model)
        new = NewRepository(repository_id=repository_id, repository_name=title)
        # Another process may create it at the same time.
        with suppress(RepositoryExists):
            await create_repository(store, caller, new, default_model)
    repository = await get_repository(store, caller, repository_id)
    if await find_collection(store, repository, collection) is None:
        chosen = None if strategy is None else dict(strategy)
        with suppress(NameTaken):
            return await create_collection(store, caller, repository_id, NewCollection(name=collection, chunking_strategy=chosen))
    return await open_collection(store, caller, repository_id, collection, Action.INGEST)


async def add_files(
    resources: Resources[RagSettings],
    caller: Caller,
    opened: OpenedCollection,
    files: Sequence[LocalFile],
    *,
    force: bool = False,
    report: Callable[[int], None] = lambda done: None,
) -> AddResult:
    """Upload files and submit their ingestion. Skips files whose content has not changed, unless they lack vectors or `force` is set."""
    added = AddResult()
    for place, file in enumerate(files):
        report(place)
        try:
            await _add(resources, caller, opened, file, force, added)
        except GatelegError as error:
            added.refused[file.name] = error.message
        except OSError as error:
            added.refused[file.name] = str(error.strerror or error)
    report(len(files))
    return added


async def _add(
    resources: Resources[RagSettings], caller: Caller, opened: OpenedCollection, file: LocalFile, force: bool, added: AddResult
) -> None:
    repository_id, collection_id = opened.repository.repository_id, opened.collection.collection_id
    document_id = document_id_of(repository_id, collection_id, f"file:{file.name}")
    digest = await asyncio.to_thread(_digest, file.path)
    existing = await resources.store.find(
        Document, repository_id=repository_id, collection_id=collection_id, document_id=document_id, consistent=True
    )
    again = force or (existing is not None and (existing.status is DocumentStatus.FAILED or existing.keywords_only is not None))
    if existing is not None and existing.content_hash == digest and existing.status is DocumentStatus.COMPLETED and not again:
        added.unchanged.append(file.name)
        return
    key = original_key(repository_id, collection_id, document_id, digest, plain_name(file.path.name))
    await store_original(resources.objects, key, file.path, digest, None)
    # Adding a file again while its job waits returns the same job; if its ingestion failed or made no vectors, it is retried.
    once = None if again else f"{digest}:{0 if existing is None else existing.revision}"
    new = NewDocument(key=key, name=file.name, force=force, once=once)
    submitted = await ingest_document(resources, caller, repository_id, collection_id, new)
    added.jobs[file.name] = submitted.job.job_id
    added.documents[file.name] = document_id


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
