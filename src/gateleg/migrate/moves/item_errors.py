"""Items that could not be moved: recorded by key, listed, and retried."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import Inconvertible, Orphan
from gateleg.migrate.moves.control import stored_key
from gateleg.migrate.moves.copies import copy_item
from gateleg.migrate.moves.digests import key_digest
from gateleg.migrate.moves.directions import Direction
from gateleg.migrate.moves.items import key_of, read_item
from gateleg.migrate.moves.tables import ItemError, migrations_table
from gateleg.model import spec_of
from gateleg.store.flow import Request
from gateleg.store.operations.write_operation import Delete, Put

if TYPE_CHECKING:
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.phase_views import StageView
    from gateleg.model import Item
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup


def note_error(direction: Direction, stage: MoveStage, item: Item, reason: str, why: str, setup: Setup) -> Flow[None]:
    """Record an item that could not be moved, with the reason."""
    key = key_of(direction.source, item)
    error = ItemError(
        move=(yield from stored_key(direction.move, stage, setup)),
        stage=stage.name,
        side=direction.source_side,
        digest=key_digest(key),
        item_key=json.dumps(key, sort_keys=True),
        reason=reason,
        why=why,
        at=setup.now(),
    )
    yield from Put(error, returning="none").flow(setup)


def reason_of(error: Inconvertible) -> str:
    """The reason code of an error."""
    return "orphan" if isinstance(error, Orphan) else "inconvertible"


def read_errors(move: KeyMove, stage: MoveStage, setup: Setup, *, limit: int | None = None) -> Flow[list[ItemError]]:
    """The items of a stage that could not be moved."""
    key = yield from stored_key(move, stage, setup)
    (payload,) = ItemError.of_stage(move=key, stage=stage.name).requests(table_name=setup.name_of(migrations_table), consistent=True)
    found: list[ItemError] = []
    while True:
        response = yield Request("Query", payload if limit is None else payload | {"Limit": limit}, "item errors")
        found += [spec_of(ItemError).decode(item) for item in response["Items"]]
        if "LastEvaluatedKey" not in response or (limit is not None and len(found) >= limit):
            return found[:limit]
        payload = payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}


def forget_errors(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[None]:
    """Delete the records before a new pass."""
    for error in (yield from read_errors(move, stage, setup)):
        yield from Delete(spec_of(ItemError).ref(error)).flow(setup)


def repeat_errors(move: KeyMove, stage: MoveStage, view: StageView, setup: Setup) -> Flow[int]:
    """Retry the items that could not be copied; returns how many are left."""
    left = 0
    for error in (yield from read_errors(move, stage, setup)):
        direction = Direction(move, error.side)
        key: dict[str, Any] = json.loads(error.item_key)
        item = yield from read_item(direction.source, key, setup)
        try:
            if item is not None and error.side == "old":
                yield from copy_item(direction, item, view, setup)
        except Inconvertible as again:
            yield from note_error(direction, stage, key, reason_of(again), again.message, setup)
            left += 1
            continue
        yield from Delete(spec_of(ItemError).ref(error)).flow(setup)
    return left
