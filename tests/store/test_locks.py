"""Locks: one holder at a time, fenced."""

from typing import Any

import pytest

from gateleg.store import AsyncStore, LockHeld, Store
from gateleg.store.errors import InvalidOption, LockLost
from gateleg.store.locks import acquire, locks, release, renew
from tests.store.doubles import Ticking


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def store(memory: Store, clock: Ticking) -> Store:
    memory.create_tables(locks)
    return Store(memory.transport, clock=clock)


def test_lock_has_one_holder(store: Store) -> None:
    with store.lock("export", seconds=60, holder="ann") as lock:
        assert lock.holder == "ann"
        with pytest.raises(LockHeld, match="'export' is held by ann until"):
            store.run(acquire("export", seconds=60))
        with store.lock("import", seconds=60):
            pass
    with store.lock("export", seconds=60) as again:
        assert again.fence == lock.fence + 1


def test_expired_lock_goes_to_the_next_holder_with_a_greater_fence(store: Store, clock: Ticking) -> None:
    first = store.run(acquire("export", seconds=60))
    clock.now += 60
    second = store.run(acquire("export", seconds=60))
    assert second.fence == first.fence + 1
    with pytest.raises(LockLost):
        store.run(renew(first, seconds=60))


def test_late_release_does_not_release_the_lock_of_the_next_holder(store: Store, clock: Ticking) -> None:
    first = store.run(acquire("export", seconds=60))
    clock.now += 61
    store.run(acquire("export", seconds=60))
    store.run(release(first))
    with pytest.raises(LockHeld):
        store.run(acquire("export", seconds=60))


def test_renewed_lock_is_held_longer(store: Store, clock: Ticking) -> None:
    lock = store.run(acquire("export", seconds=60))
    clock.now += 50
    assert store.run(renew(lock, seconds=60)).fence == lock.fence
    clock.now += 50
    with pytest.raises(LockHeld):
        store.run(acquire("export", seconds=60))


def test_lock_is_released_when_the_block_raises(store: Store) -> None:
    def fail_inside() -> None:
        with store.lock("export", seconds=60):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_inside()
    store.run(acquire("export", seconds=60))


async def test_lock_can_be_awaited() -> None:
    async with AsyncStore.embedded() as store:
        await store.create_tables(locks)
        async with store.lock("export", seconds=60):
            with pytest.raises(LockHeld):
                await store.run(acquire("export", seconds=60))
        await store.run(acquire("export", seconds=60))


@pytest.mark.parametrize("seconds", [0, -1, "30", None, True, float("nan")])
def test_a_lock_and_a_timeout_need_a_positive_number_of_seconds(seconds: Any) -> None:
    with Store.embedded() as store:
        with pytest.raises(InvalidOption, match="positive number of seconds"):
            store.lock("export", seconds=seconds)
        with pytest.raises(InvalidOption, match="positive number of seconds"):
            store.within(seconds)
