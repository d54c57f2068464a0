"""The table of migrations: phases of moves, fences, processes, checkpoints, item errors, and the ledger."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from gateleg.migrate.moves.phases import Phase
from gateleg.model import TTL, Attr, Entity, Key, Pattern, Table, Version, field, new_uuid

migrations_table = Table("GatelegMigrations", hash="pk", range="sk", tag="kind")

#: how many copies of a fence there are, so that writers do not all check one item
FENCES = 8
#: how many partitions kept values are spread over
KEPT_SHARDS = 16


class MoveState(Entity, table=migrations_table, tag="move"):
    """How far a stage of a move is."""

    #: `KeyMove.state_key`, as in all other items of a move
    move: Attr[str]
    stage: Attr[str]
    phase: Attr[Phase] = field(Phase.OFF)
    #: one more with every change of the phase
    epoch: Attr[int] = field(0)
    paused: Attr[bool] = field(False)
    #: what the last verification found: None when there is none since the backfill
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
    """A process that reads or writes entities that move, and which phases it acts upon. Until `until`, it may."""

    process: Attr[str]
    host: Attr[str] = field("")
    #: seconds since 1970
    until: Attr[float]
    #: the moves that it knows of
    moves: Attr[list[str]] = field(factory=list)
    #: the epoch of each stage that it acts upon, by `move#stage`
    epochs: Attr[dict[str, int]] = field(factory=dict)
    #: when it last used an old entity, by move
    old_used: Attr[dict[str, float]] = field(factory=dict)
    #: reads and writes of items that move since the process began, how many have failed, and the seconds that they took
    requests: Attr[int] = field(0)
    failures: Attr[int] = field(0)
    seconds: Attr[float] = field(0.0)
    expires_at: Attr[TTL]

    key = Key("PROCESSES", "{process}")
    every = Pattern(title="All processes that use entities which move")


class Checkpoint(Entity, table=migrations_table, tag="checkpoint"):
    """How far one segment of a pass over a table has come."""

    move: Attr[str]
    stage: Attr[str]
    #: backfill, verify, ...
    task: Attr[str]
    segment: Attr[int]
    segments: Attr[int]
    #: where the scan goes on, as JSON; absent at the beginning
    start: Attr[str | None] = field(None)
    done: Attr[bool] = field(False)
    seen: Attr[int] = field(0)
    written: Attr[int] = field(0)
    failed: Attr[int] = field(0)
    #: what a verification has added up, by bucket: number of items and sum of digests
    sums: Attr[dict[str, Any]] = field(factory=dict)
    started_at: Attr[datetime | None] = field(None)
    changed_at: Attr[datetime | None] = field(None)

    key = Key("PASS#{move}#{stage}#{task}", "{segment:06d}")
    of_pass = Pattern(title="The segments of one pass")


class ItemError(Entity, table=migrations_table, tag="item-error"):
    """An item that could not be moved, or that differs from its copy."""

    move: Attr[str]
    stage: Attr[str]
    #: which of the two layouts the key belongs to
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
    """What only one side of a move knew of an item that was removed from it, for the way back."""

    move: Attr[str]
    stage: Attr[str]
    side: Attr[Literal["old", "new"]]
    shard: Attr[int]
    #: a digest of the item's key
    digest: Attr[str]
    #: the attributes on the wire, as JSON
    values: Attr[str]

    key = Key("KEPT#{move}#{stage}#{side}#{shard}", "{digest}")
    of_shard = Pattern(title="A part of what was kept of a side")


class MigrationRecord(Entity, table=migrations_table, tag="migration"):
    """Where one numbered migration of an application stands."""

    application: Attr[str]
    number: Attr[int]
    name: Attr[str]
    state: Attr[Literal["applying", "applied", "rolling-back", "rolled-back", "failed"]]
    changed_at: Attr[datetime]
    changed_by: Attr[str]
    error: Attr[str | None] = field(None)
    #: whether somebody wants the work on it to stop
    paused: Attr[bool] = field(False)

    key = Key("LEDGER#{application}", "STATE#{number:06d}")
    of_application = Pattern(title="The migrations of an application, by number")


class LedgerEntry(Entity, table=migrations_table, tag="ledger"):
    """Something that was done to a migration: when, by whom, with what result."""

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
