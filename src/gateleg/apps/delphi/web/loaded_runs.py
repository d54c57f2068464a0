"""The results of completed runs, from the cache that the API and the pages of a host share."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gateleg.event_loops import import_in_thread

if TYPE_CHECKING:
    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.apps.delphi.web.run_cache import LoadedRun, RunCache
    from gateleg.store import AsyncStore

_caches: WeakKeyDictionary[AsyncStore, RunCache] = WeakKeyDictionary()


async def load_run(store: AsyncStore, votes: Run, topics: Run | None = None) -> LoadedRun:
    """The results of two completed runs. The first call in a process imports SciPy."""
    make_cache: type[RunCache] = (await import_in_thread("gateleg.apps.delphi.web.run_cache")).RunCache
    return await _caches.setdefault(store, make_cache()).load(store, votes, topics)
