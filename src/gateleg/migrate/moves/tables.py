"""The table of migrations: phases of moves, fences, processes, checkpoints, item errors, and the ledger."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from gateleg.migrate.moves.declaration import Phase
from gateleg.model import TTL, Attr, Entity, Key, Pattern, Table, Version, field, new_uuid

__all__ = ["ItemError", "LedgerEntry"]

migrations_table = Table("GatelegMigrations", hash="pk", range="sk", tag="kind")

#: copies of each fence, so that writers do not all check the same item
FENCES = 8
#: partitions over which kept values are spread
KEPT_SHARDS = 16


class MoveState(Entity, table=migrations_table, tag="move"):
    """The state of a stage of a move."""

    #: `KeyMove.state_key`, as in all other items of a move
    move: Attr[str]
    stage: Attr[str]
    phase: Attr[Phase] = field(Phase.OFF)
    #: incremented with every change of phase
    epoch: Attr[int] = field(0)
    paused: Attr[bool] = field(False)
    #: result of the last verification; None if there is none since the backfill
    verified: Attr[bool | None] = field(None)
    changed_at: Attr[datetime | None] = field(None)
    changed_by: Attr[str] = field("")
    version: Attr[Version] = field(0)

    key = Key("MOVES", "{move}#{stage}")
    every = Pattern(title="All moves, by name and stage")


class Fence(Entity, table=migrations_table, tag="fence"):
    """The epoch in which dual writes of a stage are accepted. Every transaction of a move checks one of the copies."""

    move: Attr[str]
    stage: Attr[str]
    number: Attr[int]
    epoch: Attr[int]

    key = Key("FENCE#{move}#{stage}#{number}", "FENCE")


class ClientProcess(Entity, table=migrations_table, tag="process"):
    """A process that uses entities that are being moved, and the phases it acts on, which it may do until `until`."""

    process: Attr[str]
    host: Attr[str] = field("")
    #: seconds since 1970
    until: Attr[float]
    #: the moves that it knows
    moves: Attr[list[str]] = field(factory=list)
    #: the epoch of each stage that it acts on, by `move#stage`
    epochs: Attr[dict[str, int]] = field(factory=dict)
    #: when it last used an old entity, by move
    old_used: Attr[dict[str, float]] = field(factory=dict)
    #: reads and writes of items that are being moved since the process started, failures among them, and their total duration
    requests: Attr[int] = field(0)
    failures: Attr[int] = field(0)
    seconds: Attr[float] = field(0.0)
    expires_at: Attr[TTL]

    key = Key("PROCESSES", "{process}")
    every = Pattern(title="All processes that use entities which move")


class Checkpoint(Entity, table=migrations_table, tag="checkpoint"):
    """The progress of one segment of a pass."""

    move: Attr[str]
    stage: Attr[str]
    #: backfill, verify, ...
    task: Attr[str]
    segment: Attr[int]
    segments: Attr[int]
    #: where the scan continues, as JSON; absent at the beginning
    start: Attr[str | None] = field(None)
    done: Attr[bool] = field(False)
    seen: Attr[int] = field(0)
    written: Attr[int] = field(0)
    failed: Attr[int] = field(0)
    #: checksums of a verification by bucket: number of items and sum of digests
    sums: Attr[dict[str, Any]] = field(factory=dict)
    started_at: Attr[datetime | None] = field(None)
    changed_at: Attr[datetime | None] = field(None)

    key = Key("PASS#{move}#{stage}#{task}", "{segment:06d}")
    of_pass = Pattern(title="The segments of one pass")


class ItemError(Entity, table=migrations_table, tag="item-error"):
    """An item that could not be moved, or that differs from its copy."""

    move: Attr[str]
    stage: Attr[str]
    #: the layout that the key belongs to
    side: Attr[Literal["old", "new"]]
    #: a digest of the key
    digest: Attr[str]
    #: the key as JSON
    item_key: Attr[str]
    #: orphan, inconvertible, differs, missing, surplus, stale
    reason: Attr[str]
    why: Attr[str]
    at: Attr[datetime]

    key = Key("ERRORS#{move}#{stage}", "{side}#{digest}")
    of_stage = Pattern(title="The items of a stage that could not be moved")


class KeptValues(Entity, table=migrations_table, tag="kept-values"):
    """Attributes of a deleted item that only its side of the move had, kept for a rollback."""

    move: Attr[str]
    stage: Attr[str]
    side: Attr[Literal["old", "new"]]
    shard: Attr[int]
    #: a digest of the item's key
    digest: Attr[str]
    #: the wire attributes, as JSON
    values: Attr[str]

    key = Key("KEPT#{move}#{stage}#{side}#{shard}", "{digest}")
    of_shard = Pattern(title="A part of what was kept of a side")


class MigrationRecord(Entity, table=migrations_table, tag="migration"):
    """The state of one numbered migration of an application."""

    application: Attr[str]
    number: Attr[int]
    name: Attr[str]
    state: Attr[Literal["applying", "applied", "rolling-back", "rolled-back", "failed"]]
    changed_at: Attr[datetime]
    changed_by: Attr[str]
    error: Attr[str | None] = field(None)
    #: whether it is paused
    paused: Attr[bool] = field(False)
    #: whether a process began to work on it and has not ended its work; one that was killed leaves this behind
    working: Attr[bool] = field(False)

    key = Key("LEDGER#{application}", "STATE#{number:06d}")
    of_application = Pattern(title="The migrations of an application, by number")


class LedgerEntry(Entity, table=migrations_table, tag="ledger"):
    """A ledger entry: what was done to a migration, when, by whom, with what result."""

    entry_id: Attr[UUID] = new_uuid()
    application: Attr[str]
    number: Attr[int]
    at: Attr[datetime]
    #: apply, verify, repeat, rollback, restore, pause, resume
    action: Attr[str]
    by: Attr[str]
    result: Attr[str]
    details: Attr[dict[str, Any]] = field(factory=dict)

    key = Key("LEDGER#{application}", "DONE#{at}#{entry_id}")
    history = Pattern(title="What was done to an application's migrations, newest first", order="desc")
