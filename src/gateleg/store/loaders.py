"""Loaders combine reads of single items into batches, and cache them. Create one for each request of a user: caches must be short-lived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.model.keys import Presets
from gateleg.store.operations.batches import BatchGet
from gateleg.store.operations.operation import GET_LIMIT, item_key, locate

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from gateleg.model import Condition, Ref
    from gateleg.store.operations.operation import ItemKey, Operation
    from gateleg.store.operations.reads import Items
    from gateleg.store.setup import Setup, Unreadable

E = TypeVar("E", bound=BaseModel)


class LoaderBase(Generic[E]):
    """What both kinds of loaders share: keys, reads, and the items that cannot be decoded. `run` is the method of the store."""

    def __init__(self, entity: type[E], setup: Setup, run: Callable[[Operation[Any]], Any], consistent: bool = False) -> None:
        self._entity = entity
        self._setup = setup
        self._run = run
        self._consistent = consistent
        self._table = setup.name_of(spec_of(entity).table)
        self._unreadable: dict[ItemKey, Unreadable] = {}

    def _ref(self, conditions: tuple[Condition, ...], components: dict[str, Any]) -> Ref[E]:
        """The reference for a caller's arguments, completed with the components of the scope."""
        scope = self._setup.scope
        presets: tuple[Any, ...] = () if scope is None else (Presets(scope.values),)
        return locate(self._entity, (*conditions, *presets), components)

    def _place(self, ref: Ref[Any]) -> ItemKey:
        """The cache key of a reference."""
        return item_key(self._table, ref.key)

    def _read(self, refs: Sequence[Ref[E]]) -> Any:
        """Run the operation that reads the items of references."""
        return self._run(BatchGet(tuple(refs), self._consistent))

    def _note_unreadable(self, items: Items[E | None]) -> None:
        self._unreadable |= {self._place(bad.ref): bad for bad in items.unreadable}

    def _check_readable(self, ref: Ref[E]) -> None:
        """Raise the `DecodeError` of an item that was read and cannot be decoded."""
        bad = self._unreadable.get(self._place(ref))
        if bad is not None:
            raise bad.error

    def _replaced(self, instance: E) -> ItemKey:
        """The cache key of an instance that replaces what was read."""
        place = self._place(spec_of(type(instance)).ref(instance))
        self._unreadable.pop(place, None)
        return place


class Loader(LoaderBase[E]):
    """Reads items of one entity by key, in batches, and caches them: `store.loader(Agent).load_many([Agent.key(...), ...])`."""

    def __init__(self, entity: type[E], setup: Setup, run: Callable[[Operation[Any]], Any], consistent: bool = False) -> None:
        super().__init__(entity, setup, run, consistent)
        self._cache: dict[ItemKey, E | None] = {}

    def load(self, *key: Condition[E], **components: Any) -> E | None:
        """Read one item by its key components; None if it does not exist. Raises `DecodeError` if the item cannot be decoded."""
        ref = self._ref(key, components)
        (item,) = self.load_many([ref])
        self._check_readable(ref)
        return item

    def load_many(self, refs: Sequence[Ref[E]]) -> list[E | None]:
        """Read several items, in the order of the references, with None for each item that does not exist or cannot be decoded."""
        places = [self._place(ref) for ref in refs]
        missing = {place: ref for place, ref in zip(places, refs, strict=True) if place not in self._cache}
        if missing:
            items = self._read(list(missing.values()))
            self._cache |= dict(zip(missing, items, strict=True))
            self._note_unreadable(items)
        return [self._cache[place] for place in places]

    def prime(self, instance: E) -> None:
        """Add an instance to the cache, such as one that was just written."""
        self._cache[self._replaced(instance)] = instance

    def clear(self) -> None:
        """Empty the cache."""
        self._cache.clear()
        self._unreadable.clear()


class AsyncLoader(LoaderBase[E]):
    """Reads items of one entity by key and caches them. Items requested in the same iteration of the event loop are read in one batch.

    Its methods import asyncio themselves, so that programs without an event loop do not import it with the package.
    """

    def __init__(self, entity: type[E], setup: Setup, run: Callable[[Operation[Any]], Any], consistent: bool = False) -> None:
        super().__init__(entity, setup, run, consistent)
        self._cache: dict[ItemKey, asyncio.Future[E | None]] = {}
        self._waiting: dict[ItemKey, Ref[E]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def load(self, *key: Condition[E], **components: Any) -> E | None:
        """Read one item by its key components; None if it does not exist. Raises `DecodeError` if the item cannot be decoded."""
        ref = self._ref(key, components)
        item = await self._future(ref)
        self._check_readable(ref)
        return item

    async def load_many(self, refs: Sequence[Ref[E]]) -> list[E | None]:
        """Read several items, in the order of the references, with None for each item that does not exist or cannot be decoded."""
        from asyncio import gather

        return list(await gather(*[self._future(ref) for ref in refs]))

    def prime(self, instance: E) -> None:
        """Add an instance to the cache, such as one that was just written."""
        from asyncio import get_running_loop

        future: asyncio.Future[E | None] = get_running_loop().create_future()
        future.set_result(instance)
        self._cache[self._replaced(instance)] = future

    def clear(self) -> None:
        """Empty the cache; reads in progress continue."""
        self._cache = {place: future for place, future in self._cache.items() if not future.done()}
        self._unreadable.clear()

    def _future(self, ref: Ref[E]) -> asyncio.Future[E | None]:
        from asyncio import get_running_loop, shield

        place = self._place(ref)
        future = self._cache.get(place)
        if future is None:
            loop = get_running_loop()
            future = self._cache[place] = loop.create_future()
            self._waiting[place] = ref
            if len(self._waiting) == 1:
                # Requests until the next iteration of the event loop join this batch.
                loop.call_soon(self._dispatch)
        # Shielded, so that cancelling one caller does not cancel the read for others.
        return shield(future)

    def _dispatch(self) -> None:
        from asyncio import get_running_loop

        waiting, self._waiting = list(self._waiting.items()), {}
        for start in range(0, len(waiting), GET_LIMIT):
            task = get_running_loop().create_task(self._load(dict(waiting[start : start + GET_LIMIT])))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _load(self, batch: dict[ItemKey, Ref[E]]) -> None:
        futures = {place: self._cache[place] for place in batch}
        try:
            items = await self._read(list(batch.values()))
        except BaseException as error:
            for place, future in futures.items():
                self._cache.pop(place, None)
                if not future.done():
                    future.set_exception(error) if isinstance(error, Exception) else future.cancel()
            if not isinstance(error, Exception):
                raise
            return
        self._note_unreadable(items)
        for future, item in zip(futures.values(), items, strict=True):
            if not future.done():
                future.set_result(item)
