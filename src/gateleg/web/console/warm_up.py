"""Warm-up: the first page is slow, because its code and templates are loaded and compiled for the first time."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import nicegui
from nicegui import Client

from gateleg.web.principal import LOCAL

if TYPE_CHECKING:
    from starlette.types import Message

_log = logging.getLogger("gateleg.web")


async def warm() -> None:
    """Build the overview once, so that the first visitor does not wait. Failures are only logged: nothing depends on it."""
    before = set(Client.instances)
    status = 0

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)

    try:
        await nicegui.app(_scope(), receive, send)
    except Exception:
        _log.debug("could not build the overview in advance", exc_info=True)
    finally:
        for name in set(Client.instances) - before:
            with contextlib.suppress(KeyError):
                Client.instances[name].delete()
    _log.debug("built the overview in advance, with status %s", status)


def _scope() -> dict[str, Any]:
    """A request for the overview, of somebody who may see all of it."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"accept", b"text/html"), (b"accept-encoding", b"gzip")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
        "state": {"principal": LOCAL, "session": None, "request_id": "first"},
    }
