"""Consume DynamoDB streams of tables: handlers of changes, with leases, checkpoints and stored failures.

streams = TableStreams()

@streams.on(Order)
async def changed(change: Change[Order]) -> None: ...

await StreamConsumer(store, streams).run()              on several machines at once; each shard has one consumer
"""

from gateleg.jobs.table_streams.consumer import StreamConsumer
from gateleg.jobs.table_streams.registry import ChangeHandler, TableStreams
from gateleg.jobs.table_streams.tables import FailedChange, ShardLease, stream_table

__all__ = ["ChangeHandler", "FailedChange", "ShardLease", "StreamConsumer", "TableStreams", "stream_table"]
