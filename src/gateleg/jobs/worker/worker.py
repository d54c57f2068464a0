"""`Worker`: claims jobs and runs them, several at once, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import math
import os
import random
import socket
from collections import Counter
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from gateleg.jobs.claim.selection import Picker, turn
from gateleg.jobs.errors import JobError, NoHandlers
from gateleg.jobs.finish.complete import SETTLE
from gateleg.jobs.handlers import Handler
from gateleg.jobs.monitor.counts import Tallies
from gateleg.jobs.rules import Failed, Released, is_suspect
from gateleg.jobs.submit.fan_in import GATE
from gateleg.jobs.tables.job import Failure, Job
from gateleg.jobs.tables.records import QueueState, WorkerRecord
from gateleg.jobs.worker.attempt import FLUSH_FAR, FLUSH_NEAR, Execution
from gateleg.jobs.worker.attempt_logs import tell_end, tell_start
from gateleg.jobs.worker.capture import capturing
from gateleg.jobs.worker.change_watcher import Sight
from gateleg.jobs.worker.child_process import ChildPool
from gateleg.jobs.worker.claims_ahead import TOGETHER, WAIT, ClaimsAhead
from gateleg.jobs.worker.maintenance import Duties
from gateleg.jobs.worker.processes import modules_of
from gateleg.jobs.worker.quarantine import Places, confined
from gateleg.jobs.worker.registry import Presence
from gateleg.jobs.worker.runners import AttemptMeans
from gateleg.jobs.worker.scratch import ScratchFolders, default_root
from gateleg.jobs.worker.watchdog import watching_loop
from gateleg.model import ModelError
from gateleg.store import StoreError
from gateleg.store.group_commit import GroupCommitStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from gateleg.store.transports.inline_embedded import DirectTransport

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping
    from pathlib import Path

    from gateleg.jobs.context import JobContext
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.objects import AsyncObjects

_log = logging.getLogger("gateleg.jobs")
#: The ordinary life of a worker: which attempts it begins, and how they end.
_lives = logging.getLogger("gateleg.jobs.worker")
#: The shortest and longest seconds between two looks at empty queues: of an engine in this process, and of one far away.
_NEAR = (0.02, 0.2)
_FAR = (0.05, 2.0)
#: Seconds for which the state of a queue is taken for granted.
_STATES_FOR = 2.0
#: Seconds that are waited at least, so that a turn has surely come.
_MOMENT = 0.002
#: Seconds that handlers have to end once a worker that stops has waited for them, and in which it tries to give their jobs back.
_LAST_WORDS = 2.0
_LAST_WRITES = 4.0
#: Seconds after the time to drain in which a worker has ended, whatever handlers and the store do: the above, and the last reports.
DRAIN_GRACE = 10.0
#: Seconds after which a worker that stops says again what it waits for, and how many jobs it names.
_TELL_EVERY = 5.0
#: Seconds by which words are collected longer for each job that runs: a write takes about a thousandth.
_FLUSH_FOR_EACH = 0.0015
#: Seconds between two sweeps of scratch folders.
_SWEEP_EVERY = 600.0
_NAMED = 20


class Worker:
    """Runs the jobs of some queues.

    `queues` are their names and weights: a queue of weight 3 is looked into first three times as often as one of weight 1. By default they
    are the queues of all handlers. `idle` are the shortest and longest seconds between two looks at queues that are empty: by default up to
    0.2 with an engine in this process, where a look costs next to nothing, and up to 2 elsewhere, where it is paid for. A submission in
    the same process ends the wait, and so does one of another process to the same embedded store. After `stop`, running jobs have
    `drain_seconds` to end before they are given back.
    One worker of each queue also sees to what nobody else does: delayed jobs, lost workers, schedules and the archive, which puts long
    logs into `objects`. What handlers print and log also goes into the logs of their jobs, unless `capture` is false. `scratch` is the
    folder in which attempts have theirs; by default one in the system's temporary folder. `limits` are the most jobs of a queue that run
    here at once, where that is not what the handlers say: a queue that has reached its limit is not looked into, and others go on.
    """

    def __init__(
        self,
        queue: AsyncQueue,
        *,
        queues: Mapping[str, int] | None = None,
        concurrency: int = 4,
        worker_id: str | None = None,
        app_version: str = "",
        idle: tuple[float, float] | None = None,
        drain_seconds: float = 30.0,
        duties: bool = True,
        objects: AsyncObjects | None = None,
        capture: bool = True,
        scratch: Path | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self.queue = shared(queue)
        self.queues = dict(queues or {handler.queue: 1 for handler in queue.context.jobs} or {"default": 1})
        self.concurrency = concurrency
        self.worker_id = worker_id or f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"
        self.app_version = app_version
        self.tallies = Tallies(self.worker_id)
        self.running: dict[UUID, Execution] = {}
        #: whether the store is in this process, so that claims are not lost to others
        self._near = isinstance(self.queue.store, GroupCommitStore)
        self._sight = Sight(self.queue.store.transport)
        self._idle = idle or (_NEAR if self._near else _FAR)
        self._drain_seconds = drain_seconds
        self._picker = Picker(queue.context.setup.ticks, self.worker_id, fresh_for=-1.0 if self._near else 0.2, undisturbed=self._near)
        self._duties = Duties(queue, tuple(self.queues), self.worker_id, objects=objects) if duties else None
        self._states: dict[str, QueueState] = {}
        self._states_at = float("-inf")
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = concurrency
        self._ahead = ClaimsAhead(concurrency if self._near else TOGETHER)
        if isinstance(self.queue.store, GroupCommitStore):
            self.queue.store.expects_more = lambda: self._ahead.together
        #: of which queues there is a limit, and how many jobs of each are here
        self.limits = {**queue.context.jobs.limits, **(limits or {})}
        self._taken: Counter[str] = Counter()
        self._places = Places()
        self._awake = asyncio.Event()
        self._stop = asyncio.Event()
        self._chance = random.Random()
        self._capture = capture
        #: what its attempts have in common
        self.means = AttemptMeans(ScratchFolders(scratch or default_root(), self.worker_id), ChildPool())

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Claim no more jobs, and end when those that run have ended. Called from the event loop's thread."""
        self._stop.set()
        self._awake.set()

    async def run(self) -> None:
        """Work until `stop` is called and the running jobs have ended or were given back."""
        if not self.queue.context.jobs:
            raise NoHandlers("The worker has no handlers.")
        self.means.children.prepare(modules_of(self.queue.context.jobs) | {type(self.queue.store.transport).__module__})
        loop = asyncio.get_running_loop()
        quiet = self.queue.context.jobs.ready.listen(lambda name: loop.call_soon_threadsafe(self._ring, name))
        presence = Presence(self.queue, self._picker, self.tallies, self._record(), self._state, alone=self._near)
        # Who else works on the queues is known before the first claim.
        await presence.report()
        aside = [asyncio.ensure_future(presence.run()), asyncio.ensure_future(self._sweep_scratch())]
        if self._duties is not None:
            aside.append(asyncio.ensure_future(self._duties.run()))
        try:
            with capturing() if self._capture else contextlib.nullcontext(), watching_loop():
                await self._claim_on()
                await self._drain()
        finally:
            quiet()
            for task in aside:
                task.cancel()
            await asyncio.gather(*aside, return_exceptions=True)
            await presence.leave()
            await self._drop_duties()
            await self.means.children.close()
            await asyncio.to_thread(self.means.folders.close)

    async def _sweep_scratch(self) -> None:
        """Remove the folders that lost workers have left behind, at once and now and then."""
        while True:
            await asyncio.to_thread(self.means.folders.sweep)
            await asyncio.sleep(_SWEEP_EVERY)

    def _record(self) -> WorkerRecord:
        now = self.queue.context.now()
        return WorkerRecord(
            worker_id=self.worker_id,
            host=socket.gethostname(),
            pid=os.getpid(),
            app_version=self.app_version,
            queues=sorted(self.queues),
            weights=dict(self.queues),
            concurrency=self.concurrency,
            limits={name: self.limits[name] for name in self.queues if name in self.limits},
            lease_seconds=self.queue.context.settings.lease_seconds,
            started_at=now,
            seen_at=now,
        )

    def _state(self) -> dict[str, Any]:
        """What changes in the worker's record."""
        return {"running": sorted(self.running), "state": "draining" if self._stop.is_set() else "running"}

    async def _drop_duties(self) -> None:
        try:
            if self._duties is not None:
                await self._duties.leave()
        except StoreError as error:
            _log.warning("duties could not be given back: %s", error)

    def _ring(self, name: str) -> None:
        if name in self.queues:
            self._picker.forget(name)
            self._awake.set()

    async def _claim_on(self) -> None:
        """Claim and start jobs while there is room."""
        pause, busy = self._idle[0], False
        while not self._stop.is_set():
            self._awake.clear()
            if self._room == 0 or self._places.reserved:
                await self._awake.wait()
                continue
            if not busy:
                self._sight.look()
            try:
                jobs = await self._claim(self._room)
            except (StoreError, ModelError) as error:
                _log.warning("claim failed: %s", error)
                jobs = []
            self._begin(jobs)
            if jobs:
                pause, busy = self._idle[0], True
                self._sight.rest()
                # Jobs that do not wait for anything end here, and make room for as many at once.
                await asyncio.sleep(0)
            elif busy:
                # Once more, and from here on nothing that others write is missed.
                busy = False
            else:
                turn_in = self._picker.next_turn()
                await self._wait(min(pause * (0.5 + self._chance.random()), math.inf if turn_in is None else turn_in + _MOMENT))
                pause = min(self._idle[1], pause * 2)

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError), self._sight.watching(self._awake.set):
            await asyncio.wait_for(self._awake.wait(), seconds)

    async def _claim(self, number: int) -> list[Job]:
        """Up to so many jobs of one of the queues, the first of which is drawn by weight."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._states_at > _STATES_FOR:
            self._states = await self.queue.states(tuple(self.queues))
            self._states_at = loop.time()
        for name in turn(self.queues, self._chance.random()):
            room = min(number, self._room_in(name)) if name in self.limits else number + self._ahead.number
            if room == 0:
                continue
            losses = self._picker.losses
            self._ahead.together = False
            jobs = await self.queue.claim_several(self._picker, name, self.worker_id, room, self._states.get(name))
            now = self.queue.context.now()
            if self._picker.losses > losses:
                self.tallies.count(name, jobs[0].job_type if jobs else "-", now, "lost_claims", self._picker.losses - losses)
            for job in jobs:
                self.tallies.claimed(job, now)
            if jobs:
                return jobs
        return []

    def _room_in(self, queue: str) -> int:
        """How many more jobs of a queue may run here."""
        limit = self.limits.get(queue)
        return self.concurrency if limit is None else max(0, limit - self._taken[queue])

    def _begin(self, jobs: list[Job]) -> None:
        """Start as many of the claimed jobs as there is room for; the others follow them at once, or are given back."""
        for job in jobs:
            if self._room > 0:
                self._start(job)
            else:
                self._ahead.add(job)
        if jobs and self._ahead.holds(jobs[-1]):
            asyncio.get_running_loop().call_later(WAIT, self._give_back_behind, jobs[-1])

    def _give_back_behind(self, last: Job) -> None:
        """Give back what was claimed ahead, if the last of it is still not begun."""
        if self._ahead.holds(last):
            self._give_back(self._ahead.give_back())

    def _give_back(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            self._add_task(self._release(job))

    async def _release(self, job: Job) -> None:
        try:
            await self.queue.finish(job, Released())
        except (StoreError, ModelError, JobError) as error:
            _log.warning("job %s could not be given back; it is run when its lease ends: %s", job.job_id, error)

    def _start(self, job: Job) -> None:
        self._room -= 1
        self._taken[job.queue] += 1
        self._places.take(job)
        self._add_task(self._work_on(job))

    def _add_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work_on(self, job: Job) -> None:
        execution: Execution | None = None
        vacated = False

        def vacate() -> None:
            """Make room before the end is written, so that both are one commit; unless many ends could not be written yet."""
            nonlocal vacated
            if execution is not None and not execution.run.alive and len(self._tasks) <= 2 * self.concurrency + TOGETHER:
                vacated = True
                self._ahead.ended(execution.took)
                self._make_room(job)

        try:
            handler = self._handler(job)
            if handler is None:
                failure = Failure(kind="unknown-job-type", message=f"Worker {self.worker_id} has no handler for {job.job_type}.")
                ended: Job | None = await self.queue.finish(job, Failed(failure))
            else:
                alone = is_suspect(job)
                tell_start(job)
                execution = self.running[job.job_id] = self.execution(job, confined(handler) if alone else handler)
                ended = await execution.carry_out(vacate, (lambda: self._places.turn(job)) if alone else None)
            if ended is not None:
                self.tallies.ended(ended)
                tell_end(ended)
        except Exception:
            _log.exception("could not record the outcome of job %s; it is run again when its lease ends", job.job_id)
        finally:
            self.running.pop(job.job_id, None)
            if job.concurrency_key is not None:
                self._picker.freed(job.concurrency_key)
            if not vacated:
                await self._let_go(job, execution)
            self._places.leave(job)
            self._awake.set()

    def execution(self, job: Job, handler: Handler) -> Execution:
        """The attempt of a claimed job; for subclasses that want to watch it."""
        return Execution(self.queue, job, handler, self.means, flush_every=self._flush_every)

    def _flush_every(self) -> float:
        """How long a handler's words are collected: the longer, the more handlers speak, so that writing them leaves time for all else."""
        return max(FLUSH_NEAR, _FLUSH_FOR_EACH * len(self.running)) if self._near else FLUSH_FAR

    async def _let_go(self, job: Job, execution: Execution | None) -> None:
        """Make room for another job, once nothing of this one is left: a thread that does not end keeps its place."""
        while execution is not None and execution.run.alive and not self._stop.is_set():
            await asyncio.sleep(0.5)
        self._make_room(job)

    def _make_room(self, job: Job) -> None:
        self._room += 1
        self._taken[job.queue] -= 1
        following = None if self._stop.is_set() or self._places.reserved else self._ahead.take()
        if following is not None:
            self._start(following)
        else:
            self._awake.set()

    def _handler(self, job: Job) -> Handler | None:
        if job.job_type == SETTLE:
            return Handler(SETTLE, self._settle)
        if job.job_type == GATE:
            return Handler(GATE, _pass)
        return self.queue.context.jobs.find(job.job_type)

    async def _settle(self, job: JobContext, config: dict[str, Any]) -> int:
        return await self.queue.settle(UUID(config["job_id"]))

    async def _wait_for_running(self) -> None:
        """Wait for running jobs as long as they have to end; say at once which they are, and now and then which are left."""
        loop = asyncio.get_running_loop()
        until, words = loop.time() + self._drain_seconds, "stopping: %s have up to %g s to end"
        while self._tasks and (left := until - loop.time()) > 0:
            _lives.info(words, _told(self.running.values()) or "ends that are written", round(left, 1))
            await asyncio.wait(set(self._tasks), timeout=min(left, _TELL_EVERY))
            words = "still waiting for %s, which have %g s left"

    async def _drain(self) -> None:
        """Wait for running jobs, and give back those that take too long: all in all a few seconds more than they have to end."""
        executions = list(self.running.values())
        self._give_back(self._ahead.give_back())
        await self._wait_for_running()
        if self.running:
            _lives.warning("giving back %s, which did not end in time", _told(self.running.values()))
        for execution in list(self.running.values()):
            execution.stop("draining", grace=_LAST_WORDS)
        if self._tasks:
            _, left = await asyncio.wait(set(self._tasks), timeout=_LAST_WORDS + 1.0 + _LAST_WRITES)
            for task in left:
                # The store does not answer. The leases of these jobs will end, and others take them.
                task.cancel()
            await asyncio.wait(left, timeout=1.0) if left else None
        stubborn = [one for one in executions if one.run.alive]
        if stubborn:
            _lives.warning("%s went on although asked to stop; their jobs are run again", _told(stubborn))


def _told(executions: Iterable[Execution]) -> str:
    """Some jobs, for a line of log."""
    named = [f"{one.job.job_type} {one.job.job_id}" for one in executions]
    return ", ".join(named[:_NAMED] + ([f"and {len(named) - _NAMED} more"] if len(named) > _NAMED else []))


async def _pass(job: JobContext, config: dict[str, Any]) -> None:
    """What a gate does: nothing, but only once everything that it waits for is completed."""


def shared(queue: AsyncQueue) -> AsyncQueue:
    """The same queue by the shortest way to its store, if that is an engine in this process."""
    transport = queue.store.transport
    if type(transport) is AsyncEmbeddedTransport:
        transport = DirectTransport(transport)
    if not isinstance(transport, DirectTransport) or isinstance(queue.store, GroupCommitStore):
        return queue
    near = copy.copy(queue)
    near.store = GroupCommitStore(queue.store, transport)
    return near
