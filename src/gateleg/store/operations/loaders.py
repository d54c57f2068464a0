"""Loaders combine reads of single items into batches, and cache them. Create one for each request of a user: caches must be short-lived."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model import Ref, spec_of
from gateleg.model.keys.key_arguments import Presets
from gateleg.store.operations.batch_flows import GET_LIMIT
from gateleg.store.operations.batches import BatchGet
from gateleg.store.operations.identities import Identity, identity
from gateleg.store.operations.operation import locate

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from gateleg.model import Condition
    from gateleg.store.operations.operation import Operation
    from gateleg.store.setup import Setup
    from gateleg.store.unreadable import Unreadable

E = TypeVar("E", bound=BaseModel)


class _Keys(Generic[E]):
    """References, cache keys and read operations of a loader."""

    def __init__(self, entity: type[E], setup: Setup, consistent: bool) -> None:
        self._entity = entity
        self._setup = setup
        self._consistent = consistent
        self._table = setup.name_of(spec_of(entity).table)

    def ref(self, conditions: tuple[Condition, ...], components: dict[str, Any]) -> Ref[E]:
        """The reference for a caller's arguments, completed with the components of the scope."""
        scope = self._setup.scope
        presets: tuple[Any, ...] = () if scope is None else (Presets(scope.values),)
        return locate(self._entity, (*conditions, *presets), components)

    def place(self, ref: Ref[E]) -> Identity:
        """The cache key of a reference."""
        return identity(self._table, ref.key)

    def operation(self, refs: Sequence[Ref[E]]) -> Operation[list[E | None]]:
        """The operation that reads the items of references."""
        return BatchGet(tuple(refs), self._consistent)


class Loader(Generic[E]):
    """Reads items of one entity by key, in batches, and caches them: `store.loader(Agent).load_many([Agent.key(...), ...])`."""

    def __init__(self, entity: type[E], setup: Setup, run: Callable[[Operation[Any]], Any], consistent: bool = False) -> None:
        self._keys = _Keys(entity, setup, consistent)
        self._run = run
        self._cache: dict[Identity, E | None] = {}
        self._unreadable: dict[Identity, Unreadable] = {}

    def load(self, *key: Condition[E], **components: Any) -> E | None:
        """Read one item by its key components; None if it does not exist. Raises `DecodeError` if the item cannot be decoded."""
        ref = self._keys.ref(key, components)
        found = self.load_many([ref])[0]
        bad = self._unreadable.get(self._keys.place(ref))
        if bad is not None:
            raise bad.error
        return found

    def load_many(self, refs: Sequence[Ref[E]]) -> list[E | None]:
        """Read several items, in the order of the references, with None for each item that does not exist or cannot be decoded."""
        places = [self._keys.place(ref) for ref in refs]
        wanted = {place: ref for place, ref in zip(places, refs, strict=True) if place not in self._cache}
        if wanted:
            found = self._run(self._keys.operation(list(wanted.values())))
            self._cache |= dict(zip(wanted, found, strict=True))
            self._unreadable |= {self._keys.place(bad.ref): bad for bad in found.unreadable}
        return [self._cache[place] for place in places]

    def prime(self, instance: E) -> None:
        """Add an instance to the cache, such as one that was just written."""
        place = self._keys.place(spec_of(type(instance)).ref(instance))
        self._cache[place] = instance
        self._unreadable.pop(place, None)

    def clear(self) -> None:
        """Empty the cache."""
        self._cache.clear()
        self._unreadable.clear()


class AsyncLoader(Generic[E]):
    """Reads items of one entity by key and caches them. Items requested in the same iteration of the event loop are read in one batch."""

    def __init__(
        self, entity: type[E], setup: Setup, run: Callable[[Operation[Any]], Coroutine[Any, Any, Any]], consistent: bool = False
    ) -> None:
        self._keys = _Keys(entity, setup, consistent)
        self._run = run
        self._cache: dict[Identity, asyncio.Future[E | None]] = {}
        self._waiting: dict[Identity, Ref[E]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._unreadable: dict[Identity, Unreadable] = {}

    async def load(self, *key: Condition[E], **components: Any) -> E | None:
        """Read one item by its key components; None if it does not exist. Raises `DecodeError` if the item cannot be decoded."""
        ref = self._keys.ref(key, components)
        found = await self._future(ref)
        bad = self._unreadable.get(self._keys.place(ref))
        if bad is not None:
            raise bad.error
        return found

    async def load_many(self, refs: Sequence[Ref[E]]) -> list[E | None]:
        """Read several items, in the order of the references, with None for each item that does not exist or cannot be decoded."""
        return list(await asyncio.gather(*[self._future(ref) for ref in refs]))

    def prime(self, instance: E) -> None:
        """Add an instance to the cache, such as one that was just written."""
        future: asyncio.Future[E | None] = asyncio.get_running_loop().create_future()
        future.set_result(instance)
        place = self._keys.place(spec_of(type(instance)).ref(instance))
        self._cache[place] = future
        self._unreadable.pop(place, None)

    def clear(self) -> None:
        """Empty the cache; reads in progress continue."""
        self._cache = {place: future for place, future in self._cache.items() if not future.done()}
        self._unreadable.clear()

    def _future(self, ref: Ref[E]) -> asyncio.Future[E | None]:
        place = self._keys.place(ref)
        future = self._cache.get(place)
        if future is None:
            loop = asyncio.get_running_loop()
            future = self._cache[place] = loop.create_future()
            self._waiting[place] = ref
            if len(self._waiting) == 1:
                # Requests until the next iteration of the event loop join this batch.
                loop.call_soon(self._dispatch)
        # Shielded, so that cancelling one caller does not cancel the read for others.
        return asyncio.shield(future)

    def _dispatch(self) -> None:
        waiting, self._waiting = list(self._waiting.items()), {}
        for start in range(0, len(waiting), GET_LIMIT):
            task = asyncio.get_running_loop().create_task(self._load(dict(waiting[start : start + GET_LIMIT])))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _load(self, batch: dict[Identity, Ref[E]]) -> None:
        futures = {place: self._cache[place] for place in batch}
        try:
            results = await self._run(self._keys.operation(list(batch.values())))
        except BaseException as error:
            for place, future in futures.items():
                self._cache.pop(place, None)
                if not future.done():
                    future.set_exception(error) if isinstance(error, Exception) else future.cancel()
            if not isinstance(error, Exception):
                raise
            return
        self._unreadable |= {self._keys.place(bad.ref): bad for bad in results.unreadable}
        for future, result in zip(futures.values(), results, strict=True):
            if not future.done():
                future.set_result(result)
