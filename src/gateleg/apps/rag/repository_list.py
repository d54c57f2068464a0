"""The list of repositories, with one entry for each, so that listing them is a query and not a scan.

Entries are created and deleted in the same transaction as their repository. Rows that other programs write to the repositories' table have
no entry until `reconcile` adds it: when a host or a worker starts, and every quarter of an hour by the job that also follows pipelines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.apps.rag.tables import Repository, RepositoryEntry
from gateleg.host import Role
from gateleg.store import NotFound, TransactionCanceled, check, put

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.host import Principal
    from gateleg.store import AsyncStore

#: Entries whose repositories are read together.
_BATCH = 100
_SHARED = "-"


def place_of(repository: Repository) -> str:
    """The sort key of a repository in the list: repositories without a tenant first, then tenant by tenant, each by id."""
    return f"{_section(repository.tenant)}{repository.repository_id}"


def _section(tenant: str | None) -> str:
    return f"{_SHARED}#" if tenant is None else f"{_SHARED}{quote(tenant, safe='')}#"


def entry_of(repository: Repository) -> RepositoryEntry:
    """The entry of a repository."""
    return RepositoryEntry(place=place_of(repository), repository_id=repository.repository_id)


async def listed_repositories(
    store: AsyncStore, principal: Principal | None = None, *, after: str | None = None, batch: int = _BATCH
) -> AsyncIterator[Repository]:
    """Stream the repositories without a tenant and those of the principal's tenant, in the order of the list; all repositories for viewers
    of the host and for None. Does not check whether the principal can read each.

    Start after the sort key `after`. Repositories are read with strong consistency, `batch` at a time.
    """
    for low, high in _ranges(principal):
        if after is not None and after >= high:
            continue
        waiting: list[RepositoryEntry] = []
        query = RepositoryEntry.by_place().where(RepositoryEntry.place.between(max(low, after or ""), high))
        async for entry in store.query(query, consistent=True):
            if entry.place == after:
                continue
            waiting.append(entry)
            if len(waiting) == batch:
                for repository in await _read(store, waiting):
                    yield repository
                waiting = []
        for repository in await _read(store, waiting):
            yield repository


def _ranges(principal: Principal | None) -> list[tuple[str, str]]:
    """The ranges of the list to read, each by its lowest and highest sort key."""
    if principal is None or principal.may(Role.VIEWER):
        return [(_SHARED, f"{_SHARED}\U0010ffff")]
    sections = dict.fromkeys((_section(None), _section(principal.tenant)))
    return [(section, f"{section}\U0010ffff") for section in sections]


async def _read(store: AsyncStore, entries: Sequence[RepositoryEntry]) -> list[Repository]:
    if not entries:
        return []
    found = await store.batch_get([Repository.key(repository_id=entry.repository_id) for entry in entries], consistent=True)
    # The entry is stale if another program has deleted the row or moved it to another tenant.
    return [row for entry, row in zip(entries, found, strict=True) if row is not None and place_of(row) == entry.place]


async def reconcile(store: AsyncStore) -> int:
    """Add missing entries and remove those without a repository. Return the number of changes. Reads both tables completely."""
    present = {entry.place: entry async for entry in store.query(RepositoryEntry.by_place(), consistent=True)}
    changed = 0
    async for repository in store.export(Repository, consistent=True):
        if present.pop(place_of(repository), None) is None:
            changed += await _add(store, repository)
    for entry in present.values():
        # It may have been created since the table was read.
        current = await store.find(Repository, repository_id=entry.repository_id, consistent=True)
        if current is None or place_of(current) != entry.place:
            await store.delete(entry.key)
            changed += 1
    return changed


async def _add(store: AsyncStore, repository: Repository) -> bool:
    """Add the entry of a repository, unless the repository has been deleted since it was read."""
    exists = check(repository.key, Repository.repository_id.exists())
    try:
        await store.transact([exists, put(entry_of(repository))])
    except (TransactionCanceled, NotFound):
        return False
    return True
