"""The table of stream consumers: leases and checkpoints of shards, and failed changes."""

from datetime import datetime
from typing import Any

from gateleg.model import TTL, Attr, Compressed, Entity, Key, Pattern, Table, field

stream_table = Table("GatelegStreams", hash="pk", range="sk", tag="kind")


class ShardLease(Entity, table=stream_table, tag="shard"):
    """The lease and checkpoint of a shard, for one consumer."""

    consumer: Attr[str]
    #: the ARN of the stream
    stream: Attr[str]
    shard: Attr[str]
    #: the declared name of the table
    table: Attr[str]
    #: the parent shard, which is read before this one
    parent: Attr[str | None] = field(None)
    #: the process that reads it; empty if none does
    owner: Attr[str] = field("")
    #: incremented by each write of the owner; if it stays unchanged for the duration of a lease, another process may take the shard over
    counter: Attr[int] = field(0)
    #: the sequence number of the last change that was handled
    checkpoint: Attr[str | None] = field(None)
    handled: Attr[int] = field(0)
    #: whether the shard is finished
    done: Attr[bool] = field(False)
    #: when the item of a finished shard expires; later than the shard itself
    expires_at: Attr[TTL | None] = field(None)

    key = Key("CONSUMER#{consumer}", "SHARD#{stream}#{shard}")
    of_consumer = Pattern(title="The shards of a consumer")


class FailedChange(Entity, table=stream_table, tag="failed"):
    """A change for which all attempts of a handler failed."""

    consumer: Attr[str]
    event_id: Attr[str]
    handler: Attr[str]
    table: Attr[str]
    #: the stream record as it was read
    record: Attr[Compressed[dict[str, Any]]]
    error: Attr[str] = field("", max_length=4000)
    attempts: Attr[int] = field(0)
    failed_at: Attr[datetime]

    key = Key("CONSUMER#{consumer}", "FAILED#{event_id}#{handler}")
    of_consumer = Pattern(title="The failed changes of a consumer")
