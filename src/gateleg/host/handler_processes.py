"""The handlers of an application in a handler process: they are created again there, with resources of their own."""

from __future__ import annotations

import importlib
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from gateleg.host.application import Application
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs import TableNames

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.jobs import Jobs

__all__ = ["open_jobs"]


def _imported(address: str) -> Any:
    module, name = address.split(":")
    return getattr(importlib.import_module(module), name)


@asynccontextmanager
async def open_jobs(
    settings: dict[str, Any],
    name: str,
    parts: dict[str, str],
    tables: dict[str, str] | None = None,
    further: Sequence[dict[str, str]] = (),
) -> AsyncIterator[Jobs]:
    """The handlers of an application, with the resources that a host provides, opened in this process.

    `parts` are the fields of the application that they need, by import path; `tables` the names of the queue tables that it brings, and
    `further` those that all applications bring.
    """
    fields: dict[str, Any] = {field: _imported(address) for field, address in parts.items()}
    if tables is not None:
        fields["queue_tables"] = partial(TableNames, **tables)
    brought = [TableNames(**names) for names in further]
    async with Host.open(Settings.unpack(settings), [Application(name, name, "", **fields)], prepare=False, further=brought) as host:
        yield host.queue.context.jobs
