"""Rebuild what is derived: pointers to active versions, and counts of references. For migrations, imports and repairs, not for requests.

It reads whole tables, and may run while others write: a correction is written only if the count is still the one that was read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.catalogue_tables import Llm, UiComponent, WizardSchema
from gateleg.apps.agents.references import references_of, target_of
from gateleg.apps.agents.tables import TENANT_ITEMS, Thread, VersionPointer, VersionStatus
from gateleg.apps.agents.thread_tables import FineTuningMessage
from gateleg.apps.agents.versions import AGENTS, FLOWS, PROMPTS, Versioned
from gateleg.store import AlreadyExists, ConditionFailed, NotFound

if TYPE_CHECKING:
    from gateleg.apps.agents.references import Target
    from gateleg.apps.agents.tables import Named
    from gateleg.store import Store

#: Passes over the tables: a second one sees whether somebody wrote during the first.
_PASSES = 5


@dataclass
class Rebuilt:
    """What was corrected."""

    pointers: int = 0
    #: versions that were active beside another one, and no longer are
    deactivated: int = 0
    counts: int = 0


def rebuild(store: Store) -> Rebuilt:
    """Write the pointers that are missing, leave one version of each thing active, and count references again."""
    done = Rebuilt()
    for of in (AGENTS, PROMPTS, FLOWS):
        rebuild_pointers(store, of, done)
    for _ in range(_PASSES):
        if not _count(store, done):
            break
    return done


def rebuild_pointers(store: Store, of: Versioned[Any], done: Rebuilt) -> None:
    """Let a pointer name the active version of each thing: of several the newest, and of none the newest of all."""
    found: dict[tuple[Any, str], list[Any]] = {}
    for version in store.export(of.entity):
        found.setdefault((version.partition, of.logical_of(version)), []).append(version)
    for (partition, logical), versions in found.items():
        pointer = store.find(VersionPointer, partition=partition, kind=of.kind, logical_uuid=logical, consistent=True)
        active = _chosen(of, versions, pointer)
        for version in versions:
            wanted = VersionStatus.ACTIVE if version is active else VersionStatus.INACTIVE
            if version.status is not wanted:
                entity: Any = of.entity
                store.patch(version, entity.status.set(wanted), entity.updated_at.set(version.updated_at))
                done.deactivated += wanted is VersionStatus.INACTIVE
        if pointer is None:
            done.pointers += _pointed(store, of, active, len(versions))


def _chosen(of: Versioned[Any], versions: list[Any], pointer: VersionPointer | None) -> Any:
    named = None if pointer is None else next((one for one in versions if of.version_of(one) == pointer.active_version_uuid), None)
    active = [one for one in versions if one.status is VersionStatus.ACTIVE] or versions
    return named or max(active, key=lambda one: (one.updated_at, of.version_of(one)))


def _pointed(store: Store, of: Versioned[Any], active: Named, count: int) -> int:
    pointer = VersionPointer(
        partition=active.partition,
        kind=of.kind,
        logical_uuid=of.logical_of(active),
        active_version_uuid=of.version_of(active),
        version_count=count,
    )
    try:
        store.create(pointer)
    except AlreadyExists:
        return 0
    return 1


def _count(store: Store, done: Rebuilt) -> int:
    """Count the references of all items, and correct the counts that differ; how many did."""
    counted: Counter[Target] = Counter()
    stored: dict[Target, int] = {}
    entities: tuple[type[Any], ...] = (*TENANT_ITEMS, FineTuningMessage, VersionPointer, Llm, UiComponent, WizardSchema)
    for entity in entities:
        for item in store.export(entity):
            counted.update(references_of(item))
            if entity is not Thread and entity is not FineTuningMessage:
                stored[target_of(item)] = item.reference_count
    corrected = 0
    for target, count in stored.items():
        if count != counted[target]:
            corrected += _corrected(store, target, count, counted[target])
    done.counts += corrected
    return corrected


def _corrected(store: Store, target: Target, stored: int, counted: int) -> int:
    entity = target.entity
    condition = entity.reference_count == stored
    condition = condition | entity.reference_count.missing() if stored == 0 else condition
    still = [entity.updated_at.set(entity.updated_at)] if hasattr(entity, "updated_at") else []
    try:
        store.patch(target.ref, entity.reference_count.set(counted), *still, condition=condition)
    except (ConditionFailed, NotFound):
        return 0
    return 1
