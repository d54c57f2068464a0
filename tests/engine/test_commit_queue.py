"""What holds for writes that share commits, on a real engine, seen by a second engine on the same file."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.engine import Engine, EngineError
from gateleg.engine.commit_queue import CommitQueue
from tests.engine.operations.requests import table

#: Everything on the event loop; waits in a thread; waits and commits in a thread.
SHAPES: list[dict[str, bool]] = [{}, {"thread": True}, {"thread": True, "commits_in_thread": True}]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=["loop", "waits-in-thread", "thread"])


def put(engine: Engine, name: str, **more: Any) -> str:
    engine.call("PutItem", {"TableName": "Music", "Item": {"a": {"S": name}}, **more})
    return name


def names(engine: Engine) -> set[str]:
    return {item["a"]["S"] for item in engine.call("Scan", {"TableName": "Music"})["Items"]}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "data.db", durability="relaxed", background=False) as engine:
        engine.call("CreateTable", table("a"))
        yield engine


@pytest.fixture
def observer(engine: Engine) -> Iterator[Engine]:
    with Engine(engine.path, background=False) as observer:
        yield observer


@asynccontextmanager
async def queue_on(engine: Engine, **options: Any) -> AsyncIterator[CommitQueue]:
    queue = CommitQueue(engine, **{"max_writes": 4, **options})
    yield queue
    await asyncio.wait_for(queue.drain(), 30)
    queue.close()


async def outcome_of(queue: CommitQueue, perform: Callable[[], Any], **options: Any) -> Any:
    outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    queue.submit(perform, outcome.set_result, **options)
    return await asyncio.wait_for(outcome, 30)


def count_groups(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of groups that were begun, in a list of one."""
    groups = [0]
    for name in ("begin_group", "try_begin_group"):
        begin = getattr(engine, name)

        def counted(begin: Callable[[], Any] = begin) -> Any:
            groups[0] += 1
            return begin()

        monkeypatch.setattr(engine, name, counted)
    return groups


@shapes
async def test_writes_of_one_turn_share_a_commit(engine: Engine, shape: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    groups = count_groups(engine, monkeypatch)
    async with queue_on(engine, **shape) as queue:
        assert await asyncio.gather(*(outcome_of(queue, partial(put, engine, name)) for name in "abcd")) == list("abcd")
    assert groups == [1]


@shapes
async def test_more_writes_than_fit_take_several_commits(engine: Engine, shape: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    groups = count_groups(engine, monkeypatch)
    async with queue_on(engine, **shape) as queue:
        await asyncio.gather(*(outcome_of(queue, partial(put, engine, name)) for name in "abcdefghi"))
    assert groups == [3]


@shapes
@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_acknowledged_writes_are_durable_in_order_and_on_their_own(
    engine: Engine, observer: Engine, shape: dict[str, bool], data: st.DataObject
) -> None:
    kinds = ["write", "refused", "broken", "pause", *(["alone"] if shape else [])]
    steps = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=20))
    acknowledged: list[int] = []
    faults: list[int] = []

    def perform(number: int, kind: str) -> str:
        if kind == "broken":
            raise LookupError(number)
        return put(engine, f"{number}", **({"ConditionExpression": "attribute_exists(b)"} if kind == "refused" else {}))

    def acknowledge(number: int, kind: str, outcome: Any) -> None:
        acknowledged.append(number)
        if kind in ("write", "alone"):
            is_right = outcome == f"{number}" and f"{number}" in names(observer)
        else:
            is_right = isinstance(outcome, LookupError if kind == "broken" else EngineError)
        if not is_right:
            faults.append(number)

    async def run() -> None:
        async with queue_on(engine, **shape) as queue:
            for number, kind in enumerate(steps):
                if kind == "pause":
                    await asyncio.sleep(0)
                else:
                    queue.submit(partial(perform, number, kind), partial(acknowledge, number, kind), alone=kind == "alone")

    for name in names(engine):
        engine.call("DeleteItem", {"TableName": "Music", "Key": {"a": {"S": name}}})
    asyncio.run(run())
    assert faults == []
    assert acknowledged == [number for number, kind in enumerate(steps) if kind != "pause"]
    assert names(observer) == {f"{number}" for number, kind in enumerate(steps) if kind in ("write", "alone")}


@shapes
async def test_a_failed_commit_is_the_error_of_all_writes(engine: Engine, observer: Engine, shape: dict[str, bool]) -> None:
    def spoil() -> None:
        # What SQLite does by itself when the disk is full.
        engine.database.group_connection().execute("ROLLBACK")

    async with queue_on(engine, **shape) as queue:
        performs: list[Callable[[], Any]] = [
            partial(put, engine, "a"),
            partial(put, engine, "b", ConditionExpression="attribute_exists(b)"),
            spoil,
        ]
        outcomes = await asyncio.gather(*(outcome_of(queue, perform) for perform in performs))
        assert ["nothing was written" in str(outcome) for outcome in outcomes] == [True] * 3
        assert names(observer) == set()
        assert await outcome_of(queue, partial(put, engine, "c")) == "c"


@shapes
async def test_a_group_that_cannot_begin_is_the_error_of_all_writes(
    engine: Engine, shape: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy() -> None:
        raise EngineError("InternalServerError", "busy")

    async with queue_on(engine, **shape) as queue:
        monkeypatch.setattr(engine, "begin_group", busy)
        monkeypatch.setattr(engine, "try_begin_group", busy)
        outcomes = await asyncio.gather(*(outcome_of(queue, partial(put, engine, name)) for name in "ab"))
        assert [outcome.message for outcome in outcomes] == ["busy", "busy"]
        monkeypatch.undo()
        assert await outcome_of(queue, partial(put, engine, "c")) == "c"


async def test_a_commit_waits_for_writes_that_are_expected_but_not_forever(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = count_groups(engine, monkeypatch)
    async with queue_on(engine, linger=600.0) as queue:
        queue.expects_more = lambda: True
        first = asyncio.ensure_future(outcome_of(queue, partial(put, engine, "a")))
        for _ in range(20):
            await asyncio.sleep(0)
        assert groups == [0]
        second = asyncio.ensure_future(outcome_of(queue, partial(put, engine, "b")))
        await asyncio.sleep(0)
        queue.expects_more = lambda: False
        assert [await first, await second] == ["a", "b"]
        assert groups == [1]
        queue.expects_more, queue.linger = lambda: True, 0.001
        assert await outcome_of(queue, partial(put, engine, "c")) == "c"


async def test_the_loop_goes_on_while_another_process_writes(engine: Engine, observer: Engine) -> None:
    async with queue_on(engine, thread=True) as queue:
        held = observer.begin_group()
        waiting = asyncio.ensure_future(outcome_of(queue, partial(put, engine, "a")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert names(engine) == set()
        held.commit()
        assert await waiting == "a"


async def test_what_runs_alone_runs_off_the_loop_between_two_groups(engine: Engine) -> None:
    order: list[object] = []

    def note(what: str) -> None:
        order.append((what, threading.current_thread() is threading.main_thread(), engine.database._group is not None))

    async with queue_on(engine, thread=True) as queue:
        await asyncio.gather(
            outcome_of(queue, partial(note, "before")),
            outcome_of(queue, partial(note, "alone"), alone=True),
            outcome_of(queue, partial(note, "after")),
        )
    assert order == [("before", True, True), ("alone", False, False), ("after", True, True)]


async def test_only_a_queue_with_a_thread_runs_a_write_alone(engine: Engine) -> None:
    async with queue_on(engine) as queue:
        with pytest.raises(TypeError, match="thread"):
            queue.submit(lambda: None, lambda _: None, alone=True)


@pytest.mark.parametrize("alone", [False, True])
async def test_a_queue_whose_thread_dies_says_so(
    engine: Engine, observer: Engine, alone: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def exit_thread(*_: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            sys.exit("by accident")

    async with queue_on(engine, thread=True, commits_in_thread=True) as queue:
        if not alone:
            monkeypatch.setattr(engine.database, "on_rollback", lambda: None)
            monkeypatch.setattr("gateleg.engine.database._commit", exit_thread)
        first, *others = await asyncio.gather(
            outcome_of(queue, exit_thread if alone else partial(put, engine, "a"), alone=alone),
            *(outcome_of(queue, partial(put, engine, name)) for name in "bcdefg"),
        )
        assert isinstance(first, EngineError)
        assert "interrupted" in str(first)
        assert isinstance(others[-1], EngineError)
        assert "thread that commits writes has ended" in str(others[-1])
        assert "by accident" in str(await outcome_of(queue, partial(put, engine, "z")))
    monkeypatch.undo()
    assert names(observer) == set()
    assert "has ended" in caplog.text
    assert put(engine, "y") == "y"


def test_ctrl_c_in_a_write_undoes_its_group_and_nobody_waits(engine: Engine) -> None:
    acknowledged: list[Any] = []
    queue = CommitQueue(engine, max_writes=4)

    def interrupt() -> None:
        raise KeyboardInterrupt

    async def run() -> None:
        queue.submit(partial(put, engine, "a"), acknowledged.append)
        queue.submit(interrupt, acknowledged.append)
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run())
    assert ["interrupted" in str(outcome) for outcome in acknowledged] == [True, True]
    assert names(engine) == set()
    assert asyncio.run(outcome_of(queue, partial(put, engine, "b"))) == "b"


async def test_an_acknowledgement_that_fails_does_not_keep_the_others_waiting(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    async with queue_on(engine) as queue:
        queue.submit(partial(put, engine, "a"), lambda _: [].pop())
        assert await outcome_of(queue, partial(put, engine, "b")) == "b"
    assert "pop from empty list" in caplog.text


async def test_a_closed_queue_refuses_writes(engine: Engine) -> None:
    async with queue_on(engine, thread=True) as queue:
        pass
    assert "closed" in str(await outcome_of(queue, partial(put, engine, "a")))
    assert names(engine) == set()
