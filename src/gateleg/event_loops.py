"""The event loop of servers, and imports that must not hold it. Imports no room."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

__all__ = ["import_in_thread", "new_event_loop"]


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's event loop, which serves more requests, if it is installed; otherwise asyncio's."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def import_in_thread(name: str) -> Any:
    """Import a module in a thread: one with large dependencies takes up to seconds, in which the event loop must go on."""
    return await asyncio.to_thread(import_module, name)
