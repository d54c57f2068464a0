"""Rebuild derived data: pointers to active versions and reference counts. For migrations, imports and repairs, not for requests.

It scans whole tables and may run beside other writers: each correction is conditional on the count that was read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.catalogue_tables import Llm, UiComponent, WizardSchema
from gateleg.apps.agents.references import references_of, target_of
from gateleg.apps.agents.tables import TENANT_ITEMS, Thread, VersionPointer, VersionStatus
from gateleg.apps.agents.thread_tables import FineTuningMessage
from gateleg.apps.agents.versions import AGENTS, FLOWS, PROMPTS, VersionedKind
from gateleg.store import AlreadyExists, ConditionFailed, NotFound

if TYPE_CHECKING:
    from gateleg.apps.agents.references import Target
    from gateleg.apps.agents.tables import ReferencedItem
    from gateleg.store import Store

#: Maximum recounts: another pass follows while the previous one corrected something.
_MAX_PASSES = 5


@dataclass
class RebuildResult:
    """Number of corrections."""

    pointers: int = 0
    #: surplus active versions that were made inactive
    deactivated: int = 0
    counts: int = 0


def rebuild(store: Store) -> RebuildResult:
    """Create missing pointers, leave exactly one version of each agent, prompt and flow active, and recount references."""
    done = RebuildResult()
    for of in (AGENTS, PROMPTS, FLOWS):
        rebuild_pointers(store, of, done)
    for _ in range(_MAX_PASSES):
        if not _recount_references(store, done):
            break
    return done


def rebuild_pointers(store: Store, of: VersionedKind[Any], done: RebuildResult) -> None:
    """Create missing pointers. Of several active versions the newest wins; of none, the newest version."""
    found: dict[tuple[Any, str], list[Any]] = {}
    for version in store.export(of.entity):
        found.setdefault((version.partition, of.logical_of(version)), []).append(version)
    for (partition, logical), versions in found.items():
        pointer = store.find(VersionPointer, partition=partition, kind=of.kind, logical_uuid=logical, consistent=True)
        active = _pick_active(of, versions, pointer)
        for version in versions:
            wanted = VersionStatus.ACTIVE if version is active else VersionStatus.INACTIVE
            if version.status is not wanted:
                entity: Any = of.entity
                store.patch(version, entity.status.set(wanted), entity.updated_at.set(version.updated_at))
                done.deactivated += wanted is VersionStatus.INACTIVE
        if pointer is None:
            done.pointers += _create_pointer(store, of, active, len(versions))


def _pick_active(of: VersionedKind[Any], versions: list[Any], pointer: VersionPointer | None) -> Any:
    named = None if pointer is None else next((one for one in versions if of.version_of(one) == pointer.active_version_uuid), None)
    active = [one for one in versions if one.status is VersionStatus.ACTIVE] or versions
    return named or max(active, key=lambda one: (one.updated_at, of.version_of(one)))


def _create_pointer(store: Store, of: VersionedKind[Any], active: ReferencedItem, count: int) -> int:
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


def _recount_references(store: Store, done: RebuildResult) -> int:
    """Count the references of all items and correct stored counts that differ; returns the number of corrections."""
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
            corrected += _correct_count(store, target, count, counted[target])
    done.counts += corrected
    return corrected


def _correct_count(store: Store, target: Target, stored: int, counted: int) -> int:
    entity = target.entity
    condition = entity.reference_count == stored
    condition = condition | entity.reference_count.missing() if stored == 0 else condition
    still = [entity.updated_at.set(entity.updated_at)] if hasattr(entity, "updated_at") else []
    try:
        store.patch(target.ref, entity.reference_count.set(counted), *still, condition=condition)
    except (ConditionFailed, NotFound):
        return 0
    return 1
