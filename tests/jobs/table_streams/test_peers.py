"""Consuming the stream of another server (`make peers`)."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from gateleg.jobs.table_streams import stream_table
from tests.jobs.table_streams.test_consumer import Heard, Order, consumer, orders, write
from tests.store.transports.servers import ASYNC_PEERS

pytestmark = pytest.mark.peer


async def test_changes_come_in_order_and_the_next_run_goes_on_after_the_checkpoint(tmp_path: Path) -> None:
    first, second = Heard(), Heard()
    with ExitStack() as stack:
        async with ASYNC_PEERS["moto"](stack, tmp_path) as store:
            await store.create_tables(orders, stream_table)
            order = await store.put(Order(order="a"))
            await store.patch(order, Order.state.set("paid"))
            await store.delete(order)
            assert await consumer(store, first).round() == 3
            assert first.told == [("created", "a", "new"), ("changed", "a", "paid"), ("deleted", "a", None)]
            await write(store, 1, 2)
            assert await consumer(store, second).round() == 2
            assert [name for _, name, _ in second.told] == ["o1", "o2"]
