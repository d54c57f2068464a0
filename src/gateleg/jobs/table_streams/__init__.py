"""Consume DynamoDB streams of tables: handlers of changes, with leases, checkpoints and stored failures.

A registry of handlers and a consumer:

    streams = TableStreams()

    @streams.on(Order)
    async def changed(change: Change[Order]) -> None: ...

    await StreamConsumer(store, streams, "shop").run()

Any number of processes may run the consumer; each shard is read by one of them.
"""

from gateleg.jobs.table_streams.consumer import ChangeHandler, StreamConsumer, TableStreams
from gateleg.jobs.table_streams.shards import FailedChange, ShardLease, stream_table

__all__ = ["ChangeHandler", "FailedChange", "ShardLease", "StreamConsumer", "TableStreams", "stream_table"]
