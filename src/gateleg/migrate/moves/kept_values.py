"""Keeps attributes that only one side of a move has (`old_only`, `new_only`) while that side's items are deleted, to restore them later.

Clean-up deletes old items, and a rollback from it restores them. A rollback to the beginning deletes copies, and the next backfill restores
them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gateleg.migrate.moves.digests import key_digest
from gateleg.migrate.moves.items import key_of
from gateleg.migrate.moves.tables import KEPT_SHARDS, KeptValues, migrations_table
from gateleg.model import spec_of
from gateleg.store.flow import Request
from gateleg.store.operations.batches import batch_get_flow, batch_write_flow
from gateleg.store.operations.operation import item_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.directions import Direction, Side
    from gateleg.model import Item, Ref, Spec
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup


def values_to_keep(direction: Direction, stage: MoveStage, item: Item) -> KeptValues | None:
    """The attributes to keep of a source that is deleted; None if it has only attributes of the other side."""
    names = _named(direction.move, direction.source_side)
    own = {name: value for name, value in item.items() if name in names}
    if not own:
        return None
    place = _place(direction.move, stage, direction.source_side, direction.source, item)
    return KeptValues(**place, values=json.dumps(own, sort_keys=True))


def read_kept(direction: Direction, pairs: Sequence[tuple[Item, Item]], setup: Setup) -> Flow[list[Item | None]]:
    """The kept attributes of the targets of some pairs, in order."""
    move, side = direction.move, direction.target_side
    if not _named(move, side):
        return [None] * len(pairs)
    keys = []
    for source, target in pairs:
        stage = move.stage_of(direction.partition(source, target))
        ref: Ref[Any] = KeptValues.key(**_place(move, stage, side, direction.target, target))
        keys.append((migrations_table, ref.key))
    found = yield from batch_get_flow(keys, setup, True, "kept values")
    return [None if item is None else json.loads(spec_of(KeptValues).decode(item).values) for item in found]


def forget_kept(move: KeyMove, stage: MoveStage, side: Side, setup: Setup) -> Flow[None]:
    """Delete the kept attributes of a side, once its items are restored."""
    if not _named(move, side):
        return
    name = setup.name_of(migrations_table)
    for shard in range(KEPT_SHARDS):
        query = KeptValues.of_shard(move=move.state_key, stage=stage.name, side=side, shard=shard)
        (payload,) = query.requests(table_name=name, consistent=True)
        while True:
            response = yield Request("Query", payload, "kept values")
            keys = [{part: item[part] for part in migrations_table.attributes} for item in response["Items"]]
            if keys:
                entries: dict[Any, Any] = {item_key(name, key): {"DeleteRequest": {"Key": key}} for key in keys}
                yield from batch_write_flow(entries, setup, "kept values")
            if "LastEvaluatedKey" not in response:
                break
            payload = payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}


def _place(move: KeyMove, stage: MoveStage, side: Side, spec: Spec[Any], item: Item) -> dict[str, Any]:
    digest = key_digest(key_of(spec, item))
    return {"move": move.state_key, "stage": stage.name, "side": side, "shard": int(digest[:4], 16) % KEPT_SHARDS, "digest": digest}


def _named(move: KeyMove, side: Side) -> frozenset[str]:
    return move.old_only if side == "old" else move.new_only
