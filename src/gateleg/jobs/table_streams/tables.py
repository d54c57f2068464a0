"""What consumers of streams keep: who reads which shard and how far, and the changes that a handler could not take."""

from datetime import datetime
from typing import Any

from gateleg.model import TTL, Attr, Compressed, Entity, Key, Pattern, Table, field

stream_table = Table("GatelegStreams", hash="pk", range="sk", tag="kind")


class ShardLease(Entity, table=stream_table, tag="shard"):
    """Who reads a shard for a consumer, and how far it has been read."""

    consumer: Attr[str]
    #: the ARN of the stream
    stream: Attr[str]
    shard: Attr[str]
    #: the name of the table in its documents
    table: Attr[str]
    #: the shard that is read before this one
    parent: Attr[str | None] = field(None)
    #: the process that reads it; nobody, when it is empty
    owner: Attr[str] = field("")
    #: moves with everything that the owner writes: whoever sees it stand still for the time of a lease may take the shard
    counter: Attr[int] = field(0)
    #: the sequence number of the last change that was handled
    checkpoint: Attr[str | None] = field(None)
    handled: Attr[int] = field(0)
    #: whether all of the shard has been handled
    done: Attr[bool] = field(False)
    #: when a shard that is done is forgotten; its stream has forgotten it before
    expires_at: Attr[TTL | None] = field(None)

    key = Key("CONSUMER#{consumer}", "SHARD#{stream}#{shard}")
    of_consumer = Pattern(title="The shards of a consumer")


class FailedChange(Entity, table=stream_table, tag="failed"):
    """A change that a handler has refused as often as it is tried."""

    consumer: Attr[str]
    event_id: Attr[str]
    handler: Attr[str]
    table: Attr[str]
    #: the record of the stream as it was read
    record: Attr[Compressed[dict[str, Any]]]
    error: Attr[str] = field("", max_length=4000)
    attempts: Attr[int] = field(0)
    failed_at: Attr[datetime]

    key = Key("CONSUMER#{consumer}", "FAILED#{event_id}#{handler}")
    of_consumer = Pattern(title="The failed changes of a consumer")
