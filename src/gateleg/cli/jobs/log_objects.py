"""The object store for long logs of archived jobs."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.objects import AsyncObjects
    from gateleg.web.settings import Settings

__all__ = ["log_objects"]


@asynccontextmanager
async def log_objects(settings: Settings) -> AsyncIterator[AsyncObjects | None]:
    """The configured object store, closed afterwards. None if none is configured: then long logs stay in the queue's tables."""
    from gateleg.objects import ThreadedObjects
    from gateleg.web.host import open_main_objects
    from gateleg.web.settings import DEFAULT

    if settings.origin("objects") == DEFAULT:
        yield None
        return
    objects = cast("AsyncObjects", ThreadedObjects(open_main_objects(settings, settings.load_secret())))
    try:
        yield objects
    finally:
        await objects.close()
