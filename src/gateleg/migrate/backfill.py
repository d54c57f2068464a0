"""Backfill: rewrite stored items for the current declaration. Resumable, throttled, safe with concurrent writers.

An item is rewritten if writing it again would store anything different, and only if it is unchanged since it was read; if another writer
was first, it is read and checked again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from gateleg.model import DecodeError, ModelError, spec_of
from gateleg.store.flow import Request
from gateleg.store.operations import ScanProgress
from gateleg.store.operations.older_items import migrate_to_current_key, replace_unchanged
from gateleg.store.operations.reads import upcast_item, with_current_key
from gateleg.store.operations.tables import check_keys
from gateleg.store.setup import RateLimiter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from gateleg.model import Item, Spec
    from gateleg.store import Store
    from gateleg.store.flow import Flow
    from gateleg.store.operations.operation import ItemKey
    from gateleg.store.setup import Setup

Verdict = Literal["current", "rewritten", "moved", "gone"]
#: attempts for an item that other writers keep changing
_MAX_ATTEMPTS = 5


@dataclass(frozen=True)
class Fault:
    """An item that cannot be rewritten, and why."""

    key: Item
    why: str


@dataclass
class Report:
    """The progress of a backfill."""

    #: where to continue; keep it to resume later
    progress: ScanProgress
    seen: int = 0
    #: items rewritten in place (in a dry run: to be rewritten)
    rewritten: int = 0
    #: items moved from an older key (in a dry run: to be moved)
    moved: int = 0
    faults: list[Fault] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether the whole table has been processed."""
        return not self.progress.starts


def backfill(
    store: Store,
    entity: type[BaseModel],
    *,
    progress: ScanProgress | None = None,
    segments: int = 1,
    read_units: float | None = None,
    write_units: float | None = None,
    dry_run: bool = False,
    every: int = 1000,
) -> Iterator[Report]:
    """Rewrite all items of an entity that do not match its declaration. Yields a report every `every` items, and at the end.

    `read_units` and `write_units` limit the capacity used per second. A dry run writes nothing and reports what is left to do. Raises
    `KeysDiffer` before the first item if the table is deployed with another key.
    """
    spec = spec_of(entity)
    if spec.key.writes_legacy:
        raise ModelError(
            f"{spec.name} still writes its legacy key, which the release before needs.",
            fix='Remove writes="legacy" from its key, deploy that everywhere, then run the backfill.',
        )
    store.drive(check_keys([spec.table], store.setup))
    report = Report(progress or ScanProgress.fresh(segments))
    rate = RateLimiter(write_units, store.setup) if write_units is not None else None
    looked_up: dict[ItemKey, Any] = {}
    for item in store.reading(expired=True).scan(spec.table, progress=report.progress, read_units=read_units, consistent=True):
        if not belongs(item, spec):
            continue
        report.seen += 1
        try:
            verdict = store.drive(
                _verdict(item, spec, store.setup, looked_up) if dry_run else bring_up(item, spec, store.setup, rate, looked_up)
            )
        except ModelError as error:
            report.faults.append(Fault(_key(item, spec), str(error)))
            continue
        report.rewritten += verdict == "rewritten"
        report.moved += verdict == "moved"
        if report.seen % every == 0:
            # Items read for upcasters may change meanwhile, and take memory.
            looked_up.clear()
            yield report
    yield report


def belongs(item: Item, spec: Spec[Any]) -> bool:
    """Whether an item belongs to the entity, under its current key or an older one."""
    owner = spec.table.spec_for(item)
    return owner is spec or (owner is None and any(plan.fits(item) for plan in spec.key.legacy))


def _verdict(item: Item, spec: Spec[Any], setup: Setup, looked_up: dict[ItemKey, Any]) -> Flow[Verdict]:
    """What a backfill would do with an item; reads the items that its upcasters need."""
    return verdict_of(item, spec, (yield from upcast_item(spec, item, setup, looked_up)))


def verdict_of(item: Item, spec: Spec[Any], current: Item | None = None) -> Verdict:
    """What a backfill would do with an item; `current` is the upcast item, if upcasting it needs other items."""
    instance = read_current(item if current is None else current, spec)
    if spec.ref(instance).key != _key(item, spec):
        return "moved"
    return "current" if spec.encode(instance) == item else "rewritten"


def read_current(item: Item, spec: Spec[Any]) -> Any:
    """The item as an entity, even if its older key lacks some components."""
    try:
        return spec.decode(item)
    except DecodeError:
        present = with_current_key(item, spec)
        if present == item:
            raise
        return spec.decode(present)


def bring_up(
    item: Item, spec: Spec[Any], setup: Setup, rate: RateLimiter | None = None, looked_up: dict[ItemKey, Any] | None = None
) -> Flow[Verdict]:
    """Rewrite one item, retrying while others change it. `looked_up` caches the items that upcasters read."""
    name, key = setup.name_of(spec.table), _key(item, spec)
    for _ in range(_MAX_ATTEMPTS):
        current = yield from upcast_item(spec, item, setup, looked_up)
        verdict = verdict_of(item, spec, current)
        if verdict == "moved":
            moved = yield from migrate_to_current_key(spec.ref(read_current(current, spec)), setup)
            return "moved" if moved else "gone"
        if verdict == "current" or (yield from _rewritten(item, current, spec, setup, rate)):
            return verdict
        response = yield Request("GetItem", {"TableName": name, "Key": key, "ConsistentRead": True}, f"{spec.name}.backfill")
        if "Item" not in response:
            return "gone"
        item = response["Item"]
    raise ModelError(f"An item of {spec.name} was changed by others {_MAX_ATTEMPTS} times in a row.", fix="Run the backfill again.")


def _rewritten(item: Item, current: Item, spec: Spec[Any], setup: Setup, rate: RateLimiter | None) -> Flow[bool]:
    """Put the item in its current form, if it is unchanged since it was read."""
    options = {} if rate is None else {"ReturnConsumedCapacity": "TOTAL"}
    response = yield from replace_unchanged(spec, item, current, setup, f"{spec.name}.backfill", options)
    if response is None:
        return False
    if rate is not None:
        yield from rate.charge(response)
    return True


def _key(item: Item, spec: Spec[Any]) -> Item:
    return {part: item[part] for part in spec.table.attributes}
